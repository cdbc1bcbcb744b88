package policies

import (
	"math"
	"time"

	"airtuned/wlan"
)

// dql is the kernel's dynamic queue limits (lib/dynamic_queue_limits.c) carried
// over to airtime: grow at once when the hardware starved, shrink by the
// smallest slack seen over a hold time. Where AQL counts no airtime it does the
// same to the number of frames in driver and firmware.
//
// dynamicLimit is the kernel's decision. What differs is where its inputs come
// from. The kernel runs at every completion and sees each object come and go;
// here a step is a window of many completions, and windows turns it into the one
// completion that stands for all of them. See there for how, and why starvation
// is told from delivered airtime.
//
// Known weaknesses: it must starve to find out that it shrank too far, so it
// moves about the knee, at longer and longer intervals; it does not look for a
// smaller limit beyond a dip of the curve; losses that creep in, each below
// dqlStarved, are lost in a crowd; its limit is the same for all stations.
type dql struct {
	meter meter
	// airtime is the limit of every station, in microseconds; frames the limit
	// of the whole radio.
	airtime, frames windows
	unit            unit // which of them is in use
	drain           drain
}

// unit is what a limit counts.
type unit uint8

const (
	unknown unit = iota
	airtime
	frames
)

const (
	// dqlStartUs is above the knee of a fast host and below that of a full driver
	// queue. The kernel starts at the least limit, but a window is too long to
	// starve for.
	dqlStartUs = 2000
	// dqlStartFrames is some aggregates of 32 frames, dqlMinFrames the least that
	// leaves one in the making while another is on the air, at 6.5 Mb/s.
	dqlStartFrames = 128
	dqlMinFrames   = 4
)

func newDQL(p Params) *dql {
	lo, hi := float64(p.Min.Microseconds()), float64(p.Max.Microseconds())
	if p.Target > 0 {
		hi = max(min(hi, float64(p.Target.Microseconds())), lo)
	}
	d := &dql{
		airtime: windows{dynamicLimit: dynamicLimit{min: lo, max: hi}, step: roundUs},
		frames:  windows{dynamicLimit: dynamicLimit{min: dqlMinFrames, max: math.MaxInt32}, step: 1},
	}
	d.reset(time.Time{})
	return d
}

func (d *dql) Name() string { return "dql" }

func (d *dql) reset(now time.Time) {
	d.airtime.reset(now, dqlStartUs)
	d.frames.reset(now, dqlStartFrames)
}

// Decide is dql_completed, with a window for a completion.
func (d *dql) Decide(o *Observation) Decision {
	delivered := d.meter.delivered(o)
	d.chooseUnit(o)
	w, level := &d.airtime, d.airtimeLevel(o)
	if d.unit == frames {
		w, level = &d.frames, frameLevel(o)
		if o.FramesMax > 0 {
			w.max = max(float64(o.FramesMax), dqlMinFrames)
		}
		if d.drain.alone = alone(o); d.drain.alone && d.drain.perS > 0 {
			w.max = min(w.max, max(d.drain.perS*d.airtime.max/1e6, drainLeast))
		}
	}
	w.reweigh(math.Exp(d.meter.shift))
	foreign := d.unit == frames && (o.QueueLimit != int(w.limit) || o.Frames.Min > w.limit)
	odd := d.unit == frames && !o.Fresh && !foreign && (o.demand() && w.settle <= 0 || d.drain.rose(o)) && d.drain.odd(o)
	reason := holding
	switch {
	case o.Fresh:
		d.meter.reset()
		d.reset(o.Now)
		if d.unit == frames {
			d.drain.start(o, w)
		}
		reason = "starting"
	case o.StationsChanged:
		// Another curve, but likely a knee nearby: downloads that begin would look
		// like what a larger limit gained.
		w.forget(o.Now)
		w.ramp, w.searching = false, false
	case d.meter.stepped:
		w.forget(o.Now) // frames may be a hundred times as long
	case odd:
		if d.drain.changed(o, w) {
			reason = "the link has another rate"
		}
	case d.unit == frames && d.drain.standing(o, w):
		reason = "nothing waits but in the driver: shrinking to what is there"
	case !o.demand():
		w.pause(o.Now) // ovlimit == 0
		reason = noDemand
	case foreign,
		d.unit != frames && !inForce(o, d.airtime.us()):
		// Not our limit, or not yet: nothing to learn.
	default:
		reason = w.observe(o, level, delivered)
	}
	decision := Decision{
		Write:  true,
		Limits: wlan.Uniform(d.airtime.us(), threshold(o, d.airtime.us())),
		Reason: reason,
	}
	if d.unit == frames {
		decision.QueueFrames = int(d.frames.us())
	}
	return decision
}

