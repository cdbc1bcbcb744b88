// SPDX-License-Identifier: Apache-2.0

//go:build lab

// Package lab boots a real kernel and runs the real airtuned in it: see
// README.md. It needs the kernels that kernel/build.sh makes.
package lab

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtuned/lab/uml"
)

// realTime is how long a boot and its test may take: a tenth of it on a machine that
// does nothing else.
const realTime = 5 * time.Minute

// soak is how long TestEmulatedSoak lasts; zero: as long as it says.
var soak = flag.Duration("soak", 0, "how long TestEmulatedSoak lasts, in virtual time")

// virtualTime is how long a test may take inside, to have one that hangs tell
// where it hangs.
const virtualTime = 3 * time.Hour

// TestLab runs each test of lab/inside in a kernel of its own, so that none
// depends on what another left behind.
func TestLab(t *testing.T) {
	kernels, err := uml.Kernels()
	if err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	inside := filepath.Join(programs, "inside.test")
	if err := uml.Build(inside, "test", "-c", "-tags", "lab", "airtuned/lab/inside"); err != nil {
		t.Fatal(err)
	}
	if err := uml.Build(filepath.Join(programs, "airtuned"), "build", "-trimpath", "-buildvcs=false", "airtuned/cmd/airtuned"); err != nil {
		t.Fatal(err)
	}

	names, err := exec.Command(inside, "-test.list", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(names)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The names say what kernel and which radios they are for.
			kernel, hwsim := "linux", "2"
			switch {
			case strings.HasPrefix(name, "TestNoDebugfs"):
				kernel = "linux-nodebugfs"
			case strings.HasPrefix(name, "TestEmulated"):
				hwsim = "0"
			case strings.HasPrefix(name, "TestStock"):
				kernel, hwsim = "linux-stock", "0"
			case strings.HasPrefix(name, "TestPatched"):
				kernel, hwsim = "linux-patched", "0"
			}
			output, end := boot(t, filepath.Join(kernels, kernel), programs, name, hwsim)
			t.Logf("\n%s", output)
			switch {
			case strings.Contains(output, "\n--- SKIP: "+name):
				t.SkipNow()
			case strings.HasSuffix(output, "\nFAIL\n"):
				t.Fail()
			case !strings.HasSuffix(output, "\nPASS\n"):
				t.Errorf("the test did not come to its end; the kernel %s and said:\n%s", end.How, end.Console)
			}
		})
	}
}

// boot runs a test of package inside, in a kernel of its own, and returns what
// it printed. The folder of programs must hold inside.test and airtuned.
func boot(t *testing.T, kernel, programs, test, hwsim string) (string, uml.End) {
	t.Helper()
	dir := t.TempDir()
	for _, program := range []string{"inside.test", "airtuned"} {
		if err := uml.Place(filepath.Join(programs, program), dir); err != nil {
			t.Fatal(err)
		}
	}
	args, patience := []string{"-test.v", "-test.run=^" + test + "$", "-test.timeout=" + (virtualTime + 2**soak).String()}, realTime
	if *soak > 0 {
		args, patience = append(args, "-soak="+soak.String()), 3*time.Hour
	}
	end, err := uml.Machine{
		Kernel: kernel, Dir: dir, Memory: "1G", Seed: 1, RealTime: patience,
		Init:   "inside.test",
		Args:   args,
		Params: []string{"mac80211_hwsim.radios=" + hwsim},
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	output, err := os.ReadFile(filepath.Join(dir, "output"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(output), end
}
