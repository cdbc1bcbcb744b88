//go:build (!mips && !mipsle) || full

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airtuned/cmd/airtuned/internal/demo"
	"airtuned/cmd/airtuned/internal/term"
	"airtuned/policies"
	"airtuned/radiosim"
)

// What the demo shows without flags.
const defaultScenario = "crowd"

var defaultPolicies = []string{demo.Baseline, "static", "dql", "delay"}

func newDemo(a *app) *cobra.Command {
	var scenario, policy string
	var duration time.Duration
	var seed uint64
	var list strings.Builder
	var scenarios []string
	for _, sc := range radiosim.Scenarios() {
		scenarios = append(scenarios, sc.Name)
		fmt.Fprintf(&list, "\n  %-14s %s", sc.Name, sc.Description)
	}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See the effect on a simulated radio: any machine, no hardware",
		Long: `Run the real loop on a simulated radio, on virtual time, under one policy after
the other, and compare what each does to latency and throughput. The kernel left
alone (` + demo.Baseline + `) is always the first. Nothing on this machine is tuned.

Latency is what a ping through the access point feels while downloads run. The
first seconds, in which TCP finds its place, are shown and not judged; all that
the policies need to find their limits after that is.

Policies:
  kernel-default  the kernel's own limits
  static          fixed limits that suit a fast host
  dql             a loop after the kernel's dynamic queue limits for Ethernet
  delay           the loop airtuned uses: the smallest limit that costs no airtime
  observe         limits are left as they are

Scenarios:` + list.String(),
		Example: `  airtuned demo
  airtuned demo --scenario slow-host --policy static,delay
  airtuned demo --json --seed 7 | jq '.results[] | {policy, latency_ms}'`,
		GroupID: groupTry,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sc, err := radiosim.Lookup(scenario)
			if err != nil {
				return usage(err, "")
			}
			names := strings.Split(policy, ",")
			for i, name := range names {
				names[i] = strings.TrimSpace(name)
				if !slices.Contains(policies.Names(), names[i]) {
					return usagef("", "unknown policy %q, want some of %s", names[i], strings.Join(policies.Names(), ","))
				}
			}
			if cmd.Flags().Changed("duration") && (duration < minDemo || duration > maxDemo) {
				return usagef("", "duration %v is out of range: %v to %v of virtual time", duration, minDemo, maxDemo)
			}
			return a.demo(cmd.Context(), demo.Options{Scenario: sc, Policies: names, Duration: duration, Seed: seed})
		},
	}
	f := cmd.Flags()
	f.StringVar(&scenario, "scenario", defaultScenario, "`NAME` of the simulated network, see above")
	f.StringVar(&policy, "policy", strings.Join(defaultPolicies, ","), "the `POLICIES` to compare: "+strings.Join(policies.Names(), ", "))
	f.DurationVar(&duration, "duration", 0, "virtual `TIME` to judge, after the warm-up (default the scenario's)")
	f.Uint64Var(&seed, "seed", 1, "`N` starts the random numbers: the same gives the same result")
	completeFlag(cmd, "scenario", scenarios)
	completeFlag(cmd, "policy", policies.Names())
	return cmd
}

// The bounds of virtual time: less judges nothing, more does not end while one
// waits.
const (
	minDemo = time.Second
	maxDemo = time.Hour
)

// demoPace is how long a demo takes at least while somebody watches.
const demoPace = 10 * time.Second

// demo runs it and shows how it goes and what came out.
func (a *app) demo(ctx context.Context, opt demo.Options) error {
	t := term.Look(a.stdout)
	watched := !a.json && t.TTY
	if watched {
		opt.Pace = demoPace
	}
	run := demo.Start(ctx, opt)
	if watched {
		a.demoChart(run, opt, t)
	}
	report, err := run.Wait()
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if a.json {
		return a.emit(report)
	}
	if !t.TTY {
		fmt.Fprintln(a.stdout, demoTitle(opt))
	}
	text := append([]string{""}, report.Table(t)...)
	text = append(text, "")
	for _, sentence := range report.Summary() {
		text = append(text, term.Wrap(sentence, t.Width-1)...)
	}
	_, err = fmt.Fprintln(a.stdout, strings.Join(text, "\n"))
	return err
}

func demoTitle(opt demo.Options) string {
	return "airtuned demo, " + opt.Scenario.Name + ": " + opt.Scenario.Description
}

// demoChart draws the run ten times a second until it has ended.
func (a *app) demoChart(run *demo.Run, opt demo.Options, t term.Terminal) {
	v := term.NewView(a.stdout, t)
	defer v.End()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-run.Done():
			ended = true
		case <-tick.C:
		}
		t = term.Look(a.stdout)
		v.Resize(t)
		if v.Draw(demo.Chart(t, demoTitle(opt), run.Policies, run.Points(), run.Total)) != nil {
			return
		}
	}
}
