package inet

import (
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/wlan"
)

// attr is an attribute with its padding.
func attr(kind uint16, value []byte) []byte {
	b := make([]byte, attrLen, attrLen+len(value)+3)
	native.PutUint16(b, uint16(attrLen+len(value)))
	native.PutUint16(b[2:], kind)
	b = append(b, value...)
	return append(b, make([]byte, align(len(b))-len(b))...)
}

// info is a tcp_info of a length, with each field that is read set to something.
func info(length int) []byte {
	b := make([]byte, 256)
	if native.Uint16([]byte{1, 0}) == 1 {
		b[7] = 1
	} else {
		b[7] = 0x80
	}
	native.PutUint32(b[44:], 20)
	native.PutUint32(b[68:], 4200)
	native.PutUint32(b[80:], 31)
	native.PutUint32(b[100:], 7)
	native.PutUint64(b[120:], 5_000_000_000)
	native.PutUint32(b[144:], 99)
	native.PutUint32(b[148:], 1100)
	native.PutUint64(b[160:], 12_500_000)
	for i := 232; i < len(b); i++ {
		b[i] = 0xee // what comes after all we know
	}
	return b[:length]
}

func socketMessage(family byte, local, remote string, info []byte) []byte {
	b := make([]byte, inetDiagMsgLen)
	b[0], b[1] = family, tcpEstablished
	b[4], b[5], b[6], b[7] = 0x14, 0x51, 0x01, 0xbb
	copy(b[8:], netip.MustParseAddr(local).AsSlice())
	copy(b[24:], netip.MustParseAddr(remote).AsSlice())
	native.PutUint32(b[40:], 3)
	native.PutUint32(b[44:], 1)
	native.PutUint32(b[48:], 2)
	b = append(b, attr(8, []byte{0})...) // INET_DIAG_SHUTDOWN
	return append(b, attr(inetDiagInfo, info)...)
}

