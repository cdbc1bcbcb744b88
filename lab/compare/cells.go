// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"airtuned/lab/result"
)

// measurement is what the lab measured of one scenario at one setting: the mean
// over the seeds.
type measurement struct {
	figures
	kernel           string
	warmup, duration time.Duration
	seeds            int
}

// cells are the documents of a sweep, the newest of each.
type cells map[cell]written

// cell is what a document is about.
type cell struct {
	scenario, aql string
	seed          uint64
}

// written is a document and when it was written.
type written struct {
	*result.Document
	at time.Time
}

// readCells reads all of the sweep's documents without a policy. A document
// does not say which build of the kernel and of the programs it is of, so the
// newest is taken to be of the current ones.
func readCells(dir string) (cells, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	newest := cells{}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		d := new(result.Document)
		if err := json.Unmarshal(b, d); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if d.Policy != "" {
			continue
		}
		at := cell{d.Scenario, d.AQL, d.Seed}
		if old, ok := newest[at]; !ok || old.at.Before(info.ModTime()) {
			newest[at] = written{d, info.ModTime()}
		}
	}
	return newest, nil
}

// find is the mean over those seeds that were run like the newest.
func (c cells) find(scenario, aql string) (measurement, error) {
	var newest written
	for at, d := range c {
		if at.scenario == scenario && at.aql == aql && (newest.Document == nil || newest.at.Before(d.at)) {
			newest = d
		}
	}
	if newest.Document == nil {
		return measurement{}, fmt.Errorf("%s with limit %s was not swept: run \"make lab-sweep\" first", scenario, aql)
	}
	var all []figures
	for at, d := range c {
		if at.scenario != scenario || at.aql != aql || d.Kernel != newest.Kernel ||
			d.WarmupS != newest.WarmupS || d.DurationS != newest.DurationS {
			continue
		}
		if d.AirEfficiency == nil || d.PingMs.Busy == nil {
			return measurement{}, fmt.Errorf("%s with limit %s, seed %d: no efficiency or no pings", scenario, aql, d.Seed)
		}
		all = append(all, figures{d.DownloadMbps, *d.AirEfficiency, d.PingMs.Busy.P95})
	}
	return measurement{
		figures:  mean(all),
		kernel:   newest.Kernel,
		warmup:   time.Duration(newest.WarmupS * float64(time.Second)),
		duration: time.Duration(newest.DurationS * float64(time.Second)),
		seeds:    len(all),
	}, nil
}
