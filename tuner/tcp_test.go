package tuner

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/inet"
	"airtuned/tree"
	"airtuned/wlan"
)

// stack puts netdevs on top of those of a tree.
type stack struct {
	tree.FS
	index    map[string]string
	adjacent map[string][]string
}

func (s stack) List(name string) ([]string, error) {
	if names, ok := s.adjacent[strings.TrimPrefix(name, "class/net/")]; ok {
		return names, nil
	}
	return s.FS.List(name)
}

func (s stack) Open(name string) (tree.File, error) {
	netdev, isIndex := strings.CutSuffix(strings.TrimPrefix(name, "class/net/"), "/ifindex")
	if text, ok := s.index[netdev]; ok && isIndex {
		return &fakeFile{&fakeKernel{files: map[string]string{name: text + "\n"}}, name}, nil
	}
	return s.FS.Open(name)
}

func flow(local, remote string, cookie uint64, info inet.TCPInfo) inet.Socket {
	return inet.Socket{
		Local: netip.AddrPortFrom(netip.MustParseAddr(local), 5000), Remote: netip.AddrPortFrom(netip.MustParseAddr(remote), 443),
		Cookie: cookie, TCPInfo: info,
	}
}

// TestTCPRoute: which connections leave through the radio, on a host with a bridge of
// a wire and a radio, a VLAN on that, and another VLAN on the radio alone.
func TestTCPRoute(t *testing.T) {
	r := newRig(t, "observe")
	r.tun.radio.Interfaces = []Interface{{Name: "wlan0", Type: "AP", Index: 4}, {Name: "wlan1", Type: "managed"}}
	r.tun.env.Sys = stack{
		FS:    r.env.Sys,
		index: map[string]string{"wlan1": "5", "br-lan": "6", "br-lan.2": "7", "wlan1.9": "8"},
		adjacent: map[string][]string{
			"wlan0":    {"upper_br-lan"},
			"wlan1":    {"upper_wlan1.9"},
			"br-lan":   {"lower_eth0", "lower_wlan0", "upper_br-lan.2"},
			"br-lan.2": {"lower_br-lan", "upper_br-lan"}, // no kernel makes a ring
			"wlan1.9":  {"lower_wlan1"},
		},
	}
	r.run(time.Second, 0, 0, true) // it knows its stations
	addresses := []inet.Address{
		{IfIndex: 2, IP: netip.MustParseAddr("203.0.113.7")}, // eth1
		{IfIndex: 5, IP: netip.MustParseAddr("10.1.0.2")},
		{IfIndex: 6, IP: netip.MustParseAddr("192.168.1.1")},
		{IfIndex: 6, IP: netip.MustParseAddr("fe80::1")},
		{IfIndex: 7, IP: netip.MustParseAddr("192.168.2.1")},
		{IfIndex: 8, IP: netip.MustParseAddr("10.9.0.2")},
	}
	ours, other := wlan.MAC{2, 0, 0, 0, 0x80, 1}, wlan.MAC{2, 0, 0, 0, 0x99, 1}
	neighbours := []inet.Neighbour{
		{IfIndex: 6, IP: netip.MustParseAddr("192.168.1.50"), MAC: ours},
		{IfIndex: 7, IP: netip.MustParseAddr("192.168.2.50"), MAC: ours},
		{IfIndex: 6, IP: netip.MustParseAddr("fe80::50"), MAC: ours},
		{IfIndex: 6, IP: netip.MustParseAddr("192.168.1.60"), MAC: other},
		{IfIndex: 2, IP: netip.MustParseAddr("203.0.113.1"), MAC: ours},
	}
	for _, tt := range []struct {
		name          string
		local, remote string
		bound         int
		want          int
	}{
		{"client", "10.1.0.2", "198.51.100.1", 0, 1},
		{"client, bound", "10.1.0.2", "198.51.100.1", 5, 1},
		{"client, bound elsewhere", "10.1.0.2", "198.51.100.1", 2, 0},
		{"VLAN on the radio alone", "10.9.0.2", "198.51.100.1", 0, 1},
		{"to a station behind the bridge", "192.168.1.1", "192.168.1.50", 0, 1},
		{"the same by IPv6", "fe80::1", "fe80::50", 6, 1},
		{"to a station on the bridge's VLAN", "192.168.2.1", "192.168.2.50", 0, 1},
		{"to a wired host behind the bridge", "192.168.1.1", "192.168.1.60", 0, 0},
		{"to nobody known", "192.168.1.1", "192.168.1.70", 0, 0},
		{"through another interface", "203.0.113.7", "203.0.113.1", 0, 0},
		{"from no address of this host", "192.0.2.1", "198.51.100.1", 0, 0},
	} {
		s := flow(tt.local, tt.remote, 1, inet.TCPInfo{})
		s.IfIndex = tt.bound
		r.tun.NoteTCP(&inet.Snapshot{Sockets: []inet.Socket{s}, Addresses: addresses, Neighbours: neighbours}, r.now)
		if got := r.tun.Status().TCP; got == nil || got.Flows != tt.want {
			t.Errorf("%s: %+v, want %d", tt.name, got, tt.want)
		}
	}
}

