package control

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstFD is the first socket that systemd passes (sd_listen_fds(3)).
const firstFD = 3

// activated returns the socket that systemd passed, nil if it did not. It is
// written out here because go-systemd's package activation brings crypto/tls
// along, 1.1 MB of a binary that must fit into a router's flash.
func activated() (*net.UnixListener, error) {
	pid, err := strconv.Atoi(os.Getenv("LISTEN_PID"))
	if err != nil || pid != os.Getpid() {
		return nil, nil
	}
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || n < 1 {
		return nil, nil
	}
	for _, v := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(v)
	}
	if n > 1 {
		return nil, fmt.Errorf("socket activation: got %d sockets, want one", n)
	}
	unix.CloseOnExec(firstFD)
	f := os.NewFile(firstFD, "LISTEN_FD_3")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("socket activation: %w", err)
	}
	ul, ok := l.(*net.UnixListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("socket activation: got a %s socket, want a unix stream socket", l.Addr().Network())
	}
	return ul, nil
}
