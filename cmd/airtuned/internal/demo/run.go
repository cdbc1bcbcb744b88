package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"sync"
	"time"

	"airtuned/daemon/config"
	"airtuned/radiosim"
	"airtuned/tuner"
	"airtuned/wlan"
)

// Options say what to run.
type Options struct {
	Scenario radiosim.Scenario
	// Policies are run side by side, each on a radio of its own with the same
	// seed; the baseline comes first, named or not.
	Policies []string
	// Duration is the virtual time that is judged, after the scenario's
	// warm-up; 0 is the scenario's own.
	Duration time.Duration
	Seed     uint64
	// Pace spreads the run over that much real time, for someone who watches;
	// 0 runs it as fast as it can. It does not change the result.
	Pace time.Duration
}

// Slices is into how many parts of virtual time a run is cut for the chart.
const Slices = 64

// Run is a demo under way. Its Points may be read while Wait waits.
type Run struct {
	Policies []string
	// Total is the virtual time of the whole run, Warmup what is not judged.
	Total, Warmup time.Duration

	opt     Options
	cancel  context.CancelFunc
	done    chan struct{}
	results []Result
	errs    []error

	mu     sync.Mutex
	points [][]Point
}

// Start starts a demo. Each policy runs in its own goroutine and its own
// simulation, so that neither the result nor its order depends on scheduling.
func Start(ctx context.Context, opt Options) *Run {
	if opt.Duration == 0 {
		opt.Duration = opt.Scenario.Duration
	}
	policies := order(opt.Policies)
	r := &Run{
		Policies: policies,
		Total:    opt.Scenario.WarmUp + opt.Duration,
		Warmup:   opt.Scenario.WarmUp,
		opt:      opt,
		done:     make(chan struct{}),
		results:  make([]Result, len(policies)),
		errs:     make([]error, len(policies)),
		points:   make([][]Point, len(policies)),
	}
	ctx, r.cancel = context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i := range policies {
		wg.Go(func() {
			r.results[i], r.errs[i] = r.one(ctx, i)
			if r.errs[i] != nil {
				r.cancel()
			}
		})
	}
	go func() {
		wg.Wait()
		r.cancel()
		close(r.done)
	}()
	return r
}

// Done is closed when every policy has run.
func (r *Run) Done() <-chan struct{} { return r.done }

// Wait waits until every policy has run.
func (r *Run) Wait() (Report, error) {
	<-r.done
	// One that failed cancels the others: its error is the cause.
	var cause error
	for _, err := range r.errs {
		if err != nil && (cause == nil || errors.Is(cause, context.Canceled)) {
			cause = err
		}
	}
	if cause != nil {
		return Report{}, cause
	}
	return Report{
		Scenario:  r.opt.Scenario.Name,
		DurationS: round2(r.opt.Duration.Seconds()),
		WarmupS:   round2(r.Warmup.Seconds()),
		Seed:      r.opt.Seed,
		Results:   r.results,
	}, nil
}

// Points returns what there is to draw so far, per policy.
func (r *Run) Points() [][]Point {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([][]Point(nil), r.points...)
}

// one runs one policy: the same tuner that runs on a real radio, stepped on
// the simulation's time.
func (r *Run) one(ctx context.Context, i int) (Result, error) {
	policy := r.Policies[i]
	state, err := os.MkdirTemp("", "airtuned-demo-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(state)
	sim := radiosim.New(r.opt.Scenario, radiosim.Options{Seed: r.opt.Seed})
	env := tuner.Env{
		Sys: sim.Sys(), Debug: sim.Debug(), Proc: sim.Proc(),
		StateDir: state,
		Log:      slog.New(slog.DiscardHandler),
	}
	choose := func(radio tuner.Radio) tuner.Settings {
		s := config.Default().SettingsFor(radio)
		s.Policy = policy
		return s
	}
	d, err := tuner.Detect(env, choose)
	if err != nil {
		return Result{}, err
	}
	if len(d.Radios) != 1 {
		return Result{}, fmt.Errorf("the simulation has %d radios, want 1", len(d.Radios))
	}
	settings := choose(d.Radios[0])
	t := tuner.New(env, d.Radios[0], settings, sim.Now())

	start, began := sim.Now(), time.Now()
	cut := cutter{sim: sim, total: r.Total}
	judging := false
	for at := time.Duration(0); at < r.Total; {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		if !judging && at >= r.Warmup {
			sim.ResetStats()
			cut.restart()
			judging = true
		}
		at += settings.Sample
		sim.Advance(start.Add(at))
		if sim.StationsChanged() {
			t.Rescan()
		}
		t.Step(sim.Now())
		if p, ok := cut.slice(at); ok {
			r.mu.Lock()
			r.points[i] = append(r.points[i], p)
			r.mu.Unlock()
			due := began.Add(time.Duration(float64(r.opt.Pace) * float64(at) / float64(r.Total)))
			select {
			case <-ctx.Done():
			case <-time.After(time.Until(due)):
			}
		}
	}
	status := t.Status()
	if err := t.Stop("the demo has ended"); err != nil {
		return Result{}, err
	}
	return result(policy, sim.Stats(), status), nil
}

func result(policy string, s radiosim.Stats, status tuner.Status) Result {
	be := status.AQL.Limits[wlan.BE.String()]
	return Result{
		Policy:         policy,
		ThroughputMbps: round2(s.ThroughputMbps),
		LatencyMs:      Quantiles{round2(s.PingMs.P(50)), round2(s.PingMs.P(95)), round2(s.PingMs.P(99))},
		ResidencyMs:    Residency{round2(s.ResidencyMeanMs), round2(s.ResidencyP95Ms)},
		StarvedPct:     round2(s.StarvedPct),
		LimitUs:        Limit{be.LowUs, be.HighUs},
	}
}

// cutter cuts a run into slices for the chart.
type cutter struct {
	sim   *radiosim.Sim
	total time.Duration
	n     int // slices so far
	from  time.Duration
	bytes uint64
	pings radiosim.Samples // up to the last slice
}

// restart follows ResetStats.
func (c *cutter) restart() { c.pings = nil }

// slice returns a point whenever a slice has ended.
func (c *cutter) slice(at time.Duration) (Point, bool) {
	if at < c.total*time.Duration(c.n+1)/Slices {
		return Point{}, false
	}
	pings, bytes := c.sim.Stats().PingMs, c.sim.DeliveredBytes()
	p := Point{
		ThroughputMbps: float64(bytes-c.bytes) * 8 / 1e6 / (at - c.from).Seconds(),
		LatencyMs:      math.NaN(),
	}
	if fresh := since(pings, c.pings); len(fresh) > 0 {
		p.LatencyMs = fresh.P(95)
	}
	c.n, c.from, c.bytes, c.pings = c.n+1, at, bytes, pings
	return p, true
}

// since returns what is in all and not in old. Both are sorted.
func since(all, old radiosim.Samples) radiosim.Samples {
	var fresh radiosim.Samples
	i := 0
	for _, v := range all {
		if i < len(old) && old[i] == v {
			i++
			continue
		}
		fresh = append(fresh, v)
	}
	return fresh
}
