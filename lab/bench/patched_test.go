// SPDX-License-Identifier: Apache-2.0

//go:build lab

package bench

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"airtuned/lab/result"
	"airtuned/lab/scenario"
)

// runPatched is run on the kernel with all patches.
func runPatched(t *testing.T, name string, change func(*scenario.Scenario)) *result.Document {
	t.Helper()
	b, err := newBench()
	if err != nil {
		t.Fatal(err)
	}
	p := *b
	p.Kernel = filepath.Join(filepath.Dir(b.Kernel), "linux-patched")
	s, err := scenario.Load("../scenarios", name)
	if err != nil {
		t.Fatal(err)
	}
	change(&s)
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	text, err := p.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	d := new(result.Document)
	if err := json.Unmarshal(text, d); err != nil {
		t.Fatal(err)
	}
	if l := d.PingMs.Busy; l == nil || l.Sent == 0 || l.Lost == l.Sent {
		t.Fatalf("no pings to a busy station came back: %s", text)
	}
	return d
}

// times has a scenario measured for d after warmup.
func times(s *scenario.Scenario, warmup, d time.Duration) {
	s.Warmup, s.Duration = scenario.Duration(warmup), scenario.Duration(d)
}

// TestBlind: where AQL counts nothing, the loop limits frames, which costs hardly any
// throughput.
func TestBlind(t *testing.T) {
	for _, tt := range []struct {
		scenario                 string
		fill, settle, measureFor time.Duration
		latency                  float64 // of that without limit
	}{
		{"one-fast-blind", 3 * time.Second, 8 * time.Second, 4 * time.Second, 1. / 3},
		{"one-slow-blind", 10 * time.Second, 10 * time.Second, 12 * time.Second, 1. / 30},
	} {
		t.Run(tt.scenario, func(t *testing.T) {
			t.Parallel()
			none := runPatched(t, tt.scenario, func(s *scenario.Scenario) { times(s, tt.fill, tt.measureFor) })
			loop := runPatched(t, tt.scenario, func(s *scenario.Scenario) {
				times(s, tt.settle, tt.measureFor)
				s.Policy = "delay"
			})
			t.Logf("%.2f Mb/s at p95 %.1f ms without limit, %.2f at %.1f with the loop, limits %+v",
				none.DownloadMbps, none.PingMs.Busy.P95, loop.DownloadMbps, loop.PingMs.Busy.P95, loop.Limits)
			if loop.DownloadMbps < .97*none.DownloadMbps || loop.PingMs.Busy.P95 > tt.latency*none.PingMs.Busy.P95 {
				t.Errorf("want 97 %% of the throughput at %.2f of the p95", tt.latency)
			}
		})
	}
}

// TestStops: the lower the mark at which stopped queues wake, the fewer stops; with the
// loop there are none.
func TestStops(t *testing.T) {
	t.Parallel()
	wakes := func(percent int, change func(*scenario.Scenario)) float64 {
		d := runPatched(t, "streams", func(s *scenario.Scenario) {
			s.Stations[0].Count = 4
			s.Knobs = map[string]int{"ath10k/tx_wake_percent": percent}
			change(s)
		})
		return d.TaskletsPerS
	}
	brief := func(s *scenario.Scenario) { times(s, 2*time.Second, 2*time.Second) }
	high, low := wakes(100, brief), wakes(25, brief)
	loop := wakes(100, func(s *scenario.Scenario) {
		times(s, 8*time.Second, 2*time.Second)
		s.Policy = "delay"
	})
	t.Logf("queues wake %.0f times a second at max - 1, %.0f at a quarter, %.0f with the loop", high, low, loop)
	if high < 5*low || loop > high/50 {
		t.Error("want a fifth at a quarter, and next to none with the loop")
	}
}
