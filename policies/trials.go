package policies

import (
	"math"
	"time"
)

// kind is what a trial is for.
type kind uint8

const (
	atL     kind = iota // what the others are compared with
	below               // what a step down costs
	above               // what a step up gains
	halved              // what half would cost
	doubled             // what twice as much would gain
	between             // what half-way back from twice as much would cost
)

// trial is one limit held until it is known what it delivers.
type trial struct {
	kind    kind
	limitUs uint32
	// settle is the time left until the queue has got to its new level,
	// measure the time left to measure after that.
	settle, measure time.Duration
	// waited is the time spent without demand.
	waited time.Duration
	// airtimeUs was delivered in the time measured.
	airtimeUs float64
	measured  time.Duration
	// full counts the windows in which the driver queue was.
	full int
	// odd counts windows in a row that only the link can explain.
	odd int
}

// probe is the schedule of one kind of probe.
type probe struct {
	due   time.Time
	every time.Duration
	// promising is set when the last one said that L should move, by what it
	// gained.
	promising bool
	gained    float64
}

// begin starts a trial. The queue settles and is measured in residencies of
// the larger of the limits before and in it.
func (d *delay) begin(k kind) {
	was := d.trial
	us := d.rail(d.at(k))
	w := d.residencyUs * max(float64(was.limitUs), us) / d.limitUs
	d.trial = trial{
		kind:    k,
		limitUs: uint32(math.Round(us/roundUs)) * roundUs,
		measure: within(measureMin, max(measureResidencies*w, d.noise.excess()*float64(measureMin.Microseconds())), measureMax),
	}
	if d.trial.limitUs != was.limitUs || !d.hasBefore {
		d.trial.settle = within(settleMin, settleResidencies*w, settleMax)
		if k == halved {
			d.trial.settle = max(d.trial.settle, settleHalved)
		}
	}
}

// within is a time in microseconds, held between two bounds.
func within(lo time.Duration, us float64, hi time.Duration) time.Duration {
	return min(max(time.Duration(us)*time.Microsecond, lo), hi)
}

// observe takes a window that says something into the trial under way.
func (d *delay) observe(o *Observation, delivered float64) {
	t := &d.trial
	if !inForce(o, t.limitUs) {
		return // a window under other limits teaches nothing
	}
	lnE := math.Log(delivered / float64(o.Window.Microseconds()))
	more := t.kind == doubled || t.kind == above
	if !o.demand() && !(more && lnE > d.before) {
		// Senders may need a while to fill the queue again after a smaller
		// limit; what they deliver without filling it is a lower bound.
		if t.waited += o.Window; t.waited > demandPatience {
			d.discard()
		}
		return
	}
	if t.kind == halved && d.hasBefore && lnE < d.before-halvedTooFar {
		d.conclude(o.Now, lnE) // TCP would take seconds to get over more of it
		return
	}
	if t.settle > 0 {
		t.settle -= o.Window
		return
	}
	if d.linkDiffers(lnE) {
		d.meter.reset()
		d.restart()
		return
	}
	if t.kind == atL {
		d.learnResidency(o)
	}
	if o.full() {
		t.full++
	}
	t.airtimeUs += delivered
	t.measured += o.Window
	if t.measure -= o.Window; t.measure <= 0 {
		d.conclude(o.Now, math.Log(t.airtimeUs/float64(t.measured.Microseconds())))
	}
}

// linkDiffers judges one window's ln E against the last trial at L. Only near L
// is a big difference the link's; a bit below it, it may be the one frame of a
// slow link that mattered.
func (d *delay) linkDiffers(lnE float64) bool {
	t := &d.trial
	if !d.hasBefore || t.kind == halved || t.kind == doubled {
		return false
	}
	change := math.Abs(lnE - d.before)
	if change < linkChanged || t.kind == below && lnE < d.before && change < linkBroke {
		t.odd = 0
		return false
	}
	t.odd++
	return change > linkBroke || t.odd > 1
}