// chooseUnit: airtime for good once AQL was seen to count any, else frames.
func (d *dql) chooseUnit(o *Observation) {
	if o.Fresh {
		d.unit = unknown
	}
	switch {
	case o.Pending.Max > 0:
		d.unit = airtime
	case d.unit == unknown && o.HasQueueLimit && o.Frames.Max > 0:
		d.unit = frames
	}
}

// level is what is in driver and firmware, in the unit of a limit.
type level struct {
	gauge Gauge
	// shares is how many limits' worth may be there.
	shares float64
	// object is the size of what is queued at once.
	object float64
}

// airtimeLevel: every station that is active may hold a limit's worth.
func (d *dql) airtimeLevel(o *Observation) level {
	return level{o.Pending, float64(max(o.Active(), 1)), max(d.meter.frameAirtime(o), 1)}
}

// frameLevel: the driver has one queue for all.
func frameLevel(o *Observation) level {
	return level{o.Frames, 1, 1}
}

// drain is how many full frames per second leave the radio. Where AQL is blind
// nothing tells a station's rate, and a limit of frames that was right is a
// hundred times too much or too little on a link that is a hundred times as slow
// or fast: steps of a few per cent would take minutes.
//
// It is used while one station has nearly all. Among several that get as many frames
// each, how many leave depends on the limit: a small one leaves firmware nothing to
// choose from, so that a slow station has the air of all.
type drain struct {
	alone bool
	perS  float64 // 0 if unknown
	odds  int     // windows in a row that were far from it
	// stood is the number of windows in a row in which the queue was below the limit
	// and never empty.
	stood int
}

const (
	// drainUs of frames is where a limit starts on a slow link: above the knee of
	// most mixes, and the ramp raises what is too little. No less than drainLeast
	// frames are.
	drainUs    = 12000
	drainLeast = 12
	// drainStep, as a factor, is more than what doubling a limit brings.
	drainStep   = 2.5
	drainWindow = 0.3 // the weight of a window in the mean
	// drainStood windows of a standing queue that is less than drainLoose of the
	// limit make the limit what the queue is.
	drainStood = 5
	// aloneBacklog packets are more than pings or calls have waiting.
	aloneBacklog = 4
	drainLoose   = 0.8
)

// alone reports whether one station has nine tenths of the bytes and nobody else's wait:
// others do get a packet now and then.
func alone(o *Observation) bool {
	var most, sum uint64
	waiting := 0
	for i := range o.Stations {
		st := &o.Stations[i]
		most, sum = max(most, st.TxBytes), sum+st.TxBytes
		if st.BacklogPackets >= aloneBacklog {
			waiting++
		}
	}
	return waiting <= 1 && most >= sum-sum/10
}

// limit is where a limit starts at a rate.
func (w *windows) startAt(perS float64) float64 {
	return w.clamp(math.Round(min(max(perS*drainUs/1e6, drainLeast), dqlStartFrames)))
}

// start sets the limit by what leaves a queue that may still be filling.
func (d *drain) start(o *Observation, w *windows) {
	*d = drain{alone: d.alone}
	if !d.alone || o.Frames.N == 0 || o.Window <= 0 {
		return
	}
	perS := (float64(o.TxPackets) - (o.Frames.Max - o.Frames.Min)) / o.Window.Seconds()
	if perS > 0 {
		w.limit = w.startAt(perS)
	}
}

// rose reports whether far more leaves than the link could take. That needs no
// demand above the driver, which TCP that has shrunk is slow to build.
func (d *drain) rose(o *Observation) bool {
	return d.perS > 0 && float64(o.TxBytes)/mtuBytes/o.Window.Seconds() > drainStep*d.perS
}

// odd takes in a window at a limit that acts, and reports whether it is far from
// those before.
func (d *drain) odd(o *Observation) bool {
	perS := float64(o.TxBytes) / mtuBytes / o.Window.Seconds()
	switch {
	case !d.alone:
		*d = drain{}
		return false
	case perS <= 0:
	case d.perS == 0:
		d.perS = perS
		return false
	case perS < drainStep*d.perS && d.perS < drainStep*perS:
		d.perS += drainWindow * (perS - d.perS)
		d.odds = 0
		return false
	}
	d.odds++
	return true
}

