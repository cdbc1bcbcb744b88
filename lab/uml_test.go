// SPDX-License-Identifier: Apache-2.0

//go:build lab

package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bootTime is the real time that one boot and its tests may take. Virtual time
// cannot bound them: it stands still when a process spins.
const bootTime = 5 * time.Minute

// insideTime is the virtual time they may take, to have a hanging test tell
// where it hangs.
const insideTime = 6 * time.Hour

// ran is what is left of a boot.
type ran struct {
	output  []byte // of the tests inside
	console []byte // of the kernel
	how     string // it ended
}

// boot runs those tests of package inside that match in a kernel of their own.
// The folder of programs must hold inside.test and airtuned.
func boot(t *testing.T, kernel, programs, tests string) ran {
	// The current directory is all the kernel and the tests know of where they
	// are. The command line, which is the same in each run so that runs can be
	// the same, reaches it through the host's /proc.
	dir := t.TempDir()
	for _, program := range []string{"inside.test", "airtuned"} {
		if err := os.Link(filepath.Join(programs, program), filepath.Join(dir, program)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(kernels(t), kernel),
		// The host's files, but read-only.
		"root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
		"init=/proc/self/cwd/inside.test",
		"mac80211_hwsim.radios=2",
		// Nobody waits for anything, and each run is the same.
		"time-travel=inf-cpu", "time-travel-start=1700000000000000000", "lab_seed=1",
		"mem=512M", "uml_dir=./", "umid=lab", "panic=-1",
		"con=null", "con0=null,fd:1", "ssl=null",
		"--", "-test.v=test2json", "-test.run="+tests, "-test.timeout="+insideTime.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir) // for the file that is UML's memory
	// A pipe to us, because UML polls its console, which a file does not allow.
	var console bytes.Buffer
	cmd.Stdout, cmd.Stderr = &console, &console
	cmd.WaitDelay = 5 * time.Second
	how := run(t, cmd)

	output, err := os.ReadFile(filepath.Join(dir, "output"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return ran{output, console.Bytes(), how}
}

// run lets a kernel run until it powers off. Each process in UML is one of the
// host: they form a group of their own, so that none of them outlives the test.
func run(t *testing.T, cmd *exec.Cmd) (how string) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := startUnrandomized(cmd); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	watchdog := time.AfterFunc(bootTime, kill)
	err := cmd.Wait()
	if !watchdog.Stop() {
		return "killed after " + bootTime.String()
	}
	kill()
	if err != nil {
		return err.Error()
	}
	return "powered off"
}

// startUnrandomized starts a command without address space randomization, as
// far as the host allows: addresses leak into what a kernel decides.
func startUnrandomized(cmd *exec.Cmd) error {
	const query, addrNoRandomize = 0xffffffff, 0x0040000 // personality(2)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if before, _, errno := syscall.Syscall(syscall.SYS_PERSONALITY, query, 0, 0); errno == 0 {
		syscall.Syscall(syscall.SYS_PERSONALITY, before|addrNoRandomize, 0, 0)
		defer syscall.Syscall(syscall.SYS_PERSONALITY, before, 0, 0)
	}
	return cmd.Start()
}

// kernels is the folder that kernel/build.sh keeps its kernels in.
func kernels(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("kernel/build.sh", "--path")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// report replays the tests of a boot as subtests of t.
func report(t *testing.T, r ran) {
	cmd := exec.Command("go", "tool", "test2json")
	cmd.Stdin = bytes.NewReader(r.output)
	events, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	var names []string
	said := map[string]string{}
	result := map[string]string{}
	complete := false
	for d := json.NewDecoder(bytes.NewReader(events)); ; {
		var e struct{ Action, Test, Output string }
		if err := d.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name, _, sub := strings.Cut(e.Test, "/")
		switch {
		case name == "":
			complete = complete || e.Output == "PASS\n" || e.Output == "FAIL\n"
		case e.Action == "start", e.Action == "run" && !sub:
			names = append(names, name)
		case e.Action == "output":
			said[name] += e.Output
		case !sub:
			result[name] = e.Action
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Logf("\n%s", said[name])
			switch result[name] {
			case "pass":
			case "skip":
				t.SkipNow()
			default:
				t.Fail()
			}
		})
	}
	if len(names) == 0 || !complete {
		t.Errorf("%d tests ran, not to the end. The kernel: %s. Its console:\n%s",
			len(names), r.how, r.console[max(0, len(r.console)-16<<10):])
	}
}
