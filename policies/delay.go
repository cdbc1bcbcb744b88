package policies

import (
	"math"
	"time"

	"airtuned/wlan"
)

// delay finds the smallest limit that costs no delivered airtime, by measuring.
//
// How much airtime a limit L lets through cannot be known beforehand: the knee
// of the curve moves threefold with the host's service time alone, from 0.45 to
// 8 ms over the mixes of stations. And pending airtime does not show on which
// side of it a radio is, since frames already sent count as pending until the
// host serves their completion. So L is varied on purpose. One limit held for a
// while is a trial; its result is ln E, E being the airtime delivered per time.
// Every other trial is at L, and each of the others is judged against the mean
// of its two neighbours, which cancels drift.
//
//   - The search tries L/2 and follows while that costs little; if the first
//     half costs much it tries 2 L instead and follows while that gains much.
//   - Then L is trimmed: trials a bit below L show the slope of the curve, which
//     is steep below the knee and flat above it. L moves until a bit less costs
//     trimTarget.
//   - Probes, now and then, try 2 L and L/2 again: the curve is not monotone,
//     and where the driver queue is full it is flat, so a slope can mislead.
//
// A window without demand says nothing and is skipped; when there is none for
// longer, or the set of stations changes, the trial is thrown away and L held.
// A change of E that so small a step of L cannot explain is the link's: the
// search starts again.
type delay struct {
	minUs, maxUs, targetUs float64
	meter                  meter

	// limitUs is L.
	limitUs float64
	// floorUs keeps some frames of a slow link in the hardware queue.
	floorUs float64
	// raisedUs is a floor left by an upward probe that gained; it decays.
	raisedUs float64
	// residencyUs is how long frames stay in the hardware queue at L.
	residencyUs float64

	trial trial
	// before is ln E of the last trial at L, if hasBefore.
	before    float64
	hasBefore bool
	// middle is the result of the trial elsewhere since then, if tried is not
	// atL; middleFull says that it filled the driver queue.
	middle     float64
	middleFull bool
	tried      kind

	phase phase
	// slope is the smoothed cost of the trials below L, over trims of them.
	slope float64
	trims int

	up, down probe
}

// phase is what is done about L.
type phase uint8

const (
	start    phase = iota // searching, direction not known yet
	halving               // searching downwards
	doubling              // searching upwards
	trimming
)

// kind is what a trial is for.
type kind uint8

const (
	atL     kind = iota // what the others are compared with
	below               // what a little less costs
	halved              // what half would cost
	doubled             // what twice as much would gain
)

// ratio is a trial's limit over L.
var ratio = [...]float64{atL: 1, below: trimRatio, halved: 0.5, doubled: 2}

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
}

// The constants of the law. Where it is not said otherwise they come from runs
// on real mac80211 over a virtual radio, and logs are natural ones.
const (
	// startUs is where L starts: above the knee of a fast host, below the
	// plateau of a full driver queue. From the kernel's 12000 us it once took
	// 36 s to leave the plateau.
	startUs = 2000

	// After a change of L the queue needs some residencies to settle, and never
	// less than TCP needs to notice.
	settleMin         = 50 * time.Millisecond
	settleResidencies = 3
	settleMax         = time.Second
	// measureMin brings the noise of ln E down to about 0.006. Some residencies
	// make what is still in the queue at either end small against what passed.
	measureMin         = 400 * time.Millisecond
	measureResidencies = 5
	measureMax         = 2 * time.Second

	// demandPatience is how long a trial waits for demand. TCP takes some round
	// trips to find out that there is room again.
	demandPatience = 2 * time.Second

	// searchCost is the loss of ln E at half the limit that ends halving, and
	// searchLoss one so big that twice the limit may gain probeGain: on a curve
	// of 1 - exp(-L/knee) it would be 0.16.
	searchCost = 0.03
	searchLoss = 0.12

	// fullCost of ln E is what the step below L may cost to be followed while the
	// driver queue is full.
	fullCost = 0.02

	// trimRatio less limit may cost trimTarget of ln E.
	trimRatio  = 0.8
	trimTarget = 0.010
	// trimMemory is the weight of the past in the smoothed slope.
	trimMemory = 0.6
	// trimGain moves ln L per slope too much, within trimDown and trimUp per
	// pair of trials: quick to give air back, slow to take queue away.
	trimGain = 2.0
	trimDown = 0.03
	trimUp   = 0.06
	// The first boldTrims go boldFactor times as far.
	boldTrims  = 8
	boldFactor = 2.0

	// A probe comes probeFirst after the search; each that finds nothing makes
	// the next wait twice as long, up to probeLast. Doubling is felt in the
	// tail of latency and must stay below 4 % of the time.
	probeFirst = 8 * time.Second
	probeLast  = 32 * time.Second
	// probeGain and probeCost of ln E are what doubling must gain and what
	// halving may cost to be followed.
	probeGain = 0.035
	probeCost = 0.018
	// raisedKeep of an L that gained stays as a floor, which shrinks by a
	// factor of e per raisedMemory.
	raisedKeep   = 0.95
	raisedMemory = 30 * time.Second

	// linkChanged is the change of ln E that no step below L explains if two
	// windows in a row show it, linkBroke if only one does.
	linkChanged = 0.25
	linkBroke   = 0.7

	// floorFrames is how many frames' airtime a limit must be worth. AQL lets a
	// queue exceed its limit by a frame, so this holds three: one in the air, one
	// behind it, and one for when a completion comes late.
	floorFrames = 2.5
	// floorMemory is the weight of the past in the smoothed floor, floorSlack
	// how much L may be below it before it is moved.
	floorMemory = 0.5
	floorSlack  = 0.95

	// residencyMemory is the weight of the past in the smoothed residency.
	residencyMemory = 0.7

	// roundUs keeps written limits readable. AQL counts in units of 4 us.
	roundUs = 10
)

