// SPDX-License-Identifier: Apache-2.0

// Sweep runs scenarios of the lab over settings of AQL, several at a time, and
// writes a table and a picture of each to docs/lab. What has been run is kept in
// the lab's cache, by all that it depends on, so that a sweep can be interrupted
// and goes on where it was. From the top of the source tree:
//
//	go run ./lab/sweep
//	go run ./lab/sweep -scenarios one-fast,crowd -limits 600,1500,5000 -seeds 3 -policies delay
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"airtuned/lab/bench"
	"airtuned/lab/cells"
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

func run(ctx context.Context) error {
	root, err := uml.Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "lab/scenarios")
	var (
		names    = flag.String("scenarios", "", "`names` of scenarios in lab/scenarios, with commas (default: all with radio ath10k)")
		limits   = flag.String("limits", "300,450,600,800,1000,1500,2000,3000,5000,8000,12000,24000", "AQL limits in `us`, low and high, with commas")
		policies = flag.String("policies", "", "airtuned's `policies` to run as well, with commas")
		seeds    = flag.Uint64("seeds", 1, "how many seeds to run each cell with")
		duration = flag.Duration("duration", 0, "how long to measure (default: as the scenario says)")
		jobs     = flag.Int("jobs", runtime.NumCPU(), "how many machines run at a time")
		kernel   = flag.String("kernel", "", "`file` of the kernel to boot, or a folder with \"linux\" in it (default: what \"make lab\" built)")
		out      = flag.String("out", filepath.Join(root, "docs/lab"), "`folder` for the table and the pictures")
		timeout  = flag.Duration("timeout", 20*time.Minute, "real time that a run may take")
	)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}

	scenarios, err := load(dir, split(*names))
	if err != nil {
		return err
	}
	settings := []cells.Setting{{AQL: scenario.AQLDefault}}
	for _, l := range split(*limits) {
		if _, err := strconv.ParseUint(l, 10, 32); err != nil {
			return fmt.Errorf("-limits: %q is not a number", l)
		}
		settings = append(settings, cells.Setting{AQL: l})
	}
	settings = append(settings, cells.Setting{AQL: scenario.AQLOff})
	for _, p := range split(*policies) {
		settings = append(settings, cells.Setting{AQL: scenario.AQLDefault, Policy: p})
	}
	for i := range scenarios {
		if *duration > 0 {
			scenarios[i].Duration = scenario.Duration(*duration)
		}
	}

	if *kernel, err = uml.Kernel(*kernel); err != nil {
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
	r := &cells.Runner{
		Bench: bench.Bench{Kernel: *kernel, Programs: programs, RealTime: *timeout},
		Cache: cache,
		Jobs:  *jobs,
	}
	if err := r.AloneRates(ctx, scenarios); err != nil {
		return err
	}
	tables, err := sweep(ctx, r, scenarios, settings, *seeds)
	if err != nil {
		return err
	}
	return write(*out, tables)
}

// load reads scenarios by name, or all that the sweep is about.
func load(dir string, names []string) ([]scenario.Scenario, error) {
	all := len(names) == 0
	if all {
		names = scenario.Names(dir)
	}
	var found []scenario.Scenario
	for _, name := range names {
		s, err := scenario.Load(dir, name)
		if err != nil {
			return nil, err
		}
		if !all || s.Radio == scenario.Ath10k {
			found = append(found, s)
		}
	}
	return found, nil
}

func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}
