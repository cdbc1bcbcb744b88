// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// Runner runs scenarios that have not been run.
type Runner struct {
	Bench bench.Bench
	// Cache is the folder of documents, see CacheDir.
	Cache string
	// Jobs is how many machines run at a time.
	Jobs int
	// NoRun has it only look into the cache.
	NoRun bool

	mu     sync.Mutex
	hashes map[string]string
}

// CacheDir is where documents are kept.
func CacheDir() (string, error) {
	if dir := os.Getenv("AIRTUNED_LAB_CACHE"); dir != "" {
		return filepath.Join(dir, "sweep"), nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "airtuned/lab/sweep"), err
}

// AloneRates has the throughput of one station alone filled in wherever the
// scenarios do not say it, and it is known.
func (r *Runner) AloneRates(ctx context.Context, scenarios []scenario.Scenario) error {
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
	var alone []scenario.Scenario
	for _, kbps := range rates {
		alone = append(alone, scenario.Scenario{
			Name: fmt.Sprintf("alone-%d", kbps), Radio: scenario.Ath10k, Seed: 1, AQL: scenario.AQLDefault,
			Warmup: scenario.Duration(5 * time.Second), Duration: scenario.Duration(10 * time.Second),
			WAN: scenario.WAN{Delay: scenario.Duration(10 * time.Millisecond)},
			Stations: []scenario.Group{{
				Name: "alone", Count: 1, RateKbps: scenario.Timeline{{Value: kbps}}, Download: scenario.Timeline{{Value: 4}},
			}},
		})
	}
	docs, err := r.All(ctx, alone)
	if err != nil {
		return err
	}
	for i := range scenarios {
		for k := range scenarios[i].Stations {
			g := &scenarios[i].Stations[k]
			// Of one that is not always at one rate, or not there, it would
			// say nothing.
			if at := slices.Index(rates, g.RateKbps.At(0)); at >= 0 && docs[at] != nil && g.AloneMbps == 0 &&
				len(g.RateKbps) == 1 && g.Join == 0 && g.Leave == 0 {
				g.AloneMbps = docs[at].DownloadMbps
			}
		}
	}
	return nil
}

// All runs scenarios, as many at a time as there are jobs, and returns their
// documents in the same order. The first failure stops it; what was run is in
// the cache. With NoRun, what is not in the cache is nil.
func (r *Runner) All(ctx context.Context, scenarios []scenario.Scenario) ([]*result.Document, error) {
	docs := make([]*result.Document, len(scenarios))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(r.Jobs, 1))
	done := 0
	for i, s := range scenarios {
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
				fmt.Fprintf(os.Stderr, "%d/%d %s, %s, seed %d: %.1f Mb/s\n", done, len(scenarios), s.Name,
					Setting{s.AQL, s.Policy}.Name(), s.Seed, d.DownloadMbps+d.UploadMbps)
			}
			return nil
		})
	}
	return docs, g.Wait()
}

// cell runs a scenario unless its document is in the cache.
func (r *Runner) cell(ctx context.Context, s scenario.Scenario) (d *result.Document, fresh bool, err error) {
	key, err := r.key(s)
	if err != nil {
		return nil, false, err
	}
	file := filepath.Join(r.Cache, s.Name+"-"+key+".json")
	b, err := os.ReadFile(file)
	if err != nil {
		if r.NoRun && errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
		fresh = true
		if b, err = r.Bench.Run(ctx, s); err != nil {
			return nil, false, err
		}
		if err := os.MkdirAll(r.Cache, 0o755); err != nil {
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
func (r *Runner) key(s scenario.Scenario) (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(s); err != nil {
		return "", err
	}
	files := []string{r.Bench.Kernel, filepath.Join(r.Bench.Programs, "guest")}
	if s.Policy != "" { // else it only says what chip it sees
		files = append(files, filepath.Join(r.Bench.Programs, "airtuned"))
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
func (r *Runner) hash(file string) (string, error) {
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
