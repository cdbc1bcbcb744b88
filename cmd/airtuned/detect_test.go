package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"airtuned/testdata/trees"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestDetectGolden compares the whole document of detect for each fixture tree.
func TestDetectGolden(t *testing.T) {
	for _, name := range trees.Names() {
		t.Run(name, func(t *testing.T) {
			tree := filepath.Join("../../testdata/trees", name)
			var stdout, stderr bytes.Buffer
			code := execute(context.Background(), []string{
				"detect", "--json", "--no-netlink",
				"--sys", tree + "/sys", "--debugfs", tree + "/debug", "--proc", tree + "/proc",
			}, &stdout, &stderr)
			want := exitDone
			if name == "no-radios" {
				want = exitNoRadio
			}
			if code != want {
				t.Errorf("exit code %d, want %d\n%s", code, want, stderr.String())
			}
			golden := filepath.Join("testdata/detect", name+".json")
			if *update {
				if err := os.WriteFile(golden, stdout.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(text), stdout.String()); diff != "" {
				t.Errorf("detect --json (-want +got):\n%s", diff)
			}
		})
	}
}
