// Package compare holds two policies against each other on a live radio, in turns:
// which of them is in force when, what was measured meanwhile, and what may be
// concluded from that.
//
// A round is one interval under each policy, and a coin decides which comes
// first. So if the policies make no difference, the sign of a round's difference
// is the coin's, whatever the radio and its stations do over time and however
// much one interval has to do with the next: the test of the signs holds its
// level without any assumption about the measurements.
package compare

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"airtuned/tuner"
)

// Options is the plan of an experiment.
type Options struct {
	// A and B are the policies.
	A, B string
	// Interval is how long a policy is measured at a time, after Settle, in which
	// it finds its place.
	Interval, Settle time.Duration
	// Rounds is how often each policy is measured.
	Rounds int
	// Seed decides the order.
	Seed uint64
}

// Bounds of an experiment: with fewer rounds no outcome could be significant with
// all metrics, with more the exact distribution takes a router too long.
const (
	MinRounds   = 8
	MaxRounds   = 200
	MinInterval = time.Second
	MaxInterval = 10 * time.Minute
)

// Check says what is wrong with a plan.
func (o Options) Check() error {
	switch {
	case o.Rounds < MinRounds || o.Rounds > MaxRounds:
		return fmt.Errorf("%d rounds: from %d, below which nothing can be told from chance, to %d", o.Rounds, MinRounds, MaxRounds)
	case o.Interval < MinInterval || o.Interval > MaxInterval:
		return fmt.Errorf("an interval of %v: from %v to %v", o.Interval, MinInterval, MaxInterval)
	case o.Settle < 0 || o.Settle > MaxInterval:
		return fmt.Errorf("%v to settle: from 0s to %v", o.Settle, MaxInterval)
	}
	return nil
}

// Duration is how long the experiment takes.
func (o Options) Duration() time.Duration {
	return time.Duration(2*o.Rounds) * (o.Settle + o.Interval)
}

// Radio is the radio under test, with the clock it lives by.
type Radio interface {
	Now() time.Time
	// Wait lets a time pass.
	Wait(context.Context, time.Duration) error
	// Lend starts a policy anew, for at most a time unless it is called again.
	Lend(ctx context.Context, policy string, most time.Duration) error
	// Return puts back in force what was before the first Lend.
	Return() error
	// Read tells how the radio is doing.
	Read(context.Context) (Reading, error)
}

// Reading is what a radio says of itself at one time.
type Reading struct {
	Policy string
	State  tuner.State
	Reason string
	// TxBytes and Drops are counters.
	TxBytes, Drops uint64
	// ResidencyUs is how long frames stayed in the hardware queue, mean of the
	// latest window; 0: not known.
	ResidencyUs int64
	// Active is whether a station had traffic.
	Active bool
	// Pings are those that were answered since the last reading, Lost how many
	// were not.
	Pings []Ping
	Lost  int
}

// Ping is an answered echo request.
type Ping struct {
	At  time.Time // it was answered
	RTT time.Duration
}

// Leg is one interval under one policy.
type Leg struct {
	Round  int    `json:"round"` // from 1
	Side   string `json:"side"`  // A or B
	Policy string `json:"policy"`
	// Start and End bound what was measured: the time to settle came before.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Values has the metrics that could be measured.
	Values map[string]int64 `json:"values"`
	// ActivePct is in how much of it stations had traffic.
	ActivePct int `json:"active_pct"`
	// InForcePct is in how much of it the policy's limits were in force.
	InForcePct int `json:"in_force_pct"`
	// Pings were sent and PingsLost of them not answered.
	Pings     int `json:"pings"`
	PingsLost int `json:"pings_lost"`

	points []point
	pings  []Ping
}

// point is a moment of a leg, for drawing.
type point struct {
	at             time.Time
	throughputKbps int64
}

// look is how often the radio is read. It is no whole multiple of the daemon's
// window, so that no phase of a policy's is met again and again.
const look = 470 * time.Millisecond

// spare is how much longer than a leg its policy is lent: a daemon may be slow,
// and a comparison that was killed must not leave its policy behind.
const spare = 30 * time.Second

// ErrDisturbed is wrapped by errors that say what ended an experiment early.
var ErrDisturbed = errors.New("the comparison was disturbed")

// Run does the experiment and puts back in force what was. done is told of each
// leg.
func Run(ctx context.Context, o Options, r Radio, done func(*Leg)) (rep *Report, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Return()) }()
	coin := rand.New(rand.NewPCG(o.Seed, 0x636f6d70617265))
	began := r.Now()
	var legs []Leg
	for round := 1; round <= o.Rounds; round++ {
		order := [2]Leg{{Side: "A", Policy: o.A}, {Side: "B", Policy: o.B}}
		if coin.IntN(2) == 1 {
			order[0], order[1] = order[1], order[0]
		}
		for _, leg := range order {
			leg.Round = round
			if err := leg.measure(ctx, o, r); err != nil {
				return nil, err
			}
			legs = append(legs, leg)
			done(&leg)
		}
	}
	return newReport(o, began, legs), nil
}

