package main

import (
	"context"
	"encoding/json"
	"errors"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/daemon/control"
)

func newTop(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Watch all radios and stations live in the terminal",
		Long: `Watch what the daemon reports, twice a second, over the whole terminal, the
busiest stations first. Ctrl-C ends it.`,
		Example: "  airtuned top\n  airtuned top --socket /run/airtuned/airtuned.sock",
		GroupID: groupTry,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := term.Look(a.stdout)
			if a.json || !t.TTY {
				return usagef("use airtuned status", "top is for a terminal only")
			}
			c, err := control.Dial(a.socket)
			if err != nil {
				return err
			}
			defer c.Close()
			return a.watchStatus(cmd.Context(), c, t, term.NewFullView(a.stdout, t), 500*time.Millisecond, topText)
		},
	}
}

// topText is the status with the busiest stations first.
func topText(t term.Terminal, s daemonStatus, now time.Time) []string {
	for _, r := range s.Radios {
		sort.SliceStable(r.Stations, func(i, j int) bool {
			return r.Stations[i].ThroughputKbps > r.Stations[j].ThroughputKbps
		})
	}
	return statusText(t, s, now)
}

// watchStatus draws each status the daemon sends until ctx ends, which is not
// an error.
func (a *app) watchStatus(ctx context.Context, c *control.Client, t term.Terminal, v *term.View, interval time.Duration, text func(term.Terminal, daemonStatus, time.Time) []string) error {
	defer v.End()
	err := c.Subscribe(ctx, interval, func(raw json.RawMessage) error {
		s, err := decodeStatus(raw)
		if err != nil {
			return err
		}
		t = term.Look(a.stdout)
		v.Resize(t)
		return v.Draw(text(t, s, time.Now()))
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
