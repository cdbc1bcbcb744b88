package policies

import (
	"math"
	"time"

	"airtuned/wlan"
)

// dql is the kernel's dynamic queue limits (lib/dynamic_queue_limits.c) carried
// over to airtime: grow at once when the hardware starved, shrink by the
// smallest slack seen over a hold time.
//
// What differs, and why. The kernel's algorithm runs at every completion and
// sees each object come and go; here a step is a window of many completions.
// The kernel knows that a queue starved because it was over its limit and ran
// empty. Here that cannot be seen: frames already sent count as pending until
// the host serves their completion, so a starved queue can look full, and a
// healthy one reads zero now and then. Starvation is therefore judged by what
// it does: less airtime is delivered than a larger limit delivered, though
// packets waited all the time.
//
// Known weaknesses: it cannot tell a worse channel from starvation, so it grows
// after either; it must starve to find out that it shrank too far, so it swings
// about the knee; pending read every few milliseconds misses short lows, so its
// slack is too large.
type dql struct {
	minUs, maxUs float64
	meter        meter

	limitUs uint32
	// starting is set until the first step.
	starting bool
	// bestRate is the highest airtime delivered per time, which forgets itself.
	bestRate float64
	// settle is the time left until the queue has got to a new limit.
	settle time.Duration
	// prevStarved is set when the window before looked starved already.
	prevStarved bool
	// ungrownRate is what was delivered before the limit grew, 0 once that has
	// been judged.
	ungrownRate float64
	// lowestSlackUs is the least slack since slackStart, if hasSlack.
	lowestSlackUs float64
	hasSlack      bool
	slackStart    time.Time
}

const (
	// dqlHold is the time over which slack is collected. The kernel's is 1 s
	// (DQL_HOLD_TIME, net/core/dev.c); ours holds as many windows as that holds
	// interrupts of a slow device.
	dqlHold = 2 * time.Second
	// dqlStarved is the loss of delivered airtime that counts as starvation: two
	// to three times the noise of a 200 ms window.
	dqlStarved = 0.04
	// dqlGrow bounds growth per step. The kernel's is bounded by what was sent
	// in one completion interval, which doubles a limit at most.
	dqlGrow = 2
	// dqlShrink bounds shrinking per hold time, to stay close to where the
	// delivered airtime was known.
	dqlShrink = 0.85
	// dqlSettle is the number of residencies that a new limit takes to act.
	dqlSettle = 3
	// dqlForget is the time in which the best rate falls by a factor of e, so
	// that a channel that got worse is not taken for starvation for ever.
	dqlForget = 5 * time.Minute
)

func newDQL(p Params) *dql {
	d := &dql{minUs: float64(p.Min.Microseconds()), maxUs: float64(p.Max.Microseconds())}
	if p.Target > 0 {
		d.maxUs = max(min(d.maxUs, float64(p.Target.Microseconds())), d.minUs)
	}
	d.reset()
	return d
}

func (d *dql) Name() string { return "dql" }

// reset is dql_reset. It starts where the other policies do, not at the least
// limit as the kernel does: a window is too long to starve for.
func (d *dql) reset() {
	d.limitUs, d.starting = d.clamp(startUs), true
	d.bestRate, d.ungrownRate, d.prevStarved = 0, 0, false
	d.restartSlack(time.Time{})
	d.settle = settleMax
}

// Decide is dql_completed, with a window for a completion.
func (d *dql) Decide(o *Observation) Decision {
	delivered := d.meter.delivered(o)
	d.bestRate *= math.Exp(d.meter.shift)
	d.ungrownRate *= math.Exp(d.meter.shift)
	reason := "holding"
	switch {
	case o.Fresh:
		d.meter.reset()
		d.reset()
		reason = "starting"
	case !o.demand(), o.StationsChanged, d.meter.stepped:
		// Nothing was over the limit (ovlimit == 0), or it cannot be told.
		d.bestRate, d.ungrownRate, d.prevStarved = 0, 0, false
		d.restartSlack(o.Now)
	case !inForce(o, d.limitUs):
		// Not our limit: nothing to learn.
	case d.settle > 0:
		d.settle = min(d.settle, dqlSettle*time.Duration(o.residency())*time.Microsecond) - o.Window
	default:
		reason = d.completed(o, delivered/float64(o.Window.Microseconds()))
	}
	return Decision{
		Write:  true,
		Limits: wlan.Uniform(d.limitUs, threshold(o, d.limitUs)),
		Reason: reason,
	}
}

