package policies

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/wlan"
)

func mustNew(t testing.TB, name string, p Params) Policy {
	t.Helper()
	pol, err := New(name, p)
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

func TestNew(t *testing.T) {
	for _, name := range Names() {
		if got := mustNew(t, name, Params{}).Name(); got != name {
			t.Errorf("New(%q).Name() = %q", name, got)
		}
	}
	_, err := New("nonsense", Params{})
	if err == nil {
		t.Fatal("an unknown policy was accepted")
	}
	for _, name := range Names() {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not offer %q", err, name)
		}
	}
	if _, err := New("delay", Params{Min: time.Second, Max: time.Millisecond}); err == nil {
		t.Error("min above max was accepted")
	}
}

func TestFixedPolicies(t *testing.T) {
	profile := wlan.Uniform(2000, 24000)
	tests := []struct {
		name string
		want Decision
	}{
		{"observe", Decision{}},
		{"static", Decision{Write: true, Limits: profile}},
		{"kernel-default", Decision{Write: true, Limits: wlan.KernelDefault}},
	}
	for _, tt := range tests {
		pol := mustNew(t, tt.name, Params{Static: profile})
		plant := newPlant(1000)
		for range 20 {
			got := pol.Decide(plant.window())
			if got.Reason == "" {
				t.Errorf("%s: no reason", tt.name)
			}
			got.Reason = ""
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	}
}

// rules are what the limits of every policy that writes must obey.
func rules(t *testing.T, d Decision, lo, hi uint32) {
	t.Helper()
	if !d.Write {
		t.Fatal("nothing written")
	}
	be := d.Limits.AC[wlan.BE]
	for _, ac := range wlan.ACs {
		l := d.Limits.AC[ac]
		if l.LowUs < lo || l.HighUs > hi || l.LowUs > l.HighUs || l.HighUs > d.Limits.ThresholdUs {
			t.Fatalf("%v: %v, threshold %d is not within %d..%d", ac, l, d.Limits.ThresholdUs, lo, hi)
		}
		if ac <= wlan.VI && l.HighUs > be.HighUs {
			t.Fatalf("%v: %v is longer than best effort's %v", ac, l, be)
		}
	}
}

func TestRules(t *testing.T) {
	for _, name := range []string{"dql", "delay"} {
		for _, knee := range []float64{100, 1000, 100000} {
			pol := mustNew(t, name, Params{Min: 500 * time.Microsecond, Max: 6 * time.Millisecond})
			p := newPlant(knee)
			for i := range 500 {
				p.idle = i%100 > 80
				d := pol.Decide(p.window())
				rules(t, d, 500, 6000)
				p.limits = d.Limits
			}
		}
	}
}

func TestStartsNearTheMiddle(t *testing.T) {
	for _, name := range []string{"dql", "delay"} {
		d := mustNew(t, name, Params{}).Decide(newPlant(1000).window())
		if want := wlan.Uniform(startUs, 24000); d.Limits != want {
			t.Errorf("%s starts at %v, want %v", name, d.Limits, want)
		}
	}
}

func TestFindsTheKnee(t *testing.T) {
	tests := []struct {
		name string
		knee float64
		set  func(*plant)
	}{
		{"one fast station", 700, func(*plant) {}},
		{"a slow host", 2400, func(*plant) {}},
		{"a very slow host", 8000, func(*plant) {}},
		{"four fast stations", 450, func(p *plant) { p.stations = 4 }},
		{"a full driver queue above 2 ms", 1500, func(p *plant) { p.plateauUs, p.stations, p.frameUs = 2000, 30, 42 }},
		{"a dip below the start", 700, func(p *plant) { p.dipUs = 1500 }},
		{"no num_pending_tx", 700, func(p *plant) { p.noFrames = true }},
		{"no booked airtime", 700, func(p *plant) { p.noAirtime = true }},
		{"no booked airtime, no rates", 700, func(p *plant) { p.noAirtime, p.noRates, p.stations = true, true, 3 }},
		{"windows of 50 ms", 2400, func(p *plant) { p.windowMs = 50 }},
		{"windows of a second", 2400, func(p *plant) { p.windowMs = 1000 }},
	}
	for _, tt := range tests {
		for _, seed := range []uint64{1, 2, 3} {
			p := newSeededPlant(tt.knee, seed)
			tt.set(p)
			pol := mustNew(t, "delay", Params{})
			p.run(pol, max(12*time.Second, 60*p.windowLength()))
			limit, share := p.run(pol, 30*time.Second)
			best := p.share(12000)
			if share < 0.975*best {
				t.Errorf("%s: delivers %.3f of the best", tt.name, share/best)
			}
			if limit > 2.1*p.kneeUs && limit > 1.1*float64(DefaultMin.Microseconds()) {
				t.Errorf("%s: limit %.0f us is far above the knee at %.0f us", tt.name, limit, p.kneeUs)
			}
			t.Logf("%s: %.0f us for a knee of %.0f us, %.3f of the best", tt.name, limit, p.kneeUs, share/best)
		}
	}
}

// Above a full driver queue the curve is flat at its best, so nothing but the
// queue itself tells to stay below.
func TestStaysOutOfAFullQueue(t *testing.T) {
	crowd := func() *plant {
		p := newPlant(1000)
		p.stations, p.frameUs, p.plateauUs = 30, 25, 1187 // 1424 frames are 30 * 1187 us
		return p
	}
	t.Run("delay", func(t *testing.T) {
		p := crowd()
		pol := mustNew(t, "delay", Params{})
		p.run(pol, 20*time.Second)
		full := 0
		for range 200 {
			o := p.window()
			if o.full() {
				full++
			}
			p.limits = pol.Decide(o).Limits
		}
		if full > 20 {
			t.Errorf("the driver queue is full in %d of 200 windows", full)
		}
	})
	t.Run("dql", func(t *testing.T) {
		p := crowd()
		pol := mustNew(t, "dql", Params{Min: 6 * time.Millisecond}) // starts far above
		pol.(*dql).airtime.min = 300
		p.run(pol, 20*time.Second)
		if got := p.limitUs(); got > 1.2*p.plateauUs {
			t.Errorf("the limit is %.0f us, %.0f us already fill the driver queue", got, p.plateauUs)
		}
	})
}

func TestDQLStaysNearTheKnee(t *testing.T) {
	for _, knee := range []float64{700, 2400, 6000} {
		p := newPlant(knee)
		pol := mustNew(t, "dql", Params{})
		p.run(pol, 12*time.Second)
		limit, share := p.run(pol, 30*time.Second)
		if best := p.share(12000); share < 0.93*best || limit > 3*knee {
			t.Errorf("knee %.0f us: limit %.0f us delivers %.3f", knee, limit, share/best)
		}
		t.Logf("knee %.0f us: limit %.0f us, %.3f", knee, limit, share/p.share(12000))
	}
}

func TestRateDropIsAnsweredWithinASecond(t *testing.T) {
	for _, noFrames := range []bool{false, true} {
		p := newPlant(700)
		p.noFrames = noFrames
		pol := mustNew(t, "delay", Params{})
		p.run(pol, 20*time.Second)
		before := p.limitUs()
		p.frameUs, p.kneeUs = 2160, 5000
		p.run(pol, time.Second)
		if got := p.limitUs(); got < 2*before || got < 1.02*2160 { // two frames
			t.Errorf("noFrames %v: a second after the drop the limit is %.0f us, was %.0f", noFrames, got, before)
		}
		// And back.
		p.run(pol, 20*time.Second)
		p.frameUs, p.kneeUs = 17, 700
		p.run(pol, 15*time.Second)
		if got := p.limitUs(); got > 1.5*before {
			t.Errorf("noFrames %v: 15 s after the rate is back the limit is %.0f us, was %.0f", noFrames, got, before)
		}
	}
}

func TestHoldsWithoutDemand(t *testing.T) {
	p := newPlant(700)
	pol := mustNew(t, "delay", Params{})
	p.run(pol, 20*time.Second)
	p.idle = true
	p.run(pol, 3*time.Second) // beyond its patience
	want := p.limitUs()
	for range 100 {
		p.limits = pol.Decide(p.window()).Limits
		if got := p.limitUs(); got != want {
			t.Fatalf("the limit moved from %.0f to %.0f us without demand", want, got)
		}
	}
}

func TestStationsComingAndGoing(t *testing.T) {
	p := newPlant(700)
	pol := mustNew(t, "delay", Params{})
	p.run(pol, 15*time.Second)
	for i := range 300 {
		o := p.window()
		if i%20 == 0 { // every 4 s
			p.stations = 1 + i/20%4
			o = p.window()
			o.StationsChanged = true
		}
		p.limits = pol.Decide(o).Limits
		if share := p.share(p.limitUs()); share < 0.75 {
			t.Fatalf("window %d: %.0f us delivers %.2f", i, p.limitUs(), share)
		}
	}
	if got := p.limitUs(); got > 1.8*p.kneeUs {
		t.Errorf("after a minute the limit is %.0f us for a knee of %.0f", got, p.kneeUs)
	}
}

func TestTargetCaps(t *testing.T) {
	p := newPlant(4000)
	p.stations = 4 // 17 us frames at 4 x L: residency is about 4 L
	pol := mustNew(t, "delay", Params{Target: 3 * time.Millisecond})
	p.run(pol, 20*time.Second)
	for range 100 {
		o := p.window()
		p.limits = pol.Decide(o).Limits
		if p.limitUs() > 3000 {
			t.Fatalf("limit %.0f us is above the target", p.limitUs())
		}
	}
	if limit, _ := p.run(pol, 5*time.Second); limit > 1200 {
		t.Errorf("limit %.0f us: four stations stay longer than the target", limit)
	}
}

func TestFreshForgets(t *testing.T) {
	p := newPlant(5000)
	pol := mustNew(t, "delay", Params{})
	p.run(pol, 20*time.Second)
	p.fresh = true
	if got := pol.Decide(p.window()).Limits; got.AC[wlan.BE].LowUs != startUs {
		t.Errorf("after a discontinuity the limit is %v, want %d", got, startUs)
	}
}

// A write that was refused, or a foreign one, teaches nothing.
func TestOtherLimitsTeachNothing(t *testing.T) {
	for _, name := range []string{"dql", "delay"} {
		p := newPlant(700)
		pol := mustNew(t, name, Params{})
		first := pol.Decide(p.window())
		for range 100 { // p.limits stays what it was
			if d := pol.Decide(p.window()); d.Limits != first.Limits {
				t.Fatalf("%s: learnt %v under foreign limits", name, d.Limits)
			}
		}
	}
}

func TestSameObservationsSameDecisions(t *testing.T) {
	for _, name := range Names() {
		a, b := newPlant(700), newPlant(700)
		pa, pb := mustNew(t, name, Params{}), mustNew(t, name, Params{})
		for i := range 300 {
			da, db := pa.Decide(a.window()), pb.Decide(b.window())
			if diff := cmp.Diff(da, db); diff != "" {
				t.Fatalf("%s, window %d (-first +second):\n%s", name, i, diff)
			}
			if da.Write {
				a.limits, b.limits = da.Limits, db.Limits
			}
		}
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	for _, name := range Names() {
		p := newPlant(700)
		p.stations = 30
		pol := mustNew(t, name, Params{})
		p.run(pol, 2*time.Second)
		if n := testing.AllocsPerRun(500, func() {
			if d := pol.Decide(p.window()); d.Write {
				p.limits = d.Limits
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations per window", name, n)
		}
	}
}

func TestMeter(t *testing.T) {
	window := func(stations ...Station) *Observation {
		return &Observation{Window: 200 * time.Millisecond, Stations: stations}
	}
	fast := Station{MAC: wlan.MAC{1}, TxBytes: 1000000, AirtimeUs: 100000}
	slow := Station{MAC: wlan.MAC{2}, TxBytes: 10000, AirtimeUs: 50000}
	var m meter
	m.delivered(window(fast, slow))

	t.Run("bytes at the usual price", func(t *testing.T) {
		more := fast
		more.AirtimeUs *= 2 // wasted: the same bytes took twice the air
		got := m.delivered(window(more, slow))
		if want := 150000.0; math.Abs(got-want) > 0.5*want {
			t.Errorf("delivered %v, want nearer to %v than to 250000", got, want)
		}
		if before := got * math.Exp(-m.shift); math.Abs(before-150000) > 1 {
			t.Errorf("in the old weights it is %v, want 150000", before)
		}
	})
	t.Run("stations shift, the air does not", func(t *testing.T) {
		var m meter
		m.delivered(window(fast, slow))
		a := Station{MAC: wlan.MAC{1}, TxBytes: 500000, AirtimeUs: 50000}
		b := Station{MAC: wlan.MAC{2}, TxBytes: 20000, AirtimeUs: 100000}
		if got := m.delivered(window(a, b)); math.Abs(got-150000) > 1 || math.Abs(m.shift) > 1e-9 || m.stepped {
			t.Errorf("delivered %v, weights shifted by %v, want 150000 by nothing", got, m.shift)
		}
	})
	t.Run("a new rate takes two windows", func(t *testing.T) {
		for _, factor := range []uint64{10, 1000} {
			var m meter
			s := Station{MAC: wlan.MAC{1}, TxBytes: 100000, AirtimeUs: 100000}
			m.delivered(window(s))
			s.TxBytes = s.TxBytes * factor / 100
			if m.delivered(window(s)); m.stepped {
				t.Errorf("bytes * %d / 100: one window made a step", factor)
			}
			if got := m.delivered(window(s)); math.Abs(got-100000) > 1 || !m.stepped {
				t.Errorf("bytes * %d / 100: delivered %v us, stepped %v, want 100000 in a step", factor, got, m.stepped)
			}
			if m.delivered(window(s)); m.shift != 0 || m.stepped {
				t.Errorf("bytes * %d / 100: weights still shift by %v", factor, m.shift)
			}
		}
	})
	t.Run("by rate", func(t *testing.T) {
		var m meter
		s := Station{MAC: wlan.MAC{1}, TxBytes: 1000000, RateKbps: 800000}
		// 64 frames of 1538 bytes take 984 us, and the medium 250 us between.
		if got := m.delivered(window(s)); math.Abs(got-12540) > 1 || m.stepped {
			t.Errorf("delivered %v us, stepped %v, want 12540", got, m.stepped)
		}
		if m.delivered(window(s)); m.shift != 0 {
			t.Errorf("equal weights shifted by %v", m.shift)
		}
		s.RateKbps /= 2
		if m.delivered(window(s)); math.Abs(m.shift-math.Log(22540./12540)) > 1e-3 || !m.stepped {
			t.Errorf("half the rate shifted weights by %v, stepped %v, want ln 22540/12540 in a step", m.shift, m.stepped)
		}
	})
	t.Run("nothing known", func(t *testing.T) {
		var m meter
		a := Station{MAC: wlan.MAC{1}, TxBytes: 300}
		b := Station{MAC: wlan.MAC{2}, TxBytes: 700}
		if got := m.delivered(window(a, b)); got != 1000 || m.shift != 0 {
			t.Errorf("delivered %v, shift %v, want 1000 bytes, 0", got, m.shift)
		}
	})
	t.Run("follows the stations", func(t *testing.T) {
		var m meter
		m.delivered(window(fast, slow))
		m.delivered(window(slow))
		m.delivered(window(fast, slow, Station{MAC: wlan.MAC{3}}))
		var got []wlan.MAC
		for _, c := range m.costs {
			got = append(got, c.mac)
		}
		if diff := cmp.Diff([]wlan.MAC{{1}, {2}, {3}}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A slow station beside fast ones gets a limit of its own, which ends with its
// traffic.
func TestSlowStationHasItsOwnLimit(t *testing.T) {
	pol := mustNew(t, "delay", Params{})
	slow := wlan.MAC{2, 0, 0, 0, 0, 9}
	p := newPlant(700)
	p.stations = 3
	observe := func(backlog uint64) Decision {
		o := p.window()
		o.Stations = append(o.Stations, Station{
			MAC: slow, Active: true, RateKbps: 6500, TxBytes: 40000, TxPackets: 26, AirtimeUs: 50000, BacklogPackets: backlog,
		})
		d := pol.Decide(o)
		p.limits = d.Limits
		return d
	}
	var d Decision
	for range 50 {
		d = observe(20)
	}
	if len(d.Stations) != 1 || d.Stations[0].MAC != slow {
		t.Fatalf("limits of stations: %v, want one for %v", d.Stations, slow)
	}
	// A frame of 1538 bytes takes 1893 us: two fit, three do not.
	if l := d.Stations[0].AC[wlan.BE]; l.LowUs != l.HighUs || l.LowUs <= 1893 || l.LowUs > 2*1893 {
		t.Errorf("its limit is %v", l)
	}
	for range busyWindows + 1 {
		d = observe(0)
	}
	if len(d.Stations) != 0 {
		t.Errorf("without traffic it still has %v", d.Stations)
	}
}
