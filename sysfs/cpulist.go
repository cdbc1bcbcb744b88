package sysfs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU is more than any kernel is built for (NR_CPUS).
const maxCPU = 1 << 14

var errCPUs = errors.New("not a set of CPUs")

// ParseCPUList reads a list of CPUs like "0-3,5", rising and without doubles;
// an empty one is the empty list (lib/vsprintf.c, bitmap_list_string).
func ParseCPUList(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	var cpus []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 16)
		b, errB := strconv.ParseUint(last, 10, 16)
		if errA != nil || errB != nil || b < a || b >= maxCPU || len(cpus) > 0 && int(a) <= cpus[len(cpus)-1] {
			return nil, fmt.Errorf("%w: %q", errCPUs, s)
		}
		for c := int(a); c <= int(b); c++ {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// FormatCPUList is the list as ParseCPUList reads it. The CPUs must rise.
func FormatCPUList(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); i++ {
		first := i
		for i+1 < len(cpus) && cpus[i+1] == cpus[i]+1 {
			i++
		}
		if first > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[first]))
		if i > first {
			b.WriteString("-" + strconv.Itoa(cpus[i]))
		}
	}
	return b.String()
}

// ParseCPUMask reads a mask of CPUs, hexadecimal in groups of 32 bits like
// "00000001,00000003" (lib/vsprintf.c, bitmap_string). CPUs rise.
func ParseCPUMask(s string) ([]int, error) {
	digits := strings.ReplaceAll(strings.TrimSpace(s), ",", "")
	if digits == "" || len(digits) > maxCPU/4 {
		return nil, fmt.Errorf("%w: mask %q", errCPUs, s)
	}
	var cpus []int
	for i := len(digits) - 1; i >= 0; i-- {
		v, err := strconv.ParseUint(digits[i:i+1], 16, 8)
		if err != nil {
			return nil, fmt.Errorf("%w: mask %q", errCPUs, s)
		}
		for bit := range 4 {
			if v&(1<<bit) != 0 {
				cpus = append(cpus, (len(digits)-1-i)*4+bit)
			}
		}
	}
	return cpus, nil
}

// FormatCPUMask is the mask as ParseCPUMask reads it and the kernel takes it.
func FormatCPUMask(cpus []int) string {
	if len(cpus) == 0 {
		return "0"
	}
	words := make([]uint32, slices.Max(cpus)/32+1)
	for _, c := range cpus {
		words[c/32] |= 1 << (c % 32)
	}
	s := strconv.FormatUint(uint64(words[len(words)-1]), 16)
	for i := len(words) - 2; i >= 0; i-- {
		s += fmt.Sprintf(",%08x", words[i])
	}
	return s
}
