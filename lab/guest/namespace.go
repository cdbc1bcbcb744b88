// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace that "ip netns" knows, too. The zero one is
// the machine's own.
type namespace struct {
	name string
	file *os.File
}

const namespaces = "/run/netns"

// root is the namespace we are in ourselves.
var root namespace

// newNamespace makes a namespace.
func newNamespace(name string) (namespace, error) {
	if root.file == nil {
		f, err := os.Open("/proc/self/ns/net")
		if err != nil {
			return namespace{}, err
		}
		root.file = f
		if err := os.MkdirAll(namespaces, 0o755); err != nil {
			return namespace{}, err
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return namespace{}, fmt.Errorf("new network namespace: %w", err)
	}
	defer enter(root)
	path := namespaces + "/" + name
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		return namespace{}, err
	}
	if err := unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, ""); err != nil {
		return namespace{}, fmt.Errorf("mount %s: %w", path, err)
	}
	f, err := os.Open(path)
	return namespace{name, f}, err
}

// enter moves the calling thread.
func enter(n namespace) {
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(fmt.Sprintf("enter namespace %q: %v", n.name, err))
	}
}

// do calls f in the namespace: sockets it opens, processes it starts and files
// below /proc/sys/net it opens are of that namespace.
func (n namespace) do(f func() error) error {
	if n.file == nil {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	enter(n)
	defer enter(root)
	return f()
}

// command runs a command line of plain words in the namespace and returns what
// it printed.
func (n namespace) command(line string) (string, error) {
	words := strings.Fields(line)
	var out strings.Builder
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := n.do(cmd.Start); err != nil {
		return "", err
	}
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

// batch runs several commands of ip or tc at once: processes are what costs
// most here.
func (n namespace) batch(program, lines string) error {
	cmd := exec.Command(program, "-batch", "-")
	cmd.Stdin = strings.NewReader(lines)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := n.do(cmd.Start); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s -batch in namespace %q: %w: %s", program, n.name, err, strings.TrimSpace(out.String()))
	}
	return nil
}

// sysctl sets network parameters of the namespace.
func (n namespace) sysctl(values [][2]string) error {
	return n.do(func() error {
		for _, v := range values {
			if err := os.WriteFile("/proc/sys/net/"+v[0], []byte(v[1]), 0o644); err != nil {
				return fmt.Errorf("namespace %q: %w", n.name, err)
			}
		}
		return nil
	})
}