func newDelay(p Params) *delay {
	d := &delay{
		minUs:    float64(p.Min.Microseconds()),
		maxUs:    float64(p.Max.Microseconds()),
		targetUs: float64(p.Target.Microseconds()),
	}
	d.restart()
	return d
}

func (d *delay) Name() string { return "delay" }

func (d *delay) Decide(o *Observation) Decision {
	delivered := d.meter.delivered(o)
	d.reweigh(d.meter.shift)
	d.raisedUs *= math.Exp(-o.Window.Seconds() / raisedMemory.Seconds())
	switch {
	case o.Fresh:
		d.meter.reset()
		d.restart()
	case o.StationsChanged:
		d.slope, d.trims = 0, 0 // L may be far from where it should be now
		d.discard()
	case d.meter.stepped && math.Abs(d.meter.shift) > linkChanged:
		d.restart()
	case d.meter.stepped, delivered <= 0:
		d.discard()
	default:
		d.observe(o, delivered)
	}
	if o.demand() {
		d.learnFloor(o)
	}
	us := d.trial.limitUs
	return Decision{Write: true, Limits: wlan.Uniform(us, threshold(o, us)), Reason: d.reason(o)}
}

// reason says in the log what the limit is for.
func (d *delay) reason(o *Observation) string {
	switch k := d.trial.kind; {
	case !o.demand():
		return "no demand: holding"
	case k == below:
		return "trying a little less"
	case k == halved:
		return "trying half as much"
	case k == doubled:
		return "trying twice as much"
	case d.phase != trimming:
		return "searching"
	}
	return "the smallest limit known to cost no airtime"
}

// reweigh expresses what was measured in the present weights.
func (d *delay) reweigh(shift float64) {
	d.before += shift
	d.middle += shift
	d.trial.airtimeUs *= math.Exp(shift)
}

// restart forgets everything and begins the search at startUs.
func (d *delay) restart() {
	d.floorUs, d.raisedUs, d.residencyUs = 0, 0, 0
	d.limitUs = d.bound(startUs)
	d.phase = start
	d.discard()
}

// discard throws the trial under way and its neighbour away and holds L.
func (d *delay) discard() {
	d.hasBefore, d.tried = false, atL
	d.begin(atL)
}

// begin starts a trial. The queue settles and is measured in residencies of
// the larger of the limits before and in it.
func (d *delay) begin(k kind) {
	was := d.trial
	w := d.residencyUs * max(ratio[was.kind], ratio[k])
	us := d.rail(d.limitUs * ratio[k])
	d.trial = trial{
		kind:    k,
		limitUs: uint32(math.Round(us/roundUs)) * roundUs,
		measure: within(measureMin, measureResidencies*w, measureMax),
	}
	if d.trial.limitUs != was.limitUs || !d.hasBefore {
		d.trial.settle = within(settleMin, settleResidencies*w, settleMax)
	}
}

// within is a time in microseconds, held between two bounds.
func within(lo time.Duration, us float64, hi time.Duration) time.Duration {
	return min(max(time.Duration(us)*time.Microsecond, lo), hi)
}

// bound holds L within the floors and the rails. The rails win: they are what
// the user asked for.
func (d *delay) bound(us float64) float64 {
	return d.rail(max(us, d.floorUs, d.raisedUs))
}

// rail holds a limit within the rails and below the cap that the target sets.
func (d *delay) rail(us float64) float64 {
	if d.targetUs > 0 {
		us = min(us, d.targetUs)
		if d.residencyUs > d.targetUs { // several stations' limits add up
			us = min(us, d.limitUs*d.targetUs/d.residencyUs)
		}
	}
	return min(max(us, d.minUs), d.maxUs)
}

