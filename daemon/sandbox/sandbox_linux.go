package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights that Landlock gives over files (include/uapi/linux/landlock.h).
const (
	read   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	write  = read | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	remove = unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	keep   = write | remove | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG
)

// handled is what each version of the interface, from 1 on, learnt to refuse.
var handled = []unix.LandlockRulesetAttr{
	{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}, // Linux 5.13
	{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER},
	{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_TRUNCATE},
	{Handled_access_net: unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP},
	{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	{Scoped: unix.LANDLOCK_SCOPE_SIGNAL}, // Linux 6.12
}

// Enter refuses all threads of this process, from now on, every file that f
// does not name, every program, and TCP, as far as the kernel can. Files that
// are open stay so, and unix sockets and netlink are not concerned. Without
// Landlock in the kernel, or in a program with cgo, the error wraps
// errors.ErrUnsupported.
//
// It waits for threads that are blocked in the kernel, so it belongs before
// anything that may be.
func Enter(f Files) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("landlock: %w (%w)", errors.ErrUnsupported, errno)
	}
	var all unix.LandlockRulesetAttr
	for _, h := range handled[:min(int(version), len(handled))] {
		all.Handled_access_fs |= h.Handled_access_fs
		all.Handled_access_net |= h.Handled_access_net
		all.Scoped |= h.Scoped
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&all)), attrSize(int(version)), 0)
	if errno != 0 {
		return fmt.Errorf("landlock: make a ruleset: %w", errno)
	}
	rules := int(fd)
	defer unix.Close(rules)
	for _, group := range []struct {
		dirs   []string
		access uint64
	}{{f.Read, read}, {f.Write, write}, {f.Remove, remove}, {f.Keep, keep}} {
		for _, dir := range group.dirs {
			if err := allow(rules, dir, group.access&all.Handled_access_fs); err != nil {
				return err
			}
		}
	}
	// Landlock is a thread's, and Go moves goroutines between threads.
	if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("set no_new_privs: %w", unsupported(errno))
	}
	if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return fmt.Errorf("landlock: restrict this process: %w", unsupported(errno))
	}
	return nil
}

// attrSize is how much of a LandlockRulesetAttr a version of the interface
// knows; more is an error there.
func attrSize(version int) uintptr {
	var a unix.LandlockRulesetAttr
	switch {
	case version < 4:
		return unsafe.Offsetof(a.Handled_access_net)
	case version < 6:
		return unsafe.Offsetof(a.Scoped)
	}
	return unsafe.Offsetof(a.Quiet_access_fs)
}

// allow gives access to everything below a directory.
func allow(rules int, dir string, access uint64) error {
	d, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("landlock: %w", &os.PathError{Op: "open", Path: dir, Err: err})
	}
	defer unix.Close(d)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(d)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", &os.PathError{Op: "allow", Path: dir, Err: errno})
	}
	return nil
}

// unsupported tells that AllThreadsSyscall does not work with cgo.
func unsupported(errno syscall.Errno) error {
	if errno == unix.ENOTSUP {
		return fmt.Errorf("%w in a program with cgo", errors.ErrUnsupported)
	}
	return errno
}
