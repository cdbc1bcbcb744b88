package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"airtuned/daemon"
	"airtuned/inet"
	"airtuned/nl80211"
	"airtuned/tree"
)

func newRun(a *app) *cobra.Command {
	var file string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the daemon in the foreground",
		Long: `Keep the limits of all radios right until SIGINT or SIGTERM, then put the original
values back. Radios are followed as they come, go and are renamed. SIGHUP, or a
change of the file, makes it read its configuration again; a bad one is refused.
The log goes to standard error.`,
		Example: `  sudo airtuned run
  sudo airtuned run --config /etc/airtuned.yaml --verbose`,
		GroupID: groupTune,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := loadConfig(file); err != nil {
				return err
			}
			env, done := a.env()
			defer done()
			env.Log = a.logger(verbose)
			o := daemon.Options{Env: env, Etc: tree.Dir("/etc"), Config: file, Version: buildVersion()}
			if cmd.Flags().Changed("socket") {
				o.Socket = a.socket
			}
			if c, ok := env.Netlink.(*nl80211.Client); ok {
				o.Events = c.Events
				if inet.Built {
					o.Sockets = (*inet.Snapshot).Read
				}
			}
			err := daemon.Run(cmd.Context(), o)
			if pe := (*fs.PathError)(nil); errors.As(err, &pe) && strings.HasPrefix(pe.Path, a.state) {
				return stateError(err)
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(map[string]string{"stopped": "on request"})
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&verbose, "verbose", false, "log every change of a limit")
	addConfig(cmd, &file)
	return cmd
}

// logger writes to standard error: text, or JSON with --json, and without the
// time where the journal adds it.
func (a *app) logger(verbose bool) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if verbose {
		o.Level = slog.LevelDebug
	}
	if os.Getenv("JOURNAL_STREAM") != "" {
		o.ReplaceAttr = func(groups []string, at slog.Attr) slog.Attr {
			if len(groups) == 0 && at.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return at
		}
	}
	if a.json {
		return slog.New(slog.NewJSONHandler(a.stderr, o))
	}
	return slog.New(slog.NewTextHandler(a.stderr, o))
}
