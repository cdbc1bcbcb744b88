package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airtuned/cmd/airtuned/internal/compare"
	"airtuned/cmd/airtuned/internal/term"
	"airtuned/daemon/control"
	"airtuned/policies"
	"airtuned/tree"
)

func newCompare(a *app) *cobra.Command {
	o := compare.Options{Seed: uint64(time.Now().UnixNano())}
	var radio, flent string
	var passive bool
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Compare two policies on the live radio, in turns",
		Long: `Have the daemon put two policies in force in turns, in random order, and measure
throughput, time in the hardware queue, pings to the stations, and drops. It says
by how much they differ, and "no difference" when chance alone explains it. What
was in force comes back at the end, at Ctrl-C, and soon after a crash.

Let there be traffic meanwhile: without any, no policy makes a difference.
Exits 3 when no limits can be put in force, 5 when no daemon answers.`,
		Example: `  sudo airtuned compare
  sudo airtuned compare --a kernel-default --b delay --interval 20s --rounds 12
  sudo airtuned compare --passive --flent evening.flent`,
		GroupID: groupTry,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, p := range []string{o.A, o.B} {
				if !slices.Contains(policies.Names(), p) {
					return usagef("", "unknown policy %q, want one of %s", p, strings.Join(policies.Names(), ", "))
				}
			}
			if err := o.Check(); err != nil {
				return usage(err, "")
			}
			if flent != "" && !strings.HasSuffix(flent, ".flent") {
				return usagef("", "--flent %s: the name must end in .flent", flent)
			}
			return a.compare(cmd.Context(), o, radio, flent, passive)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.A, "a", "kernel-default", "one `POLICY`: "+strings.Join(policies.Names(), ", "))
	f.StringVar(&o.B, "b", "delay", "the other `POLICY`")
	f.DurationVar(&o.Interval, "interval", 20*time.Second, "how much `TIME` each is measured in a round")
	f.DurationVar(&o.Settle, "settle", 15*time.Second, "how much `TIME` each has before that to find its place")
	f.IntVar(&o.Rounds, "rounds", 12, fmt.Sprintf("`N` rounds of both, at least %d", compare.MinRounds))
	f.StringVar(&radio, "radio", "", "which `RADIO`: a path, phy, interface or chip")
	f.BoolVar(&passive, "passive", false, "send no pings")
	f.StringVar(&flent, "flent", "", "write NAME-a.flent and NAME-b.flent for flent to plot (`NAME.flent`)")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "`SEED` of the order")
	f.Lookup("seed").DefValue = "0" // none: it is another one each time
	f.SortFlags = false
	completeFlag(cmd, "a", policies.Names())
	completeFlag(cmd, "b", policies.Names())
	return cmd
}

func (a *app) compare(ctx context.Context, o compare.Options, radio, flent string, passive bool) error {
	dial := func() (*control.Client, error) { return control.Dial(a.socket) }
	c, err := dial()
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := compare.Find(ctx, c, radio)
	if errors.Is(err, compare.ErrManyRadios) {
		return usage(err, "say which by --radio")
	}
	if err != nil {
		return err
	}
	live := &compare.Live{Radio: found.Path, Dial: dial}
	if !passive {
		live.Pings, err = compare.NewPinger(tree.Dir(a.proc))
		if errors.Is(err, compare.ErrNoPing) {
			return &failure{exit: exitNotPermitted, code: "not-permitted", err: err, next: "be root, or use --passive"}
		}
		if err != nil {
			return err
		}
		defer live.Pings.Close()
	}
	var names []string
	defer func() {
		for _, name := range names { // what it did not come to write
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
				os.Remove(name)
			}
		}
	}()
	if flent != "" {
		for _, side := range []string{"a", "b"} {
			name := strings.TrimSuffix(flent, ".flent") + "-" + side + ".flent"
			// Now, rather than after a quarter of an hour; an older experiment stays until
			// this one has an end.
			f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
			if err != nil {
				return err
			}
			f.Close()
			names = append(names, name)
		}
	}
	say := func(format string, args ...any) {
		if !a.json {
			fmt.Fprintf(a.stderr, format+"\n", args...)
		}
	}
	say("%s (A) against %s (B) on %s, %d rounds, %v; %s comes back after that, or at Ctrl-C", o.A, o.B, found.Phy, o.Rounds, o.Duration(), found.Policy)
	rep, err := compare.Run(ctx, o, live, func(l *compare.Leg) { say("%2d/%d %s", l.Round, o.Rounds, l.Line()) })
	switch {
	case errors.Is(err, compare.ErrNotInForce):
		return &failure{exit: exitNoRadio, code: "not-in-force", err: err, next: "airtuned detect says what can be tuned"}
	case errors.Is(err, compare.ErrDisturbed):
		return &failure{exit: exitFailed, code: "disturbed", err: err, next: "start it again once nothing else changes the radio"}
	case err != nil && rep == nil:
		return err
	}
	if live.Pings != nil {
		if pinged, stations := live.Pings.Reach(); pinged < stations {
			rep.Notes = append(rep.Notes, fmt.Sprintf("%d of %d stations were pinged: of others this machine has no IPv4 address, or there are too many", pinged, stations))
		}
	}
	for i, name := range names {
		text, ferr := rep.Flent(string("AB"[i]), found.Phy)
		if ferr == nil {
			ferr = os.WriteFile(name, text, 0o666)
		}
		err = errors.Join(err, ferr)
	}
	if err != nil {
		err = &failure{exit: exitFailed, code: "failed", err: err, result: rep}
		if a.json {
			return err
		}
	}
	if a.json {
		return a.emit(rep)
	}
	for _, l := range rep.Lines(term.Look(a.stdout)) {
		fmt.Fprintln(a.stdout, l)
	}
	return err
}
