package nl80211

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// where encodes what most events have, each only if it is there.
func where(wiphy, ifindex int, mac []byte) func(ae *netlink.AttributeEncoder) {
	return func(ae *netlink.AttributeEncoder) {
		if ifindex != 0 {
			ae.Uint32(unix.NL80211_ATTR_IFINDEX, uint32(ifindex))
		}
		if wiphy >= 0 {
			ae.Uint32(unix.NL80211_ATTR_WIPHY, uint32(wiphy))
		}
		if mac != nil {
			ae.Bytes(unix.NL80211_ATTR_MAC, mac)
		}
	}
}

// multicast is an event as it comes from the socket.
func multicast(cmd uint8, fn func(ae *netlink.AttributeEncoder)) netlink.Message {
	return wrap(netlink.HeaderType(family.ID), 0, 0, message(cmd, fn))
}

// journal is the life of an access point and a client, as recorded from
// mac80211_hwsim, with what is to be made of it.
var journal = []struct {
	msg  netlink.Message
	want Event // the zero value (a Resync of wiphy 0) stands for none
}{
	{multicast(unix.NL80211_CMD_NEW_WIPHY, where(0, 0, nil)), Event{WiphyAdded, 0, 0, [6]byte{}}},
	{multicast(unix.NL80211_CMD_NEW_INTERFACE, where(0, 5, apMAC[:])), Event{InterfaceAdded, 0, 5, apMAC}},
	{multicast(unix.NL80211_CMD_SET_INTERFACE, where(0, 5, apMAC[:])), Event{InterfaceChanged, 0, 5, apMAC}},
	{multicast(unix.NL80211_CMD_VENDOR, where(0, 5, nil)), Event{}},
	{multicast(unix.NL80211_CMD_START_AP, where(0, 5, nil)), Event{StartAP, 0, 5, [6]byte{}}},
	{multicast(unix.NL80211_CMD_FRAME_TX_STATUS, where(0, 5, nil)), Event{}},
	{multicast(unix.NL80211_CMD_NEW_INTERFACE, where(1, 0, staMAC[:])), Event{InterfaceAdded, 1, 0, staMAC}},
	{multicast(unix.NL80211_CMD_TRIGGER_SCAN, where(1, 6, nil)), Event{ScanStarted, 1, 6, [6]byte{}}},
	{multicast(unix.NL80211_CMD_NEW_SCAN_RESULTS, where(1, 6, nil)), Event{ScanDone, 1, 6, [6]byte{}}},
	{multicast(unix.NL80211_CMD_SCAN_ABORTED, where(1, 6, nil)), Event{ScanDone, 1, 6, [6]byte{}}},
	{multicast(unix.NL80211_CMD_NEW_STATION, where(-1, 5, staMAC[:])), Event{StationAdded, -1, 5, staMAC}},
	{multicast(unix.NL80211_CMD_AUTHENTICATE, where(1, 6, nil)), Event{}},
	{multicast(unix.NL80211_CMD_CONNECT, where(1, 6, apMAC[:])), Event{}},
	{multicast(unix.NL80211_CMD_NOTIFY_CQM, where(1, 6, nil)), Event{}},
	{multicast(unix.NL80211_CMD_CH_SWITCH_STARTED_NOTIFY, where(-1, 5, nil)), Event{ChannelSwitch, -1, 5, [6]byte{}}},
	{multicast(unix.NL80211_CMD_CH_SWITCH_NOTIFY, where(-1, 5, nil)), Event{ChannelSwitch, -1, 5, [6]byte{}}},
	{multicast(unix.NL80211_CMD_DEL_STATION, where(-1, 5, staMAC[:])), Event{StationRemoved, -1, 5, staMAC}},
	{multicast(unix.NL80211_CMD_REG_CHANGE, where(-1, 0, nil)), Event{RegChanged, -1, 0, [6]byte{}}},
	{multicast(unix.NL80211_CMD_WIPHY_REG_CHANGE, where(0, 0, nil)), Event{RegChanged, 0, 0, [6]byte{}}},
	{multicast(unix.NL80211_CMD_DEL_INTERFACE, where(0, 5, apMAC[:])), Event{InterfaceRemoved, 0, 5, apMAC}},
	{multicast(unix.NL80211_CMD_DEL_WIPHY, where(0, 0, nil)), Event{WiphyRemoved, 0, 0, [6]byte{}}},
	// Something happened, but what?
	{multicast(unix.NL80211_CMD_NEW_STATION, where(-1, 5, []byte{1, 2})), Event{Resync, -1, 0, [6]byte{}}},
}

