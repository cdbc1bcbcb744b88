package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/daemon/control"
)

func newStatus(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Ask the daemon what it does",
		Long: `Ask the daemon over its socket what it does with each radio and why.
Exits 5 when no daemon answers.`,
		Example: `  airtuned status
  airtuned status --watch
  airtuned status --json | jq '.radios[] | {phy, state, reason}'`,
		GroupID: groupTry,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch && a.json {
				return usagef("leave out one of them", "--watch never ends, and --json prints one document")
			}
			c, err := control.Dial(a.socket)
			if err != nil {
				return err
			}
			defer c.Close()
			t := term.Look(a.stdout)
			if watch {
				return a.watchStatus(cmd.Context(), c, t, term.NewView(a.stdout, t), time.Second, statusText)
			}
			var text json.RawMessage
			if err := c.Call(cmd.Context(), "status", nil, &text); err != nil {
				return err
			}
			if a.json {
				return a.emit(text)
			}
			s, err := decodeStatus(text)
			if err != nil {
				return err
			}
			for _, l := range statusText(t, s, time.Now()) {
				fmt.Fprintln(a.stdout, l)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "keep the answer up to date until Ctrl-C")
	return cmd
}
