// Command airtuned keeps Wi-Fi latency low at full throughput. Each file here
// is one subcommand: it reads flags, calls the package that does the work and
// prints what came of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"airtuned/daemon/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// app is what every subcommand shares: the global flags and the outputs.
type app struct {
	stdout, stderr io.Writer

	json      bool
	sys       string
	debugfs   string
	proc      string
	socket    string
	state     string
	noNetlink bool
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	// The flag is needed before flags are parsed, and when they cannot be.
	a := &app{stdout: stdout, stderr: stderr, json: wantsJSON(args)}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.finish(root.ExecuteContext(ctx))
}

// wantsJSON looks for --json among arguments that may not parse.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch {
		case arg == "--":
			return false
		case arg == "--json":
			return true
		case strings.HasPrefix(arg, "--json="):
			on, err := strconv.ParseBool(strings.TrimPrefix(arg, "--json="))
			return err == nil && on
		}
	}
	return false
}

// newRoot builds the whole command tree.
func newRoot(a *app) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "airtuned",
		Short: "Keep Wi-Fi latency low at full throughput",
		Long: `airtuned finds the smallest hardware queue that never starves the air, for each
ath10k and mac80211 radio, and keeps it there while rates and stations change.

Start with "airtuned demo" (any machine, no hardware) or "airtuned detect".`,
		Example: `  airtuned demo                     the effect, on a simulated radio
  airtuned detect                   what can be tuned on this machine
  sudo airtuned tune --dry-run      what one shot would change
  sudo airtuned run                 the daemon, in the foreground`,
		Args: func(cmd *cobra.Command, args []string) error {
			if version && len(args) == 0 {
				return nil
			}
			return a.subcommand(cmd, args)
		},
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			// The daemon may have been told another path, and so are its clients.
			if c, err := config.Load(""); err == nil && !cmd.Flags().Changed("socket") {
				a.socket = c.Socket.Path
			}
		},
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddGroup(&cobra.Group{ID: groupTry, Title: "Try and look:"}, &cobra.Group{ID: groupTune, Title: "Tune:"}, &cobra.Group{ID: groupMore, Title: "More:"})
	root.SetHelpCommandGroupID(groupMore)
	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", a.json, "print exactly one JSON document on standard output")
	f.StringVar(&a.sys, "sys", "/sys", "the `DIR` where sysfs is mounted")
	f.StringVar(&a.debugfs, "debugfs", "/sys/kernel/debug", "the `DIR` where debugfs is mounted")
	f.StringVar(&a.proc, "proc", "/proc", "the `DIR` where procfs is mounted")
	f.StringVar(&a.socket, "socket", config.Default().Socket.Path, "`PATH` of the daemon's control socket")
	f.StringVar(&a.state, "state", config.RunDir(), "the `DIR` where original values are kept")
	f.BoolVar(&a.noNetlink, "no-netlink", false, "use file trees only: for fixtures and containers")
	f.SortFlags = false

	// Not root.Version: its template would make the binary a third bigger.
	root.Flags().BoolVar(&version, "version", false, "print the version")

	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var bad *pflag.InvalidValueError
		if errors.As(err, &bad) {
			err = fmt.Errorf("--%s: %q is not %s", bad.GetFlag().Name, bad.GetValue(), kind(bad.GetFlag().Value.Type()))
		}
		return usage(err, seeHelp(cmd))
	})
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if !a.json {
			help(cmd, args)
			return
		}
		var b strings.Builder
		cmd.SetOut(&b)
		help(cmd, args)
		a.emit(map[string]string{"help": b.String()})
	})
	root.AddCommand(
		newDemo(a), newDetect(a), newStatus(a), newTop(a), newMetrics(a),
		newCompare(a), newRecord(a), newReplay(a),
		newRun(a), newTune(a), newRestore(a), newResume(a), newReload(a), newConfig(a),
		newReport(a), newVersion(a), newCompletion(a),
	)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = a.helpTopic
	}
	return root
}

// kind is in words what a type of flag takes.
func kind(flagType string) string {
	switch flagType {
	case "bool":
		return "true or false"
	case "duration":
		return "a time with its unit, like 20s"
	case "uint64", "int":
		return "a whole number from 0 on"
	}
	return "a " + flagType
}

// Where a subcommand stands in the help of the whole.
const (
	groupTry  = "try"
	groupTune = "tune"
	groupMore = "more"
)

// subcommand is the argument check of a command that only has subcommands.
func (a *app) subcommand(cmd *cobra.Command, args []string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	choices := strings.Join(names, ", ")
	if len(args) == 0 {
		return usagef(seeHelp(cmd), "which command? one of %s", choices)
	}
	cmd.SuggestionsMinimumDistance = min(2, len(args[0])/2)
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		return usagef(seeHelp(cmd), "unknown command %q (did you mean %s?)", args[0], strings.Join(s, " or "))
	}
	return usagef(seeHelp(cmd), "unknown command %q, want one of %s", args[0], choices)
}

// helpTopic is the argument check of help: what it is asked about is a command.
func (a *app) helpTopic(cmd *cobra.Command, args []string) error {
	topic, rest, err := cmd.Root().Find(args)
	switch {
	case err != nil:
		return usage(err, seeHelp(cmd.Root()))
	case len(rest) > 0 && topic.HasSubCommands():
		return a.subcommand(topic, rest)
	}
	return nil
}

// noArgs is the argument check of a command that takes none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef(seeHelp(cmd), "%s takes no argument, got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

func seeHelp(cmd *cobra.Command) string { return "see " + cmd.CommandPath() + " --help" }
