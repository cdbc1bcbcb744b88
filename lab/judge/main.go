// SPDX-License-Identifier: Apache-2.0

// Judge holds policies against the best static limit that a fine grid has for
// each scenario, and says whether they are as good as they have to be. What has
// been run is kept as lab/sweep keeps it. From the top of the source tree:
//
//	go run ./lab/judge
//	go run ./lab/judge -no-run                                       # only what is in the cache
//	go run ./lab/judge -scenarios crowd -policies delay -run policy  # run nothing else
//
// The table and the picture go to docs/lab if all of it was judged, or to -out.
// The exit status is 1 if the first of the policies misses what it must reach.
package main

import (
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
	var (
		names    = flag.String("scenarios", "", "`names` of scenarios to judge, with commas (default: "+strings.Join(allNames(), ",")+")")
		policies = flag.String("policies", "delay,dql", "airtuned's `policies`, with commas: the first is judged, the others are shown")
		seeds    = flag.Uint64("seeds", 3, "how many seeds to run each cell with")
		others   = flag.Uint64("other-seeds", 1, "the same for policies that are only shown, and for the stock kernel")
		jobs     = flag.Int("jobs", runtime.NumCPU(), "how many machines run at a time")
		kernel   = flag.String("kernel", "", "`file` of the kernel to boot, with linux-stock beside it, or the folder with both (default: what \"make lab\" built)")
		out      = flag.String("out", "", "`folder` for the table and the picture (default: docs/lab if all scenarios are judged, else nowhere)")
		kindList = flag.String("run", strings.Join(kinds, ","), "`kinds` of cells to run where they are not in the cache, with commas")
		noRun    = flag.Bool("no-run", false, "run nothing: judge what is in the cache, say what is missing")
		timeout  = flag.Duration("timeout", 20*time.Minute, "real time that a run may take")
	)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	f := field{policies: split(*policies), seeds: *seeds, otherSeeds: min(*others, *seeds)}
	if len(f.policies) == 0 || f.seeds == 0 || f.otherSeeds == 0 {
		return errors.New("-policies, -seeds: want at least one")
	}
	run := split(*kindList)
	for _, k := range run {
		if !slices.Contains(kinds, k) {
			return fmt.Errorf("-run: no kind %q: want %s", k, strings.Join(kinds, ", "))
		}
	}
	if *noRun {
		run = nil
	}
	if *names == "" && *out == "" {
		*out = filepath.Join(root, "docs/lab")
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
	runner := func(kernel string) *cells.Runner {
		return &cells.Runner{
			Bench: bench.Bench{Kernel: kernel, Programs: programs, RealTime: *timeout},
			Cache: cache, Jobs: *jobs, NoRun: len(run) == 0,
		}
	}
	counted := runner(*kernel)
	stock := runner(filepath.Join(filepath.Dir(*kernel), "linux-stock"))

	scenarios, err := load(filepath.Join(root, "lab/scenarios"), split(*names))
	if err != nil {
		return err
	}
	// Of the stock kernel's stations, too: it is what efficiency is measured by.
	if err := counted.AloneRates(ctx, scenarios); err != nil {
		return err
	}
	f.enter(scenarios)
	if err := f.measureAll(ctx, counted, stock, run); err != nil {
		return err
	}

	r := f.judge()
	fmt.Print(r.document())
	for _, m := range f.missing {
		fmt.Fprintln(os.Stderr, "missing:", m)
	}
	if *out != "" {
		if err := write(*out, r, f.picture()); err != nil {
			return err
		}
	}
	if len(r.missed) > 0 {
		return fmt.Errorf("%s misses what it must reach:\n%s", f.policies[0], strings.Join(r.missed, "\n"))
	}
	return nil
}

// allNames are those of all that is judged.
func allNames() (names []string) {
	for _, t := range trials {
		names = append(names, t.name)
	}
	return append(append(names, changing...), limited)
}

// load reads scenarios by name, or all of them.
func load(dir string, names []string) ([]scenario.Scenario, error) {
	if len(names) == 0 {
		names = allNames()
	}
	var found []scenario.Scenario
	for _, name := range names {
		if !slices.Contains(allNames(), name) {
			return nil, fmt.Errorf("-scenarios: nothing is judged in %q", name)
		}
		s, err := scenario.Load(dir, name)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	return found, nil
}

// enter has scenarios judged, with the throughput of a station alone in them.
func (f *field) enter(scenarios []scenario.Scenario) {
	for _, s := range scenarios {
		c := &course{scenario: s}
		switch i := slices.IndexFunc(trials, func(t trial) bool { return t.name == s.Name }); {
		case i >= 0:
			c.trial = trials[i]
			// As long as policies are measured.
			c.scenario.Duration = scenario.Duration(measured)
			f.courses = append(f.courses, c)
		case s.Name == limited:
			f.limited = c
		default:
			f.changing = append(f.changing, c)
		}
	}
}

func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// write makes the document and its picture.
func write(dir string, r *report, picture string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "judge.md"), []byte(r.document()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "judge.svg"), []byte(picture), 0o644)
}
