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
	// waits is how many trials the search may still wait for a steady start.
	waits int
	// spent is what the search has given up so far, of ln E.
	spent float64
	// less is what the step below L costs, more what the one above it gains,
	// lower what the step below that below L costs. moreFull says that the one
	// above filled the driver queue.
	lower, less, more evidence
	moreFull          bool
	noise             noise
	// rose tells that L last doubled. overshot is set until it is known what
	// half-way back costs, back what is known of it.
	rose, overshot bool
	back           evidence

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
	// busyUntil is when L rests in any case.
	busyUntil time.Time

	up, down probe

	words words
}

// phase is what is done about L.
type phase uint8

const (
	start    phase = iota // searching, direction not known yet
	halving               // searching downwards
	doubling              // searching upwards
	stepping
)

// The constants of the law; docs/control.md says what each was chosen by. Logs
// are natural ones.
const (
	// startUs is where L starts: above the knee of a fast host, below the
	// plateau of a full driver queue. From the kernel's 12000 us it once took
	// 36 s to leave the plateau.
	startUs = 2000

	// After a change of L the queue needs some residencies to settle, and never
	// less than TCP needs to notice.
	settleMin = 50 * time.Millisecond
	// Half the queue makes TCP and CoDel stumble before they find their place.
	settleHalved      = 600 * time.Millisecond
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

	// The search waits until two trials in a row differ by less than steadyWithin
	// of ln E, for steadyWaits trials at most: TCP may just be starting.
	steadyWithin = 0.02
	steadyWaits  = 4

	// searchCost is the loss of ln E, over all halvings, that ends halving, and
	// searchGain what each doubling must gain. searchLoss is one so big that twice
	// the limit may gain that: on a curve of 1 - exp(-L/knee) it would be 0.16.
	searchCost = 0.02
	searchGain = 0.04
	searchLoss = 0.12

	// halvedTooFar is the loss of ln E in one window that ends a trial of half as
	// much: behind a slow host that is half the throughput.
	halvedTooFar = 0.25

	// fullCost of ln E is what the step below L may cost to be followed while the
	// driver queue is full.
	fullCost = 0.02

	// stepRatio is a step down, its inverse one up.
	stepRatio = 0.82
	// stepTarget of ln E per ln L is what queue may cost: on a curve of
	// 1 - exp(-L/knee) it is where 0.6 % is lost. For a step of several frames no
	// more than stepMost may be lost in all.
	stepTarget = 0.03
	stepMost   = 0.018
	// fewFrames in a limit make frames the unit of steps, leastFrames is how
	// many stay in the hardware queue: one in the air and one behind it.
	// Between n-1 and n frames' airtime a limit holds n frames; framePart of the
	// last one keeps away from either.
	fewFrames   = 8
	leastFrames = 2
	framePart   = 0.05

	// busyFor is how long one trial may follow the other. After that L moves by a
	// step per rest at most: it is near enough, and restlessness is felt, too.
	busyFor = 9 * time.Second
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
	// halving may cost, on average over two, to be followed: somewhat more, and
	// less, than stepTarget asks for ln 2.
	probeGain = 0.025
	probeCost = 0.015

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

	// stepNoticed is how much a station's new rate must matter to all, in ln E, to
	// throw a trial away.
	stepNoticed = 0.02

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
	case d.meter.stepped && math.Abs(d.meter.shift) > stepNoticed, delivered <= 0:
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

// reweigh expresses what was measured in the present weights.
func (d *delay) reweigh(shift float64) {
	d.before += shift
	d.middle += shift
	d.level += shift
	d.trial.airtimeUs *= math.Exp(shift)
}

// restart forgets everything and begins the search at startUs.
func (d *delay) restart() {
	d.frameUs, d.residencyUs, d.spent, d.rose = 0, 0, 0, false
	d.words.half, d.words.twice = outcome{}, outcome{}
	d.noise.variance = noiseFirst * noiseFirst
	d.limitUs = d.bound(startUs)
	d.phase, d.waits = start, steadyWaits
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
	if d.phase != stepping {
		d.crowd = d.waiting
		return false
	}
	if math.Abs(d.waiting-d.crowd) <= max(crowdLeast, crowdPart*d.crowd) {
		d.crowd += (1 - crowdDrift) * (d.waiting - d.crowd)
		return false
	}
	d.crowd = d.waiting
	return true
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
	case between:
		return d.bound(d.limitUs / math.Sqrt2)
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
	if us != d.limitUs {
		d.words.half, d.words.twice = outcome{}, outcome{}
	}
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
