package sysfs

import (
	"fmt"
	"io/fs"
	"strings"

	"airtuned/tree"
)

// ReceiveQueues lists a netdev's receive queues: "rx-0", ...
func ReceiveQueues(sys tree.FS, iface string) ([]string, error) {
	dir, err := netdevFile(iface, "queues")
	if err != nil {
		return nil, err
	}
	names, err := sys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list receive queues: %w", err)
	}
	rx := names[:0]
	for _, n := range names {
		if strings.HasPrefix(n, "rx-") {
			rx = append(rx, n)
		}
	}
	return rx, nil
}

// RPS is the set of CPUs that packets of a receive queue are spread over after
// the driver; the empty set, which is the default, leaves them where they are.
//
// Source: /sys/class/net/<netdev>/queues/rx-<n>/rps_cpus, net/core/net-sysfs.c,
// show_rps_map.
func RPS(sys tree.FS, iface, queue string) ([]int, error) {
	name, err := rpsFile(iface, queue)
	if err != nil {
		return nil, err
	}
	s, err := tree.ReadString(sys, name)
	if err != nil {
		return nil, fmt.Errorf("read RPS: %w", err)
	}
	cpus, err := ParseCPUMask(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tree.Join(sys, name), err)
	}
	return cpus, nil
}

// SetRPS changes that set.
func SetRPS(sys tree.FS, iface, queue string, cpus []int) error {
	name, err := rpsFile(iface, queue)
	if err != nil {
		return err
	}
	if err := sys.Write(name, []byte(FormatCPUMask(cpus))); err != nil {
		return fmt.Errorf("set RPS: %w", err)
	}
	return nil
}

func rpsFile(iface, queue string) (string, error) {
	if !strings.HasPrefix(queue, "rx-") || strings.ContainsAny(queue, "/.") {
		return "", fmt.Errorf("receive queue %q: %w", queue, fs.ErrInvalid)
	}
	return netdevFile(iface, "queues/"+queue+"/rps_cpus")
}
