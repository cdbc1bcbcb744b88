//go:build bpf

package main

import (
	"airtuned/bpf"
	"airtuned/tree"
)

func init() {
	withBPF = func(sys string, debug tree.FS) tree.FS { return bpf.NewOverlay(sys, debug) }
}
