package control

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Listener is the open control socket.
type Listener struct {
	*net.UnixListener
	// Group may read, besides root; -1 for none.
	Group int
}

// Listen opens the control socket: the one systemd passed, or else a new one
// at path that only root and the group can connect to. What a crashed daemon
// left at path is replaced. With a daemon at the other end of it the error
// wraps ErrRunning.
func Listen(path, group string, log *slog.Logger) (*Listener, error) {
	l := &Listener{Group: -1}
	if group != "" {
		gid, err := lookupGroup(group)
		if err == nil {
			l.Group = gid
		} else {
			log.Warn("the control socket is for root alone", "reason", err, "next", "make the group and start again to let its members read")
		}
	}
	var err error
	l.UnixListener, err = activated()
	if err != nil || l.UnixListener != nil {
		return l, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of the control socket: %w", err)
	}
	addr := &net.UnixAddr{Name: path, Net: "unix"}
	l.UnixListener, err = net.ListenUnix("unix", addr)
	if errors.Is(err, unix.EADDRINUSE) {
		if err := removeStale(path); err != nil {
			return nil, err
		}
		l.UnixListener, err = net.ListenUnix("unix", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("open the control socket: %w", err)
	}
	// Whatever the file's mode says, the peer's credentials are looked at.
	mode := fs.FileMode(0o600)
	if l.Group >= 0 {
		if err := os.Chown(path, -1, l.Group); err == nil {
			mode = 0o660
		} else {
			log.Warn("the control socket is for root alone", "reason", err)
		}
	}
	if err := os.Chmod(path, mode); err != nil {
		l.Close()
		return nil, fmt.Errorf("open the control socket: %w", err)
	}
	return l, nil
}

// removeStale removes a socket that nobody listens at.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the control socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("open the control socket: %s is there and is not a socket; remove it or choose another path", path)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		conn.Close()
		return fmt.Errorf("%w: it answers at %s", ErrRunning, path)
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("%w? %s is in use: %w", ErrRunning, path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove a stale control socket: %w", err)
	}
	return nil
}
