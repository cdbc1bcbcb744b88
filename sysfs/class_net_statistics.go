package sysfs

import (
	"fmt"
	"path"
	"strconv"

	"airtuned/tree"
)

// Traffic is what a netdev has passed since it was made, in bytes.
type Traffic struct{ RxBytes, TxBytes uint64 }

// ReadTraffic reads a netdev's counters.
//
// Source: /sys/class/net/<netdev>/statistics, net/core/net-sysfs.c.
func ReadTraffic(sys tree.FS, iface string) (t Traffic, err error) {
	for file, n := range map[string]*uint64{"rx_bytes": &t.RxBytes, "tx_bytes": &t.TxBytes} {
		name, err := netdevFile(iface, "statistics/"+file)
		if err != nil {
			return t, err
		}
		s, err := tree.ReadString(sys, name)
		if err == nil {
			*n, err = strconv.ParseUint(s, 10, 64)
		}
		if err != nil {
			return t, fmt.Errorf("read the traffic of %s: %w", iface, err)
		}
	}
	return t, nil
}

// NetdevIRQs lists the interrupts of a netdev's device, sorted, as far as sysfs
// tells: on PCI, and where the device's parent is on it, as of virtio. There
// are none for virtual netdevs.
func NetdevIRQs(sys tree.FS, iface string) []int {
	name, err := netdevFile(iface, "device")
	if err != nil {
		return nil
	}
	dev, err := resolve(sys, name)
	if err != nil {
		return nil
	}
	if own := irqs(sys, dev); own != nil {
		return own
	}
	if linkBase(sys, dev+"/subsystem") == "virtio" {
		return irqs(sys, path.Dir(dev))
	}
	return nil
}
