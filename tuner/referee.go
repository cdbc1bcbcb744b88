package tuner

import (
	"fmt"
	"strconv"
	"time"

	"airtuned/policies"
	"airtuned/wlan"
)

// The referee stands above the policy, whatever it is: does the radio deliver
// less under our limits than it would under those it was found with? Only a
// comparison of neighbouring moments answers that, since load and link are
// others an hour later. So now and then, under demand, the original limits are
// in force for a second, between two seconds of ours.
const (
	// A look costs latency, for a second in ten minutes of demand: less than a
	// percentile of pings in a thousand sees. The first comes earlier, when the
	// policy has found its limits, and so does one that has to confirm another.
	lookEvery = 10 * time.Minute
	lookFirst = 2 * time.Minute
	lookAgain = 10 * time.Second
	// compareFor is measured on both sides of a look, lookFor in it, each after
	// the queue in the hardware got to its new level: what fills it is not
	// delivered, and all stations together hold some 150 ms.
	compareFor = time.Second
	lookFor    = 600 * time.Millisecond
	lookSettle = 400 * time.Millisecond
	// lookGain is what the originals must deliver more, twice in a row, to have
	// the radio back: well above the noise of a look, some per cent, and the 2 %
	// that a policy may cost.
	lookGain = 0.08
	// lookPause is how long they have it then. It doubles each time.
	lookPause    = 10 * time.Minute
	lookPauseMax = 24 * time.Hour
)

// referee decides whose limits are in force in the next window.
type referee struct {
	phase comparison
	// demand is how much of it there was since the last look, due how much brings
	// the next; 0 stands for lookFirst.
	demand, due time.Duration
	// settle and measure are the time left of the present phase.
	settle, measure time.Duration
	sent            map[wlan.MAC]*delivery
	us              [2]int64 // measured, by side
	losses          int      // looks in a row
	pause           time.Duration
	until           time.Time // of the pause
}

type comparison uint8

const (
	playing comparison = iota // nothing is compared
	before
	looking // the originals are in force
	after
)

// delivery is what one station got under ours and under the originals, and the
// airtime of all of it.
type delivery struct {
	bytes     [2]uint64
	airtimeUs uint64
	rateKbps  uint64
}

// The sides.
const (
	ours = iota
	theirs
)

// ruling is what the referee says of the next window.
type ruling uint8

const (
	play   ruling = iota // the policy decides
	show                 // the originals are to be in force
	resume               // the policy's last limits are again
	stay                 // all stays as it is
	lost                 // the originals have the radio
)

// wanted reports whether packets waited above the driver for most of a window:
// then what is delivered is worth comparing.
func wanted(o *policies.Observation) bool {
	return o.Backlog.N > 0 && o.Backlog.NonZero > 0.5
}

// judge takes in a window. comparable says that the limits in force during it
// are ours, and less than the originals; a look needs that.
func (r *referee) judge(o *policies.Observation, comparable bool) ruling {
	if o.Now.Before(r.until) {
		return lost
	}
	if r.due == 0 {
		r.due = lookFirst
	}
	if r.phase != playing && (o.Fresh || o.StationsChanged || r.phase != looking && !(comparable && wanted(o))) {
		return r.abandon()
	}
	switch {
	case r.phase == playing:
		if !comparable || !wanted(o) || o.Fresh {
			return play
		}
		if r.demand += o.Window; r.demand >= r.due {
			r.begin(before, 0, compareFor)
			r.sent, r.us = map[wlan.MAC]*delivery{}, [2]int64{}
		}
		return play
	case r.settle > 0:
		r.settle -= o.Window
		return stay
	}
	r.note(o)
	if r.measure -= o.Window; r.measure > 0 {
		if r.phase == looking {
			return stay
		}
		return play
	}
	switch r.phase {
	case before:
		r.begin(looking, lookSettle, lookFor)
		return show
	case looking:
		r.begin(after, lookSettle, compareFor)
		return resume
	}
	return r.conclude(o.Now)
}

