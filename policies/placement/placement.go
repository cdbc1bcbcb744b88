// Package placement decides on which CPUs a machine does the network's work: it
// moves work where one CPU drowns in softirqs while others are idle, looks
// whether that helped, and takes it back if not. Like all policies it does no I/O
// and has no clock.
package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// When a CPU counts as saturated by the network, and when another can help.
const (
	// holdFor is how long the evidence must have lasted, as a mean: shares
	// of a single second swing with whatever else runs.
	holdFor = 5 * time.Second
	// A CPU is saturated when it has next to no time to spare and most of what it
	// does is softirq.
	saturatedSoftIRQ = 0.5
	saturatedSpare   = 0.1
	// spareCPU is what a CPU must have to spare to be given work.
	spareCPU = 0.25
	// minPacketsPerS is far below what saturates any CPU, and far above what one
	// handles that is saturated by something else.
	minPacketsPerS = 1000
	// Nor does softirq time say much without the network's. One run of it lasts
	// 2 ms at most (net.core.netdev_budget_usecs) before the next.
	minSoftIRQsPerS = 20
	// An interrupt shares its CPU when others come there a fifth as often.
	sharedIRQ = 0.2
)

// How a change is judged.
const (
	settleFor = 2 * time.Second
	// lostBelow is what may pass less afterwards, as traffic varies.
	lostBelow = 0.9
	// A change helped when the busiest CPU's softirqs fell to reliefBelow: as
	// they are, for threads, whose time is not softirq; by traffic, which may grow
	// into what was gained, otherwise.
	reliefBelow = 0.85
	// switchWithin is how long threads may take to take over: NAPI that is being
	// polled stays where it is until its queue was empty once (net/core/dev.c,
	// netif_set_threaded).
	switchWithin = time.Minute
	// A change that did not help is not tried again for restFor, twice as
	// long each time. One whose load ended too soon says nothing.
	restFor    = 10 * time.Minute
	restMax    = 24 * time.Hour
	againAfter = time.Minute
)

// The bound on what a client's own TCP queues.
const (
	// minOutputBytes holds two segments of the greatest size that a socket hands
	// down at once, so that no flow is starved. It was the kernel's own limit up
	// to Linux 4.19, roughly.
	minOutputBytes = 128 << 10
	// minClientKbps is the least traffic that says anything.
	minClientKbps = 1000
	clientTarget  = 10 * time.Millisecond
	// A bound in force stays while it is right within this factor.
	boundSlack = 2
)

// KnobOutputBytes is net.ipv4.tcp_limit_output_bytes.
const KnobOutputBytes = "tcp_limit_output_bytes"

// CPU is what one CPU did in an interval.
type CPU struct {
	ID int
	// Times, in ticks. Spare is time in which it was idle, or ran what was told
	// to be nice.
	Total, SoftIRQ, Spare uint64
	// Packets went through the network's receive path there.
	Packets uint64
	// NetSoftIRQs is how often NET_RX ran there.
	NetSoftIRQs uint64
	// Interrupts of devices that came there.
	Interrupts uint64
}

// IRQ is one interrupt and how often it came to each CPU in an interval.
type IRQ struct {
	Number int
	Came   map[int]uint64 // by CPU
}

// Thread is a kernel thread that polls NAPI.
type Thread struct {
	Name string
	CPUs []int // it may run on
	// Ticks are the time it has run for, in the interval.
	Ticks uint64
}

// Link is something whose packets the kernel receives: a wired interface,
// or a radio with all of its interfaces.
type Link struct {
	Name string
	// Bytes passed in the interval, in both directions.
	Bytes uint64
	// Threaded is the knob that moves its NAPI to threads, empty if there is
	// none worth a try, and IsThreaded whether it is on.
	Threaded   string
	IsThreaded bool
	Threads    []Thread
	// IRQs are empty where they are not known.
	IRQs []IRQ
	// RPS are the knobs of receive queues that are not spread.
	RPS []string
}

// Client is a radio that is the client of an access point, and whose
// hardware queue AQL cannot bound, because firmware reports no rates.
type Client struct {
	Link string
	// Kbps is the PHY rate towards the access point, or, where that is not
	// known, the most that has passed.
	Kbps   uint64
	Target time.Duration
}

