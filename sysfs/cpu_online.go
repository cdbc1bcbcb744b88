package sysfs

import (
	"strconv"
	"strings"

	"airtuned/tree"
)

// CPUs is the number of CPUs online, 0 when it cannot be known.
func CPUs(sys, proc tree.FS) int {
	if n := countCPUList(text(sys, "devices/system/cpu/online")); n > 0 {
		return n
	}
	n := 0
	for line := range strings.Lines(text(proc, "cpuinfo")) {
		if key, _, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "processor" {
			n++
		}
	}
	return n
}

// countCPUList counts the CPUs of a list like "0-3,5" (lib/bitmap-str.c,
// bitmap_parselist); 0 means it is none.
func countCPUList(s string) int {
	const maxCPUs = 1 << 16
	n := 0
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 16)
		b, errB := strconv.ParseUint(last, 10, 16)
		if errA != nil || errB != nil || b < a {
			return 0
		}
		if n += int(b-a) + 1; n > maxCPUs {
			return 0
		}
	}
	return n
}
