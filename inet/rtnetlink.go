package inet

import "airtuned/wlan"

// The numbers of include/uapi/linux/rtnetlink.h, if_addr.h and neighbour.h.
const (
	rtmNewAddr, rtmGetAddr   = 20, 22
	rtmNewNeigh, rtmGetNeigh = 28, 30

	ifAddrMsgLen = 8 // struct ifaddrmsg
	ifaAddress   = 1 // the peer's, on links with one
	ifaLocal     = 2

	ndMsgLen = 12 // struct ndmsg
	ndaDst   = 1
	ndaMAC   = 2
	// nudFailed and nudIncomplete are neighbours that did not answer.
	nudIncomplete, nudFailed = 0x01, 0x20
)

// addressesRequest asks for all of this host's addresses.
func addressesRequest(seq uint32) []byte { return request(rtmGetAddr, seq, make([]byte, ifAddrMsgLen)) }

// parseAddress reads one address.
//
// Source: net/ipv4/devinet.c, inet_fill_ifaddr; net/ipv6/addrconf.c,
// inet6_fill_ifaddr.
func parseAddress(kind uint16, b []byte, out *Address) bool {
	if kind != rtmNewAddr || len(b) < ifAddrMsgLen {
		return false
	}
	*out = Address{IfIndex: int(native.Uint32(b[4:]) & 0x7fffffff)}
	known := false
	for b = b[ifAddrMsgLen:]; ; {
		kind, value, rest, ok := cutAttr(b)
		if !ok {
			return known
		}
		b = rest
		if kind == ifaLocal || kind == ifaAddress && !known {
			if ip, ok := address(value); ok {
				out.IP, known = ip, true
			}
		}
	}
}

// neighboursRequest asks for the neighbours on all links.
func neighboursRequest(seq uint32) []byte { return request(rtmGetNeigh, seq, make([]byte, ndMsgLen)) }

// parseNeighbour reads one neighbour.
//
// Source: net/core/neighbour.c, neigh_fill_info.
func parseNeighbour(kind uint16, b []byte, out *Neighbour) bool {
	if kind != rtmNewNeigh || len(b) < ndMsgLen || native.Uint16(b[8:])&(nudIncomplete|nudFailed) != 0 {
		return false
	}
	*out = Neighbour{IfIndex: int(native.Uint32(b[4:]) & 0x7fffffff)}
	known := false
	for b = b[ndMsgLen:]; ; {
		kind, value, rest, ok := cutAttr(b)
		if !ok {
			return known && out.MAC != wlan.MAC{}
		}
		switch b = rest; kind {
		case ndaDst:
			out.IP, known = address(value)
		case ndaMAC:
			if len(value) == len(out.MAC) {
				out.MAC = wlan.MAC(value)
			}
		}
	}
}
