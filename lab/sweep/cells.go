// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"airtuned/lab/bench"
	"airtuned/lab/result"
	"airtuned/lab/scenario"
)

// setting is what the access point does about its queue.
type setting struct {
	aql    string // as in a scenario
	policy string
}

// name of the setting in tables.
func (s setting) name() string {
	switch {
	case s.policy != "":
		return "airtuned " + s.policy
	case s.aql == scenario.AQLDefault:
		return "kernel default"
	case s.aql == scenario.AQLOff:
		return "AQL off"
	}
	return s.aql
}

// static is whether it is one limit for all time.
func (s setting) static() bool {
	return s.policy == "" && s.aql != scenario.AQLDefault && s.aql != scenario.AQLOff
}

// table is all that was measured of one scenario.
type table struct {
	scenario scenario.Scenario
	kernel   string
	seeds    uint64
	rows     []row
}

// row is the mean over the seeds.
type row struct {
	setting
	mbps, efficiency      float64
	p50, p95, p99, idle95 float64 // ms
	rtt, firmware         float64 // ms
	frames, full          float64
	jain                  float64
}

// runner runs scenarios that have not been run.
type runner struct {
	bench bench.Bench
	cache string
	jobs  int

	mu     sync.Mutex
	hashes map[string]string
}

// aloneRates has the throughput of one station alone filled in wherever the
// scenarios do not say it.
func (r *runner) aloneRates(ctx context.Context, scenarios []scenario.Scenario) error {
	var rates []int
	for i := range scenarios {
		for _, g := range scenarios[i].Stations {
			if kbps := g.RateKbps.At(0); kbps > 0 && g.AloneMbps == 0 {
				rates = append(rates, kbps)
			}
		}
	}
	slices.Sort(rates)
	rates = slices.Compact(rates)
	var cells []scenario.Scenario
	for _, kbps := range rates {
		cells = append(cells, scenario.Scenario{
			Name: fmt.Sprintf("alone-%d", kbps), Radio: scenario.Ath10k, Seed: 1, AQL: scenario.AQLDefault,
			Warmup: scenario.Duration(5 * time.Second), Duration: scenario.Duration(10 * time.Second),
			WAN: scenario.WAN{Delay: scenario.Duration(10 * time.Millisecond)},
			Stations: []scenario.Group{{
				Name: "alone", Count: 1, RateKbps: scenario.Timeline{{Value: kbps}}, Download: scenario.Timeline{{Value: 4}},
			}},
		})
	}
	docs, err := r.all(ctx, cells)
	if err != nil {
		return err
	}
	for i := range scenarios {
		for k := range scenarios[i].Stations {
			g := &scenarios[i].Stations[k]
			// Of one that is not always at one rate, or not there, it would
			// say nothing.
			if at := slices.Index(rates, g.RateKbps.At(0)); at >= 0 && g.AloneMbps == 0 &&
				len(g.RateKbps) == 1 && g.Join == 0 && g.Leave == 0 {
				g.AloneMbps = docs[at].DownloadMbps
			}
		}
	}
	return nil
}

