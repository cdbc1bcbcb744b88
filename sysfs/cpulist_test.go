package sysfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCPUList(t *testing.T) {
	for s, want := range map[string][]int{
		"":           nil,
		"\n":         nil,
		"0\n":        {0},
		"0-3,5,8-9":  {0, 1, 2, 3, 5, 8, 9},
		"1,2":        {1, 2},
		"1000,16383": {1000, 16383},
	} {
		got, err := ParseCPUList(s)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", s, err, diff)
		}
	}
	for _, s := range []string{"-", ",", "3-1", "0,0", "5,1", "16384", "0-99999999999", "a", "0-", "1 2"} {
		if got, err := ParseCPUList(s); err == nil {
			t.Errorf("%q: got %v", s, got)
		}
	}
	if got := FormatCPUList([]int{0, 1, 2, 3, 5, 8, 9}); got != "0-3,5,8-9" {
		t.Errorf("formatted as %q", got)
	}
}

func TestCPUMask(t *testing.T) {
	for s, want := range map[string][]int{
		"0\n":                 nil,
		"3\n":                 {0, 1},
		"a":                   {1, 3},
		"00000000,00000000":   nil,
		"00000001,80000002":   {1, 31, 32},
		"1,00000000,00000000": {64},
	} {
		got, err := ParseCPUMask(s)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", s, err, diff)
		}
	}
	for _, s := range []string{"", "\n", ",", "0x3", "g", "-1"} {
		if got, err := ParseCPUMask(s); err == nil {
			t.Errorf("%q: got %v", s, got)
		}
	}
	for want, cpus := range map[string][]int{"0": nil, "2": {1}, "1,80000002": {1, 31, 32}} {
		if got := FormatCPUMask(cpus); got != want {
			t.Errorf("%v: formatted as %q, want %q", cpus, got, want)
		}
	}
}

func FuzzCPUList(f *testing.F) {
	for _, s := range []string{"0", "0-3", "0-3,5,8-9", "", "-", ",", "5-2", "0-65535,0-65535", "4294967296"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := ParseCPUList(s)
		if err != nil {
			return
		}
		again, err := ParseCPUList(FormatCPUList(cpus))
		if diff := cmp.Diff(cpus, again); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", s, err, diff)
		}
	})
}

func FuzzCPUMask(f *testing.F) {
	for _, s := range []string{"0", "3\n", "00000001,80000002", "", ",", "ffffffff,ffffffff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := ParseCPUMask(s)
		if err != nil {
			return
		}
		again, err := ParseCPUMask(FormatCPUMask(cpus))
		if diff := cmp.Diff(cpus, again); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", s, err, diff)
		}
	})
}
