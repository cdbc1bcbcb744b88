// SPDX-License-Identifier: Apache-2.0

//go:build lab

package bench

import (
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/lab/result"
	"airtuned/lab/scenario"
	"airtuned/lab/uml"
)

// newBench is shared by all tests: the programs are built once.
var newBench = sync.OnceValues(func() (*Bench, error) {
	kernel, err := uml.Kernel("")
	if err != nil {
		return nil, err
	}
	b := &Bench{Kernel: kernel, Programs: programs, RealTime: 5 * time.Minute}
	return b, Build(programs)
})

// programs is a folder that outlives each test.
var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "airtuned-lab-")
	if err != nil {
		panic(err)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// run runs a scenario of the repository, changed.
func run(t *testing.T, name string, change func(*scenario.Scenario)) ([]byte, *result.Document) {
	t.Helper()
	b, err := newBench()
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Load("../scenarios", name)
	if err != nil {
		t.Fatal(err)
	}
	change(&s)
	text, err := b.Run(t.Context(), s)
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
	return text, d
}

// brief makes a scenario as short as can be.
func brief(s *scenario.Scenario) {
	s.Warmup, s.Duration = scenario.Duration(2*time.Second), scenario.Duration(3*time.Second)
}

// TestHwsim: the harness works where the radio does nothing of interest.
func TestHwsim(t *testing.T) {
	t.Parallel()
	_, d := run(t, "hwsim", func(*scenario.Scenario) {})
	// 20 Mb/s of the wide area network's frames, in TCP's payload.
	if d.DownloadMbps < 18 || d.DownloadMbps > 20 {
		t.Errorf("%v Mb/s, want 18 to 20", d.DownloadMbps)
	}
	if d.TCP == nil || d.TCP.RTTMs < 20 {
		t.Errorf("TCP %+v, want the wide area's 20 ms at least", d.TCP)
	}
	if l := d.VoIPMs; l == nil || l.Lost > 0 || l.P95 > 1 {
		t.Errorf("calls: %+v, want that all arrive at once", l)
	}
}

// TestSame: the same inputs give the same document, byte for byte.
func TestSame(t *testing.T) {
	t.Parallel()
	var documents [2]string
	for i := range documents {
		text, _ := run(t, "fast-and-slow", brief)
		documents[i] = string(text)
	}
	if diff := cmp.Diff(documents[0], documents[1]); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

// TestEffects: the real driver shows what users of it report.
func TestEffects(t *testing.T) {
	with := func(aql string, svcUs int, policy string) func(*scenario.Scenario) {
		return func(s *scenario.Scenario) {
			brief(s)
			s.AQL, s.Policy, s.SvcUs = aql, policy, scenario.Timeline{{Value: svcUs}}
		}
	}
	_, byDefault := run(t, "one-fast", with("default", 0, ""))
	p95, mbps := byDefault.PingMs.Busy.P95, byDefault.DownloadMbps
	if byDefault.Chip != "QCA9984" || byDefault.QueueSource != "num_pending_tx" {
		t.Errorf("airtuned detects a %q whose queue it knows by %q, want QCA9984 and num_pending_tx", byDefault.Chip, byDefault.QueueSource)
	}
	if mbps < 500 {
		t.Errorf("%v Mb/s of 866.7, want more than 500", mbps)
	}

	t.Run("limit", func(t *testing.T) {
		t.Parallel()
		_, d := run(t, "one-fast", with("1500", 0, ""))
		if d.DownloadMbps < 0.98*mbps || d.PingMs.Busy.P95*2.5 > p95 {
			t.Errorf("1500 us: %v Mb/s at p95 %v ms, want the %v Mb/s of the default at a p95 of less than 1/2.5 of its %v ms",
				d.DownloadMbps, d.PingMs.Busy.P95, mbps, p95)
		}
	})
	t.Run("slow host", func(t *testing.T) {
		t.Parallel()
		_, d := run(t, "one-fast", with("600", 3000, ""))
		if d.DownloadMbps > mbps/2 {
			t.Errorf("600 us: %v Mb/s, want less than half of the %v Mb/s of the default: the air runs dry", d.DownloadMbps, mbps)
		}
	})
	t.Run("no AQL", func(t *testing.T) {
		t.Parallel()
		// The queue takes its time to fill; that costs little at this rate.
		_, d := run(t, "one-slow", func(s *scenario.Scenario) { s.AQL = scenario.AQLOff })
		if d.PingMs.Busy.P95 < 500 {
			t.Errorf("p95 %v ms at 6.5 Mb/s without AQL, want more than 500 ms", d.PingMs.Busy.P95)
		}
	})
	t.Run("airtuned", func(t *testing.T) {
		t.Parallel()
		_, d := run(t, "one-fast", func(s *scenario.Scenario) {
			with("default", 0, "delay")(s)
			// It searches for 15 s at most.
			s.Warmup, s.Duration = scenario.Duration(16*time.Second), scenario.Duration(8*time.Second)
		})
		if d.DownloadMbps < 0.97*mbps || 2*d.PingMs.Busy.P95 >= p95 {
			t.Errorf("policy delay: %v Mb/s at p95 %v ms, want 97 %% of the %v Mb/s of the default at less than half of its %v ms",
				d.DownloadMbps, d.PingMs.Busy.P95, mbps, p95)
		}
		if len(d.Limits) < 2 {
			t.Errorf("limits %+v: airtuned changed nothing", d.Limits)
		}
	})
}
