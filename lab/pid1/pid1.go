// SPDX-License-Identifier: Apache-2.0

// Package pid1 is what the lab's programs need to be process 1 of a machine
// that package uml boots.
package pid1

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Shared is where the host's folder for this run appears: the programs under
// test, and the file that our output goes to.
const Shared = "/run/lab"

// Boot does what an init does before its first service. From then on standard
// output and error go to the file "output" in Shared: the console is the
// kernel's.
func Boot() error {
	for _, m := range []struct{ source, target, fstype, data string }{
		{"proc", "/proc", "proc", ""},
		{"sysfs", "/sys", "sysfs", ""},
		{"debugfs", "/sys/kernel/debug", "debugfs", ""},
		{"tmpfs", "/run", "tmpfs", "mode=755"},
		{"tmpfs", "/tmp", "tmpfs", ""},
		// hostfs has the host look this path up, where "self" is the kernel.
		{"none", Shared, "hostfs", "/proc/self/cwd"},
	} {
		if m.target == Shared {
			if err := os.Mkdir(Shared, 0o755); err != nil {
				return err
			}
		}
		if err := unix.Mount(m.source, m.target, m.fstype, 0, m.data); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.fstype, m.target, err)
		}
	}

	out, err := os.OpenFile(Shared+"/output", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	for _, fd := range []int{1, 2} {
		if err := unix.Dup3(int(out.Fd()), fd, 0); err != nil {
			return err
		}
	}

	for k, v := range map[string]string{
		"PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin",
		"HOME": "/tmp",
	} {
		os.Setenv(k, v)
	}
	return setUp("lo")
}

// PowerOff ends the machine. It returns only if it fails.
func PowerOff() error {
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		return fmt.Errorf("power off: %w", err)
	}
	return nil
}

// setUp brings a network interface up.
func setUp(iface string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq(iface)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, req); err != nil {
		return fmt.Errorf("%s: get flags: %w", iface, err)
	}
	req.SetUint16(req.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("%s: set flags: %w", iface, err)
	}
	return nil
}