func TestParseSocket(t *testing.T) {
	all := TCPInfo{
		Has: HasBasics | HasRTT | HasAcked | HasNotSent | HasMinRTT | HasDelivery,
		RTT: 4200 * time.Microsecond, SinceSent: 20 * time.Millisecond, Cwnd: 31, Retransmits: 7,
		AckedBytes: 5_000_000_000, NotSentBytes: 99, MinRTT: 1100 * time.Microsecond, DeliveryBps: 12_500_000, AppLimited: true,
	}
	linux4 := TCPInfo{Has: HasBasics | HasRTT, RTT: all.RTT, SinceSent: all.SinceSent, Cwnd: 31, Retransmits: 7}
	unmeasured := info(232)
	native.PutUint32(unmeasured[68:], 0)
	native.PutUint32(unmeasured[148:], noMinRTT)
	native.PutUint64(unmeasured[160:], 0)
	none := all
	none.Has, none.RTT, none.MinRTT, none.DeliveryBps = HasBasics|HasAcked|HasNotSent, 0, 0, 0
	for name, tt := range map[string]struct {
		message       []byte
		local, remote string
		want          TCPInfo
	}{
		"IPv4":             {socketMessage(familyIPv4, "192.168.1.2", "10.0.0.1", info(232)), "192.168.1.2:5201", "10.0.0.1:443", all},
		"IPv6":             {socketMessage(familyIPv6, "fe80::1", "2001:db8::1", info(232)), "[fe80::1]:5201", "[2001:db8::1]:443", all},
		"IPv4 in IPv6":     {socketMessage(familyIPv6, "::ffff:192.168.1.2", "::ffff:10.0.0.1", info(232)), "192.168.1.2:5201", "10.0.0.1:443", all},
		"newer than us":    {socketMessage(familyIPv4, "192.168.1.2", "10.0.0.1", info(256)), "192.168.1.2:5201", "10.0.0.1:443", all},
		"Linux 4.0":        {socketMessage(familyIPv4, "192.168.1.2", "10.0.0.1", info(104)), "192.168.1.2:5201", "10.0.0.1:443", linux4},
		"cut off":          {socketMessage(familyIPv4, "192.168.1.2", "10.0.0.1", info(103)), "192.168.1.2:5201", "10.0.0.1:443", TCPInfo{}},
		"nothing measured": {socketMessage(familyIPv4, "192.168.1.2", "10.0.0.1", unmeasured), "192.168.1.2:5201", "10.0.0.1:443", none},
	} {
		want := Socket{
			Local: netip.MustParseAddrPort(tt.local), Remote: netip.MustParseAddrPort(tt.remote),
			IfIndex: 3, Cookie: 2<<32 | 1, TCPInfo: tt.want,
		}
		var got Socket
		if !parseSocket(sockDiagByFamily, tt.message, &got) {
			t.Errorf("%s: not read", name)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var s Socket
	other := socketMessage(familyIPv4, "192.168.1.2", "10.0.0.1", nil)
	other[1] = 6 // TIME_WAIT
	for name, m := range map[string][]byte{
		"cut off":      other[:inetDiagMsgLen-1],
		"other state":  other,
		"other family": socketMessage(1, "192.168.1.2", "10.0.0.1", nil),
	} {
		if parseSocket(sockDiagByFamily, m, &s) {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
	for _, to := range []string{"127.0.0.1", "192.168.1.2"} {
		if m := socketMessage(familyIPv4, to, to, nil); parseOutward(sockDiagByFamily, m, &s) {
			t.Errorf("%s talks to itself, and was read", to)
		}
	}
}

func TestParseAddress(t *testing.T) {
	head := func(ifindex byte, n int) []byte {
		b := make([]byte, n)
		native.PutUint32(b[4:], uint32(ifindex))
		return b
	}
	v4, peer, v6 := []byte{10, 0, 0, 2}, []byte{10, 0, 0, 1}, netip.MustParseAddr("2001:db8::2").AsSlice()
	address := func(attrs ...[]byte) []byte {
		b := head(4, ifAddrMsgLen)
		for _, a := range attrs {
			b = append(b, a...)
		}
		return b
	}
	for name, tt := range map[string]struct {
		b    []byte
		want string // empty: none
	}{
		"IPv4":           {address(attr(ifaAddress, v4), attr(ifaLocal, v4), attr(3, []byte("wlan0\x00"))), "10.0.0.2"},
		"point to point": {address(attr(ifaAddress, peer), attr(ifaLocal, v4)), "10.0.0.2"},
		"the other way":  {address(attr(ifaLocal, v4), attr(ifaAddress, peer)), "10.0.0.2"},
		"IPv6":           {address(attr(ifaAddress, v6)), "2001:db8::2"},
		"no address":     {address(attr(3, []byte("wlan0\x00"))), ""},
		"of five bytes":  {address(attr(ifaLocal, []byte{1, 2, 3, 4, 5})), ""},
		"cut off":        {address(attr(ifaLocal, v4))[:ifAddrMsgLen+6], ""},
	} {
		var got Address
		ok := parseAddress(rtmNewAddr, tt.b, &got)
		if ok != (tt.want != "") || ok && (got.IfIndex != 4 || got.IP.String() != tt.want) {
			t.Errorf("%s: got %+v %v, want %q", name, got, ok, tt.want)
		}
	}

	mac := []byte{2, 0, 0, 0, 0, 9}
	neighbour := func(state uint16, attrs ...[]byte) []byte {
		b := head(5, ndMsgLen)
		native.PutUint16(b[8:], state)
		for _, a := range attrs {
			b = append(b, a...)
		}
		return b
	}
	const reachable = 2
	for name, tt := range map[string]struct {
		b  []byte
		ok bool
	}{
		"reachable":     {neighbour(reachable, attr(ndaDst, v6), attr(ndaMAC, mac)), true},
		"failed":        {neighbour(nudFailed, attr(ndaDst, v6), attr(ndaMAC, mac)), false},
		"no MAC":        {neighbour(reachable, attr(ndaDst, v6)), false},
		"InfiniBand":    {neighbour(reachable, attr(ndaDst, v6), attr(ndaMAC, make([]byte, 20))), false},
		"no IP address": {neighbour(reachable, attr(ndaMAC, mac)), false},
	} {
		var got Neighbour
		ok := parseNeighbour(rtmNewNeigh, tt.b, &got)
		want := Neighbour{IfIndex: 5, IP: netip.MustParseAddr("2001:db8::2"), MAC: wlan.MAC(mac)}
		if ok != tt.ok || ok && got != want {
			t.Errorf("%s: got %+v %v", name, got, ok)
		}
	}
}

// message is a netlink message with its padding.
func message(kind uint16, seq uint32, body []byte) []byte {
	b := request(kind, seq, body)
	return append(b, make([]byte, align(len(b))-len(b))...)
}

func TestParseReplies(t *testing.T) {
	errno := func(code int32) []byte { return native.AppendUint32(nil, uint32(code)) }
	one := message(sockDiagByFamily, 1, []byte{1, 2, 3})
	ended := message(typeDone, 1, errno(0))
	for name, tt := range map[string]struct {
		b    []byte
		n    int
		done bool
		err  error
	}{
		"a part":          {append(one[:len(one):len(one)], one...), 2, false, nil},
		"the end":         {append(one[:len(one):len(one)], ended...), 1, true, nil},
		"another's":       {append(message(sockDiagByFamily, 2, nil), ended...), 0, true, nil},
		"refused":         {message(typeError, 1, errno(-int32(syscall.ENOENT))), 0, true, syscall.ENOENT},
		"failed at last":  {message(typeDone, 1, errno(-int32(syscall.ENOMEM))), 0, true, syscall.ENOMEM},
		"cut off":         {one[:len(one)-2], 0, false, errShort},
		"no whole header": {one[:7], 0, false, errShort},
		"length 0":        {make([]byte, 16), 0, false, errShort},
	} {
		n := 0
		done, err := parseReplies(tt.b, 1, func(uint16, []byte) { n++ })
		if n != tt.n || done != tt.done || !errors.Is(err, tt.err) {
			t.Errorf("%s: %d messages, done %v, %v", name, n, done, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(message(sockDiagByFamily, 1, socketMessage(familyIPv4, "192.168.1.2", "10.0.0.1", info(232))))
	f.Add(message(sockDiagByFamily, 1, socketMessage(familyIPv6, "fe80::1", "fe80::2", info(120))))
	f.Add(message(rtmNewAddr, 1, append(make([]byte, ifAddrMsgLen), attr(ifaLocal, []byte{10, 0, 0, 1})...)))
	f.Add(message(rtmNewNeigh, 1, append(append(make([]byte, ndMsgLen), attr(ndaDst, []byte{10, 0, 0, 1})...), attr(ndaMAC, []byte{2, 0, 0, 0, 0, 1})...)))
	f.Add(message(typeError, 1, []byte{0xfe, 0xff, 0xff, 0xff}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var (
			s Socket
			a Address
			n Neighbour
		)
		_, _ = parseReplies(b, 1, func(kind uint16, body []byte) {
			if parseSocket(kind, body, &s) && (!s.Local.IsValid() || !s.Remote.IsValid()) {
				t.Errorf("no addresses: %+v", s)
			}
			if parseAddress(kind, body, &a) && !a.IP.IsValid() {
				t.Error("an address without one")
			}
			if parseNeighbour(kind, body, &n) && !n.IP.IsValid() {
				t.Error("a neighbour without an address")
			}
		})
	})
}
