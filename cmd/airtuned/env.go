package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"airtuned/daemon/config"
	"airtuned/nl80211"
	"airtuned/tree"
	"airtuned/tuner"
)

// env is the way to the system that the global flags describe, without a log:
// one-shot commands say on standard output what they do.
func (a *app) env() (env tuner.Env, done func()) {
	env = tuner.Env{
		Sys:      tree.Dir(a.sys),
		Debug:    tree.Dir(a.debugfs),
		Proc:     tree.Dir(a.proc),
		StateDir: a.state,
		Log:      slog.New(slog.DiscardHandler),
	}
	if a.noNetlink {
		return env, func() {}
	}
	c, err := nl80211.Dial()
	if err != nil {
		env.Netlink = noNetlink{err}
		return env, func() {}
	}
	env.Netlink = c
	return env, func() { c.Close() }
}

// noNetlink stands for nl80211 where it cannot be reached, so that whoever asks
// learns why.
type noNetlink struct{ err error }

func (n noNetlink) Wiphys() ([]nl80211.Wiphy, error)         { return nil, n.err }
func (n noNetlink) Interfaces() ([]nl80211.Interface, error) { return nil, n.err }
func (n noNetlink) Stations(int) ([]nl80211.Station, error)  { return nil, n.err }
func (n noNetlink) Firmware(string) (string, error)          { return "", n.err }

// addConfig adds the flag that names the configuration file.
func addConfig(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "config", "", "configuration `FILE` (default "+config.DefaultPath+", if it exists)")
}

// loadConfig reads the configuration, which is a usage error when bad.
func loadConfig(file string) (config.Config, error) {
	c, err := config.Load(file)
	if err != nil {
		return c, &failure{exit: exitUsage, code: "config", err: err, next: "airtuned config example shows a valid file"}
	}
	return c, nil
}
