package nl80211

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// eventQueue is how many events wait for a receiver that is busy.
const eventQueue = 64

// eventGroups are the multicast groups to listen to.
var eventGroups = [...]string{
	unix.NL80211_MULTICAST_GROUP_CONFIG,
	unix.NL80211_MULTICAST_GROUP_MLME,
	unix.NL80211_MULTICAST_GROUP_SCAN,
	unix.NL80211_MULTICAST_GROUP_REG,
}

// eventKinds are the commands that matter in these groups.
var eventKinds = map[uint8]EventKind{
	unix.NL80211_CMD_NEW_WIPHY:                WiphyAdded,
	unix.NL80211_CMD_DEL_WIPHY:                WiphyRemoved,
	unix.NL80211_CMD_NEW_INTERFACE:            InterfaceAdded,
	unix.NL80211_CMD_DEL_INTERFACE:            InterfaceRemoved,
	unix.NL80211_CMD_SET_INTERFACE:            InterfaceChanged,
	unix.NL80211_CMD_NEW_STATION:              StationAdded,
	unix.NL80211_CMD_DEL_STATION:              StationRemoved,
	unix.NL80211_CMD_TRIGGER_SCAN:             ScanStarted,
	unix.NL80211_CMD_NEW_SCAN_RESULTS:         ScanDone,
	unix.NL80211_CMD_SCAN_ABORTED:             ScanDone,
	unix.NL80211_CMD_CH_SWITCH_STARTED_NOTIFY: ChannelSwitch,
	unix.NL80211_CMD_CH_SWITCH_NOTIFY:         ChannelSwitch,
	unix.NL80211_CMD_START_AP:                 StartAP,
	unix.NL80211_CMD_REG_CHANGE:               RegChanged,
	unix.NL80211_CMD_WIPHY_REG_CHANGE:         RegChanged,
}

// Events reports what changes, from now on: a list that is read after Events
// returned misses nothing. It has a socket of its own.
//
// A receiver may be slow. Events it has no room for are replaced by a Resync,
// as are events that the kernel lost or that cannot be read.
//
// The channel is closed when ctx ends. It is also closed when the socket fails
// or nl80211 is unloaded; then Events is to be called again.
func (c *Client) Events(ctx context.Context) (<-chan Event, error) {
	sock, err := c.open()
	if err != nil {
		return nil, fmt.Errorf("listen to nl80211 events: %w", err)
	}
	if err := sock.listen(); err != nil {
		sock.Close()
		return nil, fmt.Errorf("listen to nl80211 events: %w", err)
	}
	events := make(chan Event, eventQueue)
	stop := context.AfterFunc(ctx, func() { sock.Close() })
	go func() {
		defer close(events)
		sock.forward(events)
		if stop() {
			sock.Close()
		}
	}()
	return events, nil
}

// listen joins the multicast groups.
func (s *socket) listen() error {
	// The filter comes first, so that only what matters is ever queued. It
	// saves wake-ups for the status of single frames (group mlme); what it lets
	// through is looked at again.
	filter, err := bpf.Assemble(eventFilter())
	if err != nil {
		return fmt.Errorf("assemble the filter: %w", err)
	}
	_ = s.SetBPF(filter)

	ids := map[string]uint32{}
	for _, g := range s.family.Groups {
		ids[g.Name] = g.ID
	}
	for _, name := range eventGroups {
		id, ok := ids[name]
		if !ok {
			return fmt.Errorf("no multicast group %q", name)
		}
		if err := s.JoinGroup(id); err != nil {
			return fmt.Errorf("join multicast group %q: %w", name, err)
		}
	}
	// Families that come and go; this group has the family's number.
	if err := s.JoinGroup(unix.GENL_ID_CTRL); err != nil {
		return fmt.Errorf("join multicast group of nlctrl: %w", err)
	}
	return s.SetDeadline(time.Time{})
}

// forward passes on events until the socket is closed, fails, or its family is
// gone.
func (s *socket) forward(events chan Event) {
	for {
		msgs, headers, err := s.Receive()
		if errors.Is(err, unix.ENOBUFS) {
			post(events, Event{Kind: Resync, Wiphy: -1})
			continue
		}
		if err != nil {
			return
		}
		for i, m := range msgs {
			switch headers[i].Header.Type {
			case netlink.HeaderType(s.family.ID):
				if e, ok := parseEvent(m); ok {
					post(events, e)
				}
			case unix.GENL_ID_CTRL:
				if s.unloaded(m) {
					return
				}
			}
		}
	}
}

// post queues an event without ever waiting. It must be the only sender. The
// queue's last place is kept for a Resync: as long as that is in the queue,
// the receiver will look at everything after whatever happens now.
func post(events chan Event, e Event) {
	switch free := cap(events) - len(events); {
	case free > 1:
		events <- e
	case free == 1:
		events <- Event{Kind: Resync, Wiphy: -1}
	}
}

// parseEvent reads a multicast message, if it is one of those that matter.
func parseEvent(m genetlink.Message) (Event, bool) {
	kind, ok := eventKinds[m.Header.Command]
	if !ok {
		return Event{}, false
	}
	e := Event{Kind: kind, Wiphy: -1}
	ad, err := netlink.NewAttributeDecoder(m.Data)
	if err != nil {
		return Event{Kind: Resync, Wiphy: -1}, true
	}
	for ad.Next() {
		switch ad.Type() {
		case unix.NL80211_ATTR_WIPHY:
			e.Wiphy = int(ad.Uint32())
		case unix.NL80211_ATTR_IFINDEX:
			e.IfIndex = int(ad.Uint32())
		case unix.NL80211_ATTR_MAC:
			e.MAC = decodeMAC(ad)
		}
	}
	if ad.Err() != nil {
		return Event{Kind: Resync, Wiphy: -1}, true
	}
	return e, true
}

// unloaded tells whether a message of nlctrl says that this socket's family is
// gone.
func (s *socket) unloaded(m genetlink.Message) bool {
	if m.Header.Command != unix.CTRL_CMD_DELFAMILY {
		return false
	}
	ad, err := netlink.NewAttributeDecoder(m.Data)
	if err != nil {
		return false
	}
	for ad.Next() {
		if ad.Type() == unix.CTRL_ATTR_FAMILY_ID && ad.Uint16() == s.family.ID {
			return true
		}
	}
	return false
}

// eventFilter lets through messages by their command, which is the first byte
// after the netlink header. nlctrl's CTRL_CMD_DELFAMILY has the number of a
// command that nl80211 does not announce.
func eventFilter() []bpf.Instruction {
	cmds := []uint8{unix.CTRL_CMD_DELFAMILY}
	for cmd := range eventKinds {
		cmds = append(cmds, cmd)
	}
	prog := []bpf.Instruction{bpf.LoadAbsolute{Off: unix.NLMSG_HDRLEN, Size: 1}}
	for i, cmd := range cmds {
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(cmd), SkipTrue: uint8(len(cmds) - i)})
	}
	return append(prog, bpf.RetConstant{Val: 0}, bpf.RetConstant{Val: 1<<32 - 1})
}
