package tuner

import (
	"net/netip"
	"slices"
	"time"

	"airtuned/inet"
	"airtuned/sysfs"
	"airtuned/wlan"
)

// activeWithin is how long ago an active connection sent data: older round trips
// speak of the past.
const activeWithin = 5 * time.Second

// TCPStatus is this host's own TCP over the radio, at the latest look.
type TCPStatus struct {
	// Flows are the connections, Active those that sent data in the last 5 s.
	Flows  int `json:"flows"`
	Active int `json:"active"`
	// RTTUs are the round trips of the active ones, MinRTTUs the shortest that one of
	// them ever had, CwndSegments the median of their windows, DeliveryKbps what was
	// acknowledged to them together of late; nil where none of them tells.
	RTTUs        *RTTStatus `json:"rtt_us"`
	MinRTTUs     *int64     `json:"min_rtt_us"`
	CwndSegments *int64     `json:"cwnd_segments"`
	DeliveryKbps *uint64    `json:"delivery_kbps"`
	// Total counts since the first look. What connections did that came and went between
	// two looks is not in it.
	Total TCPTotals `json:"total"`
}

// RTTStatus are the median and the 95th percentile of smoothed round trips, in
// microseconds.
type RTTStatus struct {
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
}

// TCPTotals are counters of connections.
type TCPTotals struct {
	AckedBytes            uint64 `json:"acked_bytes"`
	RetransmittedSegments uint64 `json:"retransmitted_segments"`
}

// tcpView is what the connections looked like at the latest look.
type tcpView struct {
	at     time.Time // zero before the first
	status TCPStatus
	// flows are the counters by cookie; spent is memory to use again.
	flows, spent map[uint64]tcpCounters
	// queued is what was acknowledged since the look before to connections that had more
	// to send, queuedRTT the median of their round trips, 0 where there are none.
	queued    uint64
	queuedRTT time.Duration
}

type tcpCounters struct {
	acked       uint64
	retransmits uint32
}

// route tells which connections leave through a radio.
type route struct {
	// own are the interfaces whose traffic all goes through the radio: its own, and
	// what is above these alone. shared are those above others as well, as a bridge is.
	own, shared []int
	// addresses are this host's on all of these; true: on an own one.
	addresses map[netip.Addr]bool
	// behind are the hosts that the kernel knows as stations of the radio.
	behind map[netip.Addr]bool
}

// route finds the radio's part of the host's network.
func (t *Tuner) route(s *inet.Snapshot) route {
	r := route{addresses: map[netip.Addr]bool{}, behind: map[netip.Addr]bool{}}
	for _, i := range t.radio.Interfaces {
		index := i.Index
		if index == 0 {
			index, _ = sysfs.IfIndex(t.env.Sys, i.Name)
		}
		if index > 0 {
			r.own = append(r.own, index)
		}
		t.climb(&r, i.Name, false, 0)
	}
	for _, a := range s.Addresses {
		if own := slices.Contains(r.own, a.IfIndex); own || slices.Contains(r.shared, a.IfIndex) {
			r.addresses[a.IP] = own || r.addresses[a.IP]
		}
	}
	for _, n := range s.Neighbours {
		if slices.Contains(r.shared, n.IfIndex) && t.knows(n.MAC) {
			r.behind[n.IP] = true
		}
	}
	return r
}

// maxAbove bounds how far up VLANs, bridges and the like are followed.
const maxAbove = 4

// climb adds what is above an interface.
func (t *Tuner) climb(r *route, below string, shared bool, depth int) {
	uppers, _ := sysfs.Uppers(t.env.Sys, below)
	for _, name := range uppers {
		index, err := sysfs.IfIndex(t.env.Sys, name)
		if err != nil || depth == maxAbove || slices.Contains(r.own, index) || slices.Contains(r.shared, index) {
			continue
		}
		lowers, err := sysfs.Lowers(t.env.Sys, name)
		if shared := shared || err != nil || len(lowers) > 1; shared {
			r.shared = append(r.shared, index)
			t.climb(r, name, true, depth+1)
			continue
		}
		r.own = append(r.own, index)
		t.climb(r, name, false, depth+1)
	}
}

