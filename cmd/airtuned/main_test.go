package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"airtuned": main})
}

// TestScript runs each script of testdata/script against the command as a user
// runs it. The fixture trees are at $TREES.
func TestScript(t *testing.T) {
	trees, err := filepath.Abs("../../testdata/trees")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: false,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TREES", trees)
			env.Setenv("GOCOVERDIR", os.Getenv("GOCOVERDIR"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "race" {
				return raceEnabled, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"onejson": oneJSON,
			"oneline": oneLineOf,
			"await":   await,
		},
	})
}

// TestHelp holds for every command: a summary, an example that names it, and
// no flag without an explanation.
func TestHelp(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "help" {
			return
		}
		t.Run(strings.ReplaceAll(cmd.CommandPath(), " ", "/"), func(t *testing.T) {
			if cmd.Short == "" {
				t.Error("no summary")
			}
			if !strings.Contains(cmd.Example, cmd.CommandPath()) {
				t.Errorf("example does not name %q: %q", cmd.CommandPath(), cmd.Example)
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&app{}))
}
