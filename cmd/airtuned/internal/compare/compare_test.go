package compare

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"airtuned/daemon/config"
	"airtuned/radiosim"
	"airtuned/tree/treetest"
	"airtuned/tuner"
)

var seeds = flag.Int("seeds", 4, "how many experiments of a policy with itself are simulated in full")

// simRadio is a loop on a simulated radio, on its time.
type simRadio struct {
	sim      *radiosim.Sim
	tuner    *tuner.Tuner
	settings tuner.Settings
	original string
	lent     []string
	lost     bool // it was returned
	// meddle is called before each reading.
	meddle func(*simRadio)
}

func newSimRadio(t testing.TB, scenario string, seed uint64) *simRadio {
	t.Helper()
	sc, err := radiosim.Lookup(scenario)
	if err != nil {
		t.Fatal(err)
	}
	sim := radiosim.New(sc, radiosim.Options{Seed: seed})
	env := tuner.Env{
		Sys: sim.Sys(), Debug: sim.Debug(), Proc: sim.Proc(), StateDir: t.TempDir(),
		Log: slog.New(slog.DiscardHandler),
	}
	d, err := tuner.Detect(env, config.Default().SettingsFor)
	if err != nil || len(d.Radios) != 1 {
		t.Fatal(d, err)
	}
	r := &simRadio{sim: sim, settings: config.Default().SettingsFor(d.Radios[0])}
	r.original = r.settings.Policy
	r.tuner = tuner.New(env, d.Radios[0], r.settings, sim.Now())
	t.Cleanup(func() { _ = r.tuner.Stop("the test ends") })
	return r
}

func (r *simRadio) Now() time.Time { return r.sim.Now() }

func (r *simRadio) Wait(ctx context.Context, d time.Duration) error {
	for end := r.Now().Add(d); r.Now().Before(end); {
		next := r.Now().Add(r.settings.Sample)
		if next.After(end) {
			next = end
		}
		r.sim.Advance(next)
		if r.sim.StationsChanged() {
			r.tuner.Rescan()
		}
		r.tuner.Step(r.sim.Now())
	}
	return ctx.Err()
}

func (r *simRadio) Lend(_ context.Context, policy string, _ time.Duration) error {
	r.lent = append(r.lent, policy)
	s := r.settings
	s.Policy = policy
	return r.tuner.Reconfigure(s, r.Now())
}

func (r *simRadio) Return() error {
	r.lost = true
	return r.tuner.Reconfigure(r.settings, r.Now())
}

func (r *simRadio) Read(context.Context) (Reading, error) {
	if r.meddle != nil {
		r.meddle(r)
	}
	s := r.tuner.Status()
	out := ReadingOf(&s)
	for _, ms := range r.sim.Stats().PingMs {
		out.Pings = append(out.Pings, Ping{At: r.Now(), RTT: time.Duration(ms * 1e6)})
	}
	r.sim.ResetStats()
	return out, nil
}

func quiet(*Leg) {}

func verdicts(rep *Report) map[string]Verdict {
	out := map[string]Verdict{}
	for _, m := range rep.Metrics {
		out[m.Name] = m.Verdict
	}
	return out
}

// TestKnownDifference holds the default policy against the kernel's limits, where
// the difference is known: latency falls, throughput stays.
func TestKnownDifference(t *testing.T) {
	for _, scenario := range []string{"one-fast", "one-slow"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			r := newSimRadio(t, scenario, 7)
			o := Options{A: "kernel-default", B: "delay", Interval: 10 * time.Second, Settle: 15 * time.Second, Rounds: 8, Seed: 1}
			rep, err := Run(t.Context(), o, r, quiet)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range rep.Metrics {
				t.Logf("%-18s %8d %8d  %+d (%+d to %+d)  p %.4f  %s", m.Name, m.A, m.B, m.Difference, *m.Low, *m.High, m.P, m.Verdict)
			}
			t.Log(rep.Verdict)
			got := verdicts(rep)
			for _, name := range []string{Residency, ResidencyP95, PingMedian, PingP95} {
				if got[name] != Lower {
					t.Errorf("%s: got %q, want %q", name, got[name], Lower)
				}
			}
			if v := got[Throughput]; v != NoDifference && v != Same {
				t.Errorf("throughput: got %q, want none that matters", v)
			}
			if !r.lost {
				t.Error("the policy was not put back")
			}
		})
	}
}

