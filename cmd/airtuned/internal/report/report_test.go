package report

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/nl80211"
	"airtuned/tree"
	"airtuned/tuner"
	"airtuned/wlan"
)

func TestReplace(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"stations/aa:bb:cc:dd:ee:01/aqm", "stations/MAC-1/aqm"},
		{"AA:BB:CC:DD:EE:01 and aa-bb-cc-dd-ee-01 and aa_bb_cc_dd_ee_01", "MAC-1 and MAC-1 and MAC-1"},
		{"aabb.ccdd.ee01, aabbccddee01, AABBCCDDEE01, 0xaabbccddee01", "MAC-1, MAC-1, MAC-1, 0xMAC-1"},
		{"wlxaabbccddee01 enx001122334455", "wlxMAC-1 enxMAC-2"},
		{"aa bb cc dd ee 01 is aa:bb:cc:dd:ee:01", "MAC-1 is MAC-1"},
		{"00 11 22 33 44 55 are numbers", "00 11 22 33 44 55 are numbers"},
		{"001122334455 is 00:11:22:33:44:55", "MAC-1 is MAC-1"},
		{"001122334455 is a number", "001122334455 is a number"},
		{"dump_001122334455_x and dump001122334455x of 00:11:22:33:44:55", "dump_MAC-1_x and dumpMAC-1x of MAC-1"},
		{"00:00:00:00:00:00 ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff"},
		{"two 02:00:00:00:00:01 02:00:00:00:00:02 02:00:00:00:00:01", "two MAC-1 MAC-2 MAC-1"},
		{"a8:bb:cc:ff:fe:dd:ee:01 is aa:bb:cc:dd:ee:01", "MAC-1-EUI is MAC-1"},
		{"fe80::a8bb:ccff:fedd:ee01 of aa:bb:cc:dd:ee:01", "MAC-1-IP of MAC-1"},
		{"2001:db8::a8bb:ccff:fedd:ee01/64 a8bb:ccff:fedd:ee01 a8bbccfffeddee01", "MAC-1-IP/64 MAC-1-EUI MAC-1-EUI"},
		{"FE80:0:0:0:A8BB:CCFF:FEDD:EE01", "MAC-1-IP"},
		{"2001:db8::1, 2001:db8:0::1 and 2001:db8::2.", "IP-1, IP-1 and IP-2."},
		{"192.168.7.1:80 [2001:db8::7] 10.0.0.0/8 ::ffff:192.168.7.1", "IP-1:80 [IP-2] IP-3/8 IP-4"},
		{"192.168.7.1, from 192.168.7.1", "IP-1, from IP-1"},
		{"127.0.0.1 ::1 :: 0.0.0.0", "127.0.0.1 ::1 :: 0.0.0.0"},
		{"firmware 10.4-3.9.0.2-00131, Linux 6.6.110, 12:34:56", "firmware 10.4-3.9.0.2-00131, Linux 6.6.110, 12:34:56"},
		{"0000:01:00.0 pci0000:00 PCI_ID=168C:0046", "0000:01:00.0 pci0000:00 PCI_ID=168C:0046"},
		{"00:11:22:33:44:55:66:77:88", "(9 bytes)"},
		{"on router.lan, Router, subrouter7 and routers", "on HOST-1, HOST-1, subHOST-17 and HOST-1s"},
		{"ssid=Our Net\nseen: our net\nwpa_ssid: other", "ssid=SSID-1\nseen: SSID-1\nwpa_ssid: SSID-2"},
		{`option ssid 'Smith Family'` + "\nSmith Family, 536d6974682046616d696c79", "option ssid 'SSID-1'\nSSID-1, SSID-1"},
	} {
		n := &names{}
		n.host("router.lan")
		if got := n.replace(tt.in); got != tt.want {
			t.Errorf("%q\n got %q\nwant %q", tt.in, got, tt.want)
		}
	}
}

