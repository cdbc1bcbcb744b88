package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"airtuned/tree"
)

var (
	// ErrNoNAPI means that no NAPI is registered with the netdev, so that there
	// is nothing to thread: the driver keeps it on another, hidden netdev.
	ErrNoNAPI = errors.New("the netdev has no NAPI")
	// ErrThreadNotSeen means that the netdev took the value but no kernel thread
	// napi/<netdev>-<id> is to be seen yet. Looking again later may find it.
	ErrThreadNotSeen = errors.New("no NAPI thread of the netdev is running")
	// ErrNotKept means that the netdev read back another value than was written.
	ErrNotKept = errors.New("the value was not kept")
)

// Threaded reads whether a netdev's NAPIs are polled by kernel threads. The
// error is fs.ErrNotExist before Linux 5.12. The file says nothing about a
// NAPI that the driver keeps on a hidden netdev: see ReadNAPI.
//
// Source: /sys/class/net/<netdev>/threaded, net/core/net-sysfs.c,
// threaded_show: "0\n" or "1\n".
func Threaded(sys tree.FS, iface string) (bool, error) {
	name, err := threadedFile(iface)
	if err != nil {
		return false, err
	}
	s, err := tree.ReadString(sys, name)
	if err != nil {
		return false, fmt.Errorf("read whether NAPI is threaded: %w", err)
	}
	switch s {
	case "0":
		return false, nil
	case "1", "2": // 2 is busy polling, which netlink can set since Linux 6.19
		return true, nil
	}
	return false, fmt.Errorf("read whether NAPI is threaded: %s: not 0 or 1: %q", tree.Join(sys, name), s)
}

// SetThreaded moves the polling of a netdev's NAPIs to kernel threads or back,
// and makes sure that the kernel did so: the value is read back and, when
// switched on, a thread looked for once. It does not wait: on ErrThreadNotSeen
// the caller may call ThreadsOf again after a moment. Older kernels keep their
// threads, idle, when it is switched off.
func SetThreaded(sys, proc tree.FS, iface string, on bool) error {
	name, err := threadedFile(iface)
	if err != nil {
		return err
	}
	value := "0"
	if on {
		value = "1"
	}
	err = sys.Write(name, []byte(value))
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("set threaded NAPI: %w (%w)", ErrNoNAPI, err)
	}
	if err != nil {
		return fmt.Errorf("set threaded NAPI: %w", err)
	}
	got, err := Threaded(sys, iface)
	if err != nil {
		return err
	}
	if got != on {
		return fmt.Errorf("set threaded NAPI: wrote %s to %s: %w", value, tree.Join(sys, name), ErrNotKept)
	}
	if !on {
		return nil
	}
	threads, err := ThreadsOf(proc, iface)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrThreadNotSeen, err)
	}
	if len(threads) == 0 {
		return fmt.Errorf("set threaded NAPI of %s: %w", iface, ErrThreadNotSeen)
	}
	return nil
}

// ThreadsOf lists the kernel threads that poll the NAPIs of a netdev, found by
// its name. There are none while it is not threaded, nor can those be found
// that were made before it was renamed.
func ThreadsOf(proc tree.FS, iface string) ([]Thread, error) {
	threads, err := NAPIThreads(proc)
	return slices.DeleteFunc(threads, func(t Thread) bool { return !t.polls(iface) }), err
}

func threadedFile(iface string) (string, error) { return netdevFile(iface, "threaded") }

// NetdevName reports whether a netdev can have that name (net/core/dev.c,
// dev_valid_name).
func NetdevName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) < unix.IFNAMSIZ && !strings.ContainsAny(s, "/: \t\n\v\f\r\x00")
}

// netdevFile is the path of a netdev's file.
func netdevFile(iface, file string) (string, error) {
	if !NetdevName(iface) {
		return "", fmt.Errorf("netdev %q: %w", iface, fs.ErrInvalid)
	}
	return "class/net/" + iface + "/" + file, nil
}
