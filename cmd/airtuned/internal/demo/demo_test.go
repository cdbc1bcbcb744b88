package demo

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/radiosim"
)

func options(t *testing.T, scenario string, d time.Duration, policies ...string) Options {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	sc, err := radiosim.Lookup(scenario)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Scenario: sc, Policies: policies, Duration: d, Seed: 1}
}

// TestLatencyAtThroughput is what the demo promises: delay is faster than the
// kernel left alone and costs no more than 3 % of its throughput.
func TestLatencyAtThroughput(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("runs a minute and a quarter of virtual time")
	}
	for _, scenario := range []string{"one-fast", "four-fast", "crowd"} {
		t.Run(scenario, func(t *testing.T) {
			report, err := Start(context.Background(), options(t, scenario, 0, "delay")).Wait()
			if err != nil {
				t.Fatal(err)
			}
			base, delay := report.Results[0], report.Results[1]
			if base.Policy != Baseline || delay.Policy != "delay" {
				t.Fatalf("results of %s and %s", base.Policy, delay.Policy)
			}
			if delay.LatencyMs.P95 >= base.LatencyMs.P95 {
				t.Errorf("p95 latency %v ms, kernel default %v ms", delay.LatencyMs.P95, base.LatencyMs.P95)
			}
			if delay.ThroughputMbps < 0.97*base.ThroughputMbps {
				t.Errorf("throughput %v Mb/s, kernel default %v Mb/s", delay.ThroughputMbps, base.ThroughputMbps)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	opt := options(t, "one-fast", time.Hour, "delay")
	opt.Pace = time.Hour
	ctx, cancel := context.WithCancel(context.Background())
	r := Start(ctx, opt)
	cancel()
	if _, err := r.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v, want %v", err, context.Canceled)
	}
}

func TestPoints(t *testing.T) {
	r := Start(context.Background(), options(t, "one-fast", time.Second, "static"))
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, ps := range r.Points() {
		if len(ps) != Slices {
			t.Errorf("%s: %d points, want %d", r.Policies[i], len(ps), Slices)
		}
		last := ps[len(ps)-1]
		if !(last.LatencyMs > 0) || !(last.ThroughputMbps > 0) {
			t.Errorf("%s: last point %+v", r.Policies[i], last)
		}
	}
}

func TestSince(t *testing.T) {
	got := since(radiosim.Samples{1, 2, 2, 3, 5, 5}, radiosim.Samples{2, 5})
	if diff := cmp.Diff(radiosim.Samples{1, 2, 3, 5}, got); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
}

// TestChart checks a chart's size and one of a few points in detail.
func TestChart(t *testing.T) {
	nan := math.NaN()
	points := [][]Point{make([]Point, Slices), {{100, 50}, {50, nan}}}
	for i := range points[0] {
		points[0][i] = Point{ThroughputMbps: 100, LatencyMs: 100}
	}
	for _, size := range [][2]int{{80, 24}, {40, 10}, {200, 60}, {10, 3}} {
		tm := term.Terminal{Width: size[0], Height: size[1], Unicode: true}
		lines := Chart(tm, "title", []string{Baseline, "delay"}, points, 20*time.Second)
		if size[1] >= 10 && len(lines) > size[1]-1 {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if n := len([]rune(l)); size[0] >= 80 && n > size[0]-1 {
				t.Errorf("%v: a line of %d columns: %q", size, n, l)
			}
		}
	}
	tm := term.Terminal{Width: 80, Height: 10, Unicode: true}
	text := strings.Join(Chart(tm, "title", []string{Baseline, "delay"}, points, 20*time.Second), "\n")
	for _, want := range []string{"20.0 of 20 s", "kernel-default █", "   100  █", "delay          ▄"} {
		if !strings.Contains(text, want) {
			t.Errorf("chart has no %q:\n%s", want, text)
		}
	}
	if ascii := strings.Join(Chart(term.Terminal{Width: 80, Height: 24}, "t", []string{Baseline}, points[:1], time.Second), ""); strings.ContainsFunc(ascii, func(r rune) bool { return r > 127 }) {
		t.Errorf("not ASCII: %q", ascii)
	}
}

func TestSummary(t *testing.T) {
	r := Report{DurationS: 20, WarmupS: 5, Seed: 1, Results: []Result{
		{Policy: Baseline, ThroughputMbps: 200, LatencyMs: Quantiles{P95: 182.3}},
		{Policy: "static", ThroughputMbps: 100, LatencyMs: Quantiles{P95: 1}},
		{Policy: "delay", ThroughputMbps: 198, LatencyMs: Quantiles{P95: 31.04}},
	}}
	want := []string{
		"delay: a ping takes 31.0 ms instead of 182 ms (95th percentile), at 99 % of the throughput.",
		"Judged: 20 s of virtual time after 5 s of warm-up, seed 1.",
	}
	if diff := cmp.Diff(want, r.Summary()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}