// scenarios are those that false positives are looked for in, by turns.
var scenarios = []string{"one-slow", "one-fast", "fast-and-slow", "slow-host", "four-fast"}

// skipUnderRace skips what has nothing that could race.
func skipUnderRace(t *testing.T) {
	if treetest.UnderRace() {
		t.Skip("each simulation is one goroutine, and long")
	}
}

// TestFalsePositives holds delay against itself, in full simulations: at most 5 %
// of experiments may find a difference. By default only a few are made.
func TestFalsePositives(t *testing.T) {
	skipUnderRace(t)
	var mu sync.Mutex
	found := 0
	t.Run("seeds", func(t *testing.T) {
		limit := make(chan struct{}, 2)
		for seed := range uint64(*seeds) {
			t.Run(scenarios[seed%uint64(len(scenarios))], func(t *testing.T) {
				t.Parallel()
				limit <- struct{}{}
				defer func() { <-limit }()
				r := newSimRadio(t, scenarios[seed%uint64(len(scenarios))], 1000+seed)
				o := Options{A: "delay", B: "delay", Interval: 8 * time.Second, Settle: 4 * time.Second, Rounds: 12, Seed: seed}
				rep, err := Run(t.Context(), o, r, quiet)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range rep.Metrics {
					if m.P <= Alpha/float64(len(rep.Metrics)) {
						mu.Lock()
						found++
						mu.Unlock()
						t.Logf("seed %d: %s", seed, rep.Verdict)
						break
					}
				}
			})
		}
	})
	t.Logf("%d of %d experiments of a policy with itself found a difference (%.1f %%)", found, *seeds, 100*float64(found)/float64(*seeds))
	if bound := max(1, *seeds/20); found > bound {
		t.Errorf("%d false positives, want at most %d", found, bound)
	}
}

// TestFalsePositivesRecorded deals one long run's intervals out to two sides, by
// 2000 seeds: the intervals are what they are, drift and correlation included.
func TestFalsePositivesRecorded(t *testing.T) {
	skipUnderRace(t)
	r := newSimRadio(t, "one-slow", 3)
	if err := r.Lend(t.Context(), "delay", 0); err != nil {
		t.Fatal(err)
	}
	// Cold on purpose: the first intervals are not like the later ones.
	var values []map[string]int64
	for range 300 {
		leg := Leg{Policy: "delay"}
		if err := leg.take(t.Context(), 3*time.Second, r); err != nil {
			t.Fatal(err)
		}
		values = append(values, leg.Values)
	}
	const experiments, rounds = 2000, 12
	false_ := 0
	for seed := range uint64(experiments) {
		rng := rand.New(rand.NewPCG(seed, 1))
		from := rng.IntN(len(values) - 2*rounds)
		if seed%4 == 0 {
			from = 0 // where drift is worst
		}
		var a, b []map[string]int64
		for i := range rounds {
			x, y := values[from+2*i], values[from+2*i+1]
			if rng.IntN(2) == 1 {
				x, y = y, x
			}
			a, b = append(a, x), append(b, y)
		}
		metrics := conclude(a, b)
		for _, m := range metrics {
			if m.P <= Alpha/float64(len(metrics)) {
				false_++
				break
			}
		}
	}
	t.Logf("%d of %d experiments found a difference (%.1f %%)", false_, experiments, 100*float64(false_)/experiments)
	if false_ > experiments/20 {
		t.Errorf("%d false positives of %d", false_, experiments)
	}
}

