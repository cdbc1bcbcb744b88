package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"airtuned/daemon/config"
)

func newConfig(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check, show or explain the configuration",
		Example: `  airtuned config check --config new.yaml
  airtuned config show
  airtuned config example > /etc/airtuned.yaml`,
		GroupID: groupMore,
		Args:    a.subcommand,
		RunE:    func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(newConfigCheck(a), newConfigShow(a), newConfigExample(a))
	return cmd
}

func newConfigCheck(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check a configuration file; exits 2 with file:line if it is bad",
		Example: "  airtuned config check --config new.yaml",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := loadConfig(file); err != nil {
				return err
			}
			if a.json {
				return a.emit(map[string]bool{"ok": true})
			}
			_, err := fmt.Fprintln(a.stdout, "OK: "+checked(file))
			return err
		},
	}
	addConfig(cmd, &file)
	return cmd
}

// checked says what a check was about: without a file there is nothing to check.
func checked(file string) string {
	if file != "" {
		return file
	}
	if _, err := os.Stat(config.DefaultPath); err != nil {
		return "there is no " + config.DefaultPath + ", so the defaults apply"
	}
	return config.DefaultPath
}

func newConfigShow(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "Show what is in force: the configuration and the chips' profiles",
		Example: "  airtuned config show\n  airtuned config show --json | jq '.profiles[].name'",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := loadConfig(file)
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(c.Effective())
			}
			_, err = a.stdout.Write(c.Effective().Marshal())
			return err
		},
	}
	addConfig(cmd, &file)
	return cmd
}

func newConfigExample(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "example",
		Short:   "Print a configuration file that explains every key",
		Example: "  airtuned config example > /etc/airtuned.yaml",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.emit(map[string]string{"example": string(config.Example)})
			}
			_, err := a.stdout.Write(config.Example)
			return err
		},
	}
}
