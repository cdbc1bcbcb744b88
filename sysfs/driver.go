package sysfs

import (
	"path"
	"strings"

	"airtuned/tree"
)

// Stack is what a wireless driver is built on, which decides whether there is
// anything of mac80211 to tune.
type Stack string

const (
	StackUnknown  Stack = ""
	StackMAC80211 Stack = "mac80211"
	StackFullMAC  Stack = "fullmac" // firmware does mac80211's work
)

// napiHome says which netdev a driver registers its NAPI with.
type napiHome int

const (
	napiUnknown  napiHome = iota // trying is the only way to know
	napiNameless                 // a hidden netdev, named like all such
	napiPhyNamed                 // a hidden netdev that bears the wiphy's name
	napiNone                     // the driver uses no NAPI
)

type driver struct {
	stack Stack
	napi  napiHome
}

// drivers is what drivers/net/wireless shows about its drivers: which call
// ieee80211_register_hw, and what they hand to netif_napi_add. A name that
// ends in "*" stands for all that begin so.
var drivers = []struct {
	names string
	driver
}{
	{"ath10k_pci ath10k_ahb ath10k_snoc ath10k_sdio ath10k_usb ath11k* ath12k* iwlwifi rtw_8* rtw88_* rtw89_*",
		driver{StackMAC80211, napiNameless}},
	// mt76/dma.c, mt76_dma_init.
	{"mt76x* mt76_wmac mt7603e mt7615e mt7622-wmac mt7663* mt7915e mt7921* mt7925* mt798* mt7996e",
		driver{StackMAC80211, napiPhyNamed}},
	{"ath9k ath9k_htc ath5k ar231x-wmac carl9170 wcn36xx mac80211_hwsim b43* brcmsmac iwl3945 iwl4965 " +
		"mt7601u rt2* rt61pci rt73usb rtl818* rtl819* rtl8723ae rtl8723be rtl8821ae rtl8xxxu wl1*",
		driver{StackMAC80211, napiNone}},
	{"brcmfmac* mwifiex* ath6kl_* wilc1000*", driver{StackFullMAC, napiNone}},
	{"qtnfmac_* wil6210", driver{StackFullMAC, napiNameless}},
}

// driverOf looks a driver up by name. The zero driver is one not known.
func driverOf(name string) driver {
	for _, d := range drivers {
		for pattern := range strings.FieldsSeq(d.names) {
			prefix, open := strings.CutSuffix(pattern, "*")
			if pattern == name || open && strings.HasPrefix(name, prefix) {
				return d.driver
			}
		}
	}
	return driver{}
}

// boundDriver is the name of the driver bound to a device. The link is there
// whenever a driver is; trees that were copied without links have the uevent.
func boundDriver(sys tree.FS, dev string) string {
	if name := linkBase(sys, dev+"/driver"); name != "" {
		return name
	}
	return parseUevent(text(sys, dev+"/uevent"))["DRIVER"]
}

// busOf names the bus a device sits on. The two ath10k has of its own are
// platform devices to the kernel.
func busOf(sys tree.FS, dev, driver string) string {
	switch driver {
	case "ath10k_ahb":
		return "ahb"
	case "ath10k_snoc":
		return "snoc"
	}
	bus := linkBase(sys, dev+"/subsystem")
	if bus == "" { // .../bus/BUS/drivers/DRIVER tells it too
		target, _ := sys.Readlink(dev + "/driver")
		bus = path.Base(path.Dir(path.Dir(target)))
	}
	if bus == "" || bus == "." { // and so does the alias a module is loaded by
		alias := parseUevent(text(sys, dev+"/uevent"))["MODALIAS"]
		bus, _, _ = strings.Cut(alias, ":")
		if bus == "of" {
			bus = "platform"
		}
	}
	switch bus {
	case "pci", "usb", "sdio", "platform":
		return bus
	}
	return "other"
}
