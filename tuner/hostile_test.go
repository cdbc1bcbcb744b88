package tuner

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/tree"
)

// Whatever stands where a file of the kernel is expected, nothing panics,
// blocks or keeps the other radio from being tuned.
func TestHostileTree(t *testing.T) {
	if testing.Short() {
		t.Skip("some thousand trees")
	}
	replace := map[string]func(path string) error{
		"missing": func(string) error { return nil },
		"empty":   func(p string) error { return os.WriteFile(p, nil, 0o644) },
		"garbage": func(p string) error {
			return os.WriteFile(p, []byte("\x00\xff\x1b[31m\n%s%n -1 99999999999999999999\n"), 0o644)
		},
		"cut": func(p string) error {
			return os.WriteFile(p, []byte("AC\tAQL limit low\tAQL limit high\nVO\t50"), 0o644)
		},
		"huge":      func(p string) error { return unix.Truncate(p, 1<<33) },
		"directory": func(p string) error { return os.Mkdir(p, 0o755) },
		"fifo":      func(p string) error { return unix.Mkfifo(p, 0o644) },
		"loop":      func(p string) error { return os.Symlink(filepath.Base(p), p) },
		"dangling":  func(p string) error { return os.Symlink("nowhere", p) },
		"outside":   func(p string) error { return os.Symlink("/etc/passwd", p) },
	}
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("../testdata/trees/"+twoRadios)); err != nil {
		t.Fatal(err)
	}
	var files []string
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && path != root && !e.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	env := Env{
		Sys: tree.Dir(root + "/sys"), Debug: tree.Dir(root + "/debug"), Proc: tree.Dir(root + "/proc"),
		Log: slog.New(slog.DiscardHandler),
	}
	whole, err := Detect(env, choose("static"))
	if err != nil || len(whole.Radios) != 2 || len(whole.Warnings) > 0 {
		t.Fatalf("%+v, %v", whole, err)
	}
	env.StateDir = t.TempDir()
	for _, file := range files {
		if strings.Contains(file, "phy1") || strings.Contains(file, whole.Radios[1].Path) {
			continue // the same once more
		}
		for what, do := range replace {
			aside := root + ".aside"
			if err := os.Rename(file, aside); err != nil {
				t.Fatal(err)
			}
			if what == "huge" {
				os.WriteFile(file, nil, 0o644)
			}
			if err := do(file); err != nil {
				t.Fatal(what, err)
			}
			name := what + " " + file[len(root):]
			begun := time.Now()
			d, err := Detect(env, choose("static"))
			if err != nil && len(d.Radios) > 0 {
				t.Errorf("%s: radios and an error: %v", name, err)
			}
			if len(d.Radios) == 0 && err == nil && len(d.Warnings) == 0 {
				t.Errorf("%s: no radio and no reason", name)
			}
			for i, r := range whole.Radios {
				own := strings.Contains(file, r.Path+"/") || strings.HasSuffix(file, "/"+r.Phy) || strings.Contains(file, "/"+r.Phy+"/")
				if other := whole.Radios[1-i]; own && !slices.ContainsFunc(d.Radios, func(r Radio) bool { return cmp.Equal(r, other) }) {
					t.Errorf("%s changes what is found of %s", name, other.Phy)
				}
			}
			for _, r := range d.Radios {
				changes, err := TuneOnce(env, r, testSettings("static"), true, t0)
				if err != nil {
					t.Errorf("%s: dry run: %v", name, err)
				}
				for _, c := range changes {
					if c.Result == Failed && c.Reason == "" {
						t.Errorf("%s: %+v fails without a reason", name, c)
					}
				}
				tun := New(env, r, testSettings("static"), t0)
				for now := t0; now.Before(t0.Add(time.Second)); now = now.Add(50 * time.Millisecond) {
					tun.Step(now)
				}
				s := tun.Status()
				if s.State == "" {
					t.Errorf("%s: %+v", name, s)
				}
				_ = tun.Stop("end")
			}
			_, _ = RestoreAll(env, nil)
			if took := time.Since(begun); took > 20*time.Second {
				t.Errorf("%s took %v", name, took)
			}
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(aside, file); err != nil {
				t.Fatal(err)
			}
		}
	}
}
