// Package tsq chooses the pacing shift of a radio: how much a TCP connection of this
// host may queue below TCP (TCP small queues, net/ipv4/tcp_output.c,
// tcp_small_queue_check). With each step up that is half as much: shorter round
// trips, until aggregates starve. How far it can go depends on chip and host, so
// it is measured, on the traffic there is: two neighbouring shifts in turns, in
// short phases, so that whatever else changes meets both.
//
// Like all policies it does no I/O and has no clock.
package tsq

import (
	"fmt"
	"math"
	"time"
)

// The shifts that are tried: 31 ms to 1 ms at the pacing rate. Ethernet has 10
// (net/core/sock.c, sk_pacing_shift), each mac80211 driver 7.
const (
	Min = 5
	Max = 10
)

// What an observation must be to count.
const (
	// minBytesPerS is the least traffic that says anything.
	minBytesPerS = 1e6 / 8
	// ownShare is the part of the radio's traffic that connections of this host must
	// have which have more to send. Headers and what is sent again are not theirs.
	ownShare = 0.7
	// longest is how long an observation may have taken: else the machine slept.
	longest = 10 * time.Second
)

// How two shifts are compared. All are logarithms of ratios.
var (
	// mayLose is what a larger shift may cost in throughput, since the first one.
	mayLose = math.Log(0.98)
	// mustGain is what a smaller one must deliver more.
	mustGain = math.Log(1.03)
	// mustShorten is what a larger one must take off the round trip: if another
	// queue is what it waits in, there is nothing to win.
	mustShorten = math.Log(0.95)
	// lostMuch is so much less in one pair of phases that no other is needed.
	lostMuch = math.Log(0.75)
)

const (
	// mayCost is what a larger shift may cost in CPU time, of all there is: the
	// less is queued, the more often it is.
	mayCost = 0.05
	// These are what the ratio of two phases has of noise at least, whatever a few of
	// them say.
	leastNoise    = 0.02
	leastRTTNoise = 0.1
	// sure is the error of a mean that no more pairs are needed for.
	sure               = 0.01
	minPairs, maxPairs = 4, 24
	// A trial that is disturbed so often, or lasts so long, says nothing.
	maxVoid  = 8
	maxTrial = 10 * time.Minute
)

// When there is a trial.
const (
	// againAfter is the pause after a trial that moved on or said nothing, and after
	// a look at traffic that others send.
	againAfter = time.Minute
	// With nothing better on either side, it rests: at first for restFor, twice as
	// long each time.
	restFor = time.Hour
	restMax = 24 * time.Hour
	// otherTimes is how much more or less than when it was chosen has to be delivered
	// for a choice to be void.
	otherTimes = 2
)

// Observation is what happened since the one before.
type Observation struct {
	Now    time.Time
	Window time.Duration
	// SentBytes left through the radio. OwnBytes is what was acknowledged to
	// connections of this host that have more to send.
	SentBytes, OwnBytes uint64
	// RTT is the median of their round trips, 0 where it is not known.
	RTT time.Duration
	// Busy is the share of all CPU time that was used, below 0 where it is not known.
	Busy float64
	// Disturbed is set when something else changed that moves throughput: limits,
	// stations, the channel.
	Disturbed bool
}

func (o *Observation) bytesPerS() float64 { return float64(o.SentBytes) / o.Window.Seconds() }

// tells reports whether the shift is what bounds throughput here, as far as is known.
func (o *Observation) tells() bool {
	return o.bytesPerS() >= minBytesPerS && float64(o.OwnBytes) >= ownShare*float64(o.SentBytes)
}

// Policy chooses for one radio.
type Policy struct {
	base  int // what it began with
	shift int // the best known
	// kept is the logarithm of what shift delivers of what base does, never above 0.
	kept float64
	// level is what was delivered when shift was chosen, in bytes per second.
	level float64

	trial  *trial
	down   bool // the next trial is of a smaller shift
	failed int  // trials in a row that changed nothing
	rests  int
	until  time.Time // no trial before
	lookAt time.Time // no look before
	looked bool      // the last observation is the beginning of this one
	reason string
}

