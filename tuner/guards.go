package tuner

import (
	"slices"
	"strings"
	"time"

	"airtuned/policies"
)

// How long something must last before a guard believes it. Frames may sit in
// firmware for a sleeping station for a second or two, and reports come in
// lumps; what lasts longer than this is not that.
const (
	blindAfter    = 1 * time.Second // load without any pending airtime
	negativeAfter = 1 * time.Second // pending airtime below zero
	stuckAfter    = 5 * time.Second // pending airtime that never moves while idle
	stalledAfter  = 5 * time.Second // a throttled queue without any progress
	movingAfter   = 2 * time.Second // no such queue any more
	// A rate lower than what passes. Rates come from station dumps, every 10 s.
	pinnedAfter = 25 * time.Second
)

// pinnedKbps is the highest rate that firmware reports when it does not know:
// the lowest of 2.4 and of 5 GHz are 1 and 6 Mb/s.
const pinnedKbps = 6000

// blindPacketsPerS is a load at which pending airtime must show, were it
// counted: at 20 ms between samples, dozens of frames pass from one to the
// next. A few packets may well always be gone when we look.
const blindPacketsPerS = 500

// verdict is what the guards think of a radio's counters.
type verdict struct {
	action action
	reason string
}

type action uint8

const (
	_ action = iota // proceed: nothing is wrong
	// wait: nothing is wrong, but nothing is known yet either.
	wait
	// noEffect: limits do nothing here; they are not to be touched.
	noEffect
	// backOff: the counters cannot be believed; the originals must be back
	// until the cause is gone.
	backOff
)

// guards watch the observations for counters that cannot be believed. They
// judge only by what has lasted, and take the judgement back when its cause
// is gone.
type guards struct {
	counted  bool // pending airtime was seen: AQL does count on this radio
	blind    lasting
	negative lasting
	stuck    lasting
	stuckAt  float64
	leaked   bool // was stuck, and has not been empty since
	stalled  lasting
	stall    string  // who is stalled, until
	moving   lasting // nobody is
	pinned   lasting
}

// lasting measures for how long a condition has held without a break.
type lasting struct{ since time.Time }

func (l *lasting) holds(cond bool, o *policies.Observation) time.Duration {
	if !cond {
		l.since = time.Time{}
		return 0
	}
	if l.since.IsZero() {
		l.since = o.Now.Add(-o.Window)
	}
	return o.Now.Sub(l.since)
}

// active reports whether the condition held in the last window.
func (l *lasting) active() bool { return !l.since.IsZero() }

// ReasonBlind is why a radio is only observed whose AQL counts nothing.
const ReasonBlind = "AQL counts no airtime under load (the firmware reports no tx rates): limits have no effect"

// reasonUnpatched is the same where the kernel could help.
const reasonUnpatched = ReasonBlind + "; " + adviceQueue

// Blind reports whether the radio's limits were seen to have no effect, and
// nothing else bounds its hardware queue.
func (s Status) Blind() bool { return s.State == Observing && strings.HasPrefix(s.Reason, ReasonBlind) }

// check judges one observation.
func (g *guards) check(o *policies.Observation) verdict {
	g.note(o)
	if o.Pending.N > 0 {
		loaded := float64(o.TxPackets) >= blindPacketsPerS*o.Window.Seconds()
		if g.counted {
			// A fast radio under light load is empty at most moments. Once airtime
			// was seen, only packets that wait above an empty queue are evidence.
			loaded = loaded && wanted(o)
		} else {
			loaded = loaded || wanted(o) && o.TxPackets > 0 // a slow link
		}
		empty := o.Pending.Min == 0 && o.Pending.Max == 0
		// Once blind, it stays so until airtime is counted, load or no load.
		if g.blind.holds(empty && (loaded || g.blind.active()), o) >= blindAfter {
			return verdict{noEffect, ReasonBlind}
		}
		if g.negative.holds(o.Pending.Min < 0, o) >= negativeAfter {
			return verdict{backOff, "pending airtime is below zero: a kernel accounting bug"}
		}
		same := o.Pending.Min == o.Pending.Max && o.Pending.Max > 0 && (g.stuckAt == o.Pending.Max || !g.stuck.active())
		g.stuckAt = o.Pending.Max
		// Firmware keeps frames for a sleeping station: they are no leak.
		idle := o.TxPackets == 0 && o.Backlog.Max == 0 && !someAsleep(o)
		if g.stuck.holds(idle && same, o) >= stuckAfter {
			g.leaked = true
		}
		if g.leaked = g.leaked && o.Pending.Min > 0; g.leaked {
			return verdict{backOff, "pending airtime does not go back to zero when idle: a kernel accounting bug"}
		}
	}
	st := stalledStation(o)
	if g.stalled.holds(st != nil, o) >= stalledAfter {
		g.stall = "station " + st.MAC.String() + " is throttled and makes no progress"
	}
	// With the originals back it fills what they allow it besides, which is progress for a
	// moment. Smaller limits again would then keep all stations from sending: since 6.0
	// all that is pending in an access category counts against one limit.
	if g.moving.holds(st == nil, o) >= movingAfter {
		g.stall = ""
	}
	if g.stall != "" {
		return verdict{backOff, g.stall}
	}
	if st := pinnedStation(o); g.pinned.holds(st != nil, o) >= pinnedAfter {
		return verdict{backOff, "station " + st.MAC.String() + " is sent more than its reported rate allows: airtime is counted wrongly"}
	}
	if !g.counted {
		return verdict{wait, "waiting for traffic: no airtime was counted yet"}
	}
	return verdict{}
}

// note remembers whether airtime was ever counted. Before 6.0 there is no
// total, so the stations' own depths count as well.
func (g *guards) note(o *policies.Observation) {
	g.counted = g.counted || o.Pending.Max > 0
	for i := 0; i < len(o.Stations) && !g.counted; i++ {
		for _, us := range o.Stations[i].PendingUs {
			g.counted = g.counted || us > 0
		}
	}
}

// stalledStation finds a throttle that is not released: a station at or above
// its limit, awake as far as is known, with packets waiting and none sent in
// the window.
func stalledStation(o *policies.Observation) *policies.Station {
	for i := range o.Stations {
		st := &o.Stations[i]
		if !st.HasLimit || st.BacklogPackets == 0 || st.TxPackets > 0 || st.Asleep {
			continue
		}
		for ac, l := range st.Limit {
			if l.LowUs > 0 && int64(st.PendingUs[ac]) >= int64(l.LowUs) {
				return st
			}
		}
	}
	return nil
}

// someAsleep reports whether a station is known to be in power save.
func someAsleep(o *policies.Observation) bool {
	return slices.ContainsFunc(o.Stations, func(st policies.Station) bool { return st.Asleep })
}

// pinnedStation finds one whose reported rate is lower than what it is sent:
// then AQL takes its frames for many times as long as they are (QCA6174 before
// 5.10, some CT firmware).
func pinnedStation(o *policies.Observation) *policies.Station {
	for i := range o.Stations {
		st := &o.Stations[i]
		if st.RateKbps > 0 && st.RateKbps <= pinnedKbps && kbps(st.TxBytes, o.Window) > 2*st.RateKbps {
			return st
		}
	}
	return nil
}
