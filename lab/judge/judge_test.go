// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/lab/bench"
	"airtuned/lab/cells"
	"airtuned/lab/result"
	"airtuned/lab/scenario"
)

// document is of a run at one limit that is measured from 20 to 40 s.
func document(efficiency, p95 float64, us uint32) *result.Document {
	jain := 0.9
	d := &result.Document{
		Kernel: "6.1.0", Seed: 1, WarmupS: 20, DurationS: 20, DownloadMbps: 100 * efficiency,
		AirEfficiency: &efficiency, JainAirtime: &jain,
		Limits: []result.Limit{{AtS: 0, LowUs: us, HighUs: us}},
	}
	d.PingMs.Busy = &result.Latency{P95: p95}
	for at := range 40 {
		d.Seconds = append(d.Seconds, result.Second{AtS: float64(at), DownloadMbps: d.DownloadMbps, PingP95Ms: &p95})
	}
	return d
}

// example is a field in which delay is as good as the best of two limits, and
// dql is not.
func example() *field {
	one := &course{
		trial:    trial{name: "one-fast", must: bar{0.98, 1.15}, fine: "600,1500", coarse: "5000"},
		scenario: scenario.Scenario{Name: "one-fast"},
		docs:     map[cells.Setting][]*result.Document{},
	}
	put := func(s cells.Setting, docs ...*result.Document) {
		one.docs[s] = docs
		if s.Policy == "" {
			one.static = append(one.static, cells.Mean(s, docs))
		}
	}
	put(kernelDefault, document(1, 20, 5000), document(1, 22, 5000))
	put(cells.Setting{AQL: "600"}, document(0.9, 2, 600), document(0.9, 2, 600))
	put(cells.Setting{AQL: "1500"}, document(0.99, 3, 1500), document(0.99, 5, 1500))
	put(cells.Setting{AQL: "5000"}, document(1, 10, 5000))
	put(policy("delay"), document(0.985, 4, 1200), document(0.985, 5, 1200))
	put(policy("dql"), document(0.99, 12, 6000), document(0.99, 12, 6000))
	one.stock = []*result.Document{document(0.9, 4.5, 1200), document(0.9, 4.5, 1200)}
	return &field{policies: []string{"delay", "dql"}, seeds: 2, otherSeeds: 2, courses: []*course{one}}
}

// mine has the judged policy's documents replaced, and none on the stock kernel.
func (f *field) mine(docs ...*result.Document) {
	f.courses[0].docs[judgedSetting(f)], f.courses[0].stock = docs, nil
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(f *field)
		missed []string // parts of what is missed, one for each
	}{
		{"as good", func(f *field) {}, nil},
		{"costs throughput", func(f *field) {
			f.mine(document(0.97, 3, 1200), document(0.97, 3, 1200))
		}, []string{"one-fast: E 97.0 %"}},
		{"costs latency", func(f *field) {
			f.mine(document(1, 4.7, 1200), document(1, 4.7, 1200))
		}, []string{"one-fast: E 100.0 % (at least 98), p95 1.18 times the best's"}},
		{"another bar", func(f *field) {
			f.courses[0].must = bar{0.97, 1.25}
			f.mine(document(0.975, 4.9, 1200), document(0.975, 4.9, 1200))
		}, nil},
		{"not below a third", func(f *field) {
			f.courses[0].must.p95 = 2
			f.mine(document(1, 7.2, 1200), document(1, 7.2, 1200))
		}, []string{"one-fast: p95 7.2 ms is not below a third"}},
		{"nor is the best", func(f *field) {
			f.courses[0].must.p95 = 2
			f.mine(document(1, 7.2, 1200), document(1, 7.2, 1200))
			f.courses[0].docs[kernelDefault] = []*result.Document{document(1, 12, 5000)}
		}, nil},
		{"much worse without the counter", func(f *field) {
			f.courses[0].stock = []*result.Document{document(0.98, 5.2, 1200)}
		}, []string{"one-fast without the pending counter: E 98.0 % after 98.5, p95 1.16 times"}},
		{"less throughput without the counter", func(f *field) {
			f.courses[0].stock = []*result.Document{document(0.88, 4, 1200)}
		}, []string{"one-fast without the pending counter: E 88.0 %"}},
		{"worse without the counter, but good enough", func(f *field) {
			f.mine(document(1, 2, 1200), document(1, 2, 1200))
			f.courses[0].stock = []*result.Document{document(0.99, 4, 1200)}
		}, nil},
		{"moves", func(f *field) {
			d := document(1, 4, 1200)
			d.Limits = append(d.Limits, result.Limit{AtS: 30, LowUs: 1400})
			f.mine(document(1, 4, 1200), d)
		}, []string{"one-fast: limits move by 7.7 %"}},
		{"moves by a frame of few", func(f *field) {
			d := document(1, 4, 1200)
			d.Limits = append(d.Limits, result.Limit{AtS: 30, LowUs: 1400})
			f.mine(document(1, 4, 1200), d)
			f.courses[0].scenario.Stations = []scenario.Group{{
				RateKbps: scenario.Timeline{{Value: 6500}}, Download: scenario.Timeline{{Value: 1}},
			}}
		}, nil},
		{"settles late", func(f *field) {
			d := document(1, 4, 1200)
			d.Limits = []result.Limit{{AtS: 0, LowUs: 5000}, {AtS: 16, LowUs: 1200}}
			f.mine(d)
		}, []string{"one-fast: settled after 16.0 s"}},
		{"nothing was measured", func(f *field) {
			f.courses[0].docs, f.courses[0].static = nil, nil
		}, nil},
	} {
		f := example()
		tt.change(f)
		r := f.judge()
		ok := len(r.missed) == len(tt.missed)
		for i := range min(len(r.missed), len(tt.missed)) {
			ok = ok && strings.HasPrefix(r.missed[i], tt.missed[i])
		}
		if !ok {
			t.Errorf("%s: missed %q, want %q", tt.name, r.missed, tt.missed)
		}
	}
}