// trial compares shift (side 0) and another one (side 1), as 0 1, 1 0, 0 1, ...
type trial struct {
	other   int
	since   time.Time
	settled bool // the queue is what the shift in force makes it
	first   int  // the side that the pair began with
	second  bool // its first phase is over
	sides   [2]phase
	void    int

	n                int // pairs
	sent, rtt, busy  moments
	timed, accounted bool    // round trips and CPU time were known in all
	level            float64 // sum of what shift delivered, bytes per second
}

type phase struct {
	bytesPerS, rttS, busy float64
}

// moments are the sums that a mean and its error come from.
type moments struct{ sum, squares float64 }

func (m *moments) add(v float64) {
	m.sum += v
	m.squares += v * v
}

// mean is that of n, with its standard error, of at least so much noise.
func (m *moments) mean(n int, noise float64) (mean, err float64) {
	mean = m.sum / float64(n)
	variance := max(0, m.squares/float64(n)-mean*mean)
	if n > 1 {
		variance *= float64(n) / float64(n-1)
	}
	return mean, math.Sqrt(max(variance, noise*noise) / float64(n))
}

// New returns a policy that begins with the shift a radio has.
func New(base int) *Policy { return &Policy{base: base, shift: base} }

// Base is the shift that it began with.
func (p *Policy) Base() int { return p.base }

// Settled is the best shift known. It is in force but for trials.
func (p *Policy) Settled() int { return p.shift }

// Trying reports whether a shift is on trial.
func (p *Policy) Trying() bool { return p.trial != nil }

// Due reports whether an observation is worth its cost. While Trying it always is.
func (p *Policy) Due(now time.Time) bool { return p.trial != nil || !now.Before(p.lookAt) }

// Shift is the one to be in force now, and why.
func (p *Policy) Shift() (int, string) {
	if t := p.trial; t != nil && t.side() == 1 {
		return t.other, fmt.Sprintf("trying %d instead of %d", t.other, p.shift)
	}
	return p.shift, p.reason
}

func (t *trial) side() int {
	if t.second {
		return 1 - t.first
	}
	return t.first
}

// Abandon ends a trial, because nothing can be seen or done any more.
func (p *Policy) Abandon(now time.Time) {
	p.trial, p.looked = nil, false
	p.wait(now, againAfter)
}

func (p *Policy) wait(now time.Time, d time.Duration) {
	p.until, p.lookAt = now.Add(d), now.Add(d)
	if p.shift != p.base { // the choice may be void before
		p.lookAt = now.Add(min(d, againAfter))
	}
}

// Observe takes in what happened while Shift was in force. It is called every few
// seconds while Due, in order of time.
func (p *Policy) Observe(o *Observation) {
	begin := !p.looked || o.Window <= 0 || o.Window > longest
	p.looked = true
	if p.trial != nil {
		p.try(o, begin)
		return
	}
	if begin {
		return
	}
	if !o.tells() {
		p.look(o.Now)
		return
	}
	if b := o.bytesPerS(); p.shift != p.base && (b > otherTimes*p.level || b*otherTimes < p.level) {
		p.reason = fmt.Sprintf("%d again: %.0f Mb/s, and not %.0f as when %d was chosen", p.base, b*8e-6, p.level*8e-6, p.shift)
		p.shift, p.kept, p.failed, p.rests = p.base, 0, 0, 0
		p.wait(o.Now, againAfter)
		return
	}
	if o.Now.Before(p.until) || o.Disturbed {
		p.look(o.Now)
		return
	}
	other := p.shift + 1
	if p.down {
		other = p.shift - 1
	}
	if other < Min || other > Max {
		p.fail(o.Now)
		return
	}
	p.trial = &trial{other: other, since: o.Now, settled: true, timed: true, accounted: true}
}

