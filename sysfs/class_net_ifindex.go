package sysfs

import (
	"fmt"
	"strconv"

	"airtuned/tree"
)

// IfIndex is the kernel's number of a netdev, by which events name it.
//
// Source: /sys/class/net/<netdev>/ifindex, net/core/net-sysfs.c.
func IfIndex(sys tree.FS, iface string) (int, error) {
	name, err := netdevFile(iface, "ifindex")
	if err != nil {
		return 0, err
	}
	s, err := tree.ReadString(sys, name)
	if err != nil {
		return 0, fmt.Errorf("read the index of a netdev: %w", err)
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("read the index of a netdev: %s: not a number: %q", tree.Join(sys, name), s)
	}
	return int(n), nil
}
