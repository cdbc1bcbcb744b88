// Package inet is what netlink tells of this host's own TCP: its connections with
// their round trips (sock_diag), its addresses and its neighbours (rtnetlink). All of
// it is for reading and needs no privileges.
//
// It knows no radios: which connections go through one is package tuner's business.
// It talks to the kernel without a library, because a list of connections may be
// long, and this way it costs no allocation for each.
package inet

import (
	"errors"
	"net/netip"
	"time"

	"airtuned/wlan"
)

// ErrUnavailable means that the kernel lists no TCP sockets: no netlink, another
// operating system, or no CONFIG_INET_TCP_DIAG (kmod-inet-diag on OpenWrt).
var ErrUnavailable = errors.New("the kernel does not list its TCP sockets")

// maxEntries bounds what is kept of each list. Routers have some hundreds.
const maxEntries = 1 << 14

// Timeout bounds each wait for the kernel.
const Timeout = time.Second

// Snapshot is this host's TCP at a moment. Read uses its memory again.
type Snapshot struct {
	Sockets    []Socket
	Addresses  []Address
	Neighbours []Neighbour

	buf []byte
}

// Socket is an established TCP connection of this host
// (include/uapi/linux/inet_diag.h, struct inet_diag_msg).
type Socket struct {
	Local, Remote netip.AddrPort
	// IfIndex is the interface that it is bound to, 0 for most.
	IfIndex int
	// Cookie tells connections apart; the kernel does not use one twice.
	Cookie uint64
	TCPInfo
}

// Address is one of this host's own.
type Address struct {
	IfIndex int
	IP      netip.Addr
}

// Neighbour is a host on a link, as ARP or neighbour discovery found it.
type Neighbour struct {
	IfIndex int
	IP      netip.Addr
	MAC     wlan.MAC
}

// address takes an IPv4 or IPv6 address in network order; IPv4 in IPv6 is IPv4.
func address(b []byte) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(b)
	return a.Unmap(), ok
}
