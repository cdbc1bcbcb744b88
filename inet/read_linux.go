package inet

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// bufSize holds any datagram of a list: the kernel makes none longer
// (net/netlink/af_netlink.c, netlink_dump).
const bufSize = 32 << 10

// Read lists what there is now. It takes as long as the kernel needs, some
// milliseconds with a thousand connections. On an error s holds nothing.
func (s *Snapshot) Read() error {
	s.Sockets, s.Addresses, s.Neighbours = s.Sockets[:0], s.Addresses[:0], s.Neighbours[:0]
	if s.buf == nil {
		s.buf = make([]byte, bufSize)
	}
	err4 := list(unix.NETLINK_SOCK_DIAG, socketsRequest(familyIPv4, 1), s.buf, &s.Sockets, parseOutward)
	err6 := list(unix.NETLINK_SOCK_DIAG, socketsRequest(familyIPv6, 1), s.buf, &s.Sockets, parseOutward)
	if err4 != nil && err6 != nil { // a kernel may lack one of them
		s.Sockets = s.Sockets[:0]
		return fmt.Errorf("%w: %w", ErrUnavailable, err4)
	}
	err := list(unix.NETLINK_ROUTE, addressesRequest(1), s.buf, &s.Addresses, parseAddress)
	if err == nil {
		err = list(unix.NETLINK_ROUTE, neighboursRequest(1), s.buf, &s.Neighbours, parseNeighbour)
	}
	if err != nil {
		s.Sockets, s.Addresses, s.Neighbours = s.Sockets[:0], s.Addresses[:0], s.Neighbours[:0]
		return fmt.Errorf("list addresses and neighbours: %w", err)
	}
	return nil
}

// list sends a request on a socket of its own, which no reply to another can be in,
// and appends what comes.
func list[T any](protocol int, request, buf []byte, out *[]T, parse func(uint16, []byte, *T) bool) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return fmt.Errorf("open a netlink socket: %w", err)
	}
	defer unix.Close(fd)
	timeout := unix.NsecToTimeval(Timeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return fmt.Errorf("set a netlink socket's timeout: %w", err)
	}
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("send to netlink: %w", err)
	}
	var entry T
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("receive from netlink: %w", err)
		}
		done, err := parseReplies(buf[:n], 1, func(kind uint16, body []byte) {
			if len(*out) < maxEntries && parse(kind, body, &entry) {
				*out = append(*out, entry)
			}
		})
		if done || err != nil {
			return err
		}
		if n == 0 {
			return errShort
		}
	}
}
