package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"airtuned/daemon/control"
)

func newResume(a *app) *cobra.Command {
	var radio string
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Let the daemon go on with a radio it holds",
		Long: `Let the daemon go back to its policy on radios that it leaves alone, because of
airtuned tune or restore, or because another program changed their limits.`,
		Example: `  sudo airtuned resume
  sudo airtuned resume --radio phy0`,
		GroupID: groupTune,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := control.Dial(a.socket)
			if err != nil {
				return err
			}
			defer c.Close()
			params := map[string]any{}
			if radio != "" {
				params["radio"] = radio
			}
			var doc struct{}
			if err := c.Call(cmd.Context(), "resume", params, &doc); err != nil {
				return err
			}
			if a.json {
				a.emit(doc)
				return nil
			}
			fmt.Fprintln(a.stdout, "The daemon goes on. Next: airtuned status.")
			return nil
		},
	}
	cmd.Flags().StringVar(&radio, "radio", "", "only the radio `SEL`: a device path, phy, interface or chip")
	return cmd
}
