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
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		b := make([]byte, 32)
		n, _ := f.ReadAt(b, 0)
		if pid := strings.TrimSpace(string(b[:n])); pid != "" {
			return nil, fmt.Errorf("%w (process %s holds %s)", ErrLocked, pid, name)
		}
		return nil, fmt.Errorf("%w (%s is locked)", ErrLocked, name)
	}
	// The number is for messages only; the lock itself is the kernel's.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return func() { f.Close() }, nil
}
