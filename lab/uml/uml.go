// SPDX-License-Identifier: Apache-2.0

// Package uml boots User Mode Linux kernels as ordinary processes, on virtual
// time and with all randomness seeded, so that equal inputs do equal things.
package uml

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Machine is a kernel about to be booted.
type Machine struct {
	// Kernel is the file of the kernel.
	Kernel string
	// Dir is all that the kernel and what runs in it know of where they are: it
	// is the current directory, and appears inside (see package pid1). They
	// reach it through the host's /proc, so that the command line is the same
	// whatever the folder is called: it is a source of randomness.
	Dir string
	// Init is the program in Dir that is process 1, with Args.
	Init string
	Args []string
	// Params are further parameters for the kernel.
	Params []string
	// Memory is how much the machine has, e.g. "512M".
	Memory string
	// Seed is what all randomness in the machine comes from.
	Seed uint64
	// RealTime bounds the run. Virtual time cannot: it stands still when a
	// process spins.
	RealTime time.Duration
}

// End is how a machine came to its end.
type End struct {
	// Console is what the kernel said.
	Console []byte
	// How it ended, for people: "powered off" if all went well.
	How string
	// OK is set if it powered itself off.
	OK bool
}

// Run boots the machine and waits until it powers off. Each process in it is
// one of the host: they form a group of their own, none of which outlives Run.
// An error means that it could not even be started.
func (m Machine) Run(ctx context.Context) (End, error) {
	args := []string{
		// The host's files, but read-only.
		"root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro",
		"init=/proc/self/cwd/" + m.Init,
		// Nobody waits for anything, and each run is the same.
		"time-travel=inf-cpu", "time-travel-start=1700000000000000000",
		"lab_seed=" + strconv.FormatUint(m.Seed, 10),
		"mem=" + m.Memory, "uml_dir=./", "umid=lab", "panic=-1",
		"con=null", "con0=null,fd:1", "ssl=null",
	}
	args = append(args, m.Params...)
	args = append(append(args, "--"), m.Args...)
	cmd := exec.Command(m.Kernel, args...)
	cmd.Dir = m.Dir
	cmd.Env = append(os.Environ(), "TMPDIR="+m.Dir) // for the file that is UML's memory
	// A pipe to us, because UML polls its console, which a file does not allow.
	var console bytes.Buffer
	cmd.Stdout, cmd.Stderr = &console, &console
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := startUnrandomized(cmd); err != nil {
		return End{}, fmt.Errorf("boot %s: %w", m.Kernel, err)
	}
	kill := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	defer kill()
	watchdog := time.AfterFunc(m.RealTime, kill)
	unwatch := context.AfterFunc(ctx, kill)
	err := cmd.Wait()
	switch {
	case !watchdog.Stop():
		return End{console.Bytes(), "was killed after " + m.RealTime.String(), false}, nil
	case !unwatch():
		return End{console.Bytes(), "was interrupted", false}, nil
	case err != nil && bytes.Contains(console.Bytes(), []byte("reboot: System halted")):
		// The machine had ended by then. A busy host rarely sees UML abort when it cleans up.
		return End{console.Bytes(), "halted, and its process ended by " + err.Error(), true}, nil
	case err != nil:
		return End{console.Bytes(), "ended by " + err.Error(), false}, nil
	}
	return End{console.Bytes(), "powered off", true}, nil
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

// Root is the folder of the module, found from the current directory up.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "lab/kernel/build.sh")); err == nil {
			return dir, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("not inside airtuned's source tree")
		}
	}
}

// Kernels is the folder that lab/kernel/build.sh keeps its kernels in, or what
// AIRTUNED_LAB_KERNELS names instead. It does not build them.
func Kernels() (string, error) {
	if dir := os.Getenv("AIRTUNED_LAB_KERNELS"); dir != "" {
		return dir, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	var stderr strings.Builder
	cmd := exec.Command(filepath.Join(root, "lab/kernel/build.sh"), "--path")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find the lab's kernels: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// Kernel is the kernel's file: path if it is one, "linux" in it if it is a
// folder, and that among Kernels if path is empty.
func Kernel(path string) (string, error) {
	if path == "" {
		dir, err := Kernels()
		if err != nil {
			return "", err
		}
		path = dir
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		path = filepath.Join(path, "linux")
	}
	return filepath.Abs(path)
}

// Build makes a static program of a package of this module, or with the verb
// "test" and the flag -c one of its tests. Args are the go command's.
func Build(program, verb string, args ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{verb, "-o", program}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// Place puts a file of the host into a folder, without copying it if possible.
// A machine reads files live: what it uses must not be rebuilt under it.
func Place(file, dir string) error {
	target := filepath.Join(dir, filepath.Base(file))
	if os.Link(file, target) == nil {
		return nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(target, b, 0o755)
}