// measure puts the policy in force, lets it settle and takes the measure.
func (l *Leg) measure(ctx context.Context, o Options, r Radio) error {
	if err := r.Lend(ctx, l.Policy, o.Settle+o.Interval+spare); err != nil {
		return err
	}
	begin := r.Now().Add(o.Settle)
	// It is read meanwhile as well, so that it is always asked as often.
	if err := l.until(ctx, r, begin, func(Reading) {}); err != nil {
		return err
	}
	return l.take(ctx, o.Interval, r)
}

// ErrNotInForce is wrapped by the error of a radio on which policies do nothing.
var ErrNotInForce = errors.New("the policy's limits are not in force")

// take measures what there is now.
func (l *Leg) take(ctx context.Context, interval time.Duration, r Radio) error {
	first, err := l.read(ctx, r)
	if err != nil {
		return err
	}
	l.Start = r.Now()
	var residencyUs, pingUs []int64
	active, inForce, reads := 0, 0, 0
	last, lastAt := first, l.Start
	note := func(now Reading) {
		reads++
		if now.Active {
			active++
		}
		if now.State == tuner.Tuning || l.Policy == "observe" {
			inForce++
		}
		if now.ResidencyUs > 0 {
			residencyUs = append(residencyUs, now.ResidencyUs)
		}
		for _, p := range now.Pings {
			pingUs = append(pingUs, p.RTT.Microseconds())
		}
		at := r.Now()
		if at.Sub(lastAt) > look/2 { // less may be no whole window of the daemon's
			l.points = append(l.points, point{at, kbps(now.TxBytes-last.TxBytes, at.Sub(lastAt))})
		}
		l.pings = append(l.pings, now.Pings...)
		l.PingsLost += now.Lost
		last, lastAt = now, at
	}
	if err := l.until(ctx, r, l.Start.Add(interval), note); err != nil {
		return err
	}
	l.End = lastAt
	switch {
	case last.TxBytes < first.TxBytes || last.Drops < first.Drops:
		return fmt.Errorf("%w: the radio's counters began anew", ErrDisturbed)
	case inForce == 0:
		return fmt.Errorf("%w: %s", ErrNotInForce, last.Reason)
	}
	l.Pings = len(pingUs) + l.PingsLost
	l.ActivePct, l.InForcePct = 100*active/reads, 100*inForce/reads
	l.Values = map[string]int64{
		Throughput: kbps(last.TxBytes-first.TxBytes, l.End.Sub(l.Start)),
		Drops:      int64(last.Drops - first.Drops),
	}
	if len(residencyUs) > 0 {
		sum := int64(0)
		for _, v := range residencyUs {
			sum += v
		}
		l.Values[Residency] = sum / int64(len(residencyUs))
		l.Values[ResidencyP95] = percentile(residencyUs, 95)
	}
	if len(pingUs) > 0 {
		l.Values[PingMedian] = median(pingUs)
		l.Values[PingP95] = percentile(pingUs, 95)
	}
	return nil
}

// until reads the radio again and again until a time, and at that time.
func (l *Leg) until(ctx context.Context, r Radio, end time.Time, note func(Reading)) error {
	for {
		left := end.Sub(r.Now())
		if left <= 0 {
			return nil
		}
		if err := r.Wait(ctx, min(left, look)); err != nil {
			return err
		}
		now, err := l.read(ctx, r)
		if err != nil {
			return err
		}
		note(now)
	}
}

// patience is how often a reading that should not be is repeated: settings take a
// moment to arrive, and ath10k holds the loop for 5 s while it flushes.
const patience = 15

// read reads the radio, and fails if the experiment is not what it should be.
func (l *Leg) read(ctx context.Context, r Radio) (Reading, error) {
	for try := 1; ; try++ {
		now, err := r.Read(ctx)
		switch {
		case err != nil:
			return now, err
		case now.Policy != l.Policy:
			err = fmt.Errorf("%w: somebody set the policy %s meanwhile", ErrDisturbed, now.Policy)
		case now.State == tuner.Held || now.State == tuner.Restored || now.State == tuner.Gone:
			err = fmt.Errorf("%w: the radio is %s: %s", ErrDisturbed, now.State, now.Reason)
		default:
			return now, nil
		}
		// Once measured, a policy does not change by itself, and what was measured
		// under another is no measurement of this one.
		measured := !l.Start.IsZero() && now.Policy != l.Policy
		if try == patience || measured {
			return now, err
		}
		if err := r.Wait(ctx, look); err != nil {
			return now, err
		}
	}
}

func kbps(bytes uint64, d time.Duration) int64 {
	return int64(bytes) * 8000 / max(d.Microseconds(), 1)
}