func (d *delay) learnResidency(o *Observation) {
	r := o.residency()
	if d.residencyUs == 0 {
		d.residencyUs = r
	}
	d.residencyUs += (1 - residencyMemory) * (r - d.residencyUs)
}

// conclude ends a trial with its result and begins the next.
func (d *delay) conclude(now time.Time, lnE float64) {
	full := d.trial.full > 0
	if k := d.trial.kind; k != atL {
		d.middle, d.middleFull, d.tried = lnE, full, k
		d.begin(atL)
		return
	}
	gain := d.middle - (d.before+lnE)/2
	steady := d.hasBefore && math.Abs(lnE-d.before) < steadyWithin
	d.before, d.hasBefore = lnE, true
	switch d.tried {
	case atL:
		if d.phase == start && !steady && d.waits > 0 {
			d.waits--
			d.begin(atL)
			return
		}
		d.watch(now, lnE)
	case below:
		d.weigh(&d.less, -gain)
		d.decide(now, full)
	case between:
		d.weigh(&d.back, -gain)
		d.comeBack(now)
	case above:
		d.moreFull = d.middleFull
		d.weigh(&d.more, gain)
		d.decide(now, full)
	default:
		d.leap(now, gain, full)
	}
	d.tried = atL
	d.begin(d.next(now))
}

// watch ends the rest when what is delivered at L is not what it was: the place
// of the knee may have changed with it.
func (d *delay) watch(now time.Time, lnE float64) {
	if d.strayed == 0 && d.rest == 0 {
		d.level = lnE
	}
	off := lnE - d.level
	if math.Abs(off) < max(strayLeast, strayErrors*math.Sqrt(d.noise.variance)) {
		d.strayed = 0
		d.level += off / strayMemory
		return
	}
	if d.strayed++; d.strayed < strayTrials {
		return
	}
	d.level, d.strayed = lnE, 0
	d.lower, d.less, d.more = d.lower.old(), d.less.old(), d.more.old()
	d.rest, d.restUntil, d.busyUntil = 0, now, now.Add(busyFor)
}

// weigh takes the result of a step's trial in.
func (d *delay) weigh(e *evidence, x float64) {
	if e.n > 0 {
		d.noise.learn((x - e.mean) * math.Sqrt(e.n/(e.n+1)))
	}
	e.add(x)
}

// allowed is what a step from a limit down to another may cost.
func allowed(from, to float64) float64 { return min(stepTarget*math.Log(from/to), stepMost) }

// decide moves L if what is known of the steps about it says so, and lets it
// rest if it says that L is right.
//
// TCP takes seconds to fill a larger queue, and stumbles over a smaller one at
// once. So trials show more to gain less than it does, and less to cost more.
// Their mean is free of that.
func (d *delay) decide(now time.Time, full bool) {
	down, up := d.at(below), d.at(above)
	less, more := cheapPart*allowed(d.limitUs, down), dearPart*allowed(up, d.limitUs)
	both, bothErr := d.both()
	switch {
	case full && d.tried == below && d.less.mean < fullCost:
		d.stepDown(now, down)
	case d.sure(&d.less, -1) < less && !d.wasSteep(less), both+downErrors*bothErr < less && !d.wasSteep(less):
		d.stepDown(now, down)
	case d.moreFull:
		d.settle(now)
	case d.sure(&d.more, +1) > more, both-upErrors*bothErr > more && both < math.MaxFloat64:
		d.stepUp(now, up)
	default:
		d.settle(now)
	}
}

// settle lets L rest if more trials would hardly change what is known.
func (d *delay) settle(now time.Time) {
	down, up := d.at(below), d.at(above)
	if now.Before(d.busyUntil) && (d.room(below) && !d.less.enough(d.less.mean < cheapPart*allowed(d.limitUs, down)) ||
		d.room(above) && !d.more.enough(d.more.mean > dearPart*allowed(up, d.limitUs))) {
		return
	}
	d.acquaint = true
	d.rest = min(max(restFirst, restGrowth*d.rest), restLast)
	d.restUntil = now.Add(d.rest)
	d.lower.n = max(d.lower.n-1, 0) // may be out of date some day
}

