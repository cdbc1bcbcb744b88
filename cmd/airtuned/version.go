package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker (-X main.version=...) in releases.
var version string

// buildVersion is the version of this program as well as it can be told.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  airtuned version\n  airtuned version --json",
		GroupID: groupMore,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

// printVersion is what version does, and --version.
func (a *app) printVersion() error {
	v := struct {
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{buildVersion(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if a.json {
		return a.emit(v)
	}
	_, err := fmt.Fprintf(a.stdout, "airtuned %s (%s, %s)\n", v.Version, v.Go, v.Platform)
	return err
}
