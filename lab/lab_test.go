// SPDX-License-Identifier: Apache-2.0

//go:build lab

// Package lab boots a real kernel and runs the real airtuned in it: see
// README.md. It needs the kernels that kernel/build.sh makes.
package lab

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var only = flag.String("inside", "", "run only the tests of lab/inside that match this regular `expression`")

// TestLab runs the tests of lab/inside, one boot for each kernel, and reports
// them as subtests.
func TestLab(t *testing.T) {
	programs := t.TempDir()
	build(t, filepath.Join(programs, "inside.test"), "test", "-c", "-tags", "lab", "airtuned/lab/inside")
	build(t, filepath.Join(programs, "airtuned"), "build", "-trimpath", "-buildvcs=false", "airtuned/cmd/airtuned")

	for _, b := range []struct{ name, kernel, tests string }{
		// On a kernel with all of mac80211's files.
		{"debugfs", "linux", "^Test(Kernel|Airtuned)"},
		// On one as Debian builds it.
		{"no-debugfs", "linux-nodebugfs", "^TestNoDebugfs"},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			if *only != "" {
				b.tests = *only
			}
			report(t, boot(t, b.kernel, programs, b.tests))
		})
	}
}

// build runs the go command to make a static program.
func build(t *testing.T, program, verb string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{verb, "-o", program}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
