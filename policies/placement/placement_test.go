package placement

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// machine is one whose CPUs do, second by second, what a test says.
type machine struct {
	t   *testing.T
	p   Policy
	now time.Time
	o   Observation
}

// cpuLoad is what one CPU does in a second, in per cent of it.
type cpuLoad struct{ softirq, other int }

// newMachine has a link eth0 that can be threaded and passes 100 MB/s.
func newMachine(t *testing.T, loads ...cpuLoad) *machine {
	m := &machine{t: t, now: time.Unix(1_000_000, 0)}
	m.o.Detailed = true
	m.o.Links = []Link{{Name: "eth0", Threaded: "threaded/eth0", Bytes: 100e6, RPS: []string{"rps/eth0/rx-0"}}}
	m.cpus(loads...)
	return m
}

func (m *machine) cpus(loads ...cpuLoad) {
	m.o.CPUs = nil
	for id, l := range loads {
		c := CPU{ID: id, Total: 100, SoftIRQ: uint64(l.softirq), Spare: uint64(100 - l.softirq - l.other)}
		if l.softirq > 0 {
			c.Packets, c.NetSoftIRQs = 50000, 500
		}
		m.o.CPUs = append(m.o.CPUs, c)
	}
}

func (m *machine) step() Decision {
	m.now = m.now.Add(time.Second)
	m.o.Now, m.o.Window = m.now, time.Second
	return m.p.Decide(&m.o)
}

// run steps until something is to be done or undone, or the time is over.
func (m *machine) run(d time.Duration) (Decision, time.Duration) {
	start := m.now
	for m.now.Sub(start) < d {
		if d := m.step(); d.Do != nil || d.Undo != "" {
			return d, m.now.Sub(start)
		}
	}
	return Decision{}, d
}

// quiet steps for a while in which nothing may be done, and returns the last
// decision.
func (m *machine) quiet(d time.Duration) (last Decision) {
	m.t.Helper()
	for range d / time.Second {
		last = m.step()
		if last.Do != nil || last.Undo != "" {
			m.t.Fatalf("%+v, want nothing", last)
		}
	}
	return last
}

// does steps until an action of that ID.
func (m *machine) does(id string) *Action {
	m.t.Helper()
	d, _ := m.run(10 * time.Second)
	if d.Do == nil || d.Do.ID != id {
		m.t.Fatalf("%+v, want %s", d, id)
	}
	return d.Do
}

// undoes steps until the action is undone for a reason.
func (m *machine) undoes(id, why string) {
	m.t.Helper()
	d, _ := m.run(2 * time.Minute)
	if d.Undo != id || !strings.Contains(d.Reason, why) {
		m.t.Fatalf("%+v, want %s undone because %q", d, id, why)
	}
}

// threads lets the link's NAPI run in a thread.
func (m *machine) threads(ticks uint64, cpus ...int) {
	m.o.Links[0].IsThreaded = true
	m.o.Links[0].Threads = []Thread{{Name: "napi/eth0-1", CPUs: cpus, Ticks: ticks}}
}

var (
	drowning = cpuLoad{softirq: 92, other: 6}
	resting  = cpuLoad{other: 5}
)

