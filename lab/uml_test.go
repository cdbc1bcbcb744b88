// SPDX-License-Identifier: Apache-2.0

//go:build lab

package lab

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// realTime is how long a boot and its test may take. Virtual time cannot bound
// them: it stands still when a process spins.
const realTime = 2 * time.Minute

// virtualTime is how long a test may take inside, to have one that hangs tell
// where it hangs.
const virtualTime = 3 * time.Hour

// ran is what is left of a boot.
type ran struct {
	output  string // of the test inside
	console []byte // of the kernel
	end     string // it came to
}

// boot runs a test of package inside, in a kernel of its own. The folder of
// programs must hold inside.test and airtuned.
func boot(t *testing.T, kernel, programs, test string) ran {
	// The current directory is all the kernel and the test know of where they
	// are. They reach it through the host's /proc, so that the command line is
	// the same in each run: it is a source of randomness.
	dir := t.TempDir()
	for _, program := range []string{"inside.test", "airtuned"} {
		if err := os.Link(filepath.Join(programs, program), filepath.Join(dir, program)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(kernel,
		// The host's files, but read-only.
		"root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
		"init=/proc/self/cwd/inside.test",
		"mac80211_hwsim.radios=2",
		// Nobody waits for anything, and each run is the same.
		"time-travel=inf-cpu", "time-travel-start=1700000000000000000", "lab_seed=1",
		"mem=512M", "uml_dir=./", "umid=lab", "panic=-1",
		"con=null", "con0=null,fd:1", "ssl=null",
		"--", "-test.v", "-test.run=^"+test+"$", "-test.timeout="+virtualTime.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir) // for the file that is UML's memory
	// A pipe to us, because UML polls its console, which a file does not allow.
	var console bytes.Buffer
	cmd.Stdout, cmd.Stderr = &console, &console
	cmd.WaitDelay = 5 * time.Second
	end := run(t, cmd)

	output, err := os.ReadFile(filepath.Join(dir, "output"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return ran{string(output), console.Bytes(), end}
}

// run lets a kernel run until it powers off. Each process in UML is one of the
// host: they form a group of their own, so that none of them outlives the test.
func run(t *testing.T, cmd *exec.Cmd) (end string) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := startUnrandomized(cmd); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	watchdog := time.AfterFunc(realTime, kill)
	err := cmd.Wait()
	if !watchdog.Stop() {
		return "was killed after " + realTime.String()
	}
	kill()
	if err != nil {
		return "ended by " + err.Error()
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