// changed moves the limit with the rate once it is sure that it changed.
func (d *drain) changed(o *Observation, w *windows) bool {
	if d.odds < 2 || o.TxBytes == 0 {
		return false
	}
	perS := float64(o.TxBytes) / mtuBytes / o.Window.Seconds()
	w.forget(o.Now)
	if perS > d.perS { // as far as the limit allowed
		*d = drain{alone: true}
		w.limit = max(w.limit, dqlStartFrames)
	} else {
		*d = drain{alone: true, perS: perS}
		w.limit = w.startAt(perS)
	}
	w.changed(o.Now)
	return true
}

// standing brings a limit that is too large to matter down to the queue: TCP that
// is bounded by its window, or the host's own by what it may queue (tx_sk_pacing_shift),
// leaves all of its queue in the driver, and shows no demand.
func (d *drain) standing(o *Observation, w *windows) bool {
	if w.settle > 0 || o.demand() || o.Frames.Min <= 0 || o.Frames.Mean > drainLoose*w.limit || o.Frames.Mean < drainLeast {
		d.stood = 0
		return false
	}
	if d.stood++; d.stood < drainStood {
		return false
	}
	d.stood = 0
	w.limit = w.clamp(math.Round(o.Frames.Mean))
	w.changed(o.Now)
	return true
}

// windows feeds a dynamicLimit with windows.
//
// The kernel knows that a queue starved because it was over its limit and ran
// empty. Here that cannot be seen: frames already sent count as pending until
// the host serves their completion, so a starved queue can look full, and a
// healthy one reads zero now and then. Starvation is therefore judged by what it
// does: less airtime is delivered than a larger limit delivered, though packets
// waited all the time. And slack cannot be measured: it is bounded instead, and
// a decrease that starves is taken back whole.
type windows struct {
	dynamicLimit
	step float64 // limits are multiples of it

	// settle is the time left until the queue has got to a new limit.
	settle time.Duration
	// rate is the mean airtime delivered per time at this limit, over measured.
	rate     float64
	measured time.Duration
	count    int
	// best is the highest such rate at any limit; it forgets itself.
	best float64
	// grewFrom is the limit before it was raised, and grewRate what was delivered
	// there, until that has been judged; 0 else.
	grewFrom, grewRate float64
	// shrankFrom is the limit before it was last lowered; 0 if it rose since.
	shrankFrom float64
	// searching until the first decrease that starved.
	searching bool
}

const (
	// dqlHold is the hold time while the knee is sought. The kernel's is 1 s too
	// (DQL_HOLD_TIME, net/core/dev.c).
	dqlHold = time.Second
	// dqlHoldMax: each decrease that starves doubles the hold time, up to this.
	dqlHoldMax = 32 * time.Second
	// dqlStarved is the loss of delivered airtime that counts as starvation: two
	// to three times the noise of dqlJudge on real mac80211.
	dqlStarved = 0.015
	// dqlGain is what doubling a limit must gain to have been for something, and
	// dqlObvious what one window suffices to see.
	dqlGain    = 0.04
	dqlObvious = 0.15
	// dqlJudge is the least time at a limit that says anything, dqlBest the least
	// that says how much can be delivered, dqlMemory the most that is averaged.
	dqlJudge  = 600 * time.Millisecond
	dqlBest   = 800 * time.Millisecond
	dqlMemory = 2 * time.Second
	// dqlSearch and dqlShrink bound a decrease, to stay close to where the
	// delivered airtime was known.
	dqlSearch = 0.3
	dqlShrink = 0.12
	// dqlSettle is the number of residencies that a new limit takes to act.
	dqlSettle    = 3
	dqlSettleMin = 100 * time.Millisecond
	dqlSettleMax = time.Second
	// dqlForget is the time in which the best rate falls by a factor of e. It is
	// long against dqlHoldMax, else a limit would creep down unnoticed.
	dqlForget = time.Hour
)

func (w *windows) us() uint32 { return uint32(w.limit) }

func (w *windows) reset(now time.Time, limit float64) {
	w.dynamicLimit.reset(now, limit)
	w.forget(now)
	w.settle = dqlSettleMax
}

// forget drops what was learnt about the curve and searches from where it is.
func (w *windows) forget(now time.Time) {
	w.best, w.grewFrom, w.shrankFrom = 0, 0, 0
	w.hold, w.searching, w.ramp = dqlHold, true, true
	w.pause(now)
}

// pause drops the measurement under way.
func (w *windows) pause(now time.Time) {
	w.rate, w.measured, w.count = 0, 0, 0
	w.restartSlack(now)
}

// reweigh brings earlier measurements up to date with the meter.
func (w *windows) reweigh(by float64) {
	w.rate *= by
	w.best *= by
	w.grewRate *= by
}

