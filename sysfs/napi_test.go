package sysfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"airtuned/testdata/trees"
	"airtuned/tree"
)

// readOnly fails the test when something is written.
type readOnly struct {
	tree.FS
	t *testing.T
}

func (r readOnly) Write(name string, p []byte) error {
	r.t.Errorf("wrote %q to %s", p, name)
	return nil
}

func TestNAPIOfTrees(t *testing.T) {
	softirq := func(driver, iface string) NAPI {
		return NAPI{
			Mode: NAPISoftirq, Owner: "a hidden netdev of " + driver,
			Reason: driver + " keeps its NAPI on a hidden netdev; /sys/class/net/" + iface + "/threaded cannot reach it",
		}
	}
	noNetdev := softirq("ath10k_pci", "")
	noNetdev.Reason = "ath10k_pci keeps its NAPI on a hidden netdev; phy2 has no netdev of its own either"
	mt := NAPI{
		Mode: NAPIDriverThreaded, Owner: "a hidden netdev of mt7915e",
		Reason:  "mt7915e threads its NAPI itself: napi/phy0-8193 is running (PID 64)",
		Threads: []Thread{{64, "napi/phy0-8193"}, {65, "napi/phy0-8194"}, {66, "napi/phy0-8195"}},
	}
	pci := softirq("ath10k_pci", "wlan0")
	want := map[string][]NAPI{
		"qca988x":            {pci},
		"qca988x-ubnt":       {pci},
		"qca9887":            {pci},
		"qca99x0":            {pci},
		"qca9984-two-radios": {pci, softirq("ath10k_pci", "wlan1")},
		"qca9888":            {pci},
		"qca4019-ahb":        {softirq("ath10k_ahb", "wlan0"), softirq("ath10k_ahb", "wlan1")},
		"qca6174-pci":        {softirq("ath10k_pci", "wlp2s0")},
		"qca9377-sdio":       {softirq("ath10k_sdio", "wlan0")},
		"qca9377-usb":        {softirq("ath10k_usb", "wlx020000000003")},
		"wcn3990-snoc": {{
			Mode: NAPIDriverThreaded, Owner: "a hidden netdev of ath10k_snoc",
			Reason:  "ath10k_snoc threads its NAPI itself: napi/dummy#-513 is running (PID 64)",
			Threads: []Thread{{64, "napi/dummy#-513"}},
		}},
		"ath9k": {{Mode: NAPISoftirq, Reason: "ath9k uses no NAPI: there is nothing to thread"}},
		"mt76":  {mt, mt},
		"unknown-driver": {{
			Mode: NAPISoftirq, Settable: true,
			Reason: "where acme_wlan keeps its NAPI is not known; writing threaded of wlan0 will tell",
		}},
		"renamed-phy":         {softirq("ath10k_pci", "phy1-ap0"), noNetdev},
		"no-radios":           nil,
		"no-mac80211-debugfs": {pci},
		"several-netdevs":     {softirq("ath10k_pci", "mon0")},
	}
	for _, name := range trees.Names() {
		t.Run(name, func(t *testing.T) {
			sys, proc := readOnly{fixture(name, "sys"), t}, readOnly{fixture(name, "proc"), t}
			devices, err := Devices(sys)
			if err != nil && name != "no-radios" {
				t.Fatal(err)
			}
			var got []NAPI
			for _, d := range devices {
				got = append(got, ReadNAPI(sys, proc, d))
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("ReadNAPI (-want +got):\n%s", diff)
			}
		})
	}
}

// machineOf is the tree of a machine with PCI radios of these drivers, in order of their phys.
func machineOf(t *testing.T, threaded string, cpus string, drivers ...string) tree.Dir {
	t.Helper()
	files := map[string]string{"devices/system/cpu/online": cpus}
	for i, driver := range drivers {
		n := string(rune('0' + i))
		dev := "devices/pci0000:00/0000:0" + n + ":00.0"
		files["class/ieee80211/phy"+n] = "->../../" + dev + "/ieee80211/phy" + n
		files[dev+"/ieee80211/phy"+n+"/index"] = n + "\n"
		files[dev+"/ieee80211/phy"+n+"/device"] = "->../../../0000:0" + n + ":00.0"
		files["bus/pci/drivers/"+driver+"/bind"] = ""
		files[dev+"/driver"] = "->../../../bus/pci/drivers/" + driver
		files["class/net/wlan"+n] = "->../../" + dev + "/net/wlan" + n
		files[dev+"/net/wlan"+n+"/phy80211"] = "->../../ieee80211/phy" + n
		if threaded != "" {
			files[dev+"/net/wlan"+n+"/threaded"] = threaded
		}
	}
	return build(t, files)
}

