package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"airtuned/cmd/airtuned/internal/status"
	"airtuned/cmd/airtuned/internal/term"
	"airtuned/daemon/control"
)

func newStatus(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Ask the daemon what it does and why",
		Long: `Ask the daemon over its socket what it does with each radio, why, and what comes
of it. Exits 5 when no daemon answers.`,
		Example: `  airtuned status
  airtuned status --watch
  airtuned status --json | jq '.radios[] | {phy, state, reason}'`,
		GroupID: groupTry,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch && a.json {
				return usagef("leave out one of them", "--watch never ends, and --json prints one document")
			}
			if watch {
				return a.watchStatus(cmd)
			}
			c, err := control.Dial(a.socket)
			if err != nil {
				return err
			}
			defer c.Close()
			var text json.RawMessage
			if err := c.Call(cmd.Context(), "status", nil, &text); err != nil {
				return err
			}
			if a.json {
				return a.emit(text)
			}
			s, err := status.Decode(text)
			if err != nil {
				return err
			}
			for _, l := range status.Text(term.Look(a.stdout), s, time.Now()) {
				fmt.Fprintln(a.stdout, l)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "keep the answer up to date until Ctrl-C")
	return cmd
}

// watchStatus keeps the answer up to date until it is interrupted.
func (a *app) watchStatus(cmd *cobra.Command) error {
	v := term.NewView(a.stdout, term.Look(a.stdout))
	defer v.End()
	var last status.Daemon
	f := status.Follower{Socket: a.socket, Interval: time.Second}
	return f.Follow(cmd.Context(), func(u status.Update) error {
		t := term.Look(a.stdout)
		v.Resize(t)
		if u.Status != nil {
			last = *u.Status
		}
		lines := status.Text(t, last, time.Now())
		if u.Away {
			lines[0] += "  " + t.Paint(term.Red, "daemon away, retrying")
		}
		return v.Draw(lines)
	})
}
