package sysfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"airtuned/tree"
)

// Every id that ath10k binds to, from each source that may tell it.
func TestATH10KChips(t *testing.T) {
	ids := []struct {
		bus, id, chip, family string
		maxPending            int
	}{
		{"pci", "0777:11ac", "QCA988X", "10.2.4", 1424},
		{"pci", "168c:003c", "QCA988X", "10.2.4", 1424},
		{"pci", "168c:0050", "QCA9887", "10.2.4", 1424},
		{"pci", "168c:0041", "QCA6164", "tlv", 1056},
		{"pci", "168c:003e", "QCA6174", "tlv", 1056},
		{"pci", "168c:0042", "QCA9377", "tlv", 1056},
		{"pci", "168c:0040", "QCA99X0", "10.4", 1424},
		{"pci", "168c:0046", "QCA9984", "10.4", 1424},
		{"pci", "168c:0056", "QCA9888", "10.4", 1424},
		{"sdio", "0271:050a", "QCA6174", "tlv", 1024},
		{"sdio", "0271:0701", "QCA9377", "tlv", 1024},
		{"usb", "13b1:0042", "QCA9377", "tlv", 1024},
		{"ahb", "qcom,ipq4019-wifi", "QCA4019", "10.4", 1424},
		{"snoc", "qcom,wcn3990-wifi", "WCN3990", "tlv", 1056},
		{"pci", "168c:ffff", "", "", 0},
		{"sdio", "168c:003c", "", "", 0}, // a PCI id
		{"usb", "0cf3:9271", "", "", 0},
		{"snoc", "qcom,wcn6750-wifi", "", "", 0},
	}
	for _, tt := range ids {
		vendor, device, _ := strings.Cut(tt.id, ":")
		num := hexID(vendor, device)
		v, d := num.vendor, num.device
		sources := map[string]map[string]string{}
		switch tt.bus {
		case "pci":
			sources["files"] = map[string]string{"d/vendor": "0x" + vendor + "\n", "d/device": "0x" + device + "\n"}
			sources["id"] = map[string]string{"d/uevent": "PCI_CLASS=28000\nPCI_ID=" + strings.ToUpper(tt.id) + "\n"}
			sources["modalias"] = map[string]string{"d/uevent": fmt.Sprintf("MODALIAS=pci:v%08Xd%08Xsv00000000sd00000000bc02sc80i00\n", v, d)}
		case "sdio":
			sources["files"] = map[string]string{"d/vendor": "0x" + vendor + "\n", "d/device": "0x" + device + "\n"}
			sources["id"] = map[string]string{"d/uevent": "SDIO_CLASS=00\nSDIO_ID=" + strings.ToUpper(tt.id) + "\n"}
			sources["modalias"] = map[string]string{"d/uevent": fmt.Sprintf("MODALIAS=sdio:c00v%04Xd%04X\n", v, d)}
		case "usb":
			sources["product"] = map[string]string{"d/uevent": fmt.Sprintf("DEVTYPE=usb_interface\nPRODUCT=%x/%x/0\n", v, d)}
			sources["modalias"] = map[string]string{"d/uevent": fmt.Sprintf("MODALIAS=usb:v%04Xp%04Xd0000dc00\n", v, d)}
			sources["parent"] = map[string]string{"idVendor": vendor + "\n", "idProduct": device + "\n"}
			sources["parent's product"] = map[string]string{"uevent": fmt.Sprintf("DEVTYPE=usb_device\nPRODUCT=%x/%x/0\n", v, d)}
		default:
			sources["first"] = map[string]string{"d/uevent": "OF_COMPATIBLE_0=" + tt.id + "\nOF_COMPATIBLE_N=1\n"}
			sources["second"] = map[string]string{"d/uevent": "OF_COMPATIBLE_0=acme,wifi\nOF_COMPATIBLE_1=" + tt.id + "\nOF_COMPATIBLE_N=2\n"}
			sources["modalias"] = map[string]string{"d/uevent": "MODALIAS=of:NwifiT(null)Cacme,wifiC" + tt.id + "\n"}
		}
		for source, files := range sources {
			chip := chipOf(build(t, files), "d", tt.bus)
			family, maxPending := ath10kFirmware(chip, tt.bus)
			if chip != tt.chip || family != tt.family || maxPending != tt.maxPending {
				t.Errorf("%s %s by %s: %q, %q, %d; want %q, %q, %d", tt.bus, tt.id, source,
					chip, family, maxPending, tt.chip, tt.family, tt.maxPending)
			}
		}
	}
}

// Real uevent files.
func TestUeventSamples(t *testing.T) {
	want := map[string]string{
		"pci-qca9984":   "QCA9984",
		"pci-qca988x":   "QCA988X",
		"pci-ubnt-988x": "QCA988X",
		"sdio-qca9377":  "QCA9377",
		"ahb-ipq4019":   "QCA4019",
		"snoc-wcn3990":  "WCN3990",
	}
	got := map[string]string{}
	files, err := os.ReadDir("testdata/uevent")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join("testdata/uevent", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		bus, _, _ := strings.Cut(f.Name(), "-")
		got[f.Name()] = chipOf(build(t, map[string]string{"d/uevent": string(b)}), "d", bus)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("chips (-want +got):\n%s", diff)
	}
}

