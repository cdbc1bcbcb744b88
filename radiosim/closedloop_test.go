// One goroutine on virtual time: the race detector would find nothing here and
// take twenty times as long.

//go:build !race

package radiosim_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"airtuned/radiosim"
	"airtuned/tree"
	"airtuned/tuner"
)

// The control targets, on the simulated radio: the real loop with the real
// policies, on virtual time. All thresholds leave room for another seed.

const (
	sample = 20 * time.Millisecond
	window = 200 * time.Millisecond
)

// bench is a scenario with a policy in the loop.
type bench struct {
	t     testing.TB
	sim   *radiosim.Sim
	tuner *tuner.Tuner // nil: limits stay as they are
	gen   uint64
}

func newBench(t testing.TB, scenario, policy string, o radiosim.Options) *bench {
	t.Helper()
	sc, err := radiosim.Lookup(scenario)
	if err != nil {
		t.Fatal(err)
	}
	return newBenchOf(t, sc, policy, o)
}

func newBenchOf(t testing.TB, sc radiosim.Scenario, policy string, o radiosim.Options) *bench {
	t.Helper()
	b := &bench{t: t, sim: radiosim.New(sc, o)}
	if policy == "" {
		return b
	}
	env := tuner.Env{
		Sys: b.sim.Sys(), Debug: b.sim.Debug(), Proc: b.sim.Proc(),
		StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	}
	settings := tuner.Settings{
		Policy: policy, Min: 300 * time.Microsecond, Max: 12 * time.Millisecond,
		ThreadedNAPI: tuner.ThreadedLeave, Sample: sample, Window: window,
	}
	d, err := tuner.Detect(env, func(tuner.Radio) tuner.Settings { return settings })
	if err != nil {
		t.Fatal(err)
	}
	b.tuner = tuner.New(env, d.Radios[0], settings, b.sim.Now())
	return b
}

// run lets time pass, and calls each (if not nil) after every sample.
func (b *bench) run(d time.Duration, each func()) {
	for end := b.sim.Now().Add(d); b.sim.Now().Before(end); {
		if b.tuner != nil {
			if gen := b.sim.Generation(); gen != b.gen {
				b.gen = gen
				b.tuner.Rescan()
			}
			b.tuner.Step(b.sim.Now())
		}
		b.sim.Advance(b.sim.Now().Add(sample))
		if each != nil {
			each()
		}
	}
}

// judge lets the warm-up pass and returns what happened in the time after it.
func (b *bench) judge(warmUp, d time.Duration) radiosim.Stats {
	b.run(warmUp, nil)
	b.sim.ResetStats()
	b.run(d, nil)
	return b.sim.Stats()
}

// limitUs is the best-effort limit in force.
func (b *bench) limitUs() int {
	b.t.Helper()
	text, err := tree.ReadString(b.sim.Debug(), "ieee80211/phy0/aql_txq_limit")
	if err != nil {
		b.t.Fatal(err)
	}
	_, be, _ := strings.Cut(text, "\nBE")
	var low, high int
	if _, err := fmt.Sscan(be, &low, &high); err != nil {
		b.t.Fatalf("read the limits in %q: %v", text, err)
	}
	return low
}

