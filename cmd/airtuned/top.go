package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"airtuned/cmd/airtuned/internal/status"
	"airtuned/cmd/airtuned/internal/term"
)

func newTop(a *app) *cobra.Command {
	var plain bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch radios, stations and decisions live in the terminal",
		Long: `Watch what the daemon does, live: limits, what is pending, how long frames are in
the radio, throughput, stations, and the latest decisions with their reasons.

q ends it, tab shows the next radio, arrows scroll, s sorts the stations, d shows
the decisions in full. Only what changes is drawn, and no faster than the line to
the terminal takes it. A daemon that restarts is waited for.

With --plain, and where there is no terminal to draw on, it prints a line for each
radio at each interval.`,
		Example: "  airtuned top\n  airtuned top --plain --interval 10s >>/tmp/airtuned.log",
		GroupID: groupTry,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.json {
				return usagef("use airtuned status --json", "top has no JSON")
			}
			if interval < 100*time.Millisecond || interval > time.Hour {
				return usagef(seeHelp(cmd), "--interval: want 100ms to 1h, got %v", interval)
			}
			f := status.Follower{Socket: a.socket, Interval: interval}
			out, ok := a.stdout.(*os.File)
			if plain || !ok || !term.Look(out).TTY {
				return a.follow(cmd, f, func(s status.Daemon, now time.Time) error {
					for _, l := range status.Plain(s, now) {
						if _, err := fmt.Fprintln(a.stdout, l); err != nil {
							return err
						}
					}
					return nil
				})
			}
			f.Past = true
			l := status.Live{Follower: f, Out: out, In: os.Stdin}
			return l.Run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "print a line for each radio at each interval, for logs")
	cmd.Flags().DurationVar(&interval, "interval", time.Second, "how often, as `TIME`, from 100ms")
	return cmd
}

// follow hands each status to show, and says so when the daemon is away.
func (a *app) follow(cmd *cobra.Command, f status.Follower, show func(status.Daemon, time.Time) error) error {
	away := false
	return f.Follow(cmd.Context(), func(u status.Update) error {
		switch now := time.Now(); {
		case u.Status != nil:
			away = false
			return show(*u.Status, now)
		case u.Away && !away:
			away = true
			_, err := fmt.Fprintln(a.stdout, now.Format(time.RFC3339)+" daemon away, retrying")
			return err
		}
		return nil
	})
}