// move sets L. The residency follows it in proportion until it is measured.
func (d *delay) move(us float64) {
	us = d.bound(us)
	d.residencyUs *= us / d.limitUs
	d.limitUs = us
}

// learnFloor follows the airtime of a frame: where the rate drops, L is lifted
// at once, long before a trial would show why.
func (d *delay) learnFloor(o *Observation) {
	frame := d.meter.frameAirtime(o)
	if frame <= 0 {
		return
	}
	if d.floorUs == 0 {
		d.floorUs = floorFrames * frame
	}
	d.floorUs += (1 - floorMemory) * (floorFrames*frame - d.floorUs)
	if d.limitUs < floorSlack*d.bound(d.floorUs) {
		d.move(d.floorUs)
		d.discard()
	}
}

// observe takes a window that says something into the trial under way.
func (d *delay) observe(o *Observation, delivered float64) {
	t := &d.trial
	if !inForce(o, t.limitUs) {
		return // a window under other limits teaches nothing
	}
	lnE := math.Log(delivered / float64(o.Window.Microseconds()))
	if !o.demand() && !(t.kind == doubled && lnE > d.before) {
		// Senders may need a while to fill the queue again after a smaller
		// limit; what they deliver without filling it is a lower bound.
		if t.waited += o.Window; t.waited > demandPatience {
			d.discard()
		}
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
	d.before, d.hasBefore = lnE, true
	switch d.tried {
	case atL:
	case below:
		d.trim(-gain, full)
	default:
		d.leap(now, gain, full)
	}
	d.tried = atL
	d.begin(d.next(now))
}

// leap acts on what a trial at half or twice L gained; full tells that the
// driver queue is full at L.
func (d *delay) leap(now time.Time, gain float64, full bool) {
	k := d.tried
	if d.follows(gain, full) {
		d.raisedUs = 0
		d.move(d.limitUs * ratio[k])
		d.before = d.middle
		switch {
		case d.phase == trimming && k == doubled:
			d.raisedUs = raisedKeep * d.limitUs
			d.startTrimming(now)
		case d.phase == trimming:
			d.startTrimming(now)
		case k == doubled:
			d.phase = doubling
		default:
			d.phase = halving
		}
		return
	}
	switch {
	case d.phase == start && gain < -searchLoss && !full:
		d.phase = doubling
	case d.phase != trimming:
		d.startTrimming(now)
	case k == doubled:
		d.up.rarer(now)
	default:
		d.down.rarer(now)
	}
}

// startTrimming forgets the slope of another L, and has probes soon.
func (d *delay) startTrimming(now time.Time) {
	d.phase = trimming
	d.slope, d.trims = 0, 0
	d.up.reset(now)
	d.down.reset(now)
}

// follows decides whether L goes to where the last trial was.
func (d *delay) follows(gain float64, full bool) bool {
	switch {
	case d.tried == doubled:
		return gain > probeGain && !d.middleFull // never into a full queue
	case d.phase == trimming && !full:
		return gain > -probeCost
	}
	return gain > -searchCost
}

// next chooses what to compare L with.
func (d *delay) next(now time.Time) kind {
	switch {
	case d.phase == doubling && d.room(doubled):
		return doubled
	case (d.phase == start || d.phase == halving) && d.room(halved):
		return halved
	case d.phase != trimming:
		d.startTrimming(now)
	case !now.Before(d.up.due) && d.room(doubled):
		return doubled
	case !now.Before(d.down.due) && d.room(halved):
		return halved
	}
	return below
}

// room tells whether a trial of this kind would be far enough from L.
func (d *delay) room(k kind) bool {
	us := d.limitUs * ratio[k]
	return math.Abs(math.Log(d.bound(us)/d.limitUs)) > 0.5*math.Abs(math.Log(ratio[k]))
}

// trim moves L by what a little less costs.
func (d *delay) trim(cost float64, full bool) {
	memory := trimMemory
	if d.trims == 0 {
		memory = 0
	}
	d.slope = memory*d.slope + (1-memory)*cost
	by := min(max(trimGain*(d.slope-trimTarget), -trimDown), trimUp)
	if d.trims < boldTrims {
		by *= boldFactor
	}
	if full && cost < fullCost {
		by = math.Log(trimRatio)
	}
	d.trims++
	d.move(d.limitUs * math.Exp(by))
}

func (p *probe) reset(now time.Time) {
	p.every = probeFirst
	p.due = now.Add(p.every)
}

func (p *probe) rarer(now time.Time) {
	p.every = min(2*p.every, probeLast)
	p.due = now.Add(p.every)
}