// Observation is what a machine did in an interval.
type Observation struct {
	Now    time.Time
	Window time.Duration
	CPUs   []CPU
	// Detailed is set when the rest was looked at, too: see Policy.Busy.
	Detailed bool
	Links    []Link
	// Clients, and what their sockets may queue now; 0 if that is not known.
	Clients     []Client
	OutputBytes int64
	// Owner is who places the network's work on this machine, IRQOwner who moves
	// interrupts; empty if nobody does.
	Owner, IRQOwner string
}

// Setting is a knob and what it shall be: Value, or a set of CPUs.
type Setting struct {
	Knob  string
	Value string
	CPUs  []int
}

// Action is a change that is made, judged and undone as a whole.
type Action struct {
	ID   string
	Link string
	Set  []Setting
	// Threads is where the link's NAPI threads shall run, once they are there;
	// nil leaves that to the scheduler.
	Threads []int
	Reason  string
}

// Decision is what to do next. At most one of Do and Undo is set.
type Decision struct {
	Do *Action
	// Undo is the ID of an action.
	Undo string
	// Saturated are the CPUs that softirqs saturate.
	Saturated []int
	Reason    string
}

// Policy decides about one machine. The zero value is ready for use.
type Policy struct {
	past  []interval // the last holdFor, oldest first
	spent []interval // memory to use again
	// inForce are the actions done and not undone, by ID.
	inForce map[string]*Action
	trial   *trial
	rests   map[string]rest
	// outputBytes is what sockets could queue before they were bounded.
	outputBytes int64
}

// interval is what is kept of an observation.
type interval struct {
	window   time.Duration
	detailed bool
	cpus     []CPU
	links    []linkBytes
}

type linkBytes struct {
	name  string
	bytes uint64
}

// trial is an action whose effect is being looked at.
type trial struct {
	action  *Action
	since   time.Time
	settled bool
	ran     bool // its threads have
	before  figures
}

// figures are what a change is judged by.
type figures struct {
	bytesPerS float64
	softIRQ   float64 // share of the busiest CPU
}

type rest struct {
	until time.Time
	times int
}

// Busy reports whether the last interval, or something in force, makes the
// expensive parts of an observation worth reading.
func (p *Policy) Busy() bool {
	if len(p.inForce) > 0 || len(p.past) == 0 {
		return len(p.inForce) > 0
	}
	last := p.past[len(p.past)-1]
	return slices.ContainsFunc(last.cpus, func(c CPU) bool {
		return 2*share(c.SoftIRQ, c.Total) > saturatedSoftIRQ
	})
}

// InForce reports whether an action is in force.
func (p *Policy) InForce(id string) bool { return p.inForce[id] != nil }

// Failed says that an action could not be done, or did not last.
func (p *Policy) Failed(id string, now time.Time) {
	delete(p.inForce, id)
	if p.trial != nil && p.trial.action.ID == id {
		p.trial = nil
	}
	p.giveRest(id, now)
}

// Drop says that an action was undone by its caller.
func (p *Policy) Drop(id string) { p.undo(Decision{Undo: id}) }

// Forget drops what is in force, which somebody else has undone, and what was
// seen.
func (p *Policy) Forget() { *p = Policy{rests: p.rests} }

// Decide is called about once a second, in order of time.
func (p *Policy) Decide(o *Observation) Decision {
	if !p.note(o) {
		return Decision{Reason: "looking"}
	}
	d := Decision{Saturated: p.saturated()}
	if d.Undo, d.Reason = p.stale(o); d.Undo != "" {
		return p.undo(d)
	}
	if p.trial != nil {
		return p.judge(o, d)
	}
	if p.span() < holdFor {
		d.Saturated, d.Reason = nil, "looking"
		return d
	}
	if d.Do = p.bound(o); d.Do == nil {
		d.Do, d.Reason = p.relieve(o, d.Saturated)
	}
	if d.Do != nil {
		d.Reason = d.Do.Reason
		if p.inForce == nil {
			p.inForce = map[string]*Action{}
		}
		p.inForce[d.Do.ID] = d.Do
		p.trial = &trial{action: d.Do, since: o.Now, before: p.figures(d.Do.Link)}
	}
	return d
}

