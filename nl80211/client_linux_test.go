package nl80211

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nlenc"
	"golang.org/x/sys/unix"
)

func TestRequests(t *testing.T) {
	tests := []struct {
		name string
		call func(*Client) error
		cmd  uint8
		data []byte
	}{
		{
			name: "wiphys",
			call: func(c *Client) error { _, err := c.Wiphys(); return err },
			cmd:  unix.NL80211_CMD_GET_WIPHY,
			data: attrs(func(ae *netlink.AttributeEncoder) { ae.Flag(unix.NL80211_ATTR_SPLIT_WIPHY_DUMP, true) }),
		},
		{
			name: "interfaces",
			call: func(c *Client) error { _, err := c.Interfaces(); return err },
			cmd:  unix.NL80211_CMD_GET_INTERFACE,
			data: []byte{},
		},
		{
			name: "stations",
			call: func(c *Client) error { _, err := c.Stations(9); return err },
			cmd:  unix.NL80211_CMD_GET_STATION,
			data: attrs(func(ae *netlink.AttributeEncoder) { ae.Uint32(unix.NL80211_ATTR_IFINDEX, 9) }),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []genetlink.Message
			c := fakeClient(t, genltest.CheckRequest(family.ID, tt.cmd, netlink.Request|netlink.Dump,
				func(req genetlink.Message, _ netlink.Message) ([]genetlink.Message, error) {
					got = append(got, req)
					return nil, io.EOF
				}))
			if err := tt.call(c); err != nil {
				t.Fatal(err)
			}
			want := []genetlink.Message{{
				Header: genetlink.Header{Command: tt.cmd, Version: family.Version},
				Data:   tt.data,
			}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDialUnavailable(t *testing.T) {
	tests := []struct {
		name string
		dial func() (*genetlink.Conn, error)
		want error
	}{
		{
			name: "no netlink",
			dial: func() (*genetlink.Conn, error) { return nil, os.NewSyscallError("socket", unix.EPROTONOSUPPORT) },
			want: unix.EPROTONOSUPPORT,
		},
		{
			name: "no cfg80211",
			dial: func() (*genetlink.Conn, error) {
				return genltest.Dial(func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
					return nil, genltest.Error(int(unix.ENOENT))
				}), nil
			},
			want: unix.ENOENT,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := newClient(tt.dial, Timeout)
			if c != nil || !errors.Is(err, ErrUnavailable) || !errors.Is(err, tt.want) {
				t.Errorf("got %v, %v; want ErrUnavailable and %v", c, err, tt.want)
			}
			// A client made beforehand says the same at each request.
			if _, err := unconnected(tt.dial, Timeout).Wiphys(); !errors.Is(err, ErrUnavailable) || !errors.Is(err, tt.want) {
				t.Errorf("Wiphys: got %v; want ErrUnavailable and %v", err, tt.want)
			}
		})
	}
}

// A dump that changed while it was read is read again, but not for ever.
func TestDumpInterrupted(t *testing.T) {
	wiphy := func(index, gen uint32) genetlink.Message {
		return message(unix.NL80211_CMD_NEW_WIPHY, func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NL80211_ATTR_WIPHY, index)
			ae.Uint32(unix.NL80211_ATTR_GENERATION, gen)
		})
	}
	tests := []struct {
		name  string
		dirty func(seq uint32) []netlink.Message
	}{
		{"flag", func(seq uint32) []netlink.Message {
			return multi(seq, netlink.DumpInterrupted, wiphy(0, 1), wiphy(1, 1))
		}},
		{"generation", func(seq uint32) []netlink.Message {
			return multi(seq, 0, wiphy(0, 1), wiphy(1, 2))
		}},
	}
	for _, tt := range tests {
		for dirty, wantErr := range []error{0: nil, 1: nil, dumpTries - 1: nil, dumpTries: ErrInterrupted} {
			requests := 0
			sock := newFakeSocket(func(req netlink.Message) ([]netlink.Message, error) {
				requests++
				if requests <= dirty {
					return tt.dirty(req.Header.Sequence), nil
				}
				return multi(req.Header.Sequence, 0, wiphy(0, 2), wiphy(1, 2)), nil
			})
			c, err := newClient(func() (*genetlink.Conn, error) { return sock.conn(), nil }, Timeout)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Wiphys()
			if !errors.Is(err, wantErr) {
				t.Errorf("%s, %d times: got error %v, want %v", tt.name, dirty, err, wantErr)
			}
			if want := min(dirty+1, dumpTries); requests != want {
				t.Errorf("%s, %d times: %d requests, want %d", tt.name, dirty, requests, want)
			}
			want := []Wiphy{{Index: 0}, {Index: 1}}
			if wantErr != nil {
				want = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d times: wiphys (-want +got):\n%s", tt.name, dirty, diff)
			}
			c.Close()
		}
	}
}

// A kernel that does not come back holds up neither the caller nor, once it
// did come back, later requests; its late reply is nobody else's.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		first := true
		sock := newFakeSocket(func(req netlink.Message) ([]netlink.Message, error) {
			if !first {
				return multi(req.Header.Sequence, 0), nil
			}
			first = false
			<-release
			return multi(req.Header.Sequence, 0, message(unix.NL80211_CMD_NEW_STATION, func(ae *netlink.AttributeEncoder) {
				ae.Uint32(unix.NL80211_ATTR_IFINDEX, 9)
				ae.Bytes(unix.NL80211_ATTR_MAC, staMAC[:])
			})), nil
		})
		c, err := newClient(func() (*genetlink.Conn, error) { return sock.conn(), nil }, Timeout)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()

		for range 2 { // the second finds the first still under way
			if _, err := c.Stations(9); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got error %v, want %v", err, os.ErrDeadlineExceeded)
			}
		}
		close(release)
		got, err := c.Stations(9)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Station{}, got); diff != "" {
			t.Errorf("stations after the stuck dump (-want +got):\n%s", diff)
		}
	})
}

func TestCloseEndsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		sock := newFakeSocket(func(req netlink.Message) ([]netlink.Message, error) {
			<-release
			return multi(req.Header.Sequence, 0), nil
		})
		c, err := newClient(func() (*genetlink.Conn, error) { return sock.conn(), nil }, Timeout)
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error)
		for range 3 {
			go func() { _, err := c.Interfaces(); errs <- err }()
		}
		synctest.Wait()
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		for range 3 {
			if err := <-errs; !errors.Is(err, net.ErrClosed) {
				t.Errorf("got error %v, want %v", err, net.ErrClosed)
			}
		}
		close(release)
		if _, err := c.Interfaces(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: got error %v, want %v", err, net.ErrClosed)
		}
	})
}

// A refusal leaves the socket in order; after any other failure a new one is
// opened, with the family looked up anew.
func TestFailure(t *testing.T) {
	refusal := func(typ netlink.HeaderType, flags netlink.HeaderFlags, errno unix.Errno) func(seq uint32) ([]netlink.Message, error) {
		return func(seq uint32) ([]netlink.Message, error) {
			return []netlink.Message{{
				Header: netlink.Header{Length: 20, Type: typ, Flags: flags, Sequence: seq, PID: 1},
				Data:   nlenc.Int32Bytes(-int32(errno)),
			}}, nil
		}
	}
	tests := []struct {
		name  string
		reply func(seq uint32) ([]netlink.Message, error)
		want  error
		dials int
	}{
		{"refused", refusal(netlink.Error, 0, unix.EOPNOTSUPP), unix.EOPNOTSUPP, 1},
		{"refused by the dump", refusal(netlink.Done, netlink.Multi, unix.ENODEV), unix.ENODEV, 1},
		{"family gone", refusal(netlink.Error, 0, unix.ENOENT), unix.ENOENT, 2},
		{"send fails", func(uint32) ([]netlink.Message, error) { return nil, unix.ENOBUFS }, unix.ENOBUFS, 2},
		{"foreign reply", func(seq uint32) ([]netlink.Message, error) {
			return multi(seq-1, 0, genetlink.Message{}), nil
		}, nil, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dials, requests := 0, 0
			c, err := newClient(func() (*genetlink.Conn, error) {
				dials++
				return newFakeSocket(func(req netlink.Message) ([]netlink.Message, error) {
					if requests++; requests == 1 {
						return tt.reply(req.Header.Sequence)
					}
					return multi(req.Header.Sequence, 0), nil
				}).conn(), nil
			}, Timeout)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Stations(9); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got error %v, want %v", err, tt.want)
			}
			if _, err := c.Stations(9); err != nil {
				t.Errorf("the next request: %v", err)
			}
			if dials != tt.dials {
				t.Errorf("opened %d sockets, want %d", dials, tt.dials)
			}
		})
	}
}

// Requests take turns: none is sent before the reply to another was read.
func TestConcurrentRequests(t *testing.T) {
	var mu sync.Mutex
	busy := false
	var sock *fakeSocket
	sock = newFakeSocket(func(req netlink.Message) ([]netlink.Message, error) {
		mu.Lock()
		defer mu.Unlock()
		if busy || len(sock.inbox) > 0 {
			t.Error("two requests at a time")
		}
		busy = true
		defer func() { busy = false }()
		return multi(req.Header.Sequence, 0), nil
	})
	c, err := newClient(func() (*genetlink.Conn, error) { return sock.conn(), nil }, Timeout)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			if _, err := c.Stations(i); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// On a machine with cfg80211 the real thing has to work, for any user.
func TestLive(t *testing.T) {
	c, err := Dial()
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	events, err := c.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wiphys, err := c.Wiphys()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("wiphys: %+v", wiphys)
	ifis, err := c.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("interfaces: %+v", ifis)
	for _, ifi := range ifis {
		stas, err := c.Stations(ifi.Index)
		if err != nil {
			t.Errorf("%s: %v", ifi.Name, err)
		}
		fw, err := c.Firmware(ifi.Name)
		if err != nil {
			t.Errorf("%s: %v", ifi.Name, err)
		}
		t.Logf("%s: firmware %q, stations: %+v", ifi.Name, fw, stas)
	}
	if len(events) > 0 {
		t.Logf("event: %v", <-events)
	}
}

func TestFirmwareVersion(t *testing.T) {
	for in, want := range map[string]string{
		"10.4-3.9.0.2-00131\x00\x00\x00":   "10.4-3.9.0.2-00131",
		"N/A\x00":                          "",
		"\x00":                             "",
		"32 bytes with no end, as may be.": "32 bytes with no end, as may be.",
	} {
		if got := firmwareVersion([]byte(in)); got != want {
			t.Errorf("firmwareVersion(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFirmwareNoInterface(t *testing.T) {
	if _, err := new(Client).Firmware("nosuchwlan0"); !errors.Is(err, unix.ENODEV) {
		t.Errorf("got error %v, want %v", err, unix.ENODEV)
	}
}
