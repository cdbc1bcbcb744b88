// SPDX-License-Identifier: Apache-2.0

//go:build lab

// Package inside holds the tests that run inside the lab: their test binary is
// process 1 of a User Mode Linux kernel with two mac80211_hwsim radios.
//
// Time is virtual and infinitely fast (time-travel=inf-cpu): work takes no
// time and a sleep is over as soon as every process sleeps. So a test may wait
// for minutes at no cost, and a process that spins stops the clock and fails
// by the host's watchdog.
package inside

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// shared is where the host's folder for this run appears: the programs under
// test, and the file that our output goes to.
const shared = "/run/lab"

func TestMain(m *testing.M) {
	if os.Getpid() != 1 {
		flag.Parse()
		if flag.Lookup("test.list").Value.String() != "" {
			m.Run() // for the host, to know what there is
			return
		}
		fmt.Println("these tests run inside the lab's kernel, see lab/README.md")
		return
	}
	if err := boot(); err != nil {
		// The host sees no result and shows the console instead.
		fmt.Println("lab: boot:", err)
	} else {
		m.Run()
	}
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("lab: power off:", err)
	}
}

// boot does what an init does before its first service.
func boot() error {
	for _, m := range []struct{ source, target, fstype, data string }{
		{"proc", "/proc", "proc", ""},
		{"sysfs", "/sys", "sysfs", ""},
		{"debugfs", "/sys/kernel/debug", "debugfs", ""},
		{"tmpfs", "/run", "tmpfs", "mode=755"},
		{"tmpfs", "/tmp", "tmpfs", ""},
		// hostfs has the host look this path up, where "self" is the kernel.
		{"none", shared, "hostfs", "/proc/self/cwd"},
	} {
		if m.target == shared {
			if err := os.Mkdir(shared, 0o755); err != nil {
				return err
			}
		}
		if err := unix.Mount(m.source, m.target, m.fstype, 0, m.data); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.fstype, m.target, err)
		}
	}

	// The console is the kernel's; the tests have a file of their own.
	out, err := os.OpenFile(shared+"/output", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	for _, fd := range []int{1, 2} {
		if err := unix.Dup2(int(out.Fd()), fd); err != nil {
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