// sweep runs each scenario with each setting and seed.
func (r *runner) sweep(ctx context.Context, scenarios []scenario.Scenario, settings []setting, seeds uint64) ([]table, error) {
	var cells []scenario.Scenario
	for _, s := range scenarios {
		for _, set := range settings {
			for seed := uint64(1); seed <= seeds; seed++ {
				s.AQL, s.Policy, s.Seed = set.aql, set.policy, seed
				cells = append(cells, s)
			}
		}
	}
	docs, err := r.all(ctx, cells)
	if err != nil {
		return nil, err
	}
	var tables []table
	for _, s := range scenarios {
		t := table{scenario: s, seeds: seeds}
		for _, set := range settings {
			t.kernel = docs[0].Kernel
			t.rows = append(t.rows, mean(set, docs[:seeds]))
			docs = docs[seeds:]
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// mean is over documents of the same setting.
func mean(set setting, docs []*result.Document) row {
	of := func(f func(d *result.Document) float64) float64 {
		var x []float64
		for _, d := range docs {
			x = append(x, f(d))
		}
		return result.Mean(x)
	}
	latency := func(l *result.Latency) result.Latency {
		if l == nil {
			return result.Latency{}
		}
		return *l
	}
	number := func(p *float64) float64 {
		if p == nil {
			return 0
		}
		return *p
	}
	return row{
		setting:    set,
		mbps:       of(func(d *result.Document) float64 { return d.DownloadMbps + d.UploadMbps }),
		efficiency: of(func(d *result.Document) float64 { return number(d.AirEfficiency) }),
		p50:        of(func(d *result.Document) float64 { return latency(d.PingMs.Busy).P50 }),
		p95:        of(func(d *result.Document) float64 { return latency(d.PingMs.Busy).P95 }),
		p99:        of(func(d *result.Document) float64 { return latency(d.PingMs.Busy).P99 }),
		idle95:     of(func(d *result.Document) float64 { return latency(d.PingMs.Idle).P95 }),
		rtt: of(func(d *result.Document) float64 {
			if d.TCP == nil {
				return 0
			}
			return d.TCP.RTTMs
		}),
		firmware: of(func(d *result.Document) float64 { return number(d.FirmwareMs) }),
		frames: of(func(d *result.Document) float64 {
			if d.PendingFrames == nil {
				return 0
			}
			return d.PendingFrames.Mean
		}),
		full: of(func(d *result.Document) float64 { return number(d.FullPct) }),
		jain: of(func(d *result.Document) float64 { return number(d.JainAirtime) }),
	}
}

// all runs cells, as many at a time as there are jobs. The first failure stops
// it; what was run is in the cache.
func (r *runner) all(ctx context.Context, cells []scenario.Scenario) ([]*result.Document, error) {
	docs := make([]*result.Document, len(cells))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.jobs)
	done := 0
	for i, s := range cells {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			d, fresh, err := r.cell(ctx, s)
			if err != nil {
				return err
			}
			docs[i] = d
			r.mu.Lock()
			defer r.mu.Unlock()
			done++
			if fresh {
				fmt.Fprintf(os.Stderr, "%d/%d %s, %s, seed %d: %.1f Mb/s\n", done, len(cells), s.Name,
					setting{s.AQL, s.Policy}.name(), s.Seed, d.DownloadMbps+d.UploadMbps)
			}
			return nil
		})
	}
	return docs, g.Wait()
}

// cell runs a scenario unless its document is in the cache.
func (r *runner) cell(ctx context.Context, s scenario.Scenario) (d *result.Document, fresh bool, err error) {
	key, err := r.key(s)
	if err != nil {
		return nil, false, err
	}
	file := filepath.Join(r.cache, s.Name+"-"+key+".json")
	b, err := os.ReadFile(file)
	if err != nil {
		fresh = true
		if b, err = r.bench.Run(ctx, s); err != nil {
			return nil, false, err
		}
		if err := os.MkdirAll(r.cache, 0o755); err != nil {
			return nil, false, err
		}
		// All of it or nothing, should we be interrupted.
		temporary := file + ".new"
		if err := os.WriteFile(temporary, b, 0o644); err != nil {
			return nil, false, err
		}
		if err := os.Rename(temporary, file); err != nil {
			return nil, false, err
		}
	}
	d = new(result.Document)
	if err := json.Unmarshal(b, d); err != nil {
		return nil, false, fmt.Errorf("%s: %w", file, err)
	}
	return d, fresh, nil
}

// key is a hash of all that a document depends on.
func (r *runner) key(s scenario.Scenario) (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(s); err != nil {
		return "", err
	}
	files := []string{r.bench.Kernel, filepath.Join(r.bench.Programs, "guest")}
	if s.Policy != "" { // else it only says what chip it sees
		files = append(files, filepath.Join(r.bench.Programs, "airtuned"))
	}
	for _, f := range files {
		sum, err := r.hash(f)
		if err != nil {
			return "", err
		}
		io.WriteString(h, sum)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// hash of a file that does not change while we run.
func (r *runner) hash(file string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sum, ok := r.hashes[file]; ok {
		return sum, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(b))
	if r.hashes == nil {
		r.hashes = map[string]string{}
	}
	r.hashes[file] = sum
	return sum, nil
}
