package tuner

import (
	"strconv"
	"time"

	"airtuned/policies"
)

// Where AQL is blind, its limits do nothing. A kernel with tx_queue_limit can
// bound the hardware queue all the same, in frames instead of airtime. The loop
// then acts in frames, whichever closed-loop policy is configured: policy dql can
// count either. AQL's limits are as they were found meanwhile.

const (
	// queueMin is the least limit of frames: two in the air, two behind them. It is
	// what the longest aggregate at 6.5 Mb/s holds, twice. Management frames are
	// not held to it.
	queueMin = 4
	// queueWide is how many times our limit the referee compares ours with. No
	// limit at all would fill a slow link's queue for seconds.
	queueWide = 4
	// queueJammed is how long nothing may leave for a full queue before the limit
	// is taken away: firmware keeps frames for a sleeping station, and they count.
	// It stays away for queuePause, and for longer each time.
	queueJammed   = time.Second
	queuePause    = 30 * time.Second
	queuePauseMax = 10 * time.Minute
)

// frameLimit is what is known of tx_queue_limit.
type frameLimit struct {
	on    bool // the loop acts in frames
	limit int  // in force at the last look; 0 is none
	max   int  // what driver and firmware hold at most
	found int  // the limit that was found, 0 for none
	wrote bool // limit is ours

	negative, stuck, jammed lasting
	stuckAt                 float64
	leaked                  bool
	pause                   time.Duration
	until                   time.Time // the limit is away
}

// inCharge is the settings with the policy that decides.
func (t *Tuner) inCharge() Settings {
	s := t.settings
	if t.frames.on {
		s.Policy = "dql"
	}
	return s
}

// checkQueue is checkForeign for the limit of frames.
func (t *Tuner) checkQueue(o *policies.Observation) {
	f := &t.frames
	if !o.HasQueueLimit {
		return
	}
	if f.wrote && o.QueueLimit != f.limit {
		t.cede(knobQueue + " " + strconv.Itoa(f.limit) + " -> " + strconv.Itoa(o.QueueLimit))
		t.foreign.queue = true
	}
	f.limit, f.max = o.QueueLimit, o.FramesMax
}

// chooseUnit has the loop act in frames while AQL is blind, if it can, and
// returns what the guards think then. Whatever it did in the other unit is undone.
func (t *Tuner) chooseUnit(v verdict, o *policies.Observation) verdict {
	on := v.action == noEffect && o.HasQueueLimit && t.settings.closedLoop()
	if on != t.frames.on {
		t.release(v.reason, o.Now)
		t.frames.on = on
		t.referee = referee{}
		t.appoint()
		o.Fresh = true
	}
	switch {
	case on:
		return t.frames.check(o)
	case v.action == noEffect && !o.HasQueueLimit && t.settings.closedLoop():
		v.reason = reasonUnpatched
	}
	return v
}

// check is guards.check for the number of frames.
func (f *frameLimit) check(o *policies.Observation) verdict {
	if o.Now.Before(f.until) {
		return verdict{backOff, reasonJammed}
	}
	if f.negative.holds(o.Frames.Min < 0, o) >= negativeAfter {
		return verdict{backOff, "the number of pending frames is below zero: a kernel accounting bug"}
	}
	same := o.Frames.Min == o.Frames.Max && o.Frames.Max > 0 && (f.stuckAt == o.Frames.Max || !f.stuck.active())
	f.stuckAt = o.Frames.Max
	idle := o.TxPackets == 0 && o.Backlog.Max == 0 && !someAsleep(o)
	if f.stuck.holds(idle && same, o) >= stuckAfter {
		f.leaked = true
	}
	if f.leaked = f.leaked && o.Frames.Min > 0; f.leaked {
		return verdict{backOff, "the number of pending frames does not go back to zero when idle: a kernel accounting bug"}
	}
	// A queue that is above a new limit empties: nothing is sent, but it moves.
	full := f.wrote && o.Frames.Min >= float64(f.limit) && o.Frames.Min == o.Frames.Max
	if f.jammed.holds(full && o.TxPackets == 0 && wanted(o), o) >= queueJammed {
		f.jammed = lasting{}
		if o.Now.Sub(f.until) > queuePauseMax {
			f.pause = 0
		}
		f.pause = min(max(2*f.pause, queuePause), queuePauseMax)
		f.until = o.Now.Add(f.pause)
		return verdict{backOff, reasonJammed}
	}
	return verdict{}
}

const reasonJammed = "nothing leaves the driver while its queue is at tx_queue_limit, as when it keeps frames for a sleeping station; no limit for a while"

// decideQueue brings the policy's limit of frames about, if it has one.
func (t *Tuner) decideQueue(d policies.Decision, o *policies.Observation) {
	reason := "AQL is blind, so frames are limited: " + d.Reason
	if d.QueueFrames == 0 { // it has seen no frame yet
		t.become(Tuning, reason)
		return
	}
	most := max(o.FramesMax, queueMin)
	if f := &t.frames; !f.wrote {
		if value, ok := t.journal.original(knobQueue); ok {
			f.found, _ = strconv.Atoi(value)
		} else {
			f.found = f.limit
		}
	}
	t.putQueue(min(max(d.QueueFrames, queueMin), most), reason, o.Now)
}

// putQueue brings a limit of frames about.
func (t *Tuner) putQueue(frames int, reason string, now time.Time) {
	f := &t.frames
	if frames == f.limit {
		t.become(Tuning, reason)
		return
	}
	applied, failed := t.enact([]setting{{knobQueue, strconv.Itoa(frames)}}, reason, now)
	if failed != "" {
		t.look = true
		// What is in force now may be ours: it must not be taken for another
		// program's.
		n, err := t.phy.TxQueueLimit()
		f.limit, f.wrote = n, f.wrote && err == nil
		t.pause(now.Add(retryPause))
		t.become(Held, failed)
		return
	}
	f.limit, f.wrote = frames, f.wrote || applied
	t.decisions++
	if now.Sub(t.loggedAt) >= logEvery {
		t.loggedAt = now
	}
	t.become(Tuning, reason)
}

// comparable reports whether our limit is less than what was found.
func (f *frameLimit) comparable() bool {
	return f.wrote && f.limit > 0 && (f.found == 0 || f.limit < f.found)
}

// wide is what the referee compares our limit with.
func (f *frameLimit) wide(o *policies.Observation) int {
	n := min(queueWide*f.limit, max(o.FramesMax, queueMin))
	if f.found > 0 {
		n = min(n, f.found)
	}
	return n
}
