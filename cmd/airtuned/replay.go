//go:build (!mips && !mipsle) || full

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"airtuned/cmd/airtuned/internal/replay"
	"airtuned/cmd/airtuned/internal/term"
	"airtuned/policies"
	"airtuned/recording"
)

func newReplay(a *app) *cobra.Command {
	var policy string
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Go through a recording, and see what another policy would decide",
		Long: `Go through a recording that airtuned record made, on any machine: sense its
readings anew, ask the recorded policy again and, with --policy, another one, and
show each moment at which one of them changes its mind. Nothing is tuned.

It is open loop: the other policy sees what the recorded limits brought about.
Exits 1 if the file is damaged, after what could be read.`,
		Example: `  airtuned replay evening.rec
  airtuned replay evening.rec --policy dql
  airtuned replay evening.rec --json | jq '.radios[] | {decisions, identical}'`,
		GroupID: groupTry,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef(seeHelp(cmd), "replay wants one FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if policy != "" && !slices.Contains(policies.Names(), policy) {
				return usagef("", "unknown policy %q, want one of %s", policy, strings.Join(policies.Names(), ", "))
			}
			f, err := os.OpenFile(args[0], os.O_RDONLY|unix.O_NONBLOCK, 0) // it may be a named pipe
			if err != nil {
				return err
			}
			defer f.Close()
			ctx := cmd.Context()
			defer context.AfterFunc(ctx, func() { f.Close() })()
			rep, err := replay.Run(f, policy)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if errors.Is(err, recording.ErrNewer) {
				return &failure{exit: exitFailed, code: "newer", err: fmt.Errorf("%s: %w", args[0], err), next: "update airtuned"}
			}
			if err != nil {
				return &failure{exit: exitFailed, code: "damaged", err: fmt.Errorf("%s: %w", args[0], err), next: "is it what airtuned record wrote?"}
			}
			if rep.Damage != "" && a.json {
				return &failure{exit: exitFailed, code: "damaged", err: fmt.Errorf("%s: %s", args[0], rep.Damage), result: rep}
			}
			if a.json {
				return a.emit(rep)
			}
			for _, l := range rep.Lines(term.Look(a.stdout)) {
				fmt.Fprintln(a.stdout, l)
			}
			if rep.Damage != "" {
				return &failure{exit: exitFailed, code: "damaged", err: fmt.Errorf("%s: %s", args[0], rep.Damage)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&policy, "policy", "", "the `POLICY` to ask as well: "+strings.Join(policies.Names(), ", "))
	completeFlag(cmd, "policy", policies.Names())
	return cmd
}