func (r *referee) begin(p comparison, settle, measure time.Duration) {
	r.phase, r.settle, r.measure = p, settle, measure
}

// abandon ends a comparison that says nothing. The next one comes soon.
func (r *referee) abandon() ruling {
	r.rest(lookAgain)
	return play
}

func (r *referee) rest(due time.Duration) {
	r.phase, r.sent, r.demand, r.due = playing, nil, 0, due
}

// note adds what a window delivered to its side.
func (r *referee) note(o *policies.Observation) {
	side := ours
	if r.phase == looking {
		side = theirs
	}
	r.us[side] += o.Window.Microseconds()
	for i := range o.Stations {
		st := &o.Stations[i]
		if st.TxBytes == 0 {
			continue
		}
		d := r.sent[st.MAC]
		if d == nil {
			d = &delivery{}
			r.sent[st.MAC] = d
		}
		d.bytes[side] += st.TxBytes
		d.airtimeUs += st.AirtimeUs
		d.rateKbps = st.RateKbps
	}
}

// conclude compares the sides.
func (r *referee) conclude(now time.Time) ruling {
	gain, known := r.gain()
	switch {
	case !known:
		r.rest(lookEvery)
	case gain <= lookGain:
		r.losses, r.pause = 0, 0
		r.rest(lookEvery)
	case r.losses == 0:
		r.losses++
		r.rest(lookAgain)
	default:
		r.losses = 0
		r.pause = min(max(2*r.pause, lookPause), lookPauseMax)
		r.until = now.Add(r.pause)
		r.rest(lookFirst)
		return lost
	}
	return play
}

// gain is how much more airtime the originals delivered, as a fraction. Bytes
// are weighted with what a byte costs their station, the same on both sides: by
// the airtime mac80211 booked, else by the rate. Where neither is known of every
// station, only one can be judged.
func (r *referee) gain() (float64, bool) {
	timed, rated := true, true
	for _, d := range r.sent {
		timed = timed && d.airtimeUs > 0
		rated = rated && d.rateKbps > 0
	}
	if !timed && !rated && len(r.sent) > 1 {
		return 0, false
	}
	var delivered [2]float64
	for _, d := range r.sent {
		weight := 1.0
		switch {
		case timed:
			weight = float64(d.airtimeUs) / float64(d.bytes[ours]+d.bytes[theirs])
		case rated:
			weight = 1 / float64(d.rateKbps)
		}
		for side := range delivered {
			delivered[side] += weight * float64(d.bytes[side]) / float64(r.us[side])
		}
	}
	if delivered[ours] == 0 {
		return 0, false
	}
	return delivered[theirs]/delivered[ours] - 1, true
}

// reason says why the originals have the radio.
func (r *referee) reason() string {
	return fmt.Sprintf("the radio delivers more under the limits it was found with; they are back for %v", r.pause)
}

// originals are the limits the radio was found with; false if they are in force
// because nothing was changed.
func (t *Tuner) originals() (wlan.Limits, bool) {
	found := wlan.Limits{AC: t.inForce.AC, ThresholdUs: 0}
	changed := false
	for _, ac := range wlan.ACs {
		if value, ok := t.journal.original(limitKnob(ac)); ok {
			if l, err := parseLimit(value); err == nil {
				found.AC[ac], changed = l, true
			}
		}
	}
	if value, ok := t.journal.original(knobThreshold); ok {
		us, _ := strconv.ParseUint(value, 10, 32)
		found.ThresholdUs = uint32(us)
	}
	return found, changed
}

// tighter reports whether limits hold less than others in any access category.
func tighter(a, b wlan.Limits) bool {
	for ac := range a.AC {
		if a.AC[ac].LowUs < b.AC[ac].LowUs || a.AC[ac].HighUs < b.AC[ac].HighUs {
			return true
		}
	}
	return false
}
