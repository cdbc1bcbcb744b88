//go:build mips || mipsle

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newCompare stands in for compare where flash is scarce: what it does over the
// control socket can be done from a computer.
func newCompare(*app) *cobra.Command {
	return &cobra.Command{
		Use:                "compare",
		Short:              "Compare two policies in turns (from a computer: not in builds for MIPS)",
		Example:            "  computer$ ssh -fN -L /tmp/r.sock:/run/airtuned/airtuned.sock root@router\n  computer$ airtuned compare --socket /tmp/r.sock",
		GroupID:            groupTry,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return &failure{
				exit: exitFailed, code: "not-built", err: errors.New("compare is left out of builds for MIPS, to save flash"),
				next: "forward the socket by ssh -L to a computer and compare there",
			}
		},
	}
}
