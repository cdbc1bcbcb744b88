package tsq

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// plant is a radio over which this host's TCP sends: throughput by shift, and round
// trips that what is queued makes.
type plant struct {
	mbps     map[int]float64
	noise    float64 // of the throughput in 2 s, sd
	otherRTT bool    // another queue is what makes the round trip
	cost     float64 // CPU time of each step up
	own      float64
	now      time.Time
	rand     *rand.Rand
	tries    map[int]time.Duration
	sent     float64
}

var (
	ath10k = map[int]float64{5: 404, 6: 398, 7: 401, 8: 378, 9: 230, 10: 80}
	ath9k  = map[int]float64{5: 128, 6: 128, 7: 128, 8: 124, 9: 78, 10: 43}
	fast   = map[int]float64{5: 400, 6: 400, 7: 400, 8: 400, 9: 400, 10: 399}
)

func newPlant(mbps map[int]float64, noise float64, seed uint64) *plant {
	return &plant{
		mbps: mbps, noise: noise, own: 0.95, now: time.Unix(1000, 0),
		rand: rand.New(rand.NewPCG(seed, seed)), tries: map[int]time.Duration{},
	}
}

// run has the policy look at the plant every 2 s for a time.
func (pl *plant) run(p *Policy, d time.Duration) {
	const every = 2 * time.Second
	for end := pl.now.Add(d); pl.now.Before(end); {
		shift, _ := p.Shift()
		pl.now = pl.now.Add(every)
		pl.tries[shift] += every
		if !p.Due(pl.now) {
			continue
		}
		bytes := pl.mbps[shift] * 1e6 / 8 * every.Seconds() * (1 + pl.noise*pl.rand.NormFloat64())
		pl.sent += bytes
		rtt := 0.002 + math.Pow(2, -float64(shift))
		if pl.otherRTT {
			rtt = 0.030
		}
		rtt *= 1 + 0.1*pl.rand.NormFloat64()
		p.Observe(&Observation{
			Now: pl.now, Window: every, SentBytes: uint64(bytes), OwnBytes: uint64(bytes * pl.own),
			RTT: time.Duration(rtt * float64(time.Second)), Busy: 0.3 + pl.cost*float64(shift-7) + 0.02*pl.rand.NormFloat64(),
		})
	}
}

// TestSettles: from wherever it begins, it comes to the largest shift that delivers
// what the best does, and stays there.
func TestSettles(t *testing.T) {
	for _, tt := range []struct {
		name     string
		mbps     map[int]float64
		base     int
		cost     float64
		otherRTT bool
		min, max int
		// noisy may end elsewhere where noise hides what there is to win.
		noisy bool
	}{
		{name: "ath10k", mbps: ath10k, base: 7, min: 7, max: 7},
		{name: "ath10k from 8", mbps: ath10k, base: 8, min: 7, max: 7, noisy: true},
		{name: "ath10k from 9", mbps: ath10k, base: 9, min: 7, max: 7, noisy: true},
		{name: "ath10k from 10", mbps: ath10k, base: 10, min: 7, max: 7, noisy: true},
		// 7 delivers 3.2 % more than 8: not surely more than 3, so the profile's 8 stays. And 8
		// delivers 96.9 % of 7, so who begins there stays, too.
		{name: "ath9k from 7", mbps: ath9k, base: 7, min: 7, max: 7},
		{name: "ath9k from 8", mbps: ath9k, base: 8, min: 7, max: 8},
		{name: "ath9k from 9", mbps: ath9k, base: 9, min: 7, max: 8},
		{name: "a fast host", mbps: fast, base: 7, min: 10, max: 10, noisy: true},
		{name: "a fast host behind a slow WAN", mbps: fast, base: 7, otherRTT: true, min: 7, max: 7},
		{name: "a fast host with little CPU", mbps: fast, base: 7, cost: 0.1, min: 7, max: 7},
	} {
		for _, noise := range []float64{0.005, 0.02, 0.04} {
			const seeds = 50
			missed := 0
			best := 0.0
			for _, v := range tt.mbps {
				best = max(best, v)
			}
			for seed := range uint64(seeds) {
				pl := newPlant(tt.mbps, noise, seed)
				pl.cost, pl.otherRTT = tt.cost, tt.otherRTT
				p := New(tt.base)
				pl.run(p, 4*time.Hour)
				if p.shift < tt.min || p.shift > tt.max {
					missed++
				}
				if got := tt.mbps[p.shift]; got < 0.93*best {
					t.Errorf("%s, noise %.3f, seed %d: it stays at %d, with %.0f of %.0f Mb/s", tt.name, noise, seed, p.shift, got, best)
				}
			}
			t.Logf("%s, noise %.3f: %d of %d ended elsewhere", tt.name, noise, missed, seeds)
			if missed > seeds*6/100 && !(tt.noisy && noise > 0.02) {
				t.Errorf("%s, noise %.3f: %d of %d are not at %d to %d", tt.name, noise, missed, seeds, tt.min, tt.max)
			}
		}
	}
}

