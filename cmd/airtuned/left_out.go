//go:build (mips || mipsle) && !full

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// leftOut stands in for a command where flash is scarce.
func leftOut(use, short, next string) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		Short:              short + " (on a computer: not in builds for MIPS)",
		GroupID:            groupTry,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return &failure{
				exit: exitFailed, code: "not-built",
				err:  errors.New(cmd.Name() + " is left out of builds for MIPS, to save flash"),
				next: next,
			}
		},
	}
}

// Recordings are made on a router, and looked at elsewhere.
func newReplay(*app) *cobra.Command {
	return leftOut("replay FILE", "Go through a recording", "copy the recording to a computer and replay it there")
}

// The demo shows the same everywhere.
func newDemo(*app) *cobra.Command {
	return leftOut("demo", "See the effect on a simulated radio", "run it on a computer: any with Linux will do")
}