func TestReport(t *testing.T) {
	f := example()
	f.missing = []string{"one"}
	got := f.judge().document()
	for _, want := range []string{
		"make lab-judge", "driver of Linux 6.1.0 over", "| 1500 us |",
		"**Preliminary: 1 runs are missing.**",
		// default, 1500, 5000, 12000, dql, delay, best
		"\n| one-fast | 100.0 / 21.0 | 99.0 / 4.0 | 100.0 / 10.0* | | 99.0 / 12.0 | 98.5 / 4.5 | 99.0 / 4.0 | 1500 |\n",
		"\n| one-fast | 1500 | 600: 90.0 | 4.0 (3.0..5.0) | 4.5 (4.0..5.0) | 1.12 | 1.15 | 98.5 | 98 | 99.5 | 21.0 | yes | yes |\n",
		"\n| one-fast | dql | 99.0 | 3.00 | **no** |",
		"\n| one-fast | 1200, 1200 | 0.0, 0.0 | 5 | yes | 0.0, 0.0 | yes |\n",
		"Nothing that was judged.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	// All rows of a table have as many cells as its head.
	columns := 0
	for line := range strings.Lines(got) {
		n := strings.Count(line, "|")
		if n > 0 && columns > 0 && n != columns {
			t.Errorf("%d instead of %d bars in %q", n, columns, line)
		}
		columns = n
	}
}

func TestLnLimit(t *testing.T) {
	d := &result.Document{Limits: []result.Limit{
		{AtS: 0, LowUs: 9999}, {AtS: 5, LowUs: 100}, {AtS: 10, LowUs: 400}, {AtS: 11, LowUs: 100},
	}}
	// From 5 to 13 s: 100 for 7 s, 400 for 1 s.
	mean, sd := lnLimit(d, 5, 13)
	up := math.Log(4)
	wantMean := math.Log(100) + up/8
	wantSD := math.Sqrt((7*up/8*up/8 + 7*up/8*7*up/8) / 8)
	if math.Abs(mean-wantMean) > 1e-9 || math.Abs(sd-wantSD) > 1e-9 {
		t.Errorf("mean %v, sd %v, want %v and %v", mean, sd, wantMean, wantSD)
	}
	if mean, _ := lnLimit(&result.Document{}, 0, 1); !math.IsNaN(mean) {
		t.Errorf("mean %v of nothing", mean)
	}
}

func TestSettledAfter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits []result.Limit
		want   float64
	}{
		{"never moves", []result.Limit{{AtS: 0, LowUs: 1000}}, 0},
		{"gets there", []result.Limit{{AtS: 0, LowUs: 5000}, {AtS: 4, LowUs: 1100}, {AtS: 9, LowUs: 1000}}, 4},
		{"goes away again", []result.Limit{{AtS: 0, LowUs: 1000}, {AtS: 7, LowUs: 500}, {AtS: 8, LowUs: 1000}}, 8},
		{"is not there", []result.Limit{{AtS: 0, LowUs: 5000}, {AtS: 25, LowUs: 1000}}, 20},
	} {
		d := &result.Document{WarmupS: 20, DurationS: 20, Limits: tt.limits}
		if got := settledAfter(d); got != tt.want {
			t.Errorf("%s: after %v s, want %v", tt.name, got, tt.want)
		}
	}
}