// note takes an observation in. One that says nothing, because the machine
// slept or its CPUs changed, voids those before it.
func (p *Policy) note(o *Observation) bool {
	same := len(p.past) == 0 || slices.EqualFunc(p.past[len(p.past)-1].cpus, o.CPUs, func(a, b CPU) bool { return a.ID == b.ID })
	if o.Window <= 0 || o.Window > holdFor || !same {
		p.clear()
		return false
	}
	if len(p.past) > 0 && p.past[0].detailed != o.Detailed {
		p.clear() // sums would be of unlike things
	}
	var i interval
	if n := len(p.spent); n > 0 {
		i, p.spent = p.spent[n-1], p.spent[:n-1]
	}
	i.window, i.detailed = o.Window, o.Detailed
	i.cpus = append(i.cpus[:0], o.CPUs...)
	i.links = i.links[:0]
	for _, l := range o.Links {
		i.links = append(i.links, linkBytes{l.Name, l.Bytes})
	}
	p.past = append(p.past, i)
	for p.span()-p.past[0].window >= holdFor {
		p.spent = append(p.spent, p.past[0])
		p.past = slices.Delete(p.past, 0, 1)
	}
	return true
}

func (p *Policy) clear() {
	p.spent = append(p.spent, p.past...)
	p.past = p.past[:0]
}

func (p *Policy) span() time.Duration {
	var sum time.Duration
	for _, i := range p.past {
		sum += i.window
	}
	return sum
}

// cpu sums what the n-th CPU did.
func (p *Policy) cpu(n int) CPU {
	var sum CPU
	for _, i := range p.past {
		c := i.cpus[n]
		sum.ID = c.ID
		sum.Total += c.Total
		sum.SoftIRQ += c.SoftIRQ
		sum.Spare += c.Spare
		sum.Packets += c.Packets
		sum.NetSoftIRQs += c.NetSoftIRQs
		sum.Interrupts += c.Interrupts
	}
	return sum
}

func (p *Policy) cpus() int { return len(p.past[len(p.past)-1].cpus) }

func (p *Policy) bytes(link string) (sum uint64) {
	for _, i := range p.past {
		for _, l := range i.links {
			if l.name == link {
				sum += l.bytes
			}
		}
	}
	return sum
}

func (p *Policy) figures(link string) figures {
	f := figures{bytesPerS: float64(p.bytes(link)) / p.span().Seconds()}
	for n := range p.cpus() {
		c := p.cpu(n)
		f.softIRQ = max(f.softIRQ, share(c.SoftIRQ, c.Total))
	}
	return f
}

func share(part, total uint64) float64 {
	if total == 0 {
		return 0
	}
	return float64(part) / float64(total)
}

