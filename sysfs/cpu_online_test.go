package sysfs

import (
	"testing"

	"airtuned/tree"
)

func TestCPUs(t *testing.T) {
	tests := []struct {
		online, cpuinfo string
		want            int
	}{
		{"0\n", "", 1},
		{"0-1\n", "processor\t: 0\n", 2},
		{"0-3,5,8-9\n", "", 7},
		{"", "processor\t: 0\nmodel name\t: processor\n\nprocessor\t: 1\n", 2},
		{"", "system type\t\t: MT7621\nprocessor\t\t: 0\nprocessor\t\t: 1\n", 2},
		{"garbage", "processor\t: 0\n", 1},
		{"3-1\n", "processor\t: 0\n", 1},
		{"0-99999999999\n", "processor\t: 0\n", 1},
		{"", "", 0},
		{"", "no such thing\n", 0},
	}
	for _, tt := range tests {
		sys := build(t, map[string]string{"devices/system/cpu/online": tt.online})
		proc := build(t, map[string]string{"cpuinfo": tt.cpuinfo})
		if got := CPUs(sys, proc); got != tt.want {
			t.Errorf("CPUs of %q, %q = %d, want %d", tt.online, tt.cpuinfo, got, tt.want)
		}
	}
	if got := CPUs(tree.Dir("/nonexistent"), tree.Dir("/nonexistent")); got != 0 {
		t.Errorf("CPUs of nothing = %d, want 0", got)
	}
}