// TestFalsePositivesWorst is where the intervals have nothing but correlation: a
// random walk, a trend, a sawtooth as long as a round, heavy tails, and ties.
func TestFalsePositivesWorst(t *testing.T) {
	skipUnderRace(t)
	series := map[string]func(*rand.Rand) func(int) float64{
		"random walk": func(r *rand.Rand) func(int) float64 {
			x := 100.0
			return func(int) float64 { x += r.NormFloat64(); return x }
		},
		"trend": func(*rand.Rand) func(int) float64 { return func(i int) float64 { return float64(i) } },
		"sawtooth": func(r *rand.Rand) func(int) float64 {
			return func(i int) float64 { return float64(i%2) + r.Float64()/10 }
		},
		"heavy tails": func(r *rand.Rand) func(int) float64 {
			return func(int) float64 { return math.Tan(math.Pi * (r.Float64() - 0.5)) }
		},
		"ties": func(r *rand.Rand) func(int) float64 { return func(int) float64 { return float64(r.IntN(3)) } },
	}
	for name, make := range series {
		t.Run(name, func(t *testing.T) {
			const experiments = 2000
			found := 0
			for seed := range uint64(experiments) {
				rng := rand.New(rand.NewPCG(seed, 2))
				next := make(rng)
				d := []int64{}
				for i := range 12 {
					x, y := next(2*i), next(2*i+1)
					if rng.IntN(2) == 1 {
						x, y = y, x
					}
					d = append(d, int64(1000*(y-x)))
				}
				if signedRank(d) <= Alpha {
					found++
				}
			}
			t.Logf("%.1f %%", 100*float64(found)/experiments)
			// Three standard deviations above 5 % of 2000.
			if found > 130 {
				t.Errorf("%d of %d, want 100", found, experiments)
			}
		})
	}
}

func TestDisturbed(t *testing.T) {
	o := Options{A: "kernel-default", B: "delay", Interval: time.Second, Settle: 0, Rounds: 8}
	t.Run("interrupted", func(t *testing.T) {
		r := newSimRadio(t, "one-slow", 1)
		ctx, cancel := context.WithCancel(t.Context())
		legs := 0
		_, err := Run(ctx, o, r, func(*Leg) {
			if legs++; legs == 3 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || !r.lost {
			t.Errorf("got %v, returned %v", err, r.lost)
		}
	})
	t.Run("another policy", func(t *testing.T) {
		r := newSimRadio(t, "one-slow", 1)
		r.meddle = func(r *simRadio) {
			if len(r.lent) == 2 {
				s := r.settings
				s.Policy = "observe"
				_ = r.tuner.Reconfigure(s, r.Now())
			}
		}
		if _, err := Run(t.Context(), o, r, quiet); !errors.Is(err, ErrDisturbed) || !r.lost {
			t.Errorf("got %v, returned %v", err, r.lost)
		}
	})
	t.Run("another policy for a moment, as by a second comparison", func(t *testing.T) {
		r := newSimRadio(t, "one-slow", 1)
		reads := 0
		r.meddle = func(r *simRadio) {
			if reads++; reads == 2 || reads == 4 {
				s := r.settings
				s.Policy = map[int]string{2: "observe", 4: r.lent[0]}[reads]
				_ = r.tuner.Reconfigure(s, r.Now())
			}
		}
		if _, err := Run(t.Context(), o, r, quiet); !errors.Is(err, ErrDisturbed) || len(r.lent) != 1 {
			t.Errorf("got %v in leg %d", err, len(r.lent))
		}
	})
	t.Run("held", func(t *testing.T) {
		r := newSimRadio(t, "one-slow", 1)
		r.meddle = func(r *simRadio) { r.tuner.Hold("a test") }
		if _, err := Run(t.Context(), o, r, quiet); !errors.Is(err, ErrDisturbed) || !r.lost {
			t.Errorf("got %v, returned %v", err, r.lost)
		}
	})
}

// TestOrder holds the plan: in every round both, in an order that the seed decides.
func TestOrder(t *testing.T) {
	first := map[string]int{}
	for seed := range uint64(20) {
		r := newSimRadio(t, "one-slow", 1)
		o := Options{A: "observe", B: "kernel-default", Interval: time.Second, Settle: 0, Rounds: 8, Seed: seed}
		rep, err := Run(t.Context(), o, r, quiet)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(rep.Legs); i += 2 {
			x, y := rep.Legs[i], rep.Legs[i+1]
			if x.Round != i/2+1 || y.Round != x.Round || x.Policy == y.Policy || (x.Side == "A") != (x.Policy == "observe") {
				t.Fatalf("legs %+v, %+v", x, y)
			}
			first[x.Side]++
		}
	}
	if first["A"] < 60 || first["B"] < 60 {
		t.Errorf("who comes first is no coin's decision: %v of 160", first)
	}
}