func TestThreads(t *testing.T) {
	m := newMachine(t, drowning, resting, cpuLoad{other: 60}, cpuLoad{other: 90})
	m.o.Links = append([]Link{{Name: "eth1", Threaded: "threaded/eth1", Bytes: 5}}, m.o.Links...)
	d, after := m.run(time.Minute)
	if after != holdFor {
		t.Errorf("acted after %v", after)
	}
	want := &Action{
		ID: "threads/eth0", Link: "eth0", Set: []Setting{{Knob: "threaded/eth0", Value: "1"}}, Threads: []int{1, 2},
		Reason: "CPU 0 is saturated by softirqs and 2 others are idle: eth0 is polled by threads there",
	}
	if diff := cmp.Diff(want, d.Do); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0}, d.Saturated); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNeedsEvidence(t *testing.T) {
	for _, tt := range []struct {
		name  string
		loads []cpuLoad
		spoil func(*machine)
		want  string // in the reason
	}{
		{"idle", []cpuLoad{resting, resting}, nil, ""},
		{"busy with other things", []cpuLoad{{other: 100}, resting}, nil, ""},
		{"softirqs with time to spare", []cpuLoad{{softirq: 60}, resting}, nil, ""},
		{"softirqs of others", []cpuLoad{drowning, resting}, func(m *machine) { m.o.CPUs[0].NetSoftIRQs = 0 }, ""},
		{"no packets", []cpuLoad{drowning, resting}, func(m *machine) { m.o.CPUs[0].Packets = 10 }, ""},
		{"nobody is idle", []cpuLoad{drowning, {other: 90}}, nil, "no other CPU has time to spare"},
		{"all drown", []cpuLoad{drowning, drowning}, nil, "no other CPU has time to spare"},
		{"one CPU", []cpuLoad{drowning}, nil, "there is no other"},
		{"packet steering", []cpuLoad{drowning, resting}, func(m *machine) { m.o.Owner = "it is X's" }, "it is X's"},
		{"no traffic there", []cpuLoad{drowning, resting}, func(m *machine) { m.o.Links[0].Bytes = 0 }, "nothing airtuned may change"},
		{"interrupts come elsewhere", []cpuLoad{drowning, resting}, func(m *machine) {
			m.o.Links[0].IRQs = []IRQ{{44, map[int]uint64{1: 1000}}}
		}, "nothing airtuned may change"},
		{"no way", []cpuLoad{drowning, resting}, func(m *machine) { m.o.Links[0].Threaded, m.o.Links[0].RPS = "", nil }, "nothing airtuned may change"},
		{"threaded already", []cpuLoad{drowning, resting}, func(m *machine) { m.threads(50, 1) }, "nothing airtuned may change"},
		{"threaded, by whom cannot be told", []cpuLoad{drowning, resting}, func(m *machine) { m.o.Links[0].IsThreaded = true }, "nothing airtuned may change"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, tt.loads...)
			if tt.spoil != nil {
				tt.spoil(m)
			}
			d := m.quiet(time.Minute)
			if tt.want == "" && (d.Reason != "" || len(d.Saturated) > 0) || !strings.Contains(d.Reason, tt.want) {
				t.Errorf("%+v, want %q", d, tt.want)
			}
		})
	}
}

// Three seconds of load are no evidence, and what was before a gap is none.
func TestNeedsItToLast(t *testing.T) {
	m := newMachine(t, resting, resting)
	m.quiet(time.Minute)
	for range 10 {
		m.cpus(drowning, resting)
		m.quiet(3 * time.Second)
		m.cpus(resting, resting)
		m.quiet(3 * time.Second)
	}
	m.quiet(holdFor)
	m.cpus(drowning, resting)
	m.quiet(4 * time.Second)
	m.now = m.now.Add(time.Hour)
	m.o.Now, m.o.Window = m.now, time.Hour // asleep
	if d := m.p.Decide(&m.o); d.Do != nil {
		t.Errorf("%+v after an hour's sleep", d)
	}
	m.quiet(4 * time.Second)
	m.cpus(drowning, resting, resting) // one more
	if d := m.step(); d.Do != nil {
		t.Errorf("%+v when a CPU has come", d)
	}
	m.quiet(4 * time.Second)
	m.does("threads/eth0")
}

func TestKeepsWhatHelps(t *testing.T) {
	m := newMachine(t, drowning, resting)
	m.does("threads/eth0")
	m.threads(80, 1)
	m.cpus(cpuLoad{other: 30}, cpuLoad{other: 90})
	helped := ""
	for range 3600 {
		d := m.step()
		if d.Do != nil || d.Undo != "" {
			t.Fatalf("%+v", d)
		}
		if strings.HasPrefix(d.Reason, "helped") {
			helped = d.Reason
		}
	}
	if want := "helped: 800.0 -> 800.0 Mb/s, softirqs of the busiest CPU 92 -> 0 %"; helped != want {
		t.Errorf("got %q, want %q", helped, want)
	}
	// The link goes, and so does what was done about it.
	m.o.Links = nil
	m.undoes("threads/eth0", "not there any more")
}