func (b *bench) setLimit(us int) {
	b.t.Helper()
	for ac := range 4 {
		command := fmt.Sprintf("%d %d %d\n", ac, us, us)
		if err := b.sim.Debug().Write("ieee80211/phy0/aql_txq_limit", []byte(command)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestLessLatencyAtTheSameThroughput is what users get over the kernel alone,
// with the search for the limit in the judged time: delivered air at least
// and p95 latency at most as many times the kernel's.
func TestLessLatencyAtTheSameThroughput(t *testing.T) {
	tests := []struct {
		scenario string
		policy   string
		least    float64
		most     float64
		byAir    bool // shares change, so compare air, not Mb/s
	}{
		{"one-fast", "delay", 0.98, 0.35, false},
		{"four-fast", "delay", 0.98, 0.45, false},
		{"crowd", "delay", 0.97, 0.85, false},
		{"slow-host", "delay", 0.98, 0.60, false},
		{"one-slow", "delay", 0.98, 0.85, false},
		{"fast-and-slow", "delay", 0.98, 0.70, true},
		{"join-leave", "delay", 0.92, 0.75, true},
		{"one-fast", "dql", 0.97, 0.60, false},
		{"crowd", "dql", 0.95, 0.95, false},
		{"slow-host", "dql", 0.97, 0.85, false},
	}
	kernel := map[string]radiosim.Stats{}
	for _, tt := range tests {
		t.Run(tt.scenario+"/"+tt.policy, func(t *testing.T) {
			sc, err := radiosim.Lookup(tt.scenario)
			if err != nil {
				t.Fatal(err)
			}
			o := radiosim.Options{Seed: 1}
			base, ok := kernel[tt.scenario]
			if !ok {
				base = newBench(t, tt.scenario, "", o).judge(sc.WarmUp, sc.Duration)
				kernel[tt.scenario] = base
			}
			got := newBench(t, tt.scenario, tt.policy, o).judge(sc.WarmUp, sc.Duration)
			delivered := got.ThroughputMbps / base.ThroughputMbps
			if tt.byAir {
				delivered = got.AirEfficiency / base.AirEfficiency
			}
			if delivered < tt.least {
				t.Errorf("delivers %.3f of the kernel's, want at least %.2f", delivered, tt.least)
			}
			latency := got.PingMs.P(95) / base.PingMs.P(95)
			if latency > tt.most {
				t.Errorf("p95 latency is %.2f of the kernel's, want at most %.2f", latency, tt.most)
			}
		})
	}
}

// TestAgainstTheBestStaticLimit holds delay, settled, against a grid of limits
// that nobody could know beforehand: the latency of the best one among those
// that keep 98 % of the air.
func TestAgainstTheBestStaticLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a grid of limits")
	}
	const settle, judged = 10 * time.Second, 20 * time.Second
	for _, scenario := range []string{"one-fast", "slow-host", "crowd"} {
		t.Run(scenario, func(t *testing.T) {
			o := radiosim.Options{Seed: 2}
			var grid []radiosim.Stats
			best := 0.0
			for _, us := range []int{700, 1000, 1500, 2000, 2600, 3500, 5000} {
				b := newBench(t, scenario, "", o)
				b.setLimit(us)
				grid = append(grid, b.judge(settle, judged))
				best = max(best, grid[len(grid)-1].AirEfficiency)
			}
			latency := 0.0
			for _, s := range grid {
				if p := s.PingMs.P(95); s.AirEfficiency >= 0.98*best && (latency == 0 || p < latency) {
					latency = p
				}
			}
			got := newBench(t, scenario, "delay", o).judge(settle, judged)
			if got.AirEfficiency < 0.96*best {
				t.Errorf("air efficiency %.3f, the best is %.3f", got.AirEfficiency, best)
			}
			if p := got.PingMs.P(95); p > 1.4*latency {
				t.Errorf("p95 latency %.1f ms, the best limit's is %.1f ms", p, latency)
			}
		})
	}
}

// TestSettles watches the limit: found in 12 s, it does not wander.
func TestSettles(t *testing.T) {
	for _, scenario := range []string{"one-fast", "slow-host"} {
		b := newBench(t, scenario, "delay", radiosim.Options{Seed: 1})
		b.run(12*time.Second, nil)
		mean := func() float64 {
			sum, n := 0, 0
			b.run(6*time.Second, func() { sum, n = sum+b.limitUs(), n+1 })
			return float64(sum) / float64(n)
		}
		first := mean()
		for range 3 {
			if m := mean(); m < 0.7*first || m > 1.4*first {
				t.Errorf("%s: the limit went from %.0f to %.0f us", scenario, first, m)
			}
		}
	}
}

// TestRateDropAnswered drops a link to a hundredth: frames are long then, and
// a limit that was right holds less than one.
func TestRateDropAnswered(t *testing.T) {
	for _, stock := range []bool{false, true} {
		b := newBench(t, "one-fast", "delay", radiosim.Options{Seed: 1, Stock: stock})
		b.run(15*time.Second, nil)
		before := b.limitUs()
		b.sim.SetRate(0, 6500)
		b.run(time.Second, nil)
		if got := b.limitUs(); got < 1900 || got < before {
			t.Errorf("stock %v: the limit was %d us and is %d us after a second", stock, before, got)
		}
		b.run(4*time.Second, nil)
		b.sim.ResetStats()
		b.run(10*time.Second, nil)
		s := b.sim.Stats()
		if s.ThroughputMbps < 5 || s.PingMs.P(95) > 50 {
			t.Errorf("stock %v: %.1f Mb/s at a p95 latency of %.0f ms on the slow link, want 5 Mb/s and 50 ms", stock, s.ThroughputMbps, s.PingMs.P(95))
		}
	}
}

// TestReproducible: the same seed gives the same run, policy and all.
func TestReproducible(t *testing.T) {
	limits := func() (all []int) {
		b := newBench(t, "crowd", "delay", radiosim.Options{Seed: 3})
		b.run(5*time.Second, func() { all = append(all, b.limitUs()) })
		return all
	}
	a, b := limits(), limits()
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("sample %d: %d us, then %d us", i, a[i], b[i])
		}
	}
}