// takes reports whether a connection leaves through the radio.
func (r *route) takes(s *inet.Socket) bool {
	own, here := r.addresses[s.Local.Addr()]
	switch {
	case !here || s.IfIndex != 0 && !slices.Contains(r.own, s.IfIndex) && !slices.Contains(r.shared, s.IfIndex):
		return false
	case own:
		return true
	}
	return r.behind[s.Remote.Addr()]
}

// knows reports whether a station is associated.
func (t *Tuner) knows(mac wlan.MAC) bool {
	if t.senses != nil {
		return t.senses.station(mac) != nil
	}
	for _, d := range t.view.dumps {
		if _, ok := d.bytes[mac]; ok {
			return true
		}
	}
	return false
}

// NoteTCP takes in this host's connections; nil when they could not be listed.
func (t *Tuner) NoteTCP(s *inet.Snapshot, now time.Time) {
	if s == nil || t.gone != "" {
		t.tcp = tcpView{}
		t.choosePacing(now)
		return
	}
	r := t.route(s)
	v := &t.tcp
	first := v.at.IsZero()
	v.at = now
	v.flows, v.spent = v.spent, v.flows
	if v.flows == nil {
		v.flows = map[uint64]tcpCounters{}
	}
	clear(v.flows)
	st := TCPStatus{Total: v.status.Total}
	v.queued, v.queuedRTT = 0, 0
	var rtts, queuedRTTs, cwnds []int64
	for i := range s.Sockets {
		so := &s.Sockets[i]
		if !r.takes(so) {
			continue
		}
		st.Flows++
		was, had := v.spent[so.Cookie]
		is := tcpCounters{so.AckedBytes, so.Retransmits}
		v.flows[so.Cookie] = is
		acked := is.acked - min(was.acked, is.acked)
		if had || !first {
			st.Total.AckedBytes += acked
			st.Total.RetransmittedSegments += uint64(is.retransmits - min(was.retransmits, is.retransmits))
		}
		if so.Has&inet.HasBasics == 0 || so.SinceSent > activeWithin {
			continue
		}
		st.Active++
		cwnds = append(cwnds, int64(so.Cwnd))
		if so.Has&inet.HasRTT != 0 {
			rtts = append(rtts, so.RTT.Microseconds())
		}
		if us := so.MinRTT.Microseconds(); so.Has&inet.HasMinRTT != 0 && (st.MinRTTUs == nil || us < *st.MinRTTUs) {
			st.MinRTTUs = &us
		}
		if so.Has&inet.HasDelivery != 0 {
			if st.DeliveryKbps == nil {
				st.DeliveryKbps = new(uint64)
			}
			*st.DeliveryKbps += so.DeliveryBps / 125
		}
		if so.Has&inet.HasNotSent != 0 && so.NotSentBytes > 0 {
			v.queued += acked
			queuedRTTs = append(queuedRTTs, so.RTT.Microseconds())
		}
	}
	if len(rtts) > 0 {
		slices.Sort(rtts)
		st.RTTUs = &RTTStatus{P50: percentile(rtts, 50), P95: percentile(rtts, 95)}
	}
	if len(cwnds) > 0 {
		slices.Sort(cwnds)
		median := percentile(cwnds, 50)
		st.CwndSegments = &median
	}
	if len(queuedRTTs) > 0 {
		slices.Sort(queuedRTTs)
		v.queuedRTT = time.Duration(percentile(queuedRTTs, 50)) * time.Microsecond
	}
	v.status = st
	t.choosePacing(now)
}

// percentile is that of sorted values.
func percentile(sorted []int64, percent int) int64 {
	return sorted[(len(sorted)*percent-1)/100]
}
