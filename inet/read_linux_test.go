package inet

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRead holds the list against what the kernel says of one connection when it is
// asked otherwise.
func TestRead(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	if _, err := c.Write(make([]byte, 10000)); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 10000; {
		m, err := peer.Read(make([]byte, 10000))
		if err != nil {
			t.Fatal(err)
		}
		n += m
	}
	if _, err := peer.Write([]byte{1}); err != nil { // which acknowledges all
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}

	var sockets []Socket
	err = list(unix.NETLINK_SOCK_DIAG, socketsRequest(familyIPv4, 1), make([]byte, bufSize), func(kind uint16, body []byte) {
		var s Socket
		if parseSocket(kind, body, &s) {
			sockets = append(sockets, s)
		}
	})
	if err != nil {
		t.Skipf("no sock_diag for TCP here: %v", err)
	}
	want := netip.MustParseAddrPort(c.LocalAddr().String())
	found := false
	for _, s := range sockets {
		if s.Local != want {
			continue
		}
		found = true
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var info *unix.TCPInfo
		_ = raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
		if err != nil {
			t.Fatal(err)
		}
		if s.RTT.Microseconds() != int64(info.Rtt) || s.Cwnd != info.Snd_cwnd || s.Retransmits != info.Total_retrans ||
			s.AckedBytes < 10000 || s.Has&HasMinRTT == 0 || s.MinRTT > s.RTT || s.Remote.String() != l.Addr().String() {
			t.Errorf("got %+v, the socket says %+v", s, info)
		}
	}
	if !found {
		t.Errorf("%v is not among %d sockets", want, len(sockets))
	}
}

func TestReadAll(t *testing.T) {
	var s Snapshot
	if err := s.Read(); err != nil {
		t.Skip(err)
	}
	want, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		p := netip.MustParsePrefix(w.String())
		if !slices.ContainsFunc(s.Addresses, func(a Address) bool { return a.IP == p.Addr() && a.IfIndex > 0 }) {
			t.Errorf("%v is not among %+v", p, s.Addresses)
		}
	}
	if n := testing.AllocsPerRun(5, func() { _ = s.Read() }); n > 40 {
		t.Errorf("%v allocations", n)
	}
}
