package main

import (
	"context"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"airtuned/cmd/airtuned/internal/demo"
	"airtuned/cmd/airtuned/internal/term"
	"airtuned/radiosim"
)

// TestReadme holds the README to what the demo says: each block of text after a
// comment with a command is what that command shows.
func TestReadme(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("runs whole demos")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round differently, so that the figures differ a little")
	}
	t.Setenv("TMPDIR", t.TempDir())
	const file = "../../README.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)<!-- airtuned demo(?: --scenario ([a-z-]+))?(, on a terminal of 80x24)? -->\n```\n(.*?)```\n")
	n := 0
	got := block.ReplaceAllFunc(text, func(old []byte) []byte {
		n++
		m := block.FindSubmatch(old)
		head, _, _ := strings.Cut(string(old), "```\n")
		return []byte(head + "```\n" + shown(t, string(m[1]), m[2] != nil) + "```\n")
	})
	if n < 4 {
		t.Errorf("%d blocks in %s, want at least 4", n, file)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), string(got)); diff != "" {
		t.Errorf("the README is out of date; go test ./cmd/airtuned -run Readme -update renews it (-README +demo):\n%s", diff)
	}
}

// shown is what a demo with the default flags shows: its table, or its chart.
func shown(t *testing.T, scenario string, chart bool) string {
	if scenario == "" {
		scenario = defaultScenario
	}
	sc, err := radiosim.Lookup(scenario)
	if err != nil {
		t.Fatal(err)
	}
	opt := demo.Options{Scenario: sc, Policies: slices.Clone(defaultPolicies), Seed: 1}
	run := demo.Start(context.Background(), opt)
	report, err := run.Wait()
	if err != nil {
		t.Fatal(err)
	}
	tm := term.Terminal{Width: 80, Height: 24, Unicode: true}
	lines := report.Table(tm)
	if chart {
		lines = demo.Chart(tm, demoTitle(opt), run.Policies, run.Points(), run.Total)
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return b.String()
}