// TestCost: what the trials themselves cost, in a day of nothing but upload.
func TestCost(t *testing.T) {
	pl := newPlant(ath10k, 0.02, 1)
	p := New(7)
	pl.run(p, 10*time.Minute)
	// Others may have looked, and their looks do not bring its own forward.
	p.Observe(&Observation{Now: pl.now, Window: time.Second, SentBytes: 1e8, OwnBytes: 1e8, Busy: -1})
	p.Observe(&Observation{Now: pl.now, Window: time.Second, SentBytes: 1e8, OwnBytes: 1e8, Busy: -1})
	if p.Due(pl.now.Add(10 * time.Minute)) {
		t.Error("it looks while it rests")
	}
	pl.run(p, 24*time.Hour)
	lost := 0.0
	for shift, d := range pl.tries {
		lost += max(0, 1-ath10k[shift]/401) * d.Seconds()
	}
	lost /= (24 * time.Hour).Seconds()
	t.Logf("%.4f of the throughput; at %v", lost, pl.tries)
	if lost > 0.001 || pl.tries[7] < 23*time.Hour || pl.tries[8] == 0 || pl.tries[6] == 0 {
		t.Errorf("trials cost %.4f of the throughput; at %v", lost, pl.tries)
	}
}

// TestLeavesAlone: where this host's TCP is not what fills the radio, nothing is
// tried, and hardly anything looked at.
func TestLeavesAlone(t *testing.T) {
	for name, change := range map[string]func(*plant){
		"forwarding":                func(pl *plant) { pl.own = 0.5 },
		"nothing to send":           func(pl *plant) { pl.mbps = map[int]float64{7: 0.5} },
		"limited by an application": func(pl *plant) { pl.own = 0 },
	} {
		pl := newPlant(ath10k, 0.02, 1)
		change(pl)
		p := New(7)
		looks := 0
		for range 200 {
			if p.Due(pl.now) {
				looks++
			}
			pl.run(p, 2*time.Second)
		}
		if len(pl.tries) != 1 || pl.tries[7] == 0 || looks > 20 {
			t.Errorf("%s: at %v, %d looks in 400 s", name, pl.tries, looks)
		}
	}
}

// begun is a policy in the second phase of a trial: 8 is in force instead of 7.
func begun(t *testing.T) (*plant, *Policy) {
	t.Helper()
	pl := newPlant(ath10k, 0, 1)
	p := New(7)
	for range 10 {
		if s, _ := p.Shift(); s == 8 {
			return pl, p
		}
		pl.run(p, 2*time.Second)
	}
	t.Fatal("no trial began")
	return nil, nil
}

func TestDisturbed(t *testing.T) {
	for name, change := range map[string]func(*Observation){
		"limits changed": func(o *Observation) { o.Disturbed = true },
		"the load ended": func(o *Observation) { o.SentBytes, o.OwnBytes = 0, 0 },
		"others send":    func(o *Observation) { o.OwnBytes /= 2 },
		"it slept":       func(o *Observation) { o.Window = time.Minute },
		"the clock":      func(o *Observation) { o.Window = -time.Second },
	} {
		pl, p := begun(t)
		for i := range maxVoid + 1 {
			if !p.Trying() {
				t.Fatalf("%s: the trial ended after %d", name, i)
			}
			o := Observation{Now: pl.now, Window: 2 * time.Second, SentBytes: 1e8, OwnBytes: 1e8, RTT: time.Millisecond, Busy: -1}
			change(&o)
			p.Observe(&o)
			if s, why := p.Shift(); s != 7 {
				t.Fatalf("%s: %d is in force (%s)", name, s, why)
			}
		}
		if p.Trying() || p.Due(pl.now) {
			t.Errorf("%s: the trial goes on", name)
		}
	}
	pl, p := begun(t)
	p.Abandon(pl.now)
	if s, _ := p.Shift(); s != 7 || p.Trying() || p.Due(pl.now.Add(againAfter-1)) || !p.Due(pl.now.Add(againAfter)) {
		t.Errorf("abandoned: %d", s)
	}
}

// TestOtherLoad: what was chosen at one throughput is no more than a guess at
// another.
func TestOtherLoad(t *testing.T) {
	pl := newPlant(fast, 0.01, 3)
	p := New(7)
	pl.run(p, time.Hour)
	if p.shift != 10 {
		t.Fatalf("%d, want 10", p.shift)
	}
	pl.mbps = ath10k // another access point
	pl.run(p, 3*time.Minute)
	if s, why := p.Shift(); s != 7 || p.base != 7 {
		t.Errorf("%d (%s), want 7", s, why)
	}
}

// TestBounds: nothing is tried beyond the ends.
func TestBounds(t *testing.T) {
	for _, base := range []int{Min, Max} {
		pl := newPlant(map[int]float64{5: 400, 6: 370, 9: 370, 10: 400}, 0.01, 1)
		p := New(base)
		pl.run(p, 10*time.Hour)
		if len(pl.tries) != 2 || pl.tries[base] < 9*time.Hour {
			t.Errorf("from %d: at %v", base, pl.tries)
		}
	}
}