// spellings are the ways an address can stand somewhere.
func spellings(m wlan.MAC) []string {
	h := hex.EncodeToString(m[:])
	eui := fmt.Sprintf("%02x%02x:%02xff:fe%02x:%02x%02x", m[0]^2, m[1], m[2], m[3], m[4], m[5])
	s := []string{
		m.String(), strings.ReplaceAll(m.String(), ":", "-"), strings.ReplaceAll(m.String(), ":", "_"), h,
		h[:4] + "." + h[4:8] + "." + h[8:], eui, "fe80::" + eui, "2001:db8:1:2:" + eui, strings.ReplaceAll(eui, ":", ""),
	}
	for _, x := range s {
		s = append(s, strings.ToUpper(x))
	}
	return s
}

var (
	phyMAC     = wlan.MAC{0x84, 0x16, 0xf9, 0x9a, 0xbc, 0xde}
	stationMAC = wlan.MAC{0xdc, 0xa6, 0x32, 0x4f, 0x5e, 0x6d}
	digitsMAC  = wlan.MAC{0x00, 0x11, 0x22, 0x33, 0x44, 0x55} // no letter in it
)

const (
	hostName = "living-room-router"
	ssid     = "Müller \"5G\" Nest"
	plainIP  = "203.0.113.77"
)

// fakeNetlink knows of one interface with a network.
type fakeNetlink struct{}

func (fakeNetlink) Wiphys() ([]nl80211.Wiphy, error) {
	return []nl80211.Wiphy{{Name: "phy0", AQL: true}}, nil
}
func (fakeNetlink) Interfaces() ([]nl80211.Interface, error) {
	return []nl80211.Interface{{Index: 7, Name: "wlan0", Type: "AP", MAC: phyMAC, SSID: ssid}}, nil
}
func (fakeNetlink) Stations(int) ([]nl80211.Station, error) {
	return []nl80211.Station{{MAC: stationMAC}}, nil
}
func (fakeNetlink) Firmware(string) (string, error) { return "10.4-3.9.0.2 for " + hostName, nil }

