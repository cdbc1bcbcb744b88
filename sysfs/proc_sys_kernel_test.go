package sysfs

import (
	"testing"

	"airtuned/tree"
)

func TestKernel(t *testing.T) {
	proc := fixture("wcn3990-snoc", "proc")
	if got := KernelRelease(proc); got != "6.12.117" {
		t.Errorf("KernelRelease = %q", got)
	}
	if got := BootID(proc); got != "6f3f5d0e-3c1b-4f6e-9d57-2b8a5c1e7a40" {
		t.Errorf("BootID = %q", got)
	}
	if got := BootID(tree.Dir("/nonexistent")); got != "" {
		t.Errorf("BootID of nothing = %q", got)
	}
}
