package sysfs

import (
	"strconv"
	"strings"
)

// parseUevent reads a device's uevent file: KEY=value lines. Lines of any
// other form are passed over.
func parseUevent(s string) map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(s) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "="); ok {
			m[key] = value
		}
	}
	return m
}

// pairID reads an id whose first two fields are vendor and device in
// hexadecimal, of any width: PCI_ID=168C:0046, SDIO_ID=0271:0701,
// PRODUCT=13b1/42/0. It is zero for anything else.
func pairID(s, sep string) deviceID {
	vendor, rest, _ := strings.Cut(s, sep)
	device, _, _ := strings.Cut(rest, sep)
	return hexID(vendor, device)
}

// modaliasID reads the vendor and device of a modalias of a PCI
// (pci:v0000168Cd00000046sv...), SDIO (sdio:c00v0271d0701) or USB device
// (usb:v13B1p0042d...), the fields being of fixed width
// (scripts/mod/file2alias.c). It is zero for anything else.
func modaliasID(s string) deviceID {
	bus, fields, _ := strings.Cut(s, ":")
	switch {
	case bus == "pci" && len(fields) >= 18 && fields[0] == 'v' && fields[9] == 'd':
		return hexID(fields[1:9], fields[10:18])
	case bus == "sdio" && len(fields) >= 13 && fields[0] == 'c' && fields[3] == 'v' && fields[8] == 'd':
		return hexID(fields[4:8], fields[9:13])
	case bus == "usb" && len(fields) >= 10 && fields[0] == 'v' && fields[5] == 'p':
		return hexID(fields[1:5], fields[6:10])
	}
	return deviceID{}
}

// hexID reads a vendor and a device number in hexadecimal. It is zero unless
// both are numbers of 16 bits.
func hexID(vendor, device string) deviceID {
	v, err := strconv.ParseUint(vendor, 16, 16)
	if err != nil {
		return deviceID{}
	}
	d, err := strconv.ParseUint(device, 16, 16)
	if err != nil {
		return deviceID{}
	}
	return deviceID{uint16(v), uint16(d)}
}
