package sysfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"airtuned/testdata/trees"
	"airtuned/tree"
)

const (
	pciPath  = "devices/pci0000:00/0000:00:00.0"
	ipq8064a = "devices/platform/soc/1b500000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0"
	ipq8064b = "devices/platform/soc/1b700000.pcie/pci0001:00/0001:00:00.0/0001:01:00.0"
	ipq4019p = "devices/platform/soc/40000000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0"
	mt7621p  = "devices/platform/1e140000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0"
)

// ath10kPCI is a radio as most trees have it.
func ath10kPCI(path, chip, family string, maxPending int, netdevs ...string) Device {
	return Device{
		Path: path, Phy: "phy0", Interfaces: netdevs, Driver: "ath10k_pci", Stack: StackMAC80211, Bus: "pci",
		Chip: chip, Family: family, MaxPending: maxPending, IRQs: []int{44},
	}
}

// phy gives d another phy, and the interrupt the trees give it.
func (d Device) phy(name string, index int) Device {
	d.Phy, d.PhyIndex = name, index
	if d.Bus == "pci" {
		d.IRQs = []int{44 + index}
	}
	return d
}

func TestDevicesOfTrees(t *testing.T) {
	ahb := Device{
		Path: "devices/platform/soc/a000000.wifi", Phy: "phy0", Interfaces: []string{"wlan0"}, Driver: "ath10k_ahb",
		Stack: StackMAC80211, Bus: "ahb", Chip: "QCA4019", Family: "10.4", MaxPending: 1424,
	}
	ahb1 := ahb.phy("phy1", 1)
	ahb1.Path, ahb1.Interfaces = "devices/platform/soc/a800000.wifi", []string{"wlan1"}
	mt := Device{
		Path: mt7621p, Phy: "phy0", Interfaces: []string{"phy0-ap0"}, Driver: "mt7915e",
		Stack: StackMAC80211, Bus: "pci", IRQs: []int{44},
	}
	mt1 := mt
	mt1.Path, mt1.Phy, mt1.PhyIndex, mt1.Interfaces = mt7621p+"#1", "phy1", 1, []string{"phy1-ap0"}

	want := map[string][]Device{
		"qca988x":      {ath10kPCI(pciPath+"/0000:01:00.0", "QCA988X", "10.2.4", 1424, "wlan0")},
		"qca988x-ubnt": {ath10kPCI(pciPath, "QCA988X", "10.2.4", 1424, "wlan0")},
		"qca9887":      {ath10kPCI(pciPath, "QCA9887", "10.2.4", 1424, "wlan0")},
		"qca99x0":      {ath10kPCI(ipq8064a, "QCA99X0", "10.4", 1424, "wlan0")},
		"qca9984-two-radios": {
			ath10kPCI(ipq8064a, "QCA9984", "10.4", 1424, "wlan0"),
			ath10kPCI(ipq8064b, "QCA9984", "10.4", 1424, "wlan1").phy("phy1", 1),
		},
		"qca9888":     {ath10kPCI(ipq4019p, "QCA9888", "10.4", 1424, "wlan0")},
		"qca4019-ahb": {ahb, ahb1},
		"qca6174-pci": {ath10kPCI("devices/pci0000:00/0000:00:1c.0/0000:02:00.0", "QCA6174", "tlv", 1056, "wlp2s0")},
		"qca9377-sdio": {{
			Path: "devices/platform/soc@0/30800000.bus/30b50000.mmc/mmc_host/mmc1/mmc1:0001/mmc1:0001:1",
			Phy:  "phy0", Interfaces: []string{"wlan0"}, Driver: "ath10k_sdio",
			Stack: StackMAC80211, Bus: "sdio", Chip: "QCA9377", Family: "tlv", MaxPending: 1024,
		}},
		"qca9377-usb": {{
			Path: "devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0",
			Phy:  "phy0", Interfaces: []string{"wlx020000000003"}, Driver: "ath10k_usb",
			Stack: StackMAC80211, Bus: "usb", Chip: "QCA9377", Family: "tlv", MaxPending: 1024,
		}},
		"wcn3990-snoc": {{
			Path: "devices/platform/soc@0/18800000.wifi",
			Phy:  "phy0", Interfaces: []string{"wlan0"}, Driver: "ath10k_snoc",
			Stack: StackMAC80211, Bus: "snoc", Chip: "WCN3990", Family: "tlv", MaxPending: 1056,
		}},
		"ath9k": {{
			Path: pciPath, Phy: "phy0", Interfaces: []string{"wlan0"}, Driver: "ath9k",
			Stack: StackMAC80211, Bus: "pci", IRQs: []int{44},
		}},
		"mt76": {mt, mt1},
		"unknown-driver": {{
			Path: "devices/pci0000:00/0000:00:1c.0/0000:03:00.0", Phy: "phy0", Interfaces: []string{"wlan0"},
			Driver: "acme_wlan", Bus: "pci", IRQs: []int{44},
		}},
		"renamed-phy": {
			ath10kPCI("devices/pci0000:00/0000:00:01.0/0000:01:00.0", "QCA9984", "10.4", 1424, "phy1-ap0").phy("wl0", 1),
			ath10kPCI("devices/pci0000:00/0000:00:02.0/0000:04:00.0", "QCA988X", "10.2.4", 1424).phy("phy2", 2),
		},
		"no-mac80211-debugfs": {ath10kPCI("devices/pci0000:00/0000:00:1c.0/0000:01:00.0", "QCA988X", "10.2.4", 1424, "wlan0")},
		"several-netdevs":     {ath10kPCI(ipq4019p, "QCA9888", "10.4", 1424, "mon0", "wlan0", "wlan0-1", "wlan0.sta1")},
	}
	for _, name := range trees.Names() {
		t.Run(name, func(t *testing.T) {
			got, err := Devices(fixture(name, "sys"))
			if name == "no-radios" {
				if !errors.Is(err, ErrNoWireless) || len(got) > 0 {
					t.Fatalf("Devices = %v, %v; want ErrNoWireless", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("Devices (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoRadios(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "class/ieee80211"), 0o755); err != nil {
		t.Fatal(err)
	}
	// cfg80211 is loaded, no driver is.
	if got, err := Devices(tree.Dir(root)); len(got) != 0 || err != nil {
		t.Errorf("Devices = %v, %v; want none, nil", got, err)
	}
}

// radio is the tree of one PCI radio as phy0, changed by change; "" deletes.
func radio(t *testing.T, change map[string]string) tree.Dir {
	t.Helper()
	const dev = "devices/pci0000:00/0000:01:00.0"
	files := map[string]string{
		"class/ieee80211/phy0":          "->../../" + dev + "/ieee80211/phy0",
		"class/net/lo/type":             "772\n",
		"bus/pci/drivers/ath10k_pci/x":  "->../../../../" + dev,
		dev + "/ieee80211/phy0/index":   "0\n",
		dev + "/ieee80211/phy0/device":  "->../../../0000:01:00.0",
		dev + "/driver":                 "->../../../bus/pci/drivers/ath10k_pci",
		dev + "/subsystem":              "->../../../bus/pci",
		dev + "/vendor":                 "0x168c\n",
		dev + "/device":                 "0x0046\n",
		dev + "/net/wlan0/threaded":     "0\n",
		dev + "/net/wlan0/phy80211":     "->../../ieee80211/phy0",
		"class/net/wlan0":               "->../../" + dev + "/net/wlan0",
		"devices/system/cpu/online":     "0-3\n",
		"class/net/bonding_masters":     "\n",
		"devices/virtual/x/net/y/index": "",
	}
	for name, text := range change {
		name = strings.Replace(name, "DEV", dev, 1)
		if files[name] = text; text == "" {
			delete(files, name)
		}
	}
	return build(t, files)
}

func TestDevice(t *testing.T) {
	base := Device{
		Path: "devices/pci0000:00/0000:01:00.0", Phy: "phy0", Interfaces: []string{"wlan0"}, Driver: "ath10k_pci",
		Stack: StackMAC80211, Bus: "pci", Chip: "QCA9984", Family: "10.4", MaxPending: 1424,
	}
	with := func(f func(*Device)) []Device {
		d := base
		f(&d)
		return []Device{d}
	}
	unknown := func(d *Device) { d.Chip, d.Family, d.MaxPending = "", "", 0 }
	const modalias = "MODALIAS=pci:v0000168Cd00000056sv0000168Csd0000CAFEbc02sc80i00\n"

	tests := []struct {
		name   string
		change map[string]string
		want   []Device
	}{
		{"as it is", nil, []Device{base}},
		{"no device link", map[string]string{"DEV/ieee80211/phy0/device": ""}, []Device{base}},
		{"no index", map[string]string{"DEV/ieee80211/phy0/index": "", "DEV/ieee80211/phy0/name": "phy0\n"}, []Device{base}},
		{"mad index", map[string]string{"DEV/ieee80211/phy0/index": "-7\n"}, []Device{base}},
		{"no driver", map[string]string{"DEV/driver": ""}, with(func(d *Device) {
			d.Driver, d.Stack, d.Family, d.MaxPending = "", "", "", 0
		})},
		{"bus by driver link", map[string]string{"DEV/subsystem": ""}, []Device{base}},
		{"other bus", map[string]string{"DEV/subsystem": "->../../../bus/bcma"}, with(func(d *Device) {
			unknown(d)
			d.Bus = "other"
		})},
		{"unknown id", map[string]string{"DEV/device": "0xbeef\n"}, with(unknown)},
		{"unknown id is not second-guessed", map[string]string{"DEV/device": "0xbeef\n", "DEV/uevent": modalias}, with(unknown)},
		{"Ubiquiti vendor, other device", map[string]string{"DEV/vendor": "0x11ac\n", "DEV/device": "0x1014\n"}, with(unknown)},
		{"garbage id", map[string]string{"DEV/device": "\xff\xfe\n"}, with(unknown)},
		{"id in uevent", map[string]string{"DEV/vendor": "", "DEV/uevent": "DRIVER=ath10k_pci\nPCI_ID=168C:003C\n"},
			with(func(d *Device) { d.Chip, d.Family = "QCA988X", "10.2.4" })},
		{"id in modalias", map[string]string{"DEV/vendor": "", "DEV/uevent": modalias},
			with(func(d *Device) { d.Chip = "QCA9888" })},
		{"interrupts", map[string]string{"DEV/irq": "0\n", "DEV/msi_irqs/130": "msi\n", "DEV/msi_irqs/9": "msi\n", "DEV/msi_irqs/x": ""},
			with(func(d *Device) { d.IRQs = []int{9, 130} })},
		{"plain folders instead of links", map[string]string{
			"class/ieee80211/phy0":        "",
			"class/ieee80211/phy0/index":  "0\n",
			"class/ieee80211/phy0/device": "->../../../devices/pci0000:00/0000:01:00.0",
			"class/net/wlan0":             "",
			"class/net/wlan0/phy80211":    "->../../ieee80211/phy0",
		}, []Device{base}},
		{"no device", map[string]string{
			"class/ieee80211/phy0":                     "->../../devices/virtual/ieee80211/radio0",
			"devices/virtual/ieee80211/radio0/index":   "3\n",
			"devices/virtual/ieee80211/radio0/uevent":  "\n",
			"DEV/ieee80211/phy0/device":                "",
			"class/net/wlan0":                          "->../../devices/virtual/net/wlan0",
			"devices/virtual/net/wlan0/phy80211/index": "3\n",
		}, []Device{{Path: "devices/virtual/ieee80211/radio0", Phy: "phy0", PhyIndex: 3, Bus: "other"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Devices(radio(t, tt.change))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Devices (-want +got):\n%s", diff)
			}
		})
	}
}

// One broken radio hides no other. One that is listed is not gone, whatever its
// files say.
func TestDevicesPartly(t *testing.T) {
	for name, change := range map[string]map[string]string{
		"loop":     {"class/ieee80211/phy1": "->phy2", "class/ieee80211/phy2": "->phy1"},
		"dangling": {"class/ieee80211/phy1": "->../../devices/gone/ieee80211/phy1"},
		"dangling device": {"class/ieee80211/phy1": "->../../devices/virtual/ieee80211/phy1",
			"devices/virtual/ieee80211/phy1/device": "->../../../gone"},
		"no link": {"class/ieee80211/phy1": "->../../devices/virtual/ieee80211/phy1",
			"devices/virtual/ieee80211/phy1/device/vendor": "0x168c\n"},
	} {
		sys := radio(t, change)
		got, err := Devices(sys)
		if err == nil || errors.Is(err, fs.ErrNotExist) || len(got) != 1 {
			t.Errorf("%s: Devices = %v, %v; want phy0 and an error", name, got, err)
		}
		if _, err := DeviceOf(sys, "phy1"); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: DeviceOf(phy1): %v", name, err)
		}
		for _, find := range []func() (Device, error){
			func() (Device, error) { return DeviceOf(sys, "phy0") },
			func() (Device, error) { return DeviceAt(sys, got[0].Path) },
		} {
			if d, err := find(); err != nil || cmp.Diff(got[0], d) != "" {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
		}
	}
	if _, err := DeviceOf(radio(t, nil), "phy7"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such radio: %v", err)
	}
	if _, err := DeviceAt(radio(t, nil), "devices/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such device: %v", err)
	}
}

// vanishing takes the radio away while it is being read.
type vanishing struct {
	tree.FS
	root string
}

func (v vanishing) List(name string) ([]string, error) {
	if strings.HasSuffix(name, "/msi_irqs") {
		os.Remove(filepath.Join(v.root, "class/ieee80211/phy0"))
	}
	return v.FS.List(name)
}

func TestDeviceVanishes(t *testing.T) {
	sys := radio(t, nil)
	if got, err := Devices(vanishing{sys, string(sys)}); len(got) != 0 || err != nil {
		t.Errorf("Devices = %v, %v; want none, nil", got, err)
	}
}

// Wiphys on one device are told apart by their index, not by their name or by
// the order in which the folder lists them.
func TestDevicesShareDevice(t *testing.T) {
	const ieee80211 = "devices/pci0000:00/0000:01:00.0/ieee80211/"
	got, err := Devices(radio(t, map[string]string{
		"class/ieee80211/phy0":   "->../../" + ieee80211 + "phy0",
		"class/ieee80211/a":      "->../../" + ieee80211 + "a",
		"class/ieee80211/z":      "->../../" + ieee80211 + "z",
		ieee80211 + "phy0/index": "10\n",
		ieee80211 + "a/index":    "11\n",
		ieee80211 + "a/device":   "->../../../0000:01:00.0",
		ieee80211 + "z/index":    "9\n",
		ieee80211 + "z/device":   "->../../../0000:01:00.0",
		"class/ieee80211/other":  "->../../devices/pci0000:00/0000:02:00.0/ieee80211/other",
		"devices/pci0000:00/0000:02:00.0/ieee80211/other/index": "2\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, d := range got {
		paths = append(paths, d.Phy+" "+d.Path+" "+d.DevicePath())
	}
	const dev, other = "devices/pci0000:00/0000:01:00.0", "devices/pci0000:00/0000:02:00.0"
	want := []string{
		"z " + dev + " " + dev,
		"phy0 " + dev + "#1 " + dev,
		"a " + dev + "#2 " + dev,
		"other " + other + " " + other,
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestErrNoWirelessSaysWhere(t *testing.T) {
	_, err := Devices(tree.Dir("/nonexistent/sys"))
	if !errors.Is(err, ErrNoWireless) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/nonexistent/sys") {
		t.Errorf("error %v names no path", err)
	}
}

// A tree copied without the links of /sys still tells driver, bus and chip.
func TestDevicesFromUeventAlone(t *testing.T) {
	root := t.TempDir()
	dev := filepath.Join(root, "devices/pci0000:00/0000:01:00.0")
	phy := filepath.Join(dev, "ieee80211/phy0")
	class := filepath.Join(root, "class/ieee80211")
	for _, dir := range []string{phy, class} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	uevent := "DRIVER=ath10k_pci\nPCI_CLASS=28000\nPCI_ID=168C:003C\nMODALIAS=pci:v0000168Cd0000003Csv00000000sd00000000bc02sc80i00\n"
	if err := os.WriteFile(filepath.Join(dev, "uevent"), []byte(uevent), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../devices/pci0000:00/0000:01:00.0/ieee80211/phy0", filepath.Join(class, "phy0")); err != nil {
		t.Fatal(err)
	}
	got, err := Devices(tree.Dir(root))
	if err != nil {
		t.Fatal(err)
	}
	want := []Device{{
		Path: "devices/pci0000:00/0000:01:00.0", Phy: "phy0", Driver: "ath10k_pci", Stack: StackMAC80211,
		Bus: "pci", Chip: "QCA988X", Family: "10.2.4", MaxPending: 1424,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Devices (-want +got):\n%s", diff)
	}
}
