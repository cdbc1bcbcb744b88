package tuner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrLocked is wrapped by the error of Lock while another process tunes.
var ErrLocked = errors.New("another airtuned is at work")

// Lock makes this process the only one that tunes. The lock goes with the
// process, however it ends. The directory is made if need be.
func Lock(stateDir string) (release func(), err error) {
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	name := filepath.Join(stateDir, "lock")
	// Whoever else may write in the directory must not have us write elsewhere.
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("lock the state directory: %s is not a regular file", name)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		return nil, notLocked(f, name, err)
	}
	// The number is for messages only; the lock itself is the kernel's.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return func() { f.Close() }, nil
}

// Locked returns the error that Lock would while another process tunes. It
// makes nothing and takes nothing.
func Locked(stateDir string) error {
	name := filepath.Join(stateDir, "lock")
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil // nobody has ever tuned here, or it is not ours to know
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return notLocked(f, name, err)
	}
	return nil
}

// notLocked says who holds the lock, as well as it can be told.
func notLocked(f *os.File, name string, err error) error {
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	if pid := strings.TrimSpace(string(b[:n])); pid != "" {
		return fmt.Errorf("%w (process %s holds %s)", ErrLocked, pid, name)
	}
	return fmt.Errorf("%w (%s is locked)", ErrLocked, name)
}
