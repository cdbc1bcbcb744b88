package nl80211

import (
	"iter"
	"os"
	"sync"
	"testing"
	"time"

	"airtuned/wlan"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nlenc"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

var family = genetlink.Family{
	ID: 28, Version: 1, Name: unix.NL80211_GENL_NAME,
	Groups: []genetlink.MulticastGroup{
		{ID: 6, Name: "config"}, {ID: 7, Name: "scan"}, {ID: 8, Name: "regulatory"}, {ID: 9, Name: "mlme"},
		{ID: 10, Name: "vendor"}, {ID: 11, Name: "nan"}, {ID: 12, Name: "testmode"},
	},
}

var (
	apMAC  = wlan.MAC{0x02, 0, 0, 0, 0, 0}
	staMAC = wlan.MAC{0x02, 0, 0, 0, 1, 0}
)

// fakeClient returns a client of a kernel that answers requests with fn.
func fakeClient(t testing.TB, fn genltest.Func) *Client {
	t.Helper()
	c, err := newClient(func() (*genetlink.Conn, error) {
		return genltest.Dial(genltest.ServeFamily(family, fn)), nil
	}, Timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// attrs encodes attributes.
func attrs(fn func(ae *netlink.AttributeEncoder)) []byte {
	ae := netlink.NewAttributeEncoder()
	fn(ae)
	b, err := ae.Encode()
	if err != nil {
		panic(err)
	}
	return b
}

// message is one message with the attributes.
func message(cmd uint8, fn func(ae *netlink.AttributeEncoder)) genetlink.Message {
	return genetlink.Message{Header: genetlink.Header{Command: cmd}, Data: attrs(fn)}
}

// nest encodes a nest as the kernel does in older interfaces, without the flag.
func nest(ae *netlink.AttributeEncoder, typ uint16, fn func(ae *netlink.AttributeEncoder)) {
	ae.Bytes(typ, attrs(fn))
}

// txqNest encodes all statistics of a TXQ, numbered on from first.
func txqNest(ae *netlink.AttributeEncoder, typ uint16, first uint32) {
	nest(ae, typ, func(ae *netlink.AttributeEncoder) {
		for attr := range uint16(unix.NL80211_TXQ_STATS_MAX) {
			ae.Uint32(attr+1, first+uint32(attr))
		}
		ae.Uint32(unix.NL80211_TXQ_STATS_MAX+1, 4711) // newer than us
	})
}

// txq is what txqNest is to be read as.
func txq(first uint32) TXQStats {
	return TXQStats{
		Has:          1<<12 - 2,
		BacklogBytes: first, BacklogPackets: first + 1, Flows: first + 2, Drops: first + 3, Marks: first + 4,
		Overlimit: first + 5, Overmemory: first + 6, Collisions: first + 7, TxBytes: first + 8, TxPackets: first + 9,
		MaxFlows: first + 10,
	}
}

// fakeSocket is a netlink socket with all a real one can do. Requests for a
// family are answered, others handed to serve; the rest is put into inbox.
type fakeSocket struct {
	serve func(netlink.Message) ([]netlink.Message, error)
	inbox chan any // []netlink.Message or error

	closeOnce sync.Once
	closed    chan struct{}

	groups   []uint32
	filter   []bpf.RawInstruction
	deadline time.Time
}

func newFakeSocket(serve func(netlink.Message) ([]netlink.Message, error)) *fakeSocket {
	return &fakeSocket{serve: serve, inbox: make(chan any, 1000), closed: make(chan struct{})}
}

func (s *fakeSocket) conn() *genetlink.Conn { return genetlink.NewConn(netlink.NewConn(s, 1)) }

func (s *fakeSocket) Send(m netlink.Message) error {
	if m.Header.Type != unix.GENL_ID_CTRL {
		msgs, err := s.serve(m)
		if err != nil {
			return os.NewSyscallError("sendmsg", err)
		}
		s.inbox <- msgs
		return nil
	}
	reply := genetlink.Message{
		Header: genetlink.Header{Command: unix.CTRL_CMD_NEWFAMILY},
		Data: attrs(func(ae *netlink.AttributeEncoder) {
			ae.Uint16(unix.CTRL_ATTR_FAMILY_ID, family.ID)
			ae.String(unix.CTRL_ATTR_FAMILY_NAME, family.Name)
			ae.Uint32(unix.CTRL_ATTR_VERSION, uint32(family.Version))
			ae.Nested(unix.CTRL_ATTR_MCAST_GROUPS, func(ae *netlink.AttributeEncoder) error {
				for i, g := range family.Groups {
					ae.Nested(uint16(i+1), func(ae *netlink.AttributeEncoder) error {
						ae.String(unix.CTRL_ATTR_MCAST_GRP_NAME, g.Name)
						ae.Uint32(unix.CTRL_ATTR_MCAST_GRP_ID, g.ID)
						return nil
					})
				}
				return nil
			})
		}),
	}
	s.inbox <- []netlink.Message{wrap(unix.GENL_ID_CTRL, 0, m.Header.Sequence, reply)}
	return nil
}

func (s *fakeSocket) SendMessages([]netlink.Message) error { panic("not used") }

func (s *fakeSocket) ReceiveIter() iter.Seq2[netlink.Message, error] {
	return func(yield func(netlink.Message, error) bool) {
		select {
		case <-s.closed:
			yield(netlink.Message{}, os.ErrClosed)
		case in := <-s.inbox:
			if err, ok := in.(error); ok {
				yield(netlink.Message{}, os.NewSyscallError("recvmsg", err))
				return
			}
			for _, m := range in.([]netlink.Message) {
				if !yield(m, nil) {
					return
				}
			}
		}
	}
}

func (s *fakeSocket) Receive() ([]netlink.Message, error) { panic("not used") }

func (s *fakeSocket) Close() error {
	s.closeOnce.Do(func() { close(s.closed) })
	return nil
}

func (s *fakeSocket) JoinGroup(id uint32) error  { s.groups = append(s.groups, id); return nil }
func (s *fakeSocket) LeaveGroup(id uint32) error { return nil }

func (s *fakeSocket) SetBPF(f []bpf.RawInstruction) error { s.filter = f; return nil }
func (s *fakeSocket) RemoveBPF() error                    { return nil }

func (s *fakeSocket) SetDeadline(t time.Time) error      { s.deadline = t; return nil }
func (s *fakeSocket) SetReadDeadline(t time.Time) error  { return nil }
func (s *fakeSocket) SetWriteDeadline(t time.Time) error { return nil }

// wrap puts a message into netlink's envelope.
func wrap(typ netlink.HeaderType, flags netlink.HeaderFlags, seq uint32, m genetlink.Message) netlink.Message {
	b, err := m.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return netlink.Message{
		Header: netlink.Header{Length: uint32(unix.NLMSG_HDRLEN + len(b)), Type: typ, Flags: flags, Sequence: seq, PID: 1},
		Data:   b,
	}
}

// multi wraps the replies to a dump.
func multi(seq uint32, flags netlink.HeaderFlags, msgs ...genetlink.Message) []netlink.Message {
	var out []netlink.Message
	for _, m := range msgs {
		out = append(out, wrap(netlink.HeaderType(family.ID), netlink.Multi|flags, seq, m))
	}
	return append(out, netlink.Message{
		Header: netlink.Header{Length: 20, Type: netlink.Done, Flags: netlink.Multi, Sequence: seq, PID: 1},
		Data:   nlenc.Int32Bytes(0),
	})
}
