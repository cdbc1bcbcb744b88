package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"airtuned/daemon/config"
	"airtuned/host"
	"airtuned/tuner"
)

func newRestore(a *app) *cobra.Command {
	var radio string
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Put the original values back",
		Long: `Put back the values that were there before airtuned changed them, from the record
in the state directory.

While the daemon runs, it is asked to do it, and then leaves the radio alone
until it is restarted or airtuned resume lets it go on.`,
		Example: `  sudo airtuned restore
  sudo airtuned restore --radio phy0 --json`,
		GroupID: groupTune,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			release, err := tuner.Lock(a.state)
			if errors.Is(err, tuner.ErrLocked) {
				return a.askForChanges(cmd.Context(), err, "restore", map[string]any{"radio": radio}, "")
			}
			if err != nil {
				return stateError(err)
			}
			defer release()
			env, done := a.env()
			defer done()
			match := func(path, phy string) bool { return true }
			if radio != "" {
				if match, err = a.matching(env, radio); err != nil {
					return err
				}
			}
			all, err := tuner.RestoreAll(env, match)
			if radio == "" {
				own, hostErr := host.Restore(hostEnv(env))
				all, err = append(all, own...), errors.Join(err, hostErr)
			}
			if err == nil && len(all) == 0 && !a.json {
				fmt.Fprintln(a.stdout, "Nothing to restore: no original values are recorded in "+a.state+".")
				return nil
			}
			return a.finishChanges(all, err, "")
		},
	}
	cmd.Flags().StringVar(&radio, "radio", "", "only the radio `SEL`: a device path, phy, interface or chip")
	return cmd
}

// matching returns which records sel means. A radio that is gone can still be
// named by its path or phy; by interface or chip, only one that is there.
func (a *app) matching(env tuner.Env, sel string) (func(path, phy string) bool, error) {
	d, err := tuner.Detect(env, config.Default().SettingsFor)
	if err != nil {
		return nil, err
	}
	radios, err := tuner.Select(d.Radios, sel)
	return func(path, phy string) bool {
		if err != nil {
			return (tuner.Radio{Path: path, Phy: phy}).Matches(sel)
		}
		for _, r := range radios {
			if r.Path == path {
				return true
			}
		}
		return false
	}, nil
}