func TestFew(t *testing.T) {
	s := scenario.Scenario{Stations: []scenario.Group{
		{RateKbps: scenario.Timeline{{Value: 12000}}, Download: scenario.Timeline{{Value: 1}}}, // 1 ms a frame
		{RateKbps: scenario.Timeline{{Value: 866700}}, Download: scenario.Timeline{{Value: 1}}},
		{RateKbps: scenario.Timeline{{Value: 6500}}}, // idle
	}}
	if !few(&s, 9999) || few(&s, 10001) {
		t.Errorf("few: %v below ten frames, %v above", few(&s, 9999), few(&s, 10001))
	}
}

func TestChanges(t *testing.T) {
	var got []string
	for _, name := range changing {
		s, err := scenario.Load("../scenarios", name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes(&s) {
			got = append(got, fmt.Sprintf("%s: %s at %s until %g s, steady in %g s", name, c.what, span(c.from, c.to), c.until, c.within))
		}
	}
	want := []string{
		"rate-drop: rate falls at 10 s until 20 s, steady in 5 s",
		"rate-drop: rate rises at 20 s until 35 s, steady in 5 s",
		"join-leave: stations join at 5..12 s until 18 s, steady in 3 s",
		"join-leave: stations leave at 18..25 s until 30 s, steady in 3 s",
		"join-crowd: stations join at 18..18.7 s until 30 s, steady in 3 s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRespond(t *testing.T) {
	drop := change{rate: true, from: 10, to: 10, until: 20, within: 5}
	ms := func(x float64) *float64 { return &x }
	for _, tt := range []struct {
		name  string
		alter func(d *result.Document)
		want  response
	}{
		{"takes no notice", func(d *result.Document) {}, response{steadyMs: 4, worst: 1, least: 1}},
		{"answers", func(d *result.Document) {
			d.Limits = append(d.Limits, result.Limit{AtS: 10.3, LowUs: 900}, result.Limit{AtS: 10.5, LowUs: 700})
			d.Seconds[10].PingP95Ms, d.Seconds[11].PingP95Ms = ms(50), ms(7)
		}, response{steadyMs: 4, worst: 1, settledS: 2, answeredS: 0.5, least: 1}},
		{"does not", func(d *result.Document) {
			d.Seconds[13].PingP95Ms = ms(50)
		}, response{steadyMs: 4, worst: 1, settledS: 4, answeredS: 4, least: 1}},
		{"has a bad second later", func(d *result.Document) {
			d.Seconds[17].PingP95Ms = ms(8)
		}, response{steadyMs: 4, worst: 2, settledS: 8, answeredS: 8, least: 1}},
		{"has pings lost", func(d *result.Document) {
			d.Seconds[17].PingP95Ms = nil
		}, response{steadyMs: 4, worst: math.Inf(1), settledS: 8, answeredS: 8, least: 1}},
		{"collapses", func(d *result.Document) {
			d.Seconds[12].DownloadMbps = 20
		}, response{steadyMs: 4, worst: 1, least: 0.2}},
		{"was slower before", func(d *result.Document) {
			for at := range 10 {
				d.Seconds[at].DownloadMbps = 10
			}
			d.Seconds[12].DownloadMbps = 20
		}, response{steadyMs: 4, worst: 1, least: 2}},
		{"the next change is none of it", func(d *result.Document) {
			d.Seconds[20].DownloadMbps, d.Seconds[20].PingP95Ms = 0, ms(99)
		}, response{steadyMs: 4, worst: 1, least: 1}},
	} {
		d := document(1, 4, 1000)
		tt.alter(d)
		got := respond(d, drop)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(response{}), cmp.Comparer(func(a, b float64) bool {
			return a == b || math.Abs(a-b) < 1e-9
		})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTransients(t *testing.T) {
	f := example()
	c := &course{scenario: scenario.Scenario{
		Name: "rate-drop", Warmup: scenario.Duration(5 * time.Second), Duration: scenario.Duration(30 * time.Second),
		Stations: []scenario.Group{{RateKbps: scenario.Timeline{{Value: 866700}, {At: scenario.Duration(10 * time.Second), Value: 6500}}}},
	}}
	bad := document(1, 4, 1000)
	slow, no := 30.0, 1.0
	bad.Seconds[12].DownloadMbps, bad.Seconds[12].PingP95Ms = no, &slow
	bad.Seconds[20].PingP95Ms = &slow
	c.docs = map[cells.Setting][]*result.Document{
		policy("delay"): {document(1, 4, 1000), bad},
		kernelDefault:   {document(1, 8, 1000)},
	}
	f.changing = []*course{c}
	want := []string{
		"rate-drop, rate falls at 10 s: answered after 11.0 s",
		"rate-drop, rate falls at 10 s: a later second's p95 is 7.50 times the steady one",
		"rate-drop, rate falls at 10 s: throughput falls to 1 %",
	}
	r := f.judge()
	if diff := cmp.Diff(want, r.missed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	row := "\n| rate-drop | rate falls at 10 s | 4.0, 4.0 | 11.0 | **no** | 11.0 | 7.50 | **no** | 1 | **no** | 8.0* | 1.00 |\n"
	if got := r.document(); !strings.Contains(got, row) {
		t.Errorf("no %q in:\n%s", row, got)
	}
}

func TestApplications(t *testing.T) {
	run := func(mbps float64, limits ...result.Limit) []string {
		f := example()
		d := document(1, 4, 1000)
		d.DownloadMbps, d.Limits = mbps, append(d.Limits, limits...)
		f.limited = &course{
			scenario: scenario.Scenario{Name: limited, WAN: scenario.WAN{RateKbps: 100_000}},
			docs:     map[cells.Setting][]*result.Document{policy("delay"): {d}},
		}
		return f.judge().missed
	}
	for _, tt := range []struct {
		got, want []string
	}{
		{run(95), nil},
		{run(80), []string{"slow-wan, seed 1: 80.0 Mb/s of 100"}},
		{run(95, result.Limit{AtS: 34, LowUs: 1120}), []string{"slow-wan, seed 1: L drifts by +12.0 %", "slow-wan, seed 1: limits move by 5.2 % (below 5)"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestTrials(t *testing.T) {
	for _, tr := range trials {
		s, err := scenario.Load("../scenarios", tr.name)
		if err != nil {
			t.Error(err)
			continue
		}
		var grid []string
		for _, set := range append(limits(tr.fine), limits(tr.coarse)...) {
			if s = set.Of(s, 1); s.Check() != nil || slices.Contains(grid, set.AQL) {
				t.Errorf("%s: limit %q: %v, or twice", tr.name, set.AQL, s.Check())
			}
			grid = append(grid, set.AQL)
		}
		for _, us := range shown {
			if !slices.Contains(grid, us) {
				t.Errorf("%s: no %s in the grid", tr.name, us)
			}
		}
	}
}

// TestMeasure has a field filled from a cache in which only a few cells are.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"linux", "linux-stock", "guest", "airtuned"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runner := func(kernel string) *cells.Runner {
		return &cells.Runner{Bench: bench.Bench{Kernel: filepath.Join(dir, kernel), Programs: dir}, Cache: dir, NoRun: true, Jobs: 1}
	}
	scenarios, err := load("../scenarios", []string{"one-fast", "rate-drop", "slow-wan"})
	if err != nil {
		t.Fatal(err)
	}
	f := &field{policies: []string{"delay"}, seeds: 2, otherSeeds: 2}
	f.enter(scenarios)
	if err := f.measureAll(t.Context(), runner("linux"), runner("linux-stock"), nil); err != nil {
		t.Fatal(err)
	}
	// The default and 4 limits with two seeds, 4 with one; the policy with two
	// in three scenarios, and in one on the stock kernel; the
	// default with two where rates change.
	if want := 2*5 + 4 + 2*3 + 2 + 2; len(f.missing) != want {
		t.Errorf("%d missing, want %d: %q", len(f.missing), want, f.missing)
	}
	for _, want := range []string{
		"one-fast, kernel default, seed 2", "one-fast, 12000, seed 1", "one-fast, airtuned delay, seed 2",
		"one-fast, airtuned delay on the stock kernel, seed 1", "slow-wan, airtuned delay, seed 1",
	} {
		if !slices.Contains(f.missing, want) {
			t.Errorf("%q is not missing: %q", want, f.missing)
		}
	}
	if got := f.judge().missed; got != nil {
		t.Errorf("missed %q with nothing measured", got)
	}
}

func TestPicture(t *testing.T) {
	f := example()
	texts, points := map[string]bool{}, 0
	d := xml.NewDecoder(strings.NewReader(f.picture()))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := tok.(type) {
		case xml.CharData:
			texts[string(x)] = true
		case xml.StartElement:
			if x.Name.Local == "circle" {
				points++
			}
		}
	}
	for _, want := range []string{
		"one-fast, airtuned delay: 98.5 %, 1.12 times", "one-fast, kernel default: 100.0 %, 5.25 times",
		"one-fast, best static limit, 1500 us: 99.0 %, 1.00 times", "airtuned dql", "best static limit",
	} {
		if !texts[want] {
			t.Errorf("no text %q among %v", want, texts)
		}
	}
	// default, 1500, 5000, both policies, best; a legend of seven
	if points != 6+7 {
		t.Errorf("%d points, want 13", points)
	}
	(&field{policies: []string{"delay"}}).picture() // nothing was measured
}
