package sysfs

import (
	"path"
	"strconv"
	"strings"

	"airtuned/tree"
)

// deviceID is a vendor's number of a device, unique on one kind of bus.
type deviceID struct{ vendor, device uint16 }

// The chips of ath10k by id (ath10k/pci.c, sdio.c, usb.c). An id that is in
// none of the tables is an unknown chip and never guessed at; other drivers'
// chips make no difference to how they are tuned and have no name here.
var (
	pciChips = map[deviceID]string{
		{0x0777, 0x11ac}: "QCA988X", // Ubiquiti's own id
		{0x168c, 0x003c}: "QCA988X",
		{0x168c, 0x003e}: "QCA6174",
		{0x168c, 0x0040}: "QCA99X0",
		{0x168c, 0x0041}: "QCA6164",
		{0x168c, 0x0042}: "QCA9377",
		{0x168c, 0x0046}: "QCA9984",
		{0x168c, 0x0050}: "QCA9887",
		{0x168c, 0x0056}: "QCA9888",
	}
	sdioChips = map[deviceID]string{
		{0x0271, 0x050a}: "QCA6174",
		{0x0271, 0x0701}: "QCA9377",
	}
	usbChips = map[deviceID]string{
		{0x13b1, 0x0042}: "QCA9377",
	}
	// compatibleChips are by device tree compatible (ath10k/ahb.c, snoc.c).
	compatibleChips = map[string]string{
		"qcom,ipq4019-wifi": "QCA4019",
		"qcom,wcn3990-wifi": "WCN3990",
	}
)

// chipOf names the chip of the device at path dev by what its bus says it is,
// "" when that is not known.
func chipOf(sys tree.FS, dev, bus string) string {
	uevent := parseUevent(text(sys, dev+"/uevent"))
	switch bus {
	case "pci":
		return chipByID(pciChips,
			fileID(sys, dev),
			pairID(uevent["PCI_ID"], ":"),
			modaliasID(uevent["MODALIAS"]))
	case "sdio":
		return chipByID(sdioChips,
			fileID(sys, dev),
			pairID(uevent["SDIO_ID"], ":"),
			modaliasID(uevent["MODALIAS"]))
	case "usb":
		// dev is an interface of the USB device, which is its parent.
		parent := path.Dir(dev)
		return chipByID(usbChips,
			pairID(uevent["PRODUCT"], "/"),
			modaliasID(uevent["MODALIAS"]),
			hexID(text(sys, parent+"/idVendor"), text(sys, parent+"/idProduct")),
			pairID(parseUevent(text(sys, parent+"/uevent"))["PRODUCT"], "/"))
	}
	for _, c := range compatibles(uevent) {
		if chip := compatibleChips[c]; chip != "" {
			return chip
		}
	}
	return ""
}

// fileID reads the files vendor and device, "0x168c\n", that PCI and SDIO
// devices have.
func fileID(sys tree.FS, dev string) deviceID {
	return hexID(strings.TrimPrefix(text(sys, dev+"/vendor"), "0x"), strings.TrimPrefix(text(sys, dev+"/device"), "0x"))
}

// chipByID asks the sources of an id in order; the first that has one decides.
func chipByID(chips map[deviceID]string, ids ...deviceID) string {
	for _, id := range ids {
		if id != (deviceID{}) {
			return chips[id]
		}
	}
	return ""
}

// ath10kFirmware is the firmware family of an ath10k chip and the default of
// max_num_pending_tx in frames that comes with it (ath10k/hw.h, TARGET_*; core.c,
// ath10k_core_init_firmware_features).
func ath10kFirmware(chip, bus string) (family string, maxPending int) {
	switch chip {
	case "QCA988X", "QCA9887":
		return "10.2.4", 1424
	case "QCA99X0", "QCA9984", "QCA9888", "QCA4019":
		return "10.4", 1424
	case "QCA6174", "QCA6164", "QCA9377", "WCN3990":
		if bus == "sdio" || bus == "usb" {
			return "tlv", 1024
		}
		return "tlv", 1056
	}
	return "", 0
}

// compatibles lists a device's device tree compatibles, from the most specific
// on (drivers/of/device.c, of_device_uevent).
func compatibles(uevent map[string]string) []string {
	var list []string
	for i := 0; ; i++ {
		c, ok := uevent["OF_COMPATIBLE_"+strconv.Itoa(i)]
		if !ok {
			break
		}
		list = append(list, c)
	}
	if list != nil {
		return list
	}
	// of:NwifiT(null)Cqcom,a-wifiCqcom,b-wifi: compatibles are in lower case.
	_, after, ok := strings.Cut(uevent["MODALIAS"], "C")
	if !ok || !strings.HasPrefix(uevent["MODALIAS"], "of:") {
		return nil
	}
	return strings.Split(after, "C")
}
