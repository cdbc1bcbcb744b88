package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"airtuned/cmd/airtuned/internal/report"
	"airtuned/daemon/config"
	"airtuned/daemon/control"
	"airtuned/tree"
)

func newReport(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "report [FILE]",
		Short: "Make one text for a bug report",
		Long: `Make one text of what a bug report needs, on standard output or in FILE: versions,
what detect finds, the configuration, what the daemon does and did in the last
minutes, and every file of /sys that airtuned reads to find and watch radios.
Nothing is changed.

MAC and IP addresses, names of networks and of this host are replaced, the same
ones by the same. Look at it before you send it.`,
		Example: "  sudo airtuned report report.txt",
		GroupID: groupMore,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef(seeHelp(cmd), "report takes at most one FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.report(cmd.Context(), file)
			if err != nil {
				return err
			}
			switch {
			case len(args) == 1:
				if err := os.WriteFile(args[0], []byte(text), 0o644); err != nil {
					return err
				}
				if a.json {
					return a.emit(map[string]any{"file": args[0], "bytes": len(text)})
				}
				_, err = fmt.Fprintf(a.stdout, "%s: %d bytes. Look at it before you send it.\n", args[0], len(text))
			case a.json:
				return a.emit(map[string]string{"report": text})
			default:
				_, err = fmt.Fprint(a.stdout, text)
			}
			return err
		},
	}
	addConfig(cmd, &file)
	return cmd
}

func (a *app) report(ctx context.Context, file string) (string, error) {
	c, err := config.Load(file)
	refused := ""
	if err != nil { // which is what the report may be about
		c = config.Default()
		refused = fmt.Sprintf("(the configuration file cannot be used, these are the defaults: %v)\n", err)
	}
	env, done := a.env()
	defer done()
	s := report.Source{
		Env: env, Choose: c.SettingsFor, Config: append([]byte(refused), c.Effective().Marshal()...), Etc: tree.Dir("/etc"),
		Versions: fmt.Sprintf("airtuned %s (%s, %s/%s)\n", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH),
		Ask: func(method string, result any) error {
			client, err := control.Dial(a.socket)
			if err != nil {
				return err
			}
			defer client.Close()
			return client.Call(ctx, method, nil, result)
		},
		Wait: func(d time.Duration) {
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
		},
	}
	if env.Netlink != nil {
		interfaces, _ := env.Netlink.Interfaces()
		for _, i := range interfaces {
			s.SSIDs = append(s.SSIDs, i.SSID)
		}
	}
	return report.Make(s, time.Now()), ctx.Err()
}