func TestDriverOf(t *testing.T) {
	tests := map[string]driver{
		"ath10k_pci":       {StackMAC80211, napiNameless},
		"ath10k_usb":       {StackMAC80211, napiNameless},
		"ath11k":           {StackMAC80211, napiNameless},
		"ath11k_pci":       {StackMAC80211, napiNameless},
		"ath12k_wifi7_pci": {StackMAC80211, napiNameless},
		"iwlwifi":          {StackMAC80211, napiNameless},
		"rtw_8822ce":       {StackMAC80211, napiNameless},
		"rtw89_8852ae":     {StackMAC80211, napiNameless},
		"mt7603e":          {StackMAC80211, napiPhyNamed},
		"mt76x0e":          {StackMAC80211, napiPhyNamed},
		"mt76x2u":          {StackMAC80211, napiPhyNamed},
		"mt7615e":          {StackMAC80211, napiPhyNamed},
		"mt7663u":          {StackMAC80211, napiPhyNamed},
		"mt7915e":          {StackMAC80211, napiPhyNamed},
		"mt7921u":          {StackMAC80211, napiPhyNamed},
		"mt7925e":          {StackMAC80211, napiPhyNamed},
		"mt7996e":          {StackMAC80211, napiPhyNamed},
		"mt76_wmac":        {StackMAC80211, napiPhyNamed},
		"mt7622-wmac":      {StackMAC80211, napiPhyNamed},
		"mt798x-wmac":      {StackMAC80211, napiPhyNamed},
		"ath9k":            {StackMAC80211, napiNone},
		"ath9k_htc":        {StackMAC80211, napiNone},
		"mac80211_hwsim":   {StackMAC80211, napiNone},
		"b43":              {StackMAC80211, napiNone},
		"brcmsmac":         {StackMAC80211, napiNone},
		"rt2800usb":        {StackMAC80211, napiNone},
		"wl18xx_driver":    {StackMAC80211, napiNone},
		"brcmfmac":         {StackFullMAC, napiNone},
		"mwifiex_pcie":     {StackFullMAC, napiNone},
		"ath10k":           {},
		"iwlwifi2":         {},
		"acme_wlan":        {},
		"*":                {},
		"":                 {},
	}
	for name, want := range tests {
		if got := driverOf(name); got != want {
			t.Errorf("driverOf(%q) = %v, want %v", name, got, want)
		}
	}
}

func FuzzUevent(f *testing.F) {
	files, err := filepath.Glob("testdata/uevent/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no samples: ", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add("PRODUCT=13b1/42/0\nMODALIAS=usb:v13B1p0042d0000dc00dsc00dp00icFFiscFFipFFin00\n")
	f.Add("MODALIAS=of:C\nPCI_ID=:\nSDIO_ID=\nPRODUCT=//\n=\n==\n")
	f.Fuzz(func(t *testing.T, s string) {
		m := parseUevent(s)
		for key, value := range m {
			if !strings.Contains(s, key+"="+value) {
				t.Errorf("%q=%q is not in %q", key, value, s)
			}
		}
		if n := len(compatibles(m)); n > strings.Count(s, "C")+1 {
			t.Errorf("%d compatibles in %q", n, s)
		}
		// A chip is only ever told by an id that stands in the text.
		sys := oneFile{"d/uevent", s}
		for bus, chips := range map[string]map[deviceID]string{"pci": pciChips, "sdio": sdioChips, "usb": usbChips} {
			chip, stands := chipOf(sys, "d", bus), false
			for id, c := range chips {
				up := strings.ToUpper(s)
				stands = stands || c == chip && strings.Contains(up, fmt.Sprintf("%X", id.vendor)) && strings.Contains(up, fmt.Sprintf("%X", id.device))
			}
			if chip != "" && !stands {
				t.Errorf("%s chip %s out of %q", bus, chip, s)
			}
		}
		if chip := chipOf(sys, "d", "ahb"); chip != "" && !strings.Contains(s, "qcom,") {
			t.Errorf("chip %s out of %q", chip, s)
		}
	})
}

func FuzzModalias(f *testing.F) {
	f.Add("pci:v0000168Cd0000003Csv00000000sd00000000bc02sc80i00")
	f.Add("sdio:c00v0271d0701")
	f.Add("usb:v13B1p0042d0000dc00dsc00dp00icFFiscFFipFFin00")
	f.Add("of:NwifiT(null)Cqcom,ipq4019-wifi")
	f.Add("pci:v")
	f.Fuzz(func(t *testing.T, s string) {
		id := modaliasID(s)
		if id == (deviceID{}) {
			return
		}
		up := strings.ToUpper(s)
		for _, n := range []uint16{id.vendor, id.device} {
			if !strings.Contains(up, fmt.Sprintf("%04X", n)) {
				t.Errorf("modaliasID(%q) = %04x:%04x", s, id.vendor, id.device)
			}
		}
	})
}

// oneFile is a tree with a single file in it.
type oneFile struct{ name, text string }

func (o oneFile) Open(name string) (tree.File, error) {
	if name != o.name {
		return nil, os.ErrNotExist
	}
	return openText(o.text), nil
}
func (o oneFile) Write(string, []byte) error      { return os.ErrPermission }
func (o oneFile) List(string) ([]string, error)   { return nil, os.ErrNotExist }
func (o oneFile) Readlink(string) (string, error) { return "", os.ErrNotExist }
func (o oneFile) String() string                  { return "one" }

type openText string

func (s openText) ReadFresh(p []byte) (int, error) { return copy(p, s), nil }
func (s openText) Close() error                    { return nil }
