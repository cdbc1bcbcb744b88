package inet

import (
	"encoding/binary"
	"net/netip"
)

// The numbers of include/uapi/linux/sock_diag.h and inet_diag.h.
const (
	sockDiagByFamily = 20
	inetDiagInfo     = 2

	familyIPv4, familyIPv6 = 2, 10
	protocolTCP            = 6
	tcpEstablished         = 1

	inetDiagReqLen = 56 // struct inet_diag_req_v2
	inetDiagMsgLen = 72 // struct inet_diag_msg
)

// socketsRequest asks for the established TCP sockets of a family, with tcp_info.
func socketsRequest(family byte, seq uint32) []byte {
	var body [inetDiagReqLen]byte
	body[0], body[1], body[2] = family, protocolTCP, 1<<(inetDiagInfo-1)
	native.PutUint32(body[4:], 1<<tcpEstablished)
	return request(sockDiagByFamily, seq, body[:])
}

// parseSocket reads one socket.
//
// Source: net/ipv4/inet_diag.c, inet_sk_diag_fill.
func parseSocket(kind uint16, b []byte, out *Socket) bool {
	if kind != sockDiagByFamily || len(b) < inetDiagMsgLen || b[1] != tcpEstablished {
		return false
	}
	n := 16
	switch b[0] {
	case familyIPv4:
		n = 4
	case familyIPv6:
	default:
		return false
	}
	local, _ := address(b[8 : 8+n])
	remote, _ := address(b[24 : 24+n])
	*out = Socket{
		Local:   netip.AddrPortFrom(local, binary.BigEndian.Uint16(b[4:])),
		Remote:  netip.AddrPortFrom(remote, binary.BigEndian.Uint16(b[6:])),
		IfIndex: int(native.Uint32(b[40:]) & 0x7fffffff),
		Cookie:  uint64(native.Uint32(b[44:])) | uint64(native.Uint32(b[48:]))<<32,
	}
	for b = b[inetDiagMsgLen:]; ; {
		kind, value, rest, ok := cutAttr(b)
		if !ok {
			return true
		}
		if b = rest; kind == inetDiagInfo {
			parseTCPInfo(value, &out.TCPInfo)
		}
	}
}

// parseOutward reads one socket that does not talk to this host itself.
func parseOutward(kind uint16, b []byte, out *Socket) bool {
	return parseSocket(kind, b, out) && !out.Local.Addr().IsLoopback() && out.Local.Addr() != out.Remote.Addr()
}
