//go:build mips || mipsle

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newReplay stands in for replay where flash is scarce and a recording is made,
// not looked at.
func newReplay(*app) *cobra.Command {
	return &cobra.Command{
		Use:                "replay FILE",
		Short:              "Go through a recording (on a computer: not in builds for MIPS)",
		GroupID:            groupTry,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return &failure{
				exit: exitFailed, code: "not-built", err: errors.New("replay is left out of builds for MIPS, to save flash"),
				next: "copy the recording to a computer and replay it there",
			}
		},
	}
}