// events subscribes to the events of a fake kernel.
func events(t *testing.T, ctx context.Context) (*fakeSocket, <-chan Event) {
	t.Helper()
	var socks []*fakeSocket
	c, err := newClient(func() (*genetlink.Conn, error) {
		socks = append(socks, newFakeSocket(nil))
		return socks[len(socks)-1].conn(), nil
	}, Timeout)
	if err != nil {
		t.Fatal(err)
	}
	ch, err := c.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c.Close() // is not what ends the events
	return socks[1], ch
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sock, ch := events(t, ctx)

		if diff := cmp.Diff([]uint32{6, 9, 7, 8, unix.GENL_ID_CTRL}, sock.groups); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
		if !sock.deadline.IsZero() {
			t.Errorf("events end at %v", sock.deadline)
		}

		var want, got []Event
		for _, j := range journal {
			sock.inbox <- []netlink.Message{j.msg}
			if j.want != (Event{}) {
				want = append(want, j.want)
			}
		}
		sock.inbox <- unix.ENOBUFS
		sock.inbox <- []netlink.Message{journal[0].msg, journal[1].msg}
		want = append(want, Event{Kind: Resync, Wiphy: -1}, journal[0].want, journal[1].want)
		synctest.Wait()
		cancel()
		for e := range ch { // what happened before the end is still told
			got = append(got, e)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		<-sock.closed
	})
}

// The kernel-side filter lets through what is looked at and nothing else.
func TestEventFilter(t *testing.T) {
	vm, err := bpf.NewVM(eventFilter())
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range journal {
		b, err := j.msg.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		n, err := vm.Run(b)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := n > 0, j.want != (Event{}); got != want {
			t.Errorf("command %d: passes %t, want %t", b[unix.NLMSG_HDRLEN], got, want)
		}
	}
}

// A receiver that does not receive loses events but never the knowledge that
// it did, and holds up nobody.
func TestEventsSlowReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sock, ch := events(t, ctx)

		flood := func() {
			for range 3 * eventQueue {
				sock.inbox <- []netlink.Message{journal[1].msg}
			}
			synctest.Wait()
			if n := len(sock.inbox); n != 0 {
				t.Fatalf("%d messages left in the socket", n)
			}
		}
		resync := Event{Kind: Resync, Wiphy: -1}
		flood()
		for i := range eventQueue - 1 {
			if e := <-ch; e != journal[1].want {
				t.Fatalf("event %d: %v", i, e)
			}
		}
		if e := <-ch; e != resync {
			t.Errorf("after as many as fit: %v, want %v", e, resync)
		}

		// As before once there is room again.
		sock.inbox <- []netlink.Message{journal[0].msg}
		if e := <-ch; e != journal[0].want {
			t.Errorf("with room again: %v, want %v", e, journal[0].want)
		}

		// One event taken out of a full queue is not enough room for another.
		flood()
		<-ch
		flood()
		var last Event
		for range eventQueue {
			last = <-ch
		}
		if last != resync || len(ch) != 0 {
			t.Errorf("last event %v and %d more, want %v", last, len(ch), resync)
		}
	})
}

func TestEventsEnd(t *testing.T) {
	nlctrl := func(cmd uint8, id uint16) []netlink.Message {
		return []netlink.Message{wrap(unix.GENL_ID_CTRL, 0, 0, message(cmd, func(ae *netlink.AttributeEncoder) {
			ae.String(unix.CTRL_ATTR_FAMILY_NAME, "x")
			ae.Uint16(unix.CTRL_ATTR_FAMILY_ID, id)
		}))}
	}
	for _, tt := range []struct {
		name string
		in   any
		ends bool
	}{
		{"socket fails", unix.EBADF, true},
		{"nl80211 unloaded", nlctrl(unix.CTRL_CMD_DELFAMILY, family.ID), true},
		{"another family unloaded", nlctrl(unix.CTRL_CMD_DELFAMILY, family.ID+1), false},
		{"another family's groups", nlctrl(unix.CTRL_CMD_NEWMCAST_GRP, family.ID), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				sock, ch := events(t, ctx)
				sock.inbox <- tt.in
				synctest.Wait()
				select {
				case e, ok := <-ch:
					if ok || !tt.ends {
						t.Errorf("got event %v, %t", e, ok)
					}
					<-sock.closed
				default:
					if tt.ends {
						t.Error("the channel is still open")
					}
				}
			})
		})
	}
}

// A context that has ended already is no reason to leave anything behind.
func TestEventsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
		defer cancel()
		<-ctx.Done()
		sock, ch := events(t, ctx)
		for e := range ch {
			t.Errorf("event %v", e)
		}
		<-sock.closed
	})
}

func TestEventKindString(t *testing.T) {
	seen := map[string]bool{}
	for k := Resync; k <= RegChanged; k++ {
		if name := k.String(); name == fmt.Sprintf("event %d", k) || seen[name] {
			t.Errorf("kind %d is named %q", k, name)
		} else {
			seen[name] = true
		}
	}
	if got, want := (RegChanged + 1).String(), "event 13"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, j := range journal {
		f.Add(j.msg.Data)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m genetlink.Message
		if m.UnmarshalBinary(b) != nil {
			return
		}
		e, ok := parseEvent(m)
		if _, known := eventKinds[m.Header.Command]; ok != known {
			t.Errorf("command %d: got %v, %t", m.Header.Command, e, ok)
		}
		if s := (&socket{family: family}); s.unloaded(m) && m.Header.Command != unix.CTRL_CMD_DELFAMILY {
			t.Error("unloaded by another command")
		}
	})
}
