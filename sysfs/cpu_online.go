package sysfs

import (
	"strings"

	"airtuned/tree"
)

// CPUs is the number of CPUs online, 0 when it cannot be known.
func CPUs(sys, proc tree.FS) int {
	if cpus, err := ParseCPUList(text(sys, "devices/system/cpu/online")); err == nil && len(cpus) > 0 {
		return len(cpus)
	}
	n := 0
	for line := range strings.Lines(text(proc, "cpuinfo")) {
		if key, _, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "processor" {
			n++
		}
	}
	return n
}
