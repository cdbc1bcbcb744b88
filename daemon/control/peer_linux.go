package control

import (
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel (net/core/sock.c, SO_PEERCRED and SO_PEERGROUPS). The
// user database is not asked: what counts is what the process is, and it needs
// no database to tell.
func peerOf(conn *net.UnixConn) (Peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var p Peer
	var cerr error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if cerr != nil {
			return
		}
		p = Peer{PID: cred.Pid, UID: cred.Uid, Groups: append(peerGroups(int(fd)), cred.Gid)}
	})
	if err == nil {
		err = cerr
	}
	if err != nil {
		return Peer{}, fmt.Errorf("ask who the client is: %w", err)
	}
	return p, nil
}

// peerGroups returns the peer's supplementary groups, none if the kernel is
// older than 4.13.
func peerGroups(fd int) []uint32 {
	groups := make([]uint32, 32)
	for {
		n := uint32(len(groups) * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&n)), 0)
		switch {
		case errno == 0:
			return groups[:min(int(n)/4, len(groups))]
		case errno == unix.ERANGE && int(n)/4 > len(groups):
			groups = make([]uint32, n/4)
		default:
			return nil
		}
	}
}
