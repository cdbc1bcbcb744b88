package bpf

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain is PID 1 of the virtual machine that qemu/test.sh starts.
func TestMain(m *testing.M) {
	if os.Getpid() != 1 {
		os.Exit(m.Run())
	}
	inGuest = true
	if err := bootGuest(); err != nil {
		fmt.Println("guest:", err)
	}
	flag.Set("test.v", "true")
	flag.Set("test.run", "^TestKernel")
	fmt.Println("exit code", m.Run())
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
}

var inGuest bool

// bootGuest mounts what there is to mount and loads the modules of /modules.
func bootGuest() error {
	var errs []error
	for _, m := range []struct{ fs, at string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}, {"debugfs", "/sys/kernel/debug"},
	} {
		if err := unix.Mount(m.fs, m.at, m.fs, 0, ""); err != nil {
			errs = append(errs, fmt.Errorf("mount %s: %w", m.at, err))
		}
	}
	order, err := os.ReadFile("/modules/order")
	errs = append(errs, err)
	for _, file := range strings.Fields(string(order)) {
		errs = append(errs, loadModule(file, ""))
	}
	return errors.Join(errs...)
}

func loadModule(file, params string) error {
	f, err := os.Open(filepath.Join("/modules", file))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), params, 0); err != nil && err != unix.EEXIST {
		return fmt.Errorf("load %s: %w", file, err)
	}
	return nil
}

// unloadModule does not wait for the module to become free.
func unloadModule(name string) error { return unix.DeleteModule(name, unix.O_NONBLOCK) }
