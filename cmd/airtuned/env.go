package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"airtuned/daemon/config"
	"airtuned/host"
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
	if withBPF != nil && a.sys == "/sys" { // not of a fixture
		env.Debug = withBPF(a.sys, env.Debug)
	}
	if a.noNetlink {
		return env, func() {}
	}
	c := nl80211.New()
	env.Netlink = c
	return env, func() { c.Close() }
}

// withBPF puts on top of debugfs what BPF counts, in builds with the tag bpf.
var withBPF func(sys string, debug tree.FS) tree.FS

// hostEnv is the way to what concerns the machine and no radio.
func hostEnv(env tuner.Env) host.Env { return host.Env{Env: env, Etc: tree.Dir("/etc")} }

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