// both is the mean over the two steps about L and its error; infinite while not
// enough is known, and where a step is a frame: there the knee is a corner.
func (d *delay) both() (mean, err float64) {
	if d.less.n < evidenceBoth || d.more.n < evidenceBoth || d.frames(d.limitUs) > 0 {
		return math.MaxFloat64, 0
	}
	return (d.less.mean + d.more.mean) / 2, math.Sqrt(d.noise.variance*(1/d.less.n+1/d.more.n)) / 2
}

// wasSteep tells whether L would be sent back from the step below it.
func (d *delay) wasSteep(allowed float64) bool {
	return d.lower.n > 0 && (d.lower.mean+d.less.mean)/2 > allowed
}

// sure is what the evidence says less its error in favour of a move: upwards
// (+1) the least it may gain, downwards (-1) the most it may cost. Without
// enough evidence it forbids the move.
func (d *delay) sure(e *evidence, direction float64) float64 {
	if e.n == 0 {
		return -direction * math.MaxFloat64
	}
	err := d.noise.of(e)
	if e.n < evidenceLeast && math.Abs(e.mean) < evidenceClear*err {
		return -direction * math.MaxFloat64
	}
	if direction > 0 {
		return e.mean - upErrors*err
	}
	return e.mean + downErrors*err
}

// stepDown and stepUp move L by a step. What was known of the way there is now
// known of the way back, for as long as there is no better.
func (d *delay) stepDown(now time.Time, us float64) {
	d.more, d.less, d.lower = d.less.old(), d.lower.old(), evidence{}
	d.stepped(now, us, below)
}

func (d *delay) stepUp(now time.Time, us float64) {
	d.lower, d.less, d.more = d.less, d.more.old(), evidence{}
	d.stepped(now, us, above)
}

func (d *delay) stepped(now time.Time, us float64, to kind) {
	d.move(us)
	d.before, d.hasBefore = d.middle, d.tried == to
	d.moreFull = false
	if d.rest = 0; !now.Before(d.busyUntil) {
		d.restUntil = now.Add(restFirst)
	}
}

// leap acts on what a trial at half or twice L gained; full tells that the
// driver queue is full at L.
func (d *delay) leap(now time.Time, gain float64, full bool) {
	k := d.tried
	measured := gain
	d.words.tried(k, measured)
	if p := d.probe(); d.phase == stepping && p.promising {
		gain = (gain + p.gained) / 2
	}
	if k == doubled && d.phase == stepping && d.middleFull && gain > probeGain {
		d.up.rarer(now)
		d.stepUp(now, d.at(above)) // not that far
		return
	}
	follow := d.follows(gain, full)
	if follow && !d.confirmed(now, gain) {
		return
	}
	if follow {
		d.rose = k == doubled
		d.spent -= gain
		d.move(d.at(k))
		d.words.followed(k, measured)
		d.before = d.middle
		switch {
		case d.phase == stepping:
			d.startStepping(now)
			// The other way was just tried.
			if d.up.due = now.Add(probeEvery); k == doubled {
				d.up.due, d.down.due = d.down.due, d.up.due
			}
		case k == doubled:
			d.phase = doubling
		default:
			d.phase = halving
		}
		return
	}
	switch {
	case d.phase == start && k == halved && gain < -searchLoss && !full:
		d.phase = doubling
	case d.phase != stepping:
		d.startStepping(now)
	case k == doubled:
		d.up.rarer(now)
	default:
		d.down.rarer(now)
	}
}