func TestNAPI(t *testing.T) {
	type threads = []map[string]string
	nameless := threads{napiThread(64, "napi/-8193")}
	dummy := threads{napiThread(64, "napi/dummy#-0")}
	hidden := threads{pid(2, 1, process, "sh")} // of a container
	const snocUnseen = "ath10k_snoc keeps its NAPI on a hidden netdev; /sys/class/net/wlan0/threaded cannot reach it; " +
		"the driver threads it since Linux 6.4, once the radio is up, but no such thread is running"

	tests := []struct {
		name     string
		drivers  []string // the first one is looked at
		threaded string
		cpus     string
		threads  threads
		mode     string
		settable bool
		found    int // threads
		unsure   bool
		reason   string // "" if any will do
	}{
		{"PCI", []string{"ath10k_pci"}, "0\n", "0-3", nil, NAPISoftirq, false, 0, false, ""},
		{"two PCI", []string{"ath10k_pci", "ath10k_pci"}, "0\n", "0-3", nil, NAPISoftirq, false, 0, false, ""},
		{"somebody else's threads", []string{"ath10k_pci"}, "0\n", "0-3", threads{napiThread(64, "napi/eth0-8193"), napiThread(65, "napi/phy7-3")},
			NAPISoftirq, false, 0, false, ""},
		{"a process of that name", []string{"ath10k_pci"}, "0\n", "0-3", threads{pid(64, 1, process, "napi/-8193")},
			NAPISoftirq, false, 0, false, ""},
		{"patched, alone", []string{"ath10k_pci", "mt7915e", "ath9k"}, "0\n", "0-3", dummy, NAPIDriverThreaded, false, 1, false,
			"ath10k_pci seems to thread its NAPI, as no other radio hides a netdev of that name: napi/dummy#-0 is running (PID 64)"},
		{"patched, one of two", []string{"ath10k_pci", "ath11k_pci"}, "0\n", "0-3", nameless, NAPIUnknown, false, 0, true,
			"ath10k_pci keeps its NAPI on a hidden netdev; /sys/class/net/wlan0/threaded cannot reach it, " +
				"and whether thread napi/-8193 is its own or that of phy1 cannot be told"},
		{"beside WCN3990", []string{"ath10k_pci", "ath10k_snoc"}, "0\n", "0-3", dummy, NAPISoftirq, false, 0, true,
			"ath10k_pci keeps its NAPI on a hidden netdev; /sys/class/net/wlan0/threaded cannot reach it; " +
				"thread napi/dummy#-0 is taken to be that of phy1, whose driver threads its NAPI"},
		{"fork with a name of its own", []string{"ath10k_pci", "ath10k_pci"}, "0\n", "0-3",
			threads{napiThread(64, "napi/ath10k_phy0-5"), napiThread(65, "napi/ath10k_phy1-6")}, NAPIDriverThreaded, false, 1, false,
			"ath10k_pci threads its NAPI itself: napi/ath10k_phy0-5 is running (PID 64)"},
		{"the other's of the fork", []string{"ath10k_pci", "ath10k_pci"}, "0\n", "0-3",
			threads{napiThread(65, "napi/ath10k_phy1-6")}, NAPISoftirq, false, 0, false, ""},

		{"WCN3990", []string{"ath10k_snoc"}, "0\n", "0-7", dummy, NAPIDriverThreaded, false, 1, false,
			"ath10k_snoc threads its NAPI itself: napi/dummy#-0 is running (PID 64)"},
		{"WCN3990 before 6.10", []string{"ath10k_snoc"}, "0\n", "0-7", nameless, NAPIDriverThreaded, false, 1, false, ""},
		{"WCN3990 down or before 6.4", []string{"ath10k_snoc"}, "0\n", "0-7", nil, NAPISoftirq, false, 0, false, snocUnseen},
		{"WCN3990 and another", []string{"ath10k_snoc", "ath10k_pci"}, "0\n", "0-7", dummy, NAPIDriverThreaded, false, 1, true,
			"ath10k_snoc threads its NAPI itself: napi/dummy#-0 is running (PID 64), though phy1 hides a netdev of the same name"},

		{"mt76", []string{"mt7915e"}, "0\n", "0-1", threads{napiThread(64, "napi/phy0-8193")}, NAPIDriverThreaded, false, 1, false, ""},
		{"mt76 in softirq", []string{"mt7915e"}, "0\n", "0-1", dummy, NAPISoftirq, false, 0, false, ""},

		{"threads hidden", []string{"ath10k_pci"}, "0\n", "0-3", hidden, NAPIUnknown, false, 0, false, ""},
		{"one driver without NAPI", []string{"mac80211_hwsim"}, "0\n", "0-3", dummy, NAPISoftirq, false, 0, false,
			"mac80211_hwsim uses no NAPI: there is nothing to thread"},

		{"unknown", []string{"acme"}, "0\n", "0-3", nil, NAPISoftirq, true, 0, false, ""},
		{"unknown, one CPU", []string{"acme"}, "0\n", "0", nil, NAPISoftirq, false, 0, false,
			"there is one CPU: a NAPI thread would only add switches to the work"},
		{"unknown, CPUs unknown", []string{"acme"}, "0\n", "", nil, NAPISoftirq, false, 0, false, ""},
		{"unknown, before 5.12", []string{"acme"}, "", "0-3", nil, NAPISoftirq, false, 0, false,
			"this kernel has no threaded file for wlan0; Linux 5.12 and later have it"},
		{"unknown, on", []string{"acme"}, "1\n", "0-3", threads{napiThread(64, "napi/wlan0-8193"), napiThread(65, "napi/wlan1-8194")},
			NAPIThreaded, true, 1, false, "threaded of wlan0 reads 1: napi/wlan0-8193 is running (PID 64)"},
		{"unknown, on, no thread", []string{"acme"}, "1\n", "0-3", dummy, NAPIUnknown, false, 0, false,
			"threaded of wlan0 reads 1, but no thread napi/wlan0-* is running"},
		{"unknown, on, threads hidden", []string{"acme"}, "1\n", "0-3", hidden, NAPIUnknown, false, 0, false, ""},
		{"unknown, threads of its phy", []string{"acme"}, "0\n", "0-3", threads{napiThread(64, "napi/phy0-3")}, NAPIDriverThreaded, false, 1, false, ""},
		{"unknown, garbage", []string{"acme"}, "maybe\n", "0-3", nil, NAPIUnknown, false, 0, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sys := machineOf(t, tt.threaded, tt.cpus, tt.drivers...)
			devices, err := Devices(sys)
			if err != nil || len(devices) != len(tt.drivers) {
				t.Fatalf("Devices = %v, %v", devices, err)
			}
			got := ReadNAPI(readOnly{sys, t}, procTree(t, tt.threads...), devices[0])
			if got.Mode != tt.mode || got.Settable != tt.settable || len(got.Threads) != tt.found || got.Ambiguous != tt.unsure {
				t.Errorf("ReadNAPI = %+v; want %s, settable %v, %d threads, ambiguous %v", got, tt.mode, tt.settable, tt.found, tt.unsure)
			}
			if got.Reason == "" || tt.reason != "" && got.Reason != tt.reason {
				t.Errorf("reason is %q, want %q", got.Reason, tt.reason)
			}
		})
	}
}

// mt76 calls its hidden netdev by the wiphy's name, which may change later.
func TestNAPIOfRenamedPhy(t *testing.T) {
	sys := machineOf(t, "0\n", "0-1", "mt7915e")
	d := Device{Path: "devices/pci0000:00/0000:00:00.0", Phy: "wl0", PhyIndex: 0, Driver: "mt7915e"}
	got := ReadNAPI(sys, procTree(t, napiThread(64, "napi/phy0-8193"), napiThread(65, "napi/phy1-8194")), d)
	want := []Thread{{64, "napi/phy0-8193"}}
	if diff := cmp.Diff(want, got.Threads); diff != "" || got.Mode != NAPIDriverThreaded {
		t.Errorf("mode %s, threads (-want +got):\n%s", got.Mode, diff)
	}
}

func TestNAPIWithoutNetdev(t *testing.T) {
	sys := machineOf(t, "0\n", "0-1")
	got := ReadNAPI(sys, procTree(t), Device{Path: "devices/x", Phy: "phy3", PhyIndex: 3, Driver: "acme"})
	want := NAPI{Mode: NAPIUnknown, Reason: "phy3 has no netdev, so there is no threaded file to look at"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ReadNAPI (-want +got):\n%s", diff)
	}
}
