package policies

import (
	"math"
	"time"
)

// dynamicLimit is the kernel's struct dql (include/linux/dynamic_queue_limits.h,
// Linux 6.1) and the decision of its dql_completed, in any unit: bytes there,
// microseconds of airtime or frames here.
//
// Its one addition is the ramp. The kernel starts at the least limit and adds
// what one completion interval sent and completed; where completions are small
// that takes many intervals. Starving on the ramp at least doubles the limit.
type dynamicLimit struct {
	limit, min, max float64
	// hold is slack_hold_time, the time over which the least slack is sought.
	hold time.Duration
	// ramp is set from reset until the queue is first seen busy and fed.
	ramp bool

	lowestSlack float64 // lowest_slack; +Inf for UINT_MAX, none seen
	slackStart  time.Time
}

// completion is what dql_completed works out of its counters before it decides,
// by its names there. Amounts are in the unit of the limit.
type completion struct {
	over           float64 // ovlimit: was queued beyond the limit
	prevOver       float64 // prev_ovlimit: the same, at the completion before
	inProgress     float64 // inprogress: is still queued
	prevInProgress float64 // prev_inprogress: was, at the completion before
	// allPrevCompleted, all_prev_completed: nothing is left of that.
	allPrevCompleted bool
	completed        float64 // completed - num_completed: in this interval
	// sentAndCompleted, completed - prev_num_queued: both came and went in it.
	sentAndCompleted float64
	prevLastObject   float64 // prev_last_obj_cnt: the last queued at once
}

// verdict is which branch of dql_completed was taken.
type verdict uint8

const (
	idle    verdict = iota // neither: not busy all the time, or not over the limit
	starved                // the first
	fed                    // the second
)

// reset is dql_reset, from a limit of the caller's choice.
func (d *dynamicLimit) reset(now time.Time, limit float64) {
	d.limit, d.ramp = d.clamp(limit), true
	d.restartSlack(now)
}

func (d *dynamicLimit) restartSlack(now time.Time) {
	d.lowestSlack, d.slackStart = math.Inf(1), now
}

func (d *dynamicLimit) clamp(limit float64) float64 {
	return min(max(limit, d.min), d.max)
}

// take is dql_completed: it moves the limit after a completion. A caller that
// keeps prev_ovlimit clears it if the limit moved, as the kernel does.
func (d *dynamicLimit) take(now time.Time, c completion) verdict {
	limit, v := d.limit, idle
	switch {
	// "over-limit in the last interval, and there is no more data in the queue",
	case c.over > 0 && c.inProgress == 0,
		// "OR over-limit in the previous interval and when enqueuing it was
		// possible that all queued data had been consumed".
		c.prevOver > 0 && c.allPrevCompleted:
		v = starved
		// "increase the limit by the amount [...] both sent and completed in the
		// last interval, plus any previous over-limit"; on the ramp, double it.
		more := c.sentAndCompleted + c.prevOver
		if d.ramp {
			more = max(more, limit)
		}
		limit += more
		d.restartSlack(now)
	// "A decrease is only considered if the queue has been busy in the whole
	// interval".
	case c.inProgress > 0 && c.prevInProgress > 0 && !c.allPrevCompleted:
		v, d.ramp = fed, false
		d.lowestSlack = min(d.lowestSlack, c.slack(limit))
		// "To avoid hysteresis we consider the minimum amount of slack found over
		// several iterations": time_after(jiffies, slack_start_time + hold).
		if now.Sub(d.slackStart) > d.hold {
			limit = max(limit-d.lowestSlack, 0)
			d.restartSlack(now)
		}
	}
	d.limit = d.clamp(limit) // "Enforce bounds on limit"
	return v
}

// slack is "the amount of excess data queued above the amount needed to prevent
// starvation": the larger of the limit "plus previous over-limit minus twice the
// number of objects completed" and the "portion of objects in the last queuing
// operation that was not part of non-zero previous over-limit".
func (c *completion) slack(limit float64) float64 {
	slack := max(limit+c.prevOver-2*c.completed, 0)
	if c.prevOver > 0 {
		slack = max(slack, c.prevLastObject-c.prevOver)
	}
	return slack
}
