// SPDX-License-Identifier: Apache-2.0

// Run runs one scenario of the lab and prints its document, which is the same
// each time. From the top of the source tree:
//
//	go run ./lab/run -scenario one-fast
//	go run ./lab/run -scenario one-fast -limit 1500
//	go run ./lab/run -scenario one-fast -policy delay -duration 30s
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"airtuned/lab/bench"
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
		name     = flag.String("scenario", "one-fast", "`name` in lab/scenarios ("+strings.Join(scenario.Names(dir), ", ")+"), or a file")
		kernel   = flag.String("kernel", "", "`file` of the kernel to boot, or a folder with \"linux\" in it (default: what \"make lab\" built)")
		limit    = flag.Uint("limit", 0, "AQL limit, low and high, in `us` (default: as the scenario says)")
		off      = flag.Bool("off", false, "switch AQL off")
		policy   = flag.String("policy", "", "have airtuned run this `policy`")
		svc      = flag.Int("svc", -1, "have the host serve completions every so many `us` (default: as the scenario says)")
		duration = flag.Duration("duration", 0, "how long to measure (default: as the scenario says)")
		seed     = flag.Uint64("seed", 0, "of all randomness (default: as the scenario says, 1)")
		timeout  = flag.Duration("timeout", 10*time.Minute, "real time that the run may take")
		knobs    = map[string]int{}
		keep     = flag.String("keep", "", "keep the logs of the run in a folder below this `folder`")
	)
	flag.Func("knob", "`file=number` of the radio's phy in debugfs; may be repeated (-kernel linux-patched)", func(text string) error {
		name, value, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(value)
		knobs[name] = n
		return err
	})
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}

	s, err := scenario.Load(dir, *name)
	if err != nil {
		return err
	}
	switch {
	case *off && *limit > 0:
		return fmt.Errorf("-off and -limit exclude each other")
	case *off:
		s.AQL = scenario.AQLOff
	case *limit > 0:
		s.AQL = strconv.FormatUint(uint64(*limit), 10)
	}
	if *policy != "" {
		s.Policy = *policy
	}
	if *svc >= 0 {
		s.SvcUs = scenario.Timeline{{Value: *svc}}
	}
	if len(knobs) > 0 {
		s.Knobs = knobs
	}
	if *duration > 0 {
		s.Duration = scenario.Duration(*duration)
	}
	if *seed > 0 {
		s.Seed = *seed
	}
	if err := s.Check(); err != nil {
		return err
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
	b := bench.Bench{Kernel: *kernel, Programs: programs, RealTime: *timeout, Keep: *keep}
	doc, err := b.Run(ctx, s)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(doc)
	return err
}
