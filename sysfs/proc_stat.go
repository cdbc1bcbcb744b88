package sysfs

import (
	"bytes"
	"errors"
	"fmt"
)

// CPUTimes is how long one CPU has been at what since boot, in ticks of
// USER_HZ, 10 ms. Guests are in User and Nice already.
type CPUTimes struct {
	CPU                                                   int
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal uint64
}

// Total is all of it.
func (t CPUTimes) Total() uint64 {
	return t.User + t.Nice + t.System + t.Idle + t.IOWait + t.IRQ + t.SoftIRQ + t.Steal
}

var errNoCPUs = errors.New("no line of a CPU")

// ParseStat reads the lines of single CPUs of /proc/stat into dst, whose
// memory it reuses. CPUs that are offline have none. What follows the CPUs may
// be cut off.
//
// Source: /proc/stat, fs/proc/stat.c, show_stat: "cpu0 7 0 5 900 3 1 2 0 0 0".
func ParseStat(dst []CPUTimes, b []byte) ([]CPUTimes, error) {
	dst = dst[:0]
	for len(b) > 0 {
		line := b
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			break // cut off
		}
		line, b = b[:end], b[end+1:]
		name, line := cutField(line)
		id, isCPU := bytes.CutPrefix(name, []byte("cpu"))
		if !isCPU {
			if len(dst) > 0 {
				break
			}
			continue
		}
		if len(id) == 0 {
			continue // the sum of all
		}
		n, ok := number(id)
		if !ok || n >= maxCPU {
			return dst, fmt.Errorf("stat: not a CPU: %q", name)
		}
		t := CPUTimes{CPU: int(n)}
		for i, f := range [...]*uint64{&t.User, &t.Nice, &t.System, &t.Idle, &t.IOWait, &t.IRQ, &t.SoftIRQ, &t.Steal} {
			var word []byte
			word, line = cutField(line)
			if len(word) == 0 && i > 3 {
				break // kernels before 2.6.11 have fewer
			}
			if *f, ok = number(word); !ok {
				return dst, fmt.Errorf("stat: %s: not a number: %q", name, word)
			}
		}
		dst = append(dst, t)
	}
	if len(dst) == 0 {
		return dst, fmt.Errorf("stat: %w", errNoCPUs)
	}
	return dst, nil
}

// cutField cuts the first word off a line.
func cutField(line []byte) (word, rest []byte) {
	line = bytes.TrimLeft(line, " \t")
	if i := bytes.IndexAny(line, " \t"); i >= 0 {
		return line[:i], line[i:]
	}
	return line, nil
}

// number reads a decimal number without allocating.
func number(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		d := uint64(c - '0')
		if c < '0' || c > '9' || n > (1<<64-1-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}
