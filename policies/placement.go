package policies

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// When a CPU counts as saturated by the network, and when another can help.
const (
	// placementHold is how long the evidence must have lasted, as a mean: shares
	// of a single second swing with whatever else runs.
	placementHold = 5 * time.Second
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
	placementSettle = 2 * time.Second
	// placementLost is what may pass less afterwards, as traffic varies.
	placementLost = 0.9
	// A change helped when the busiest CPU's softirqs fell to placementRelief: as
	// they are, for threads, whose time is not softirq; by traffic, which may grow
	// into what was gained, otherwise.
	placementRelief = 0.85
	// placementSwitch is how long threads may take to take over: NAPI that is being
	// polled stays where it is until its queue was empty once (net/core/dev.c,
	// netif_set_threaded).
	placementSwitch = time.Minute
	// A change that did not help is not tried again for placementRest, twice as
	// long each time. One whose load ended too soon says nothing.
	placementRest    = 10 * time.Minute
	placementRestMax = 24 * time.Hour
	placementAgain   = time.Minute
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

// HostCPU is what one CPU did in an interval.
type HostCPU struct {
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

// HostIRQ is one interrupt and how often it came to each CPU in an interval.
type HostIRQ struct {
	Number int
	Came   map[int]uint64 // by CPU
}

// HostThread is a kernel thread that polls NAPI.
type HostThread struct {
	Name string
	CPUs []int // it may run on
	// Ticks are the time it has run for, in the interval.
	Ticks uint64
}

// HostLink is something whose packets the kernel receives: a wired interface,
// or a radio with all of its interfaces.
type HostLink struct {
	Name string
	// Bytes passed in the interval, in both directions.
	Bytes uint64
	// Threaded is the knob that moves its NAPI to threads, empty if there is
	// none worth a try, and IsThreaded whether it is on.
	Threaded   string
	IsThreaded bool
	Threads    []HostThread
	// IRQs are empty where they are not known.
	IRQs []HostIRQ
	// RPS are the knobs of receive queues that are not spread.
	RPS []string
}

// HostClient is a radio that is the client of an access point, and whose
// hardware queue AQL cannot bound, because firmware reports no rates.
type HostClient struct {
	Link string
	// Kbps is the PHY rate towards the access point, or, where that is not
	// known, the most that has passed.
	Kbps   uint64
	Target time.Duration
}

// HostObservation is what a machine did in an interval.
type HostObservation struct {
	Now    time.Time
	Window time.Duration
	CPUs   []HostCPU
	// Detailed is set when the rest was looked at, too: see Placement.Busy.
	Detailed bool
	Links    []HostLink
	// Clients, and what their sockets may queue now; 0 if that is not known.
	Clients     []HostClient
	OutputBytes int64
	// Owner is who places the network's work on this machine, IRQOwner who moves
	// interrupts; empty if nobody does.
	Owner, IRQOwner string
}

// HostSetting is a knob and what it shall be: Value, or a set of CPUs.
type HostSetting struct {
	Knob  string
	Value string
	CPUs  []int
}

// HostAction is a change that is made, judged and undone as a whole.
type HostAction struct {
	ID   string
	Link string
	Set  []HostSetting
	// Threads is where the link's NAPI threads shall run, once they are there;
	// nil leaves that to the scheduler.
	Threads []int
	Reason  string
}

// HostDecision is what to do next. At most one of Do and Undo is set.
type HostDecision struct {
	Do *HostAction
	// Undo is the ID of an action.
	Undo string
	// Saturated are the CPUs that softirqs saturate.
	Saturated []int
	Reason    string
}

// Placement decides on which CPUs the network's work is done: it moves work
// where one CPU drowns in softirqs while others are idle, looks whether that
// helped, and takes it back if not. The zero value is ready for use.
type Placement struct {
	past  []interval // the last placementHold, oldest first
	spent []interval // memory to use again
	// inForce are the actions done and not undone, by ID.
	inForce map[string]*HostAction
	trial   *placementTrial
	rests   map[string]rest
	// outputBytes is what sockets could queue before they were bounded.
	outputBytes int64
}

// interval is what is kept of an observation.
type interval struct {
	window   time.Duration
	detailed bool
	cpus     []HostCPU
	links    []linkBytes
}

type linkBytes struct {
	name  string
	bytes uint64
}

// placementTrial is an action whose effect is being looked at.
type placementTrial struct {
	action  *HostAction
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
func (p *Placement) Busy() bool {
	if len(p.inForce) > 0 || len(p.past) == 0 {
		return len(p.inForce) > 0
	}
	last := p.past[len(p.past)-1]
	return slices.ContainsFunc(last.cpus, func(c HostCPU) bool {
		return 2*share(c.SoftIRQ, c.Total) > saturatedSoftIRQ
	})
}

// InForce reports whether an action is in force.
func (p *Placement) InForce(id string) bool { return p.inForce[id] != nil }

// Failed says that an action could not be done, or did not last.
func (p *Placement) Failed(id string, now time.Time) {
	delete(p.inForce, id)
	if p.trial != nil && p.trial.action.ID == id {
		p.trial = nil
	}
	p.giveRest(id, now)
}

// Drop says that an action was undone by its caller.
func (p *Placement) Drop(id string) { p.undo(HostDecision{Undo: id}) }

// Forget drops what is in force, which somebody else has undone, and what was
// seen.
func (p *Placement) Forget() { *p = Placement{rests: p.rests} }

// Decide is called about once a second, in order of time.
func (p *Placement) Decide(o *HostObservation) HostDecision {
	if !p.note(o) {
		return HostDecision{Reason: "looking"}
	}
	d := HostDecision{Saturated: p.saturated()}
	if d.Undo, d.Reason = p.stale(o); d.Undo != "" {
		return p.undo(d)
	}
	if p.trial != nil {
		return p.judge(o, d)
	}
	if p.span() < placementHold {
		d.Saturated, d.Reason = nil, "looking"
		return d
	}
	if d.Do = p.bound(o); d.Do == nil {
		d.Do, d.Reason = p.relieve(o, d.Saturated)
	}
	if d.Do != nil {
		d.Reason = d.Do.Reason
		if p.inForce == nil {
			p.inForce = map[string]*HostAction{}
		}
		p.inForce[d.Do.ID] = d.Do
		p.trial = &placementTrial{action: d.Do, since: o.Now, before: p.figures(d.Do.Link)}
	}
	return d
}

// note takes an observation in. One that says nothing, because the machine
// slept or its CPUs changed, voids those before it.
func (p *Placement) note(o *HostObservation) bool {
	same := len(p.past) == 0 || slices.EqualFunc(p.past[len(p.past)-1].cpus, o.CPUs, func(a, b HostCPU) bool { return a.ID == b.ID })
	if o.Window <= 0 || o.Window > placementHold || !same {
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
	for p.span()-p.past[0].window >= placementHold {
		p.spent = append(p.spent, p.past[0])
		p.past = slices.Delete(p.past, 0, 1)
	}
	return true
}

func (p *Placement) clear() {
	p.spent = append(p.spent, p.past...)
	p.past = p.past[:0]
}

func (p *Placement) span() time.Duration {
	var sum time.Duration
	for _, i := range p.past {
		sum += i.window
	}
	return sum
}

// cpu sums what the n-th CPU did.
func (p *Placement) cpu(n int) HostCPU {
	var sum HostCPU
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

func (p *Placement) cpus() int { return len(p.past[len(p.past)-1].cpus) }

func (p *Placement) bytes(link string) (sum uint64) {
	for _, i := range p.past {
		for _, l := range i.links {
			if l.name == link {
				sum += l.bytes
			}
		}
	}
	return sum
}

func (p *Placement) figures(link string) figures {
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
func (p *Placement) saturated() []int {
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
func (p *Placement) spare() []int {
	var able []HostCPU
	for n := range p.cpus() {
		if c := p.cpu(n); share(c.Spare, c.Total) >= spareCPU {
			able = append(able, c)
		}
	}
	slices.SortStableFunc(able, func(a, b HostCPU) int {
		return cmp.Compare(share(b.Spare, b.Total), share(a.Spare, a.Total))
	})
	ids := make([]int, len(able))
	for i, c := range able {
		ids[i] = c.ID
	}
	return ids
}

// stale finds an action whose reason is gone.
func (p *Placement) stale(o *HostObservation) (id, why string) {
	for id, a := range p.inForce {
		switch {
		case id == KnobOutputBytes:
			if !slices.ContainsFunc(o.Clients, func(c HostClient) bool { return c.Link == a.Link }) {
				return id, a.Link + " is no client whose queue is unbounded any more"
			}
		case o.Owner != "":
			return id, o.Owner
		case !slices.ContainsFunc(o.Links, func(l HostLink) bool { return l.Name == a.Link }):
			return id, a.Link + " is not there any more"
		}
	}
	return "", ""
}

func (p *Placement) undo(d HostDecision) HostDecision {
	if p.trial != nil && p.trial.action.ID == d.Undo {
		p.trial = nil
	}
	delete(p.inForce, d.Undo)
	p.clear()
	return d
}

// judge looks whether the action on trial has helped, once that can be told.
func (p *Placement) judge(o *HostObservation, d HostDecision) HostDecision {
	t := p.trial
	d.Reason = "looking whether this helps: " + t.action.Reason
	if !t.settled {
		t.ran = t.ran || t.action.Threads == nil || slices.ContainsFunc(o.Links, func(l HostLink) bool {
			return l.Name == t.action.Link && slices.ContainsFunc(l.Threads, func(t HostThread) bool { return t.Ticks > 0 })
		})
		wait := placementSettle
		if !t.ran {
			wait = placementSwitch
		}
		if t.settled = o.Now.Sub(t.since) >= wait; t.settled {
			p.clear()
		}
		return d
	}
	if p.span() < placementHold {
		return d
	}
	after := p.figures(t.action.Link)
	lost := after.bytesPerS < placementLost*t.before.bytesPerS
	allowed := placementRelief * t.before.softIRQ
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
	if lost && after.bytesPerS < t.before.bytesPerS/2 && len(p.spare()) == p.cpus() {
		d.Reason = "the load ended before it could be told whether this helps: " + what
		p.setRest(t.action.ID, rest{o.Now.Add(placementAgain), p.rests[t.action.ID].times})
	} else {
		d.Reason = "did not help: " + what
		p.giveRest(t.action.ID, o.Now)
	}
	return p.undo(d)
}

func (p *Placement) giveRest(id string, now time.Time) {
	times := p.rests[id].times
	p.setRest(id, rest{now.Add(min(placementRest<<min(times, 10), placementRestMax)), times + 1})
}

func (p *Placement) setRest(id string, r rest) {
	if p.rests == nil {
		p.rests = map[string]rest{}
	}
	p.rests[id] = r
}

// open reports whether an action may be tried.
func (p *Placement) open(id string, now time.Time) bool {
	return p.inForce[id] == nil && !now.Before(p.rests[id].until)
}

// relieve finds what takes work off a saturated CPU, or says why nothing does.
func (p *Placement) relieve(o *HostObservation, saturated []int) (*HostAction, string) {
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
	links := slices.Clone(o.Links)
	slices.SortStableFunc(links, func(a, b HostLink) int { return cmp.Compare(p.bytes(b.Name), p.bytes(a.Name)) })
	for _, cpu := range saturated {
		for _, l := range links {
			if p.bytes(l.Name) == 0 || !l.lands(cpu) {
				continue
			}
			for _, a := range p.ways(o, l, cpu, spare) {
				if p.open(a.ID, o.Now) {
					a.Link = l.Name
					a.Reason = fmt.Sprintf("CPU %d is saturated by softirqs and %s idle: %s", cpu, others(spare), a.Reason)
					return &a, ""
				}
			}
		}
	}
	return nil, head + ", and nothing airtuned may change takes work off it"
}

func others(spare []int) string {
	if len(spare) == 1 {
		return fmt.Sprintf("CPU %d is", spare[0])
	}
	return fmt.Sprintf("%d others are", len(spare))
}

// lands reports whether a link's work may be what keeps a CPU busy.
func (l HostLink) lands(cpu int) bool {
	return len(l.IRQs) == 0 || slices.ContainsFunc(l.IRQs, func(i HostIRQ) bool { return i.Came[cpu] > 0 })
}

// ways are the ways to take a link's work off a CPU, the best first.
func (p *Placement) ways(o *HostObservation, l HostLink, cpu int, spare []int) []HostAction {
	away := l.away(spare)
	threads := HostAction{ID: "threads/" + l.Name, Threads: away, Reason: l.Name + " is polled by threads there"}
	switch {
	case len(l.Threads) > 0:
		if slices.ContainsFunc(l.Threads, func(t HostThread) bool { return slices.Contains(t.CPUs, cpu) }) {
			threads.ID = "place/" + l.Name
			return []HostAction{threads}
		}
		return nil
	case l.IsThreaded:
		return nil // by threads that cannot be told
	}
	var ways []HostAction
	if l.Threaded != "" {
		threads.Set = []HostSetting{{Knob: l.Threaded, Value: "1"}}
		ways = append(ways, threads)
	}
	if o.IRQOwner == "" && p.shared(o, l, cpu) {
		move := HostAction{ID: "irq/" + l.Name, Reason: "the interrupt of " + l.Name + " shares it and moves to CPU " + fmt.Sprint(spare[0])}
		for _, i := range l.IRQs {
			if i.Came[cpu] > 0 {
				move.Set = append(move.Set, HostSetting{Knob: fmt.Sprintf("irq/%d/affinity", i.Number), CPUs: spare[:1]})
			}
		}
		ways = append(ways, move)
	}
	if len(l.RPS) > 0 {
		rps := HostAction{ID: "rps/" + l.Name, Reason: "packets of " + l.Name + " are handed on there (RPS)"}
		for _, knob := range l.RPS {
			rps.Set = append(rps.Set, HostSetting{Knob: knob, CPUs: away})
		}
		ways = append(ways, rps)
	}
	return ways
}

// away are those of the CPUs to which the link's interrupts do not come, in
// rising order; all if they come to all.
func (l HostLink) away(spare []int) []int {
	cpus := slices.DeleteFunc(slices.Clone(spare), func(id int) bool { return len(l.IRQs) > 0 && l.lands(id) })
	if len(cpus) == 0 {
		cpus = slices.Clone(spare)
	}
	slices.Sort(cpus)
	return cpus
}

// shared reports whether other interrupts come to the CPU beside a link's.
func (p *Placement) shared(o *HostObservation, l HostLink, cpu int) bool {
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
func (p *Placement) bound(o *HostObservation) *HostAction {
	if len(o.Clients) == 0 || o.OutputBytes == 0 {
		return nil
	}
	a := HostAction{ID: KnobOutputBytes}
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
	a.Set = []HostSetting{{Knob: KnobOutputBytes, Value: fmt.Sprint(want)}}
	return &a
}