func TestTCPStatus(t *testing.T) {
	r := newRig(t, "observe")
	r.tun.radio.Interfaces = []Interface{{Name: "wlan0", Index: 4}}
	if s := r.tun.Status(); s.TCP != nil {
		t.Errorf("before the first look: %+v", s.TCP)
	}
	const all = inet.HasBasics | inet.HasRTT | inet.HasAcked | inet.HasNotSent | inet.HasMinRTT | inet.HasDelivery
	note := func(infos ...inet.TCPInfo) *TCPStatus {
		t.Helper()
		s := inet.Snapshot{Addresses: []inet.Address{{IfIndex: 4, IP: netip.MustParseAddr("10.0.0.2")}}}
		for i, info := range infos {
			s.Sockets = append(s.Sockets, flow("10.0.0.2", "10.0.0.1", uint64(i+1), info))
		}
		r.now = r.now.Add(2 * time.Second)
		r.tun.NoteTCP(&s, r.now)
		return r.tun.Status().TCP
	}
	info := func(rttMs, minMs int, cwnd, retransmits uint32, acked uint64) inet.TCPInfo {
		return inet.TCPInfo{
			Has: all, RTT: time.Duration(rttMs) * time.Millisecond, MinRTT: time.Duration(minMs) * time.Millisecond,
			Cwnd: cwnd, Retransmits: retransmits, AckedBytes: acked, DeliveryBps: 125_000,
		}
	}
	idle := info(900, 1, 10, 50, 1000)
	idle.SinceSent = time.Minute
	old := inet.TCPInfo{Has: inet.HasBasics, Cwnd: 2}
	us := func(v int64) *int64 { return &v }
	kbps := func(v uint64) *uint64 { return &v }
	for _, tt := range []struct {
		name string
		got  *TCPStatus
		want *TCPStatus
	}{
		// What was before the first look does not count.
		{"first", note(info(10, 4, 20, 7, 5000), info(30, 3, 40, 0, 0), info(20, 6, 30, 0, 0), idle), &TCPStatus{
			Flows: 4, Active: 3, RTTUs: &RTTStatus{P50: 20000, P95: 30000}, MinRTTUs: us(3000), CwndSegments: us(30), DeliveryKbps: kbps(3000),
		}},
		{"then", note(info(11, 4, 21, 9, 9000)), &TCPStatus{
			Flows: 1, Active: 1, RTTUs: &RTTStatus{P50: 11000, P95: 11000}, MinRTTUs: us(4000), CwndSegments: us(21), DeliveryKbps: kbps(1000),
			Total: TCPTotals{AckedBytes: 4000, RetransmittedSegments: 2},
		}},
		{"a new one", note(info(11, 4, 21, 9, 9000), info(11, 4, 21, 1, 100)), &TCPStatus{
			Flows: 2, Active: 2, RTTUs: &RTTStatus{P50: 11000, P95: 11000}, MinRTTUs: us(4000), CwndSegments: us(21), DeliveryKbps: kbps(2000),
			Total: TCPTotals{AckedBytes: 4100, RetransmittedSegments: 3},
		}},
		{"nothing measured", note(old), &TCPStatus{
			Flows: 1, Active: 1, CwndSegments: us(2), Total: TCPTotals{AckedBytes: 4100, RetransmittedSegments: 3},
		}},
		{"none", note(), &TCPStatus{Total: TCPTotals{AckedBytes: 4100, RetransmittedSegments: 3}}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	r.tun.NoteTCP(nil, r.now)
	if s := r.tun.Status(); s.TCP != nil {
		t.Errorf("after a look that failed: %+v", s.TCP)
	}
}
