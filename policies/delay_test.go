package policies

import (
	"math"
	"testing"
	"time"

	"airtuned/wlan"
)

func TestEvidence(t *testing.T) {
	var e evidence
	v := noise{0.0001}
	for _, x := range []float64{0.01, 0.02, 0.03} {
		e.add(x)
	}
	if math.Abs(e.mean-0.02) > 1e-12 || e.n != 3 {
		t.Errorf("mean %v of %v, want 0.02 of 3", e.mean, e.n)
	}
	if got, want := v.of(&e), 0.01/math.Sqrt(3); math.Abs(got-want) > 1e-12 {
		t.Errorf("error %v, want %v", got, want)
	}
	for range 100 {
		e.add(0.05)
	}
	if e.n != evidenceMemory || math.Abs(e.mean-0.05) > 1e-3 {
		t.Errorf("after a hundred more: mean %v of %v, want 0.05 of %v", e.mean, e.n, evidenceMemory)
	}
	if old := e.old(); old.n != 1 || old.mean != e.mean {
		t.Errorf("old evidence counts %v, want 1", old.n)
	}
}

func TestNoise(t *testing.T) {
	v := noise{noiseFirst * noiseFirst}
	for range 200 {
		v.learn(0.02)
	}
	if sd := math.Sqrt(v.variance); math.Abs(sd-0.02) > 0.001 || v.excess() != noiseMost {
		t.Errorf("sd %v, measuring %v times as long, want 0.02 and %v", sd, v.excess(), noiseMost)
	}
	v.learn(1) // one blunder
	if sd := math.Sqrt(v.variance); sd > 0.03 {
		t.Errorf("one outlier makes the noise %v", sd)
	}
}

// searched is a policy that has searched.
func searched(t *testing.T, p *plant) *delay {
	t.Helper()
	d := mustNew(t, "delay", Params{}).(*delay)
	p.run(d, 20*time.Second)
	if d.phase != stepping {
		t.Fatalf("still searching after 20 s")
	}
	return d
}

func TestProbeMustSayTwice(t *testing.T) {
	p := newPlant(700)
	d := searched(t, p)
	was := d.limitUs
	d.tried, d.middle = doubled, d.before+0.1
	d.leap(p.now, 0.1, false)
	if d.limitUs != was {
		t.Fatalf("one probe moved the limit from %.0f to %.0f us", was, d.limitUs)
	}
	if d.up.due.After(p.now) {
		t.Error("the second is not made at once")
	}
	d.leap(p.now, 0.1, false)
	if d.limitUs != 2*was {
		t.Errorf("two probes moved the limit from %.0f to %.0f us", was, d.limitUs)
	}
	d.tried = doubled
	d.leap(p.now, 0.03, false)
	d.leap(p.now, -0.03, false)
	d.leap(p.now, 0.03, false)
	if d.limitUs != 2*was {
		t.Errorf("one that lost between two moved the limit to %.0f us", d.limitUs)
	}
}

// After twice as much was found to be better, half-way back is tried, which is often
// as good.
func TestHalfWayBack(t *testing.T) {
	for _, tt := range []struct {
		name string
		knee float64 // times as far
		want float64 // times the limit before
	}{
		{"it costs nothing", 1, math.Sqrt2},
		{"it costs too much", 2.5, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlant(700)
			p.noise = 0.002
			d := searched(t, p)
			was := d.limitUs
			p.kneeUs *= tt.knee
			for range 2 {
				d.tried, d.middle = doubled, d.before+0.1
				d.leap(p.now, 0.1, false)
			}
			if d.limitUs != 2*was {
				t.Fatalf("two probes moved the limit from %.0f to %.0f us", was, d.limitUs)
			}
			d.discard() // the result above was made up
			for now := p.now; d.overshot && p.now.Sub(now) < 6*time.Second; {
				p.run(d, p.windowLength())
			}
			if d.overshot || math.Abs(d.limitUs/(tt.want*was)-1) > 0.01 {
				t.Errorf("the limit was %.0f us, then twice that, now %.0f, want %.0f", was, d.limitUs, tt.want*was)
			}
		})
	}
}

func TestStrangersStartTheSearch(t *testing.T) {
	p := newPlant(700)
	d := searched(t, p)
	p.first = 100 // another station, alone
	p.run(d, time.Second)
	if d.phase == stepping {
		t.Error("the limit found with one station is kept for another")
	}
	p.run(d, 20*time.Second)
	p.stations = 2
	p.run(d, 20*time.Second)
	p.stations = 3 // a newcomer beside them
	p.run(d, time.Second)
	if d.phase != stepping {
		t.Error("a newcomer with a third of the air starts the search")
	}
}

func TestCrowdEndsTheRest(t *testing.T) {
	p := newPlant(700)
	d := searched(t, p)
	for now := p.now; p.now.Sub(now) < time.Minute && d.rest < 4*restFirst; {
		p.run(d, time.Second)
	}
	if d.rest < 4*restFirst {
		t.Fatalf("rests for %v after a minute and more", d.rest)
	}
	p.stations = 6
	was, moved := p.limitUs(), false
	for range 15 { // 3 s
		p.run(d, p.windowLength())
		moved = moved || p.limitUs() != was
	}
	if !moved {
		t.Error("five more stations, and nothing is tried within 3 s")
	}
}