// saturated lists the CPUs that the network's softirqs saturate.
func (p *Policy) saturated() []int {
	var ids []int
	for n := range p.cpus() {
		c := p.cpu(n)
		seconds := p.span().Seconds()
		if c.Total > 0 && share(c.SoftIRQ, c.Total) >= saturatedSoftIRQ && share(c.Spare, c.Total) <= saturatedSpare &&
			float64(c.Packets) >= minPacketsPerS*seconds && float64(c.NetSoftIRQs) >= minSoftIRQsPerS*seconds {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// spare lists the CPUs that can be given work, the most idle first.
func (p *Policy) spare() []int {
	var ids []int
	most := 0.0
	for n := range p.cpus() {
		c := p.cpu(n)
		spare := share(c.Spare, c.Total)
		switch {
		case spare < spareCPU:
		case spare > most:
			most = spare
			ids = slices.Insert(ids, 0, c.ID)
		default:
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// stale finds an action whose reason is gone.
func (p *Policy) stale(o *Observation) (id, why string) {
	for id, a := range p.inForce {
		switch {
		case id == KnobOutputBytes:
			if !slices.ContainsFunc(o.Clients, func(c Client) bool { return c.Link == a.Link }) {
				return id, a.Link + " is no client whose queue is unbounded any more"
			}
		case o.Owner != "":
			return id, o.Owner
		case !slices.ContainsFunc(o.Links, func(l Link) bool { return l.Name == a.Link }):
			return id, a.Link + " is not there any more"
		}
	}
	return "", ""
}

func (p *Policy) undo(d Decision) Decision {
	if p.trial != nil && p.trial.action.ID == d.Undo {
		p.trial = nil
	}
	delete(p.inForce, d.Undo)
	p.clear()
	return d
}

// judge looks whether the action on trial has helped, once that can be told.
func (p *Policy) judge(o *Observation, d Decision) Decision {
	t := p.trial
	d.Reason = "looking whether this helps: " + t.action.Reason
	if !t.settled {
		t.ran = t.ran || t.action.Threads == nil || slices.ContainsFunc(o.Links, func(l Link) bool {
			return l.Name == t.action.Link && slices.ContainsFunc(l.Threads, func(t Thread) bool { return t.Ticks > 0 })
		})
		wait := settleFor
		if !t.ran && p.figures(t.action.Link).bytesPerS >= t.before.bytesPerS/2 {
			wait = switchWithin
		}
		if t.settled = o.Now.Sub(t.since) >= wait; t.settled {
			p.clear()
		}
		return d
	}
	if p.span() < holdFor {
		return d
	}
	after := p.figures(t.action.Link)
	lost := after.bytesPerS < lostBelow*t.before.bytesPerS
	allowed := reliefBelow * t.before.softIRQ
	if t.action.Threads == nil && !lost {
		allowed *= after.bytesPerS / t.before.bytesPerS
	}
	helped := t.action.ID == KnobOutputBytes || after.softIRQ <= allowed
	what := fmt.Sprintf("%.1f -> %.1f Mb/s, softirqs of the busiest CPU %.0f -> %.0f %%",
		t.before.bytesPerS*8e-6, after.bytesPerS*8e-6, t.before.softIRQ*100, after.softIRQ*100)
	if !lost && helped {
		p.trial = nil
		d.Reason = "helped: " + what
		delete(p.rests, t.action.ID)
		return d
	}
	d.Undo = t.action.ID
	// No change takes nine tenths of the traffic. With half, it is the machine that
	// tells whether there is more to do.
	ended := after.bytesPerS < t.before.bytesPerS/10 ||
		after.bytesPerS < t.before.bytesPerS/2 && len(p.spare()) == p.cpus()
	if ended {
		d.Reason = "the load ended before it could be told whether this helps: " + what
		p.setRest(t.action.ID, rest{o.Now.Add(againAfter), p.rests[t.action.ID].times})
	} else {
		d.Reason = "did not help: " + what
		p.giveRest(t.action.ID, o.Now)
	}
	return p.undo(d)
}

func (p *Policy) giveRest(id string, now time.Time) {
	times := p.rests[id].times
	p.setRest(id, rest{now.Add(min(restFor<<min(times, 10), restMax)), times + 1})
}

func (p *Policy) setRest(id string, r rest) {
	if p.rests == nil {
		p.rests = map[string]rest{}
	}
	p.rests[id] = r
}

// open reports whether an action may be tried.
func (p *Policy) open(id string, now time.Time) bool {
	return p.inForce[id] == nil && !now.Before(p.rests[id].until)
}

// relieve finds what takes work off a saturated CPU, or says why nothing does.
func (p *Policy) relieve(o *Observation, saturated []int) (*Action, string) {
	if len(saturated) == 0 {
		return nil, ""
	}
	head := fmt.Sprintf("CPU %d is saturated by softirqs", saturated[0])
	switch {
	case o.Owner != "":
		return nil, head + ", but " + o.Owner
	case p.cpus() < 2:
		return nil, head + ", and there is no other"
	}
	spare := slices.DeleteFunc(p.spare(), func(id int) bool { return slices.Contains(saturated, id) })
	if len(spare) == 0 {
		return nil, head + ", but no other CPU has time to spare"
	}
	var best *Action
	var most uint64 // the link that passes most
	for _, cpu := range saturated {
		for i := range o.Links {
			l := &o.Links[i]
			if bytes := p.bytes(l.Name); bytes > most && l.lands(cpu) {
				if a := p.way(o, l, cpu, spare); a != nil {
					a.Link = l.Name
					a.Reason = fmt.Sprintf("CPU %d is saturated by softirqs and %s idle: %s", cpu, others(spare), a.Reason)
					best, most = a, bytes
				}
			}
		}
	}
	if best == nil {
		return nil, head + ", and nothing airtuned may change takes work off it"
	}
	return best, ""
}

func others(spare []int) string {
	if len(spare) == 1 {
		return fmt.Sprintf("CPU %d is", spare[0])
	}
	return fmt.Sprintf("%d others are", len(spare))
}

// lands reports whether a link's work may be what keeps a CPU busy.
func (l *Link) lands(cpu int) bool {
	return len(l.IRQs) == 0 || slices.ContainsFunc(l.IRQs, func(i IRQ) bool { return i.Came[cpu] > 0 })
}

// way is the best way to take a link's work off a CPU that may be tried now.
func (p *Policy) way(o *Observation, l *Link, cpu int, spare []int) *Action {
	away := l.away(spare)
	threads := &Action{ID: "threads/" + l.Name, Threads: away, Reason: l.Name + " is polled by threads there"}
	switch {
	case len(l.Threads) > 0:
		threads.ID = "place/" + l.Name
		if p.open(threads.ID, o.Now) && slices.ContainsFunc(l.Threads, func(t Thread) bool { return slices.Contains(t.CPUs, cpu) }) {
			return threads
		}
		return nil
	case l.IsThreaded:
		return nil // by threads that cannot be told
	case l.Threaded != "" && p.open(threads.ID, o.Now):
		threads.Set = []Setting{{Knob: l.Threaded, Value: "1"}}
		return threads
	}
	move := &Action{ID: "irq/" + l.Name, Reason: "the interrupt of " + l.Name + " shares it and moves to CPU " + strconv.Itoa(spare[0])}
	if o.IRQOwner == "" && l.shares(o, cpu) && p.open(move.ID, o.Now) {
		for _, i := range l.IRQs {
			if i.Came[cpu] > 0 {
				move.Set = append(move.Set, Setting{Knob: "irq/" + strconv.Itoa(i.Number) + "/affinity", CPUs: spare[:1]})
			}
		}
		return move
	}
	rps := &Action{ID: "rps/" + l.Name, Reason: "packets of " + l.Name + " are handed on there (RPS)"}
	if len(l.RPS) > 0 && p.open(rps.ID, o.Now) {
		for _, knob := range l.RPS {
			rps.Set = append(rps.Set, Setting{Knob: knob, CPUs: away})
		}
		return rps
	}
	return nil
}

// away are those of the CPUs to which the link's interrupts do not come, in
// rising order; all if they come to all.
func (l *Link) away(spare []int) []int {
	cpus := slices.DeleteFunc(slices.Clone(spare), func(id int) bool { return len(l.IRQs) > 0 && l.lands(id) })
	if len(cpus) == 0 {
		cpus = slices.Clone(spare)
	}
	slices.Sort(cpus)
	return cpus
}

// shares reports whether other interrupts come to the CPU beside the link's.
func (l *Link) shares(o *Observation, cpu int) bool {
	var own, all uint64
	for _, i := range l.IRQs {
		own += i.Came[cpu]
	}
	for _, c := range o.CPUs {
		if c.ID == cpu {
			all = c.Interrupts
		}
	}
	return own > 0 && all > own && share(all-own, own) >= sharedIRQ
}

// bound limits what the sockets of clients queue, where AQL cannot.
func (p *Policy) bound(o *Observation) *Action {
	if len(o.Clients) == 0 || o.OutputBytes == 0 {
		return nil
	}
	a := Action{ID: KnobOutputBytes}
	var want int64
	for _, c := range o.Clients {
		kbps := float64(p.bytes(c.Link)) * 8 / 1000 / p.span().Seconds()
		if c.Kbps == 0 || kbps < minClientKbps {
			continue
		}
		target := cmp.Or(c.Target, clientTarget)
		// The fastest one decides: none is to be starved.
		if n := int64(float64(c.Kbps) / 8 * 1000 * target.Seconds()); n > want {
			want, a.Link = n, c.Link
			a.Reason = fmt.Sprintf("AQL counts no airtime on %s, so that its own TCP is bounded instead: %d Mb/s for %v, at least %d bytes, each socket",
				c.Link, c.Kbps/1000, target, minOutputBytes)
		}
	}
	if want == 0 {
		return nil
	}
	want = max(want, minOutputBytes)
	if p.inForce[KnobOutputBytes] != nil {
		want = min(want, p.outputBytes)
		if want <= boundSlack*o.OutputBytes && boundSlack*want >= o.OutputBytes {
			return nil
		}
	} else if want >= o.OutputBytes || !p.open(KnobOutputBytes, o.Now) {
		return nil
	} else {
		p.outputBytes = o.OutputBytes
	}
	a.Set = []Setting{{Knob: KnobOutputBytes, Value: strconv.FormatInt(want, 10)}}
	return &a
}
