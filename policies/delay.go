package policies

import (
	"math"
	"slices"
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
// A trial at another limit is judged against the mean of the trials at L before
// and after it, which cancels drift.
//
//   - The search tries L/2 and follows while that costs little; if the first
//     half costs much it tries 2 L instead and follows while that gains much.
//   - Then L moves in small steps. What is known of the step below L and of the
//     one above it is kept as a mean with its error: L goes down when less
//     clearly costs no more than it may, up when more clearly gains more than
//     that. While neither is clear, more trials are made; when both are, L
//     rests, and trials become rare.
//   - Probes, now and then, try 2 L and L/2 again: the curve is not monotone,
//     and where the driver queue is full it is flat, so small steps can mislead.
//
// On a slow link a limit is a number of frames, and nothing happens between two
// of them. There steps are whole frames.
//
// A window without demand says nothing and is skipped; when there is none for
// longer, or a station with traffic comes or goes, the trial is thrown away and
// L held. A change of E that so small a step of L cannot explain is the link's:
// the search starts again.
type delay struct {
	minUs, maxUs, targetUs float64
	meter                  meter

	// limitUs is L.
	limitUs float64
	// frameUs is the airtime of a frame in the hardware queue, smoothed; 0 if
	// unknown.
	frameUs float64
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
	// spent is what the search has given up so far, of ln E.
	spent float64
	// less is what the step below L costs, more what the one above it gains,
	// lower what the step below that below L costs. moreFull says that the one
	// above filled the driver queue.
	lower, less, more evidence
	moreFull          bool
	noise             noise

	// waiting is how many stations have packets waiting, smoothed, crowd what it
	// was when it last was different enough to matter.
	waiting, crowd float64

	// level is ln E at L while it rests, smoothed; strayed counts trials in a row
	// that were away from it.
	level   float64
	strayed int

	// strangers counts windows in a row in which the air was used by other
	// stations than L was found with; acquaint is set when these are to be known.
	strangers int
	acquaint  bool

	// own are the limits of stations that need more than L, as last decided, and
	// ownSpare scratch for the next ones.
	own, ownSpare []StationLimit

	// rest is how long L rests between trials, restUntil when it ends.
	rest      time.Duration
	restUntil time.Time

	up, down probe
}

// phase is what is done about L.
type phase uint8

const (
	start    phase = iota // searching, direction not known yet
	halving               // searching downwards
	doubling              // searching upwards
	stepping
)

// kind is what a trial is for.
type kind uint8

const (
	atL     kind = iota // what the others are compared with
	below               // what a step down costs
	above               // what a step up gains
	halved              // what half would cost
	doubled             // what twice as much would gain
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

// evidence is what trials of one step have shown: a mean of differences of
// ln E.
type evidence struct {
	mean float64
	n    float64
}

func (e *evidence) add(x float64) {
	e.n = min(e.n+1, evidenceMemory)
	e.mean += (x - e.mean) / e.n
}

// enough tells whether there is enough evidence to leave L where it is: more is
// needed if it speaks for a move, though not clearly.
func (e *evidence) enough(forMove bool) bool {
	return e.n >= evidenceDoubt || e.n >= evidenceRest && !forMove
}

// old is what evidence counts for when L has moved.
func (e *evidence) old() evidence { return evidence{e.mean, min(e.n, 1)} }

// noise is the variance of a single difference of ln E.
type noise struct{ variance float64 }

func (v *noise) learn(residual float64) {
	r := min(residual*residual, 9*v.variance)
	v.variance += (r - v.variance) / noiseMemory
}

// excess is how much longer than usual one has to measure for the usual error.
func (v *noise) excess() float64 { return min(v.variance/(noiseFirst*noiseFirst), noiseMost) }

// of is the standard error of a mean.
func (v *noise) of(e *evidence) float64 { return math.Sqrt(v.variance / e.n) }

// probe is the schedule of one kind of probe.
type probe struct {
	due   time.Time
	every time.Duration
	// promising is set when the last one said that L should move.
	promising bool
}

// The constants of the law; docs/control.md says what each was chosen by. Logs
// are natural ones.
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

	// searchCost is the loss of ln E, over all halvings, that ends halving, and
	// searchLoss one so big that twice the limit may gain probeGain: on a curve
	// of 1 - exp(-L/knee) it would be 0.16.
	searchCost = 0.03
	searchLoss = 0.12

	// fullCost of ln E is what the step below L may cost to be followed while the
	// driver queue is full.
	fullCost = 0.02

	// stepRatio is a step down, its inverse one up.
	stepRatio = 0.82
	// stepTarget of ln E per ln L is what queue may cost: on a curve of
	// 1 - exp(-L/knee) it is where 0.8 % is lost. For a step of several frames no
	// more than stepMost may be lost in all.
	stepTarget = 0.04
	stepMost   = 0.018
	// fewFrames in a limit make frames the unit of steps, leastFrames is how
	// many stay in the hardware queue: one in the air and one behind it.
	// Between n-1 and n frames' airtime a limit holds n frames; framePart of the
	// last one keeps away from either.
	fewFrames   = 8
	leastFrames = 2
	framePart   = 0.05

	// evidenceMemory is how many trials of a step are remembered, evidenceLeast
	// how many make it count, unless one differs by evidenceClear errors.
	evidenceMemory = 6
	evidenceLeast  = 3
	evidenceClear  = 4
	// downErrors and upErrors are how sure a move must be, in standard errors:
	// a step too much costs latency a little, one too few throughput.
	downErrors = 1.0
	upErrors   = 0.6
	// evidenceBoth trials of either step make their mean count, evidenceRest let
	// L rest if they do not speak for a move, evidenceDoubt if they do.
	evidenceBoth  = 2
	evidenceRest  = 2
	evidenceDoubt = 4
	// L goes down below cheapPart of what a step may cost and up above dearPart
	// of it, and stays in between.
	cheapPart = 0.8
	dearPart  = 1.3
	// noiseFirst is the standard deviation of a difference of ln E to begin
	// with, noiseMemory the number of trials its variance is averaged over.
	noiseFirst  = 0.0075
	noiseMemory = 12
	noiseMost   = 2.5

	// restFirst is how long L rests once it is known to be right; each time that
	// is confirmed it rests longer, up to restLast.
	restFirst  = 8 * time.Second
	restLast   = 40 * time.Second
	restGrowth = 2

	// After the search twice and half as much are tried once more, probeSoon,
	// because TCP may still have been starting. Later probes come after probeEvery; each
	// that finds nothing makes the next wait twice as long, up to probeLast.
	// Doubling is felt in the tail of latency.
	probeSoon  = 5 * time.Second
	probeEvery = time.Minute
	probeLast  = 8 * time.Minute
	// probeGain and probeCost of ln E are what doubling must gain and what
	// halving may cost to be followed.
	probeGain = 0.035
	probeCost = 0.018

	// Stations are strangers when they use strangeMost of the air in
	// strangeWindows windows in a row.
	strangeMost    = 0.5
	strangeWindows = 2

	// A station has a limit of its own for busyWindows after packets last waited
	// for it; it only moves when it should by ownPart.
	busyWindows = 50
	ownPart     = 0.1

	// A crowd has changed by crowdPart of it, and no less than crowdLeast.
	// The number of those that wait is averaged over windows with crowdMemory,
	// because packets wait for a moment for anybody; what it is compared with
	// follows with crowdDrift.
	crowdPart   = 0.35
	crowdLeast  = 0.7
	crowdMemory = 0.9
	crowdDrift  = 0.99

	// L does not rest any longer when strayTrials in a row differ from its level by
	// strayErrors of the noise of a difference, and by no less than strayLeast of
	// ln E. The level is a mean over strayMemory trials.
	strayTrials = 3
	strayErrors = 4
	strayLeast  = 0.04
	strayMemory = 8

	// linkChanged is the change of ln E that no step below L explains if two
	// windows in a row show it, linkBroke if only one does.
	linkChanged = 0.25
	linkBroke   = 0.7

	// frameMemory is the weight of the past in the smoothed airtime of a frame,
	// unless it differs by more than frameStep, in ln: then the link's rate did.
	frameMemory = 0.9
	frameStep   = 0.5
	frameJump   = 0.5 // the weight then
	// residencyMemory is the same of the residency.
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
	switch {
	case o.Fresh:
		d.meter.reset()
		d.restart()
	case d.estranged(o):
		d.restart()
	case d.crowdChanged(o):
		d.unlearn(o.Now)
	case o.StationsChanged:
		d.discard()
	case d.meter.resourced:
		d.discard()
	case d.meter.stepped && math.Abs(d.meter.shift) > linkChanged:
		d.restart()
	case d.meter.stepped, delivered <= 0:
		d.discard()
	default:
		d.observe(o, delivered)
	}
	if o.demand() {
		d.learnFrame(o)
		if d.phase != stepping || d.acquaint {
			d.meter.acquaint(o.Stations)
			d.acquaint = false
		}
	}
	us := d.trial.limitUs
	return Decision{
		Write:    true,
		Limits:   wlan.Uniform(us, threshold(o, us)),
		Stations: d.slowStations(o),
		Reason:   d.reason(o),
	}
}

// slowStations are those of which not even leastFrames fit in the radio's limit:
// beside fast stations L is a part of their frame. With one frame in the hardware
// the air waits for the host after each.
func (d *delay) slowStations(o *Observation) []StationLimit {
	next := d.ownSpare[:0]
	for i := range o.Stations {
		c := &d.meter.costs[i]
		if o.Stations[i].BacklogPackets > 0 {
			c.busy = busyWindows
		} else if c.busy > 0 {
			c.busy--
		}
		floor := min((leastFrames-1+framePart)*mtuBytes*c.usPerByte, d.maxUs)
		if math.Abs(floor-c.ownUs) > ownPart*c.ownUs {
			c.ownUs = math.Round(floor/roundUs) * roundUs
		}
		us := uint32(c.ownUs)
		if c.busy == 0 || us <= d.trial.limitUs {
			continue
		}
		own := StationLimit{MAC: c.mac}
		for ac := range own.AC {
			own.AC[ac] = wlan.Limit{LowUs: us, HighUs: us}
		}
		next = append(next, own)
	}
	d.ownSpare = next
	if !slices.Equal(next, d.own) {
		d.own = slices.Clone(next)
	}
	return d.own
}

// reason says in the log what the limit is for.
func (d *delay) reason(o *Observation) string {
	switch k := d.trial.kind; {
	case !o.demand():
		return "no demand: holding"
	case k == below:
		return "trying a little less"
	case k == above:
		return "trying a little more"
	case k == halved:
		return "trying half as much"
	case k == doubled:
		return "trying twice as much"
	case d.phase != stepping:
		return "searching"
	}
	return "the smallest limit known to cost no airtime"
}

// reweigh expresses what was measured in the present weights.
func (d *delay) reweigh(shift float64) {
	d.before += shift
	d.middle += shift
	d.level += shift
	d.trial.airtimeUs *= math.Exp(shift)
}

// restart forgets everything and begins the search at startUs.
func (d *delay) restart() {
	d.frameUs, d.residencyUs, d.spent = 0, 0, 0
	d.noise.variance = noiseFirst * noiseFirst
	d.limitUs = d.bound(startUs)
	d.phase = start
	d.discard()
}

// estranged tells whether most of the air is used by stations that L was not
// found with.
func (d *delay) estranged(o *Observation) bool {
	if !o.demand() || d.phase != stepping || d.meter.strange < strangeMost {
		d.strangers = 0
		return false
	}
	d.strangers++
	return d.strangers >= strangeWindows
}

// crowdChanged tells whether so many more or fewer stations want the air than
// before that L may be wrong by a step or more.
func (d *delay) crowdChanged(o *Observation) bool {
	n := 0.0
	for i := range o.Stations {
		if o.Stations[i].BacklogPackets > 0 {
			n++
		}
	}
	d.waiting += (1 - crowdMemory) * (n - d.waiting)
	if math.Abs(d.waiting-d.crowd) <= max(crowdLeast, crowdPart*d.crowd) {
		d.crowd += (1 - crowdDrift) * (d.waiting - d.crowd)
		return false
	}
	first := d.crowd < crowdLeast
	d.crowd = d.waiting
	return !first
}

// unlearn takes what is known of the steps about L back, which may be far from
// where it should be now.
func (d *delay) unlearn(now time.Time) {
	if d.phase == stepping {
		d.startStepping(now)
	}
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
	us := d.rail(d.at(k))
	w := d.residencyUs * max(float64(was.limitUs), us) / d.limitUs
	d.trial = trial{
		kind:    k,
		limitUs: uint32(math.Round(us/roundUs)) * roundUs,
		measure: within(measureMin, max(measureResidencies*w, d.noise.excess()*float64(measureMin.Microseconds())), measureMax),
	}
	if d.trial.limitUs != was.limitUs || !d.hasBefore {
		d.trial.settle = within(settleMin, settleResidencies*w, settleMax)
	}
}

// within is a time in microseconds, held between two bounds.
func within(lo time.Duration, us float64, hi time.Duration) time.Duration {
	return min(max(time.Duration(us)*time.Microsecond, lo), hi)
}

// at is the limit of a kind of trial.
func (d *delay) at(k kind) float64 {
	switch k {
	case below:
		return d.step(stepRatio)
	case above:
		return d.step(1 / stepRatio)
	case halved:
		return d.bound(d.limitUs / 2)
	case doubled:
		return d.bound(d.limitUs * 2)
	}
	return d.limitUs
}

// step is the limit one step from L: a ratio, or a frame if that is more.
func (d *delay) step(ratio float64) float64 {
	us := d.limitUs * ratio
	if n := d.frames(d.limitUs); n > 0 && d.frames(us) == n {
		if ratio < 1 {
			n--
		} else {
			n++
		}
		us = (float64(n-1) + framePart) * d.frameUs
	}
	return d.bound(us)
}

// frames is how many frames a limit holds in the hardware queue, 0 if they are
// too many to tell: AQL lets a frame go while the airtime of those before it is
// below the limit.
func (d *delay) frames(us float64) int {
	if d.frameUs <= 0 || us > fewFrames*d.frameUs {
		return 0
	}
	return max(int(math.Ceil(us/d.frameUs)), 1)
}

// bound holds a limit within the rails and above the least number of frames,
// away from where the number of frames is in doubt. The rails win: they are
// what the user asked for.
func (d *delay) bound(us float64) float64 {
	if n := d.frames(us); n > 0 {
		us = (float64(max(n, leastFrames)-1) + framePart) * d.frameUs
	}
	return d.rail(us)
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

// learnFrame follows the airtime of a frame: where the rate drops, L is lifted
// at once, long before a trial would show why.
func (d *delay) learnFrame(o *Observation) {
	frame := d.meter.frameAirtime(o)
	if frame <= 0 {
		return
	}
	memory := frameMemory
	switch {
	case d.frameUs == 0:
		memory = 0
	case math.Abs(math.Log(frame/d.frameUs)) > frameStep:
		memory = frameJump
	}
	d.frameUs += (1 - memory) * (frame - d.frameUs)
	if n := d.frames(d.limitUs); n > 0 && n < leastFrames && d.bound(d.limitUs) > d.limitUs {
		d.move(d.limitUs)
		d.unlearn(o.Now)
	}
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
		d.watch(now, lnE)
	case below:
		d.weigh(&d.less, -gain)
		d.decide(now, full)
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
	d.rest, d.restUntil = 0, now
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
	if d.room(below) && !d.less.enough(d.less.mean < cheapPart*allowed(d.limitUs, down)) ||
		d.room(above) && !d.more.enough(d.more.mean > dearPart*allowed(up, d.limitUs)) {
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
	d.rest /= 2
	d.restUntil = now
}

// leap acts on what a trial at half or twice L gained; full tells that the
// driver queue is full at L.
func (d *delay) leap(now time.Time, gain float64, full bool) {
	k := d.tried
	follow := d.follows(gain, full)
	if follow && !d.confirmed(now) {
		return
	}
	if follow {
		d.spent -= gain
		d.move(d.at(k))
		d.before = d.middle
		switch {
		case d.phase == stepping:
			d.startStepping(now)
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

// confirmed tells whether a probe is not the first in a row to say that L should
// move; the first has another made at once. One alone may be noise, and a factor
// of two is much.
func (d *delay) confirmed(now time.Time) bool {
	p := &d.down
	if d.tried == doubled {
		p = &d.up
	}
	if d.phase != stepping || p.promising {
		p.promising = false
		return true
	}
	p.promising, p.due = true, now
	return false
}

// startStepping forgets the steps about another L, and has probes soon.
func (d *delay) startStepping(now time.Time) {
	if us := d.bound(d.limitUs); us != d.limitUs {
		d.move(us) // to whole frames
		d.hasBefore = false
	}
	d.phase = stepping
	d.lower, d.less, d.more = evidence{}, evidence{}, evidence{}
	d.moreFull = false
	d.rest, d.restUntil = 0, now
	d.up.reset(now.Add(probeSoon))
	d.down.reset(now.Add(probeSoon))
}

// follows decides whether L goes to where the last trial was.
func (d *delay) follows(gain float64, full bool) bool {
	switch {
	case d.tried == doubled:
		return gain > probeGain && !d.middleFull // never into a full queue
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
	case !now.Before(d.up.due) && d.room(doubled):
		return doubled
	case !now.Before(d.down.due) && d.room(halved):
		return halved
	case now.Before(d.restUntil):
		return atL
	}
	return d.nextStep()
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