// completed judges one busy window that delivered airtime at the given rate.
func (d *dql) completed(o *Observation, rate float64) string {
	if d.bestRate == 0 {
		// The kernel starts at the least limit and grows while that starves. So
		// does this, from where it starts: one step up shows whether it did.
		d.bestRate = rate
		if !d.starting || o.full() {
			return "holding"
		}
		d.starting = false
		d.grow(o.Now, rate, dqlGrow)
		return "starting: growing"
	}
	d.bestRate = max(d.bestRate*math.Exp(-o.Window.Seconds()/dqlForget.Seconds()), rate)
	// dql_completed, first branch. In the kernel the queue starved if it was over
	// its limit and is empty now (ovlimit && !inprogress), or was over its limit
	// and may have been empty since (prev_ovlimit && all_prev_completed).
	//
	// It did if a larger limit delivered more: the growth just made did, ...
	gained := d.ungrownRate > 0 && rate > d.ungrownRate*(1+dqlStarved)
	d.ungrownRate = 0
	if gained && !o.full() {
		d.grow(o.Now, rate, dqlGrow)
		return "starved: growing"
	}
	// ... or a former one did. One window alone may be noise.
	lost := 1 - rate/d.bestRate
	starved := lost > dqlStarved && !o.full() // a full queue does not starve
	if starved && d.prevStarved {
		// The kernel adds what was sent and completed in the interval, that is
		// what would have fitted. The like of it is the airtime lost; fourfold,
		// since near the knee the curve is that flat.
		d.grow(o.Now, rate, min(1+4*lost, dqlGrow))
		return "starved: growing"
	}
	d.prevStarved = starved
	if starved {
		return "holding"
	}
	// Second branch: busy all the time, so see what was too much.
	slack := d.slack(o)
	if !d.hasSlack {
		d.lowestSlackUs, d.hasSlack, d.slackStart = slack, true, o.Now
	}
	d.lowestSlackUs = min(d.lowestSlackUs, slack)
	// The smallest slack over the hold time avoids hysteresis (time_after in
	// dql_completed).
	if o.Now.Sub(d.slackStart) < dqlHold {
		return "holding"
	}
	us := float64(d.limitUs) - d.lowestSlackUs
	if !o.full() {
		us = max(us, dqlShrink*float64(d.limitUs))
	}
	d.restartSlack(o.Now)
	d.set(us)
	return "slack: shrinking"
}

// slack is by how much the limit was more than needed, per station that may
// hold a limit's worth. The kernel takes the limit less twice what completed:
// twice, to leave as much again in reserve.
func (d *dql) slack(o *Observation) float64 {
	stations := float64(max(o.Active(), 1))
	switch {
	case o.Pending.N == 0:
		return 0
	case o.full():
		// The limit was not even reached.
		return max(float64(d.limitUs)-o.Pending.Max/stations, 0)
	}
	return max(o.Pending.Min, 0) / stations / 2 // what never left; half in reserve
}

// grow raises the limit and starts collecting slack anew, as the kernel does.
func (d *dql) grow(now time.Time, rate, factor float64) {
	d.prevStarved, d.ungrownRate = false, rate
	d.restartSlack(now)
	d.set(factor * float64(d.limitUs))
}

func (d *dql) restartSlack(now time.Time) {
	d.hasSlack, d.slackStart = false, now
}

// set is the end of dql_completed: enforce bounds, and after a change start
// anew.
func (d *dql) set(us float64) {
	if limit := d.clamp(us); limit != d.limitUs {
		d.limitUs, d.settle = limit, settleMax
	}
}

func (d *dql) clamp(us float64) uint32 {
	us = min(max(us, d.minUs), d.maxUs)
	return uint32(math.Round(us/roundUs)) * roundUs
}