func TestUndoesWhatDoesNotHelp(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after func(*machine)
		why   string
	}{
		{"all as before", func(*machine) {}, "did not help"},
		{"less passes", func(m *machine) {
			m.cpus(cpuLoad{other: 50}, cpuLoad{other: 90})
			m.o.Links[0].Bytes = 70e6
		}, "did not help"},
		{"little passes, and not for lack of demand", func(m *machine) {
			m.cpus(cpuLoad{other: 95}, cpuLoad{other: 90})
			m.o.Links[0].Bytes = 10e6
		}, "did not help"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, drowning, resting)
			for i, rest := range []time.Duration{restFor, 2 * restFor, 4 * restFor} {
				m.o.Links[0].RPS = nil // one way only
				if i == 0 {
					m.does("threads/eth0")
				}
				m.threads(80, 1)
				tt.after(m)
				m.undoes("threads/eth0", tt.why)
				m.cpus(drowning, resting)
				m.o.Links[0] = Link{Name: "eth0", Threaded: "threaded/eth0", Bytes: 100e6}
				d, after := m.run(10 * restFor)
				if d.Do == nil || d.Do.ID != "threads/eth0" || after < rest || after > rest+2*holdFor {
					t.Fatalf("%d: %+v after %v, want to try again after %v", i, d, after, rest)
				}
			}
		})
	}
}

// A load that ended says nothing about the change.
func TestLoadEnds(t *testing.T) {
	m := newMachine(t, drowning, resting)
	m.does("threads/eth0")
	m.threads(0, 1) // and it has never run
	m.cpus(resting, resting)
	m.o.Links[0].Bytes = 1000
	start := m.now
	m.undoes("threads/eth0", "the load ended")
	if after := m.now.Sub(start); after > 4*holdFor {
		t.Errorf("undone after %v, though there is nothing to wait for", after)
	}
	m.cpus(drowning, resting)
	m.o.Links[0] = Link{Name: "eth0", Threaded: "threaded/eth0", Bytes: 100e6}
	if d, after := m.run(restFor); d.Do == nil || after < againAfter-time.Second || after > againAfter+2*holdFor {
		t.Errorf("%+v after %v, want to try again after %v", d, after, againAfter)
	}
}

// NAPI that is polled without a pause moves to its thread when there is one: it
// is not judged before, but for a minute only.
func TestWaitsForTheThread(t *testing.T) {
	m := newMachine(t, drowning, resting)
	m.does("threads/eth0")
	m.threads(0, 1)
	m.quiet(30 * time.Second)
	m.threads(80, 1)
	m.cpus(cpuLoad{other: 30}, cpuLoad{other: 90})
	m.quiet(time.Minute)
	if !m.p.InForce("threads/eth0") {
		t.Error("it helped and was not kept")
	}

	m = newMachine(t, drowning, resting)
	m.does("threads/eth0")
	m.threads(0, 1)
	start := m.now
	m.undoes("threads/eth0", "did not help")
	if after := m.now.Sub(start); after < switchWithin {
		t.Errorf("given up after %v", after)
	}
}

// A radio whose NAPI is hidden: its interrupt is moved if it shares the CPU,
// else packets are handed on.
func TestHiddenNAPI(t *testing.T) {
	radio := Link{
		Name: "phy0", Bytes: 30e6, RPS: []string{"rps/wlan0/rx-0", "rps/wlan1/rx-0"},
		IRQs: []IRQ{{44, map[int]uint64{0: 5000, 1: 0}}, {45, map[int]uint64{0: 0, 1: 0}}},
	}
	hidden := func() *machine {
		m := newMachine(t, drowning, cpuLoad{other: 50}, resting)
		m.o.Links = []Link{radio}
		return m
	}
	interrupts := func(m *machine, n uint64) {
		for i := range m.o.CPUs {
			m.o.CPUs[i].Interrupts = n
		}
	}
	move := []Setting{{Knob: "irq/44/affinity", CPUs: []int{2}}}
	rps := []Setting{{Knob: "rps/wlan0/rx-0", CPUs: []int{1, 2}}, {Knob: "rps/wlan1/rx-0", CPUs: []int{1, 2}}}

	m := hidden()
	interrupts(m, 9000)
	if diff := cmp.Diff(move, m.does("irq/phy0").Set); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.undoes("irq/phy0", "did not help") // and then the next way
	if diff := cmp.Diff(rps, m.does("rps/phy0").Set); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Traffic grows into what was gained.
	m.cpus(cpuLoad{softirq: 90, other: 8}, cpuLoad{softirq: 40, other: 40}, resting)
	m.o.Links[0].Bytes = 40e6
	m.quiet(time.Minute)
	if !m.p.InForce("rps/phy0") {
		t.Error("it helped and was not kept")
	}

	m = hidden()
	interrupts(m, 5100) // nobody else's worth speaking of
	m.does("rps/phy0")

	m = hidden()
	interrupts(m, 9000)
	m.o.IRQOwner = "irqbalance"
	m.does("rps/phy0")
}

