package sysfs

import (
	"fmt"
	"strconv"
	"strings"

	"airtuned/tree"
)

// SoftnetStat is what one CPU's receive path has done since boot. The counters
// wrap at 2^32.
type SoftnetStat struct {
	CPU int
	// Processed counts packets, Dropped those for which its backlog (RPS) was
	// full, TimeSqueeze how often it ran out of budget or time with work left.
	Processed, Dropped, TimeSqueeze uint32
}

// ParseSoftnetStat reads /proc/net/softnet_stat. Before Linux 5.10 rows do not
// say whose they are: the online CPUs' then, in order.
//
// Source: net/core/net-procfs.c, softnet_seq_show: hexadecimal columns, the
// 13th of which is the CPU.
func ParseSoftnetStat(s string) ([]SoftnetStat, error) {
	var stats []SoftnetStat
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) < 3 {
			return nil, fmt.Errorf("softnet_stat: too few columns: %q", line)
		}
		var n [13]uint32
		for i, word := range f[:min(len(f), len(n))] {
			v, err := strconv.ParseUint(word, 16, 32)
			if err != nil {
				return nil, fmt.Errorf("softnet_stat: not a number: %q", word)
			}
			n[i] = uint32(v)
		}
		cpu := len(stats)
		if len(f) >= len(n) {
			cpu = int(n[12])
		}
		if cpu < 0 || cpu >= maxCPU {
			return nil, fmt.Errorf("softnet_stat: not a CPU: %q", line)
		}
		stats = append(stats, SoftnetStat{cpu, n[0], n[1], n[2]})
	}
	return stats, nil
}

// ReadSoftnetStat is ParseSoftnetStat on the file.
func ReadSoftnetStat(proc tree.FS) ([]SoftnetStat, error) {
	b, err := tree.Read(proc, "net/softnet_stat")
	if err != nil {
		return nil, err
	}
	return ParseSoftnetStat(string(b))
}
