// SPDX-License-Identifier: Apache-2.0

// Knobs measures what the patches of packaging/kernel are good for: how much a host's
// own TCP may queue, a limit of frames where AQL is blind, and when stopped queues
// wake. What has been run is kept as lab/sweep keeps it. From the top of the source
// tree:
//
//	go run ./lab/knobs
//	go run ./lab/knobs -tables blind -jobs 1
//	go run ./lab/knobs -no-run                # only what is in the cache
//
// The tables and pictures go to docs/lab if all were asked for, or to -out. The exit
// status is 1 if airtuned misses what it must reach where AQL is blind.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"airtuned/lab/bench"
	"airtuned/lab/cells"
	"airtuned/lab/result"
	"airtuned/lab/scenario"
	"airtuned/lab/uml"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// cell is one run, in one of the kernels.
type cell struct {
	kernel string
	scenario.Scenario
	// Document is nil until it was run.
	*result.Document
}

func run(ctx context.Context) error {
	root, err := uml.Root()
	if err != nil {
		return err
	}
	var (
		names   = flag.String("tables", "", "`tables` to make, with commas: pacing, blind, stops (default: all)")
		jobs    = flag.Int("jobs", runtime.NumCPU(), "how many machines run at a time")
		out     = flag.String("out", "", "`folder` for the tables and pictures (default: docs/lab if all are made, else nowhere)")
		noRun   = flag.Bool("no-run", false, "run nothing: show what is in the cache")
		timeout = flag.Duration("timeout", 20*time.Minute, "real time that a run may take")
	)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if *names == "" && *out == "" {
		*out = filepath.Join(root, "docs/lab")
	}

	kernels, err := uml.Kernels()
	if err != nil {
		return err
	}
	programs, err := os.MkdirTemp("", "airtuned-lab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(programs)
	if err := bench.Build(programs); err != nil {
		return err
	}
	cache, err := cells.CacheDir()
	if err != nil {
		return err
	}
	measure := func(all []cell) error {
		for _, kernel := range []string{patched, counted} {
			r := &cells.Runner{
				Bench: bench.Bench{Kernel: filepath.Join(kernels, kernel), Programs: programs, RealTime: *timeout},
				Cache: cache, Jobs: *jobs, NoRun: *noRun,
			}
			var todo []scenario.Scenario
			for _, c := range all {
				if c.kernel == kernel {
					todo = append(todo, c.Scenario)
				}
			}
			docs, err := r.All(ctx, todo)
			if err != nil {
				return err
			}
			for i := range all {
				if all[i].kernel == kernel {
					all[i].Document, docs = docs[0], docs[1:]
				}
			}
		}
		return nil
	}

	m := maker{dir: filepath.Join(root, "lab/scenarios"), measure: measure}
	for _, t := range tables {
		if *names != "" && !slices.Contains(strings.Split(*names, ","), t.name) {
			continue
		}
		if err := t.make(&m); err != nil {
			return err
		}
	}
	text := fmt.Sprintf(head, cmp.Or(m.release, "?")) + m.text.String()
	fmt.Print(text)
	if *out != "" {
		if err := os.WriteFile(filepath.Join(*out, "knobs.md"), []byte(text), 0o644); err != nil {
			return err
		}
		for name, svg := range m.pictures {
			if err := os.WriteFile(filepath.Join(*out, name), []byte(svg), 0o644); err != nil {
				return err
			}
		}
	}
	return errors.Join(m.missed...)
}

// The kernels: with all patches, and with the one that shows pending frames.
const patched, counted = "linux-patched", "linux"

// maker makes tables.
type maker struct {
	dir     string
	measure func([]cell) error

	release  string // of the kernel
	text     strings.Builder
	pictures map[string]string
	missed   []error
}

func (m *maker) printf(format string, args ...any) { fmt.Fprintf(&m.text, format, args...) }

func (m *maker) picture(name, svg string) {
	if m.pictures == nil {
		m.pictures = map[string]string{}
	}
	m.pictures[name] = svg
}

// cell is a scenario on the patched kernel, changed.
func (m *maker) cell(name string, change func(*scenario.Scenario)) (cell, error) {
	s, err := scenario.Load(m.dir, name)
	if err != nil {
		return cell{}, err
	}
	change(&s)
	return cell{kernel: patched, Scenario: s}, s.Check()
}

// run runs cells, and leaves out what is not there.
func (m *maker) run(all []cell) error {
	if err := m.measure(all); err != nil {
		return err
	}
	for _, c := range all {
		if c.Document != nil {
			m.release = c.Document.Kernel
		}
	}
	return nil
}

const head = `<!-- Written by "make lab-knobs": do not edit. -->
# What the kernel patches are good for

The real mac80211 and ath10k driver of Linux %s with the patches of
[packaging/kernel](../kernel-patches.md), over emulated QCA9984, on virtual time, one
seed. p95 is of pings that meet the queue in question.

`