// look puts the next look off.
func (p *Policy) look(now time.Time) {
	p.looked = false
	p.lookAt = now.Add(againAfter)
	if p.shift == p.base && p.until.After(p.lookAt) {
		p.lookAt = p.until
	}
}

// fail notes that one side is no better. With both seen, it rests.
func (p *Policy) fail(now time.Time) {
	p.trial, p.looked, p.down = nil, false, !p.down
	if p.failed++; p.failed < 2 {
		p.wait(now, againAfter)
		return
	}
	p.failed = 0
	p.wait(now, min(restFor<<min(p.rests, 10), restMax))
	p.rests++
}

// try goes on with a trial.
func (p *Policy) try(o *Observation, begin bool) {
	t := p.trial
	if begin || o.Disturbed || !o.tells() {
		// The pair begins anew, with what is known to work.
		t.first, t.second, t.settled = 0, false, false
		t.void++
		if t.void > maxVoid || o.Now.Sub(t.since) > maxTrial {
			p.Abandon(o.Now)
		}
		return
	}
	if !t.settled {
		t.settled = true
		return
	}
	t.sides[t.side()] = phase{o.bytesPerS(), o.RTT.Seconds(), o.Busy}
	if !t.second {
		t.second, t.settled = true, false
		return
	}
	t.first, t.second = 1-t.first, false // the next pair begins where this one ends
	t.take()
	p.judge(o.Now)
}

// take adds a pair.
func (t *trial) take() {
	a, b := t.sides[0], t.sides[1]
	t.n++
	t.sent.add(math.Log(b.bytesPerS / a.bytesPerS))
	t.level += a.bytesPerS
	if t.timed = t.timed && a.rttS > 0 && b.rttS > 0; t.timed {
		t.rtt.add(math.Log(b.rttS / a.rttS))
	}
	if t.accounted = t.accounted && a.busy >= 0 && b.busy >= 0; t.accounted {
		t.busy.add(b.busy - a.busy)
	}
}

// judge ends the trial once enough is known.
func (p *Policy) judge(now time.Time) {
	t := p.trial
	gain, err := t.sent.mean(t.n, leastNoise)
	enough, last := t.n >= minPairs, t.n >= maxPairs
	settled := enough && err <= sure
	what := fmt.Sprintf("%.0f %% of the throughput of %d", 100*math.Exp(gain), p.shift)
	if t.other < p.shift {
		switch {
		case enough && gain-2*err > mustGain || last && gain-err > mustGain:
			p.move(now, gain, fmt.Sprintf("%d: %s", t.other, what))
		case settled && gain+err < mustGain || last:
			p.fail(now)
		}
		return
	}
	rtt, rttErr := t.rtt.mean(t.n, leastRTTNoise)
	busy, busyErr := t.busy.mean(t.n, leastNoise)
	switch {
	case settled && p.kept+gain-err >= mayLose && t.timed && rtt+2*rttErr <= mustShorten &&
		(!t.accounted || busy+busyErr <= mayCost):
		p.move(now, gain, fmt.Sprintf("%d: %s, %.0f %% of its round trip", t.other, what, 100*math.Exp(rtt)))
	case gain < lostMuch, enough && p.kept+gain+2*err < mayLose, enough && rtt-2*rttErr > mustShorten, !t.timed, last:
		p.fail(now)
	}
}

// move makes the other shift the best known.
func (p *Policy) move(now time.Time, gain float64, reason string) {
	t := p.trial
	p.level = t.level / float64(t.n) * math.Exp(gain)
	p.kept = min(0, p.kept+gain)
	p.down = t.other < p.shift // on the way it went
	p.shift, p.reason = t.other, reason
	p.failed, p.rests = 0, 0
	p.trial, p.looked = nil, false
	p.wait(now, againAfter)
}