// A host that became slower costs less than what a link does that changed, but
// must not go unnoticed for the rest of a rest.
func TestStrayingEndsTheRest(t *testing.T) {
	p := newPlant(700)
	p.noise = 0.003
	d := searched(t, p)
	for now := p.now; p.now.Sub(now) < time.Minute && d.rest < 4*restFirst; {
		p.run(d, time.Second)
	}
	p.kneeUs *= 1.7
	p.run(d, 30*time.Second)
	if _, share := p.run(d, 5*time.Second); share < 0.945 {
		t.Errorf("half a minute after the knee moved to %.0f us the limit is %.0f, which delivers %.3f", p.kneeUs, p.limitUs(), share)
	}
}

// Where the curve has a corner between two steps, the step below costs too much
// and the one at it nothing: the limit must not move between them for ever.
func TestCornerIsNoCycle(t *testing.T) {
	p := newPlant(900)
	p.corner, p.noise = true, 0.004
	d := searched(t, p)
	p.run(d, 20*time.Second)
	moves, was := 0, d.limitUs
	for range 5 * 60 {
		p.run(d, p.windowLength())
		if d.limitUs != was {
			moves, was = moves+1, d.limitUs
		}
	}
	if moves > 6 {
		t.Errorf("the limit moved %d times in a minute", moves)
	}
	if was < p.kneeUs*0.95 || was > 1.6*p.kneeUs {
		t.Errorf("the limit is %.0f us for a corner at %.0f", was, p.kneeUs)
	}
}

func TestFewFrames(t *testing.T) {
	d := mustNew(t, "delay", Params{}).(*delay)
	d.frameUs, d.limitUs = 2000, 2100
	for us, want := range map[float64]int{500: 1, 2000: 1, 2001: 2, 4100: 3, 15999: 8, 17000: 0} {
		if got := d.frames(us); got != want {
			t.Errorf("%.0f us hold %d frames of 2000, want %d", us, got, want)
		}
	}
	if got := d.at(above); d.frames(got) != 3 {
		t.Errorf("a step up from 2 frames is %.0f us, %d frames", got, d.frames(got))
	}
	if d.room(below) {
		t.Errorf("there is a step below two frames, %.0f us", d.at(below))
	}
	d.limitUs = 8500 // five frames: four more steps fit in a ratio of 0.82
	if got := d.at(below); d.frames(got) != 4 {
		t.Errorf("a step down from 5 frames is %.0f us, %d frames", got, d.frames(got))
	}
}

func TestByteUs(t *testing.T) {
	for kbps, want := range map[uint64]float64{
		866700: 0.00923 * (1 + 250/908.), // 64 frames end it
		6500:   1.2308 * (1 + 250/4000.), // 4 ms do
	} {
		if got := byteUs(kbps); math.Abs(got-want) > 0.001*want {
			t.Errorf("%d kb/s: %v us, want %v", kbps, got, want)
		}
	}
}

// ath10k's bookings for 1500 bytes: the time at the rate and 16 us.
func booking(kbps uint64, packets uint64) Station {
	return Station{MAC: wlan.MAC{1}, TxPackets: packets, TxBytes: packets * 1500, AirtimeUs: packets * (1538*8000/kbps + 16)}
}

func TestRates(t *testing.T) {
	window := func(s Station) *Observation {
		return &Observation{Window: 200 * time.Millisecond, Stations: []Station{s}}
	}
	weight := func(m *meter, s Station) float64 {
		return m.delivered(window(s)) / float64(s.TxBytes)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 0.02*b }

	t.Run("of management frames are not used", func(t *testing.T) {
		var m meter
		idle := Station{MAC: wlan.MAC{1}, RateKbps: 6000}
		m.delivered(window(idle))
		s := booking(866700, 5000)
		s.RateKbps = 6000
		if got := weight(&m, s); !near(got, float64(s.AirtimeUs)/float64(s.TxBytes)) {
			t.Errorf("a byte weighs %v, want what is booked", got)
		}
		s.RateKbps = 866700
		if got := weight(&m, s); !near(got, byteUs(866700)) || !m.resourced {
			t.Errorf("a byte weighs %v, resourced %v, want %v by the rate", got, m.resourced, byteUs(866700))
		}
		s.RateKbps = 6000 // a probe, or a frame to wake it
		if got := weight(&m, s); !near(got, byteUs(866700)) || m.stepped {
			t.Errorf("a byte weighs %v, stepped %v after a rate that bookings contradict", got, m.stepped)
		}
	})
	t.Run("older than bookings are corrected", func(t *testing.T) {
		var m meter
		s := booking(866700, 5000)
		s.RateKbps = 866700
		m.delivered(window(s))
		s = booking(6500, 80)
		s.RateKbps = 866700
		m.delivered(window(s))
		got := weight(&m, s)
		if !m.stepped || got < 0.5*byteUs(6500) || got > 2*byteUs(6500) {
			t.Errorf("two windows after the drop a byte weighs %v, stepped %v, want about %v", got, m.stepped, byteUs(6500))
		}
		s.RateKbps = 6500
		if got := weight(&m, s); !near(got, byteUs(6500)) {
			t.Errorf("with the new rate a byte weighs %v, want %v", got, byteUs(6500))
		}
	})
}
