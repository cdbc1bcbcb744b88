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
	socket := func(kind uint16, body []byte) {
		var so Socket
		if len(s.Sockets) < maxEntries && parseOutward(kind, body, &so) {
			s.Sockets = append(s.Sockets, so)
		}
	}
	err4 := list(unix.NETLINK_SOCK_DIAG, socketsRequest(familyIPv4, 1), s.buf, socket)
	err6 := list(unix.NETLINK_SOCK_DIAG, socketsRequest(familyIPv6, 1), s.buf, socket)
	if err4 != nil && err6 != nil { // a kernel may lack one of them
		s.Sockets = s.Sockets[:0]
		return fmt.Errorf("%w: %w", ErrUnavailable, err4)
	}
	err := list(unix.NETLINK_ROUTE, addressesRequest(1), s.buf, func(kind uint16, body []byte) {
		var a Address
		if len(s.Addresses) < maxEntries && parseAddress(kind, body, &a) {
			s.Addresses = append(s.Addresses, a)
		}
	})
	if err == nil {
		err = list(unix.NETLINK_ROUTE, neighboursRequest(1), s.buf, func(kind uint16, body []byte) {
			var n Neighbour
			if len(s.Neighbours) < maxEntries && parseNeighbour(kind, body, &n) {
				s.Neighbours = append(s.Neighbours, n)
			}
		})
	}
	if err != nil {
		s.Sockets, s.Addresses, s.Neighbours = s.Sockets[:0], s.Addresses[:0], s.Neighbours[:0]
		return fmt.Errorf("list addresses and neighbours: %w", err)
	}
	return nil
}

// list sends a request on a socket of its own, which no reply to another can be in,
// and hands each entry of the answer to each.
func list(protocol int, request, buf []byte, each func(kind uint16, body []byte)) error {
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
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("receive from netlink: %w", err)
		}
		done, err := parseReplies(buf[:n], 1, each)
		if done || err != nil {
			return err
		}
		if n == 0 {
			return errShort
		}
	}
}