// A report of a machine that has its addresses and names all over the place has
// none of them, and yet the files that were read.
func TestReportNamesNobody(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("../../../../testdata/trees/qca9984-two-radios")); err != nil {
		t.Fatal(err)
	}
	stations := filepath.Join(root, "debug/ieee80211/phy0/netdev:wlan0/stations")
	for from, to := range map[string]wlan.MAC{"02:00:00:00:80:01": stationMAC, "02:00:00:00:80:02": digitsMAC} {
		if err := os.Rename(filepath.Join(stations, from), filepath.Join(stations, to.String())); err != nil {
			t.Fatal(err)
		}
	}
	var all []string
	for _, m := range []wlan.MAC{phyMAC, stationMAC, digitsMAC} {
		all = append(all, spellings(m)...)
	}
	jsonSSID, _ := json.Marshal(ssid)
	secrets := append(all, hostName, strings.ToUpper(hostName), ssid, strings.Trim(string(jsonSSID), `"`),
		hex.EncodeToString([]byte(ssid)), `M\xc3\xbcller "5G" Nest`, plainIP)
	// Each in the text of files that are read, alone, beside others, in words.
	var seeded strings.Builder
	for _, s := range secrets {
		fmt.Fprintf(&seeded, "%s\nx=%s, (%s) \"%s\"\n%s\t%s\n/var/%s/y\n", s, s, s, s, s, s, s)
	}
	for _, file := range []string{
		"debug/ieee80211/phy0/aqm", "debug/ieee80211/phy0/ath10k/fw_reset_stats",
		filepath.Join("debug/ieee80211/phy0/netdev:wlan0/stations", stationMAC.String(), "aqm"),
	} {
		name := filepath.Join(root, file)
		old, _ := os.ReadFile(name)
		_ = os.Chmod(name, 0o644)
		if err := os.WriteFile(name, append(old, seeded.String()...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "proc/sys/kernel/hostname"), []byte(hostName+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	etc := t.TempDir()
	if err := os.WriteFile(filepath.Join(etc, "os-release"), []byte("NAME=x\nPRETTY_NAME=\"Some Linux 7\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	status := map[string]any{"radios": []any{map[string]any{"reason": "station " + stationMAC.String() + " on " + hostName + " in " + ssid}}}
	past := map[string]any{"radios": []tuner.Past{{Path: "devices/x", Columns: []string{"a", "b"}, Windows: [][]int64{{1, 2}, {3, 4}}}}}
	waited := time.Duration(0)
	text := Make(Source{
		Env: tuner.Env{
			Sys: tree.Dir(root + "/sys"), Debug: tree.Dir(root + "/debug"), Proc: tree.Dir(root + "/proc"),
			Netlink: fakeNetlink{}, Log: slog.New(slog.DiscardHandler),
		},
		Choose: func(tuner.Radio) tuner.Settings {
			return tuner.Settings{Policy: "delay", Sample: 20 * time.Millisecond, Window: 200 * time.Millisecond}
		},
		Config:   []byte("socket: /run/" + hostName + "\n"),
		Etc:      tree.Dir(etc),
		Versions: "airtuned v1\n",
		Ask: func(method string, result any) error {
			b, err := json.Marshal(map[string]any{"status": status, "history": past}[method])
			if err != nil {
				return err
			}
			return json.Unmarshal(b, result)
		},
		SSIDs: []string{ssid},
		Wait:  func(d time.Duration) { waited += d },
	}, time.Unix(1000, 0))

	lower := strings.ToLower(text)
	for _, s := range secrets {
		if i := strings.Index(lower, strings.ToLower(s)); i >= 0 {
			t.Errorf("%q is in the report: ...%q...", s, text[max(0, i-60):min(len(text), i+60)])
		}
	}
	for _, want := range []string{
		"airtuned v1", "Linux 6.6.110, 2 CPUs", "Some Linux 7", `"chip": "QCA9984"`, "10.4-3.9.0.2 for HOST-", "socket: /run/HOST-",
		"station MAC-", " in SSID-1", "devices/x\na b\n1 2\n3 4\n",
		"/debug/ieee80211/phy0/aql_txq_limit\nAC\tAQL limit low", "/debug/ieee80211/phy1/queues\n00: 0x00000000/0",
		"/stations/MAC-", "/sys/devices/platform/soc/1b500000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0/uevent\nDRIVER=ath10k_pci",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in the report", want)
		}
	}
	if waited == 0 {
		t.Error("no window was waited for")
	}
	if t.Failed() {
		t.Logf("%.3000s", text)
	}
}

// Making a report writes nothing, even where the limits are anything but right.
func TestReportWritesNothing(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("../../../../testdata/trees/qca9984-two-radios")); err != nil {
		t.Fatal(err)
	}
	hash := func() map[string]string {
		files := map[string]string{}
		_ = filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				b, _ := os.ReadFile(name)
				files[name] = string(b)
			}
			return nil
		})
		return files
	}
	before := hash()
	Make(Source{
		Env: tuner.Env{
			Sys: tree.Dir(root + "/sys"), Debug: tree.Dir(root + "/debug"), Proc: tree.Dir(root + "/proc"),
			Log: slog.New(slog.DiscardHandler),
		},
		Choose: func(tuner.Radio) tuner.Settings {
			return tuner.Settings{Policy: "static", Force: true, ThreadedNAPI: tuner.ThreadedOn, Sample: 20 * time.Millisecond, Window: 200 * time.Millisecond}
		},
		Ask:  func(string, any) error { return os.ErrNotExist },
		Wait: func(time.Duration) {},
	}, time.Unix(1000, 0))
	if diff := cmp.Diff(before, hash()); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// FuzzReplace: whatever is around a known address or name, it goes.
func FuzzReplace(f *testing.F) {
	f.Add("x ", " y", uint8(0))
	f.Add("fe80::", "/64", uint8(5))
	f.Fuzz(func(t *testing.T, front, back string, which uint8) {
		all := spellings(stationMAC)
		s := all[int(which)%len(all)]
		if front != "" && alnum(front[len(front)-1]) {
			front += " "
		}
		if back != "" && alnum(back[0]) {
			back = " " + back
		}
		n := &names{macs: []wlan.MAC{stationMAC}}
		n.host(hostName)
		n.ssid(ssid)
		got := n.replace(front + " " + s + " " + back + "\n" + hostName + " " + ssid)
		for _, secret := range []string{" " + s + " ", hostName, ssid} {
			if strings.Contains(got, secret) {
				t.Fatalf("%q is in %q", secret, got)
			}
		}
	})
}