// comeBack goes half-way back to where L was before it doubled, if that costs as
// little as steps down may: that L/2 is too little says no more than that the knee
// is somewhere between.
func (d *delay) comeBack(now time.Time) {
	to := d.at(between)
	most := allowed(d.limitUs, to)
	err := d.noise.of(&d.back)
	switch {
	case d.back.mean+downErrors*err < cheapPart*most:
		d.stepDown(now, to)
		d.before, d.hasBefore = d.middle, true
		d.more = evidence{}
		d.overshot = false
	case d.back.n >= evidenceLeast, d.back.mean-downErrors*err > dearPart*most:
		d.overshot = false
	}
}

// probe is the schedule of what was tried last.
func (d *delay) probe() *probe {
	if d.tried == doubled {
		return &d.up
	}
	return &d.down
}

// confirmed tells whether a probe is not the first in a row to say that L should
// move; the first has another made at once. One alone may be noise, and a factor
// of two is much.
func (d *delay) confirmed(now time.Time, gain float64) bool {
	p := d.probe()
	if d.phase != stepping || p.promising {
		p.promising = false
		return true
	}
	p.promising, p.gained, p.due = true, gain, now
	return false
}

// startStepping forgets the steps about another L, and has probes soon.
func (d *delay) startStepping(now time.Time) {
	if us := d.bound(d.limitUs); us != d.limitUs {
		d.move(us) // to whole frames
		d.hasBefore = false
	}
	d.phase = stepping
	d.overshot, d.rose, d.back = d.rose, false, evidence{}
	d.lower, d.less, d.more = evidence{}, evidence{}, evidence{}
	d.moreFull = false
	d.rest, d.restUntil, d.busyUntil = 0, now, now.Add(busyFor)
	d.up.reset(now.Add(probeSoon))
	d.down.reset(now.Add(probeSoon))
}

// follows decides whether L goes to where the last trial was.
func (d *delay) follows(gain float64, full bool) bool {
	switch {
	case d.middleFull && d.tried == doubled:
		return false // never into a full queue
	case d.tried == doubled && d.phase == stepping:
		return gain > probeGain
	case d.tried == doubled:
		return gain > searchGain
	case d.phase == stepping && !full:
		return gain > -probeCost
	}
	return gain > d.spent-searchCost
}

// next chooses what to compare L with.
func (d *delay) next(now time.Time) kind {
	switch {
	case d.phase == doubling && d.room(doubled):
		return doubled
	case (d.phase == start || d.phase == halving) && d.room(halved):
		return halved
	case d.phase == start && d.room(doubled):
		return doubled
	case d.phase != stepping:
		d.startStepping(now)
	}
	switch {
	case !d.hasBefore:
		return atL
	case d.overshot && d.room(between):
		return between
	case !now.Before(d.up.due) && d.room(doubled):
		return doubled
	case !now.Before(d.down.due) && d.room(halved) && !d.steep():
		return halved
	case now.Before(d.restUntil):
		return atL
	}
	return d.nextStep()
}

// steep tells whether already the step below L costs more than it may.
func (d *delay) steep() bool {
	return d.less.n >= evidenceLeast && d.less.mean > dearPart*allowed(d.limitUs, d.at(below))
}

// nextStep chooses between a step down and one up: the one less is known of.
func (d *delay) nextStep() kind {
	down, up := d.room(below), d.room(above)
	switch {
	case down && (!up || d.less.n <= d.more.n):
		return below
	case up:
		return above
	}
	return atL
}

// room tells whether a trial of this kind would be far enough from L, on its
// side.
func (d *delay) room(k kind) bool {
	far := math.Log(d.at(k) / d.limitUs)
	switch k {
	case below:
		return far < math.Log(stepRatio)/2
	case above:
		return far > -math.Log(stepRatio)/2
	case between:
		return far < -math.Ln2/4
	case halved:
		return far < -math.Ln2/2
	}
	return far > math.Ln2/2
}

func (p *probe) reset(due time.Time) { *p = probe{due: due, every: probeEvery} }

func (p *probe) rarer(now time.Time) {
	p.due, p.promising = now.Add(p.every), false
	p.every = min(2*p.every, probeLast)
}