// observe takes a busy window under this limit that delivered so much airtime.
func (w *windows) observe(o *Observation, l level, delivered float64) string {
	if w.settle > 0 {
		residencies := dqlSettle * time.Duration(o.residency()) * time.Microsecond
		w.settle = min(w.settle, max(residencies, dqlSettleMin)) - o.Window
		return holding
	}
	w.count++
	w.measured = min(w.measured+o.Window, max(dqlMemory, o.Window))
	w.rate += (delivered/float64(o.Window.Microseconds()) - w.rate) * o.Window.Seconds() / w.measured.Seconds()
	w.best *= math.Exp(-o.Window.Seconds() / dqlForget.Seconds())
	obvious := w.ramp && w.grewFrom > 0 && w.rate > w.grewRate*(1+dqlObvious)
	if !obvious && (w.measured < dqlJudge || w.count < 2) {
		return holding
	}
	if w.ramp && w.grewFrom > 0 && w.rate < w.grewRate*(1+dqlGain) {
		// It had not starved: the channel is worse, or the curve flat already.
		w.best = max(w.rate, w.grewRate)
		w.ramp, w.limit, w.grewFrom = false, w.grewFrom, 0
		w.changed(o.Now)
		return "more gained nothing: taking it back"
	}
	before := w.limit
	v := w.take(o.Now, w.completion(o, l))
	w.grewFrom = 0
	if w.measured >= dqlBest || w.best == 0 {
		w.best = max(w.best, w.rate)
	}
	w.limit = w.clamp(math.Round(w.limit/w.step) * w.step)
	switch {
	case w.limit == before:
		return holding
	case v == starved:
		if w.shrankFrom == 0 {
			w.grewFrom, w.grewRate = before, w.rate
		}
		w.searching = w.searching || w.ramp
		w.shrankFrom = 0
		w.changed(o.Now)
		return "the radio ran dry: growing"
	}
	if w.shrankFrom > 0 {
		w.hold = max(w.hold/2, dqlHold) // the decrease before did no harm
	}
	w.shrankFrom = before
	w.changed(o.Now)
	return "more is queued than keeps the radio busy: shrinking"
}

// completion is the one that stands for what was seen.
func (w *windows) completion(o *Observation, l level) completion {
	c := completion{over: l.object} // packets waited: ovlimit
	if fits := w.missing(o); fits > 0 {
		c.sentAndCompleted = fits // inProgress is 0: it ran empty
		return c
	}
	left := max(l.gauge.Mean/l.shares, l.object)
	c.inProgress, c.prevInProgress = left, left
	c.completed = (w.limit + c.prevOver - w.excess(o, l)) / 2
	return c
}

// missing is by how much the limit was too small, 0 if the queue did not starve:
// what the kernel finds sent and completed in an interval, which is what would
// have fitted.
func (w *windows) missing(o *Observation) float64 {
	if o.full() { // it does not starve, and is not to be held full
		w.hold = dqlHold
		return 0
	}
	if w.best == 0 {
		// The kernel starts at the least limit and grows while that starves. Here
		// one step up shows whether it did.
		if w.ramp {
			return w.limit
		}
		return 0
	}
	lost := 1 - w.rate/w.best
	switch {
	case w.ramp && w.grewFrom > 0:
		return w.limit // the last increase gained
	case lost <= dqlStarved:
		return 0
	case w.shrankFrom > w.limit:
		// It fitted before the decrease. The next one is to come later.
		if !w.searching {
			w.hold = min(2*w.hold, dqlHoldMax)
		}
		w.searching = false
		return w.shrankFrom - w.limit
	case w.grewFrom > 0:
		w.ramp = true // the last increase was not enough
	}
	// The curve near the knee is that flat.
	return min(4*lost, 1) * w.limit
}

// excess is by how much the limit was more than needed, per share. The kernel
// takes twice what completed as needed; here half of what never left is.
func (w *windows) excess(o *Observation, l level) float64 {
	if l.gauge.N == 0 {
		return 0
	}
	excess := max(l.gauge.Mean, 0) / l.shares / 2
	if o.full() { // the limit was not even reached
		excess = max(excess, w.limit-l.gauge.Max/l.shares)
	}
	most := dqlShrink
	if w.searching {
		most = dqlSearch
	}
	return min(excess, most*w.limit)
}

// changed starts a measurement anew under another limit.
func (w *windows) changed(now time.Time) {
	w.pause(now)
	w.settle = dqlSettleMax
}
