package main

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newCompletion(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for " + strings.Join(shells, ", "),
		Long:  `Print a completion script. The one for bash needs the package bash-completion.`,
		Example: `  source <(airtuned completion bash)
  airtuned completion zsh > "${fpath[1]}/_airtuned"
  airtuned completion fish > ~/.config/fish/completions/airtuned.fish`,
		GroupID:   groupMore,
		ValidArgs: shells,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return usagef(seeHelp(cmd), "completion wants one shell: %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var script bytes.Buffer
			generate := map[string]func(io.Writer) error{
				"bash": func(w io.Writer) error { return cmd.Root().GenBashCompletionV2(w, true) },
				"zsh":  cmd.Root().GenZshCompletion,
				"fish": func(w io.Writer) error { return cmd.Root().GenFishCompletion(w, true) },
			}[args[0]]
			if err := generate(&script); err != nil {
				return err
			}
			if a.json {
				return a.emit(map[string]string{"shell": args[0], "script": script.String()})
			}
			_, err := script.WriteTo(a.stdout)
			return err
		},
	}
}

// completeFlag makes the shell offer the values of a flag.
func completeFlag(cmd *cobra.Command, flag string, values []string) {
	// It fails for an unknown flag only, and then there is nothing to complete.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
