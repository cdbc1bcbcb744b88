package sysfs

import (
	"fmt"
	"strings"

	"airtuned/tree"
)

// Uppers lists the netdevs right above one: the bridge it is a port of, its VLANs.
//
// Source: /sys/class/net/<netdev>/upper_<name>, net/core/dev.c,
// netdev_adjacent_sysfs_add.
func Uppers(sys tree.FS, iface string) ([]string, error) { return adjacent(sys, iface, "upper_") }

// Lowers lists the netdevs right below one: the ports of a bridge.
//
// Source: /sys/class/net/<netdev>/lower_<name>, as for Uppers.
func Lowers(sys tree.FS, iface string) ([]string, error) { return adjacent(sys, iface, "lower_") }

func adjacent(sys tree.FS, iface, prefix string) ([]string, error) {
	dir, err := netdevFile(iface, ".")
	if err != nil {
		return nil, err
	}
	all, err := sys.List(strings.TrimSuffix(dir, "/."))
	if err != nil {
		return nil, fmt.Errorf("list what is above or below a netdev: %w", err)
	}
	var names []string
	for _, n := range all {
		if name, ok := strings.CutPrefix(n, prefix); ok && NetdevName(name) {
			names = append(names, name)
		}
	}
	return names, nil
}