// Threads that a driver made itself are given a place.
func TestDriverThreads(t *testing.T) {
	m := newMachine(t, drowning, resting)
	m.o.Links = []Link{{Name: "phy0", Bytes: 30e6, Threads: []Thread{{Name: "napi/phy0-8", CPUs: []int{0, 1}}}}}
	a := m.does("place/phy0")
	if len(a.Set) > 0 || !cmp.Equal(a.Threads, []int{1}) {
		t.Errorf("%+v", a)
	}
}

// Threads keep away from where the interrupt comes to, if they can.
func TestAwayFromTheInterrupt(t *testing.T) {
	irqs := []IRQ{{40, map[int]uint64{0: 900, 1: 100, 2: 0}}}
	m := newMachine(t, drowning, resting, resting)
	m.o.Links[0].IRQs = irqs
	if a := m.does("threads/eth0"); !cmp.Equal(a.Threads, []int{2}) {
		t.Errorf("on %v", a.Threads)
	}
	m = newMachine(t, drowning, resting)
	m.o.Links[0].IRQs = irqs
	if a := m.does("threads/eth0"); !cmp.Equal(a.Threads, []int{1}) {
		t.Errorf("on %v", a.Threads)
	}
}

func TestFailed(t *testing.T) {
	m := newMachine(t, drowning, resting)
	m.does("threads/eth0")
	m.p.Failed("threads/eth0", m.now)
	m.does("rps/eth0") // the next way
}

func TestOwnerComes(t *testing.T) {
	m := newMachine(t, drowning, resting)
	m.does("threads/eth0")
	m.o.Owner = "it is X's now"
	m.undoes("threads/eth0", "it is X's now")
	m.quiet(time.Minute)
}

func TestBound(t *testing.T) {
	client := func(kbps uint64) *machine {
		m := newMachine(t, resting, resting)
		m.o.Links = []Link{{Name: "phy0", Bytes: 10e6}}
		m.o.Clients = []Client{{Link: "phy0", Kbps: kbps, Target: 8 * time.Millisecond}}
		m.o.OutputBytes = 1 << 20
		return m
	}
	m := client(400_000)
	a := m.does(KnobOutputBytes)
	if diff := cmp.Diff([]Setting{{Knob: KnobOutputBytes, Value: "400000"}}, a.Set); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.o.OutputBytes = 400_000
	m.quiet(time.Minute)
	m.o.Clients[0].Kbps = 300_000 // near enough
	m.quiet(time.Minute)
	m.o.Clients[0].Kbps = 30_000 // the least
	if a := m.does(KnobOutputBytes); a.Set[0].Value != "131072" {
		t.Errorf("%+v", a)
	}
	m.o.OutputBytes = 131072
	m.quiet(time.Minute)
	m.o.Clients[0].Kbps = 2_400_000 // what was found, and not more
	if a := m.does(KnobOutputBytes); a.Set[0].Value != "1048576" {
		t.Errorf("%+v", a)
	}
	m.o.Clients = nil
	m.undoes(KnobOutputBytes, "no client")

	// What costs throughput goes.
	m = client(400_000)
	m.does(KnobOutputBytes)
	m.o.OutputBytes = 400_000
	m.o.Links[0].Bytes = 8e6
	m.undoes(KnobOutputBytes, "did not help")

	for name, spoil := range map[string]func(*machine){
		"no traffic":       func(m *machine) { m.o.Links[0].Bytes = 100 },
		"no rate":          func(m *machine) { m.o.Clients[0].Kbps = 0 },
		"bounded already":  func(m *machine) { m.o.OutputBytes = 65536 },
		"limit not known":  func(m *machine) { m.o.OutputBytes = 0 },
		"no client at all": func(m *machine) { m.o.Clients = nil },
	} {
		m := client(400_000)
		spoil(m)
		if d, _ := m.run(time.Minute); d.Do != nil {
			t.Errorf("%s: %+v", name, d.Do)
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	m := newMachine(t, resting, cpuLoad{other: 95})
	m.o.Links = nil
	m.quiet(time.Minute)
	if n := testing.AllocsPerRun(100, func() { m.step() }); n != 0 {
		t.Errorf("%v allocations in a quiet step", n)
	}
	if m.p.Busy() {
		t.Error("a quiet machine is taken for a busy one")
	}
	m.cpus(drowning, resting)
	m.step()
	if !m.p.Busy() {
		t.Error("a busy machine is taken for a quiet one")
	}
}
