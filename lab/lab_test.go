// SPDX-License-Identifier: Apache-2.0

//go:build lab

// Package lab boots a real kernel and runs the real airtuned in it: see
// README.md. It needs the kernels that kernel/build.sh makes.
package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLab runs each test of lab/inside in a kernel of its own, so that none
// depends on what another left behind.
func TestLab(t *testing.T) {
	kernels := kernels(t)
	programs := t.TempDir()
	inside := filepath.Join(programs, "inside.test")
	build(t, inside, "test", "-c", "-tags", "lab", "airtuned/lab/inside")
	build(t, filepath.Join(programs, "airtuned"), "build", "-trimpath", "-buildvcs=false", "airtuned/cmd/airtuned")

	names, err := exec.Command(inside, "-test.list", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(names)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kernel := "linux"
			if strings.HasPrefix(name, "TestNoDebugfs") {
				kernel = "linux-nodebugfs"
			}
			r := boot(t, filepath.Join(kernels, kernel), programs, name)
			t.Logf("\n%s", r.output)
			switch {
			case strings.Contains(r.output, "\n--- SKIP: "+name):
				t.SkipNow()
			case strings.HasSuffix(r.output, "\nFAIL\n"):
				t.Fail()
			case !strings.HasSuffix(r.output, "\nPASS\n"):
				t.Errorf("the test did not come to its end; the kernel %s and said:\n%s", r.end, r.console)
			}
		})
	}
}

// kernels is the folder that kernel/build.sh keeps its kernels in.
func kernels(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("kernel/build.sh", "--path")
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return strings.TrimSpace(string(out))
}

// build runs the go command to make a static program.
func build(t *testing.T, program, verb string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{verb, "-o", program}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
}
