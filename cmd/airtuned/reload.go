package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"airtuned/daemon/control"
)

func newReload(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Have the daemon read its configuration again",
		Long: `Have the daemon read its configuration again, and say whether it took it over. A
bad one is refused as a whole. (It also does so by itself when the file changes.)`,
		Example: `  sudo airtuned reload
  sudo airtuned reload --json`,
		GroupID: groupTune,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := control.Dial(a.socket)
			if err != nil {
				return err
			}
			defer c.Close()
			var doc struct {
				Config string `json:"config"`
			}
			if err := c.Call(cmd.Context(), "reload", nil, &doc); err != nil {
				return err
			}
			if a.json {
				a.emit(doc)
				return nil
			}
			fmt.Fprintln(a.stdout, doc.Config+" is in force.")
			return nil
		},
	}
}
