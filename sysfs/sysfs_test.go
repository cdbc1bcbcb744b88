package sysfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtuned/testdata/trees"
	"airtuned/tree"
)

const treesDir = "../testdata/trees"

func fixture(machine, part string) tree.Dir {
	return tree.Dir(filepath.Join(treesDir, machine, part))
}

// build makes a tree of files, by name and text, and of links, whose text
// begins with "->".
func build(t *testing.T, files map[string]string) tree.Dir {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "->"); ok {
			err = os.Symlink(target, full)
		} else {
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree.Dir(root)
}

// The committed trees are what the program beside them writes.
func TestTreesAreCurrent(t *testing.T) {
	fresh := t.TempDir()
	if err := trees.WriteAll(fresh); err != nil {
		t.Fatal(err)
	}
	for _, name := range trees.Names() {
		want, got := contents(t, filepath.Join(fresh, name)), contents(t, filepath.Join(treesDir, name))
		for file, text := range want {
			if committed, ok := got[file]; !ok || committed != text {
				t.Errorf("%s/%s: is %q, want %q: run go run ./testdata/trees/gen", name, file, committed, text)
			}
		}
		for file := range got {
			if _, ok := want[file]; !ok {
				t.Errorf("%s/%s: nothing writes it", name, file)
			}
		}
	}
}

// contents maps files to their text and links to their target.
func contents(t *testing.T, root string) map[string]string {
	t.Helper()
	m := make(map[string]string)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(p)
			m[rel] = "-> " + target
			if _, statErr := os.Stat(p); statErr != nil {
				t.Errorf("%s: link leads nowhere: %v", p, statErr)
			}
			return err
		}
		b, err := os.ReadFile(p)
		m[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestResolve(t *testing.T) {
	sys := build(t, map[string]string{
		"devices/a/b/file":  "x",
		"devices/a/up":      "->../../devices/a/b",
		"class/c":           "->../devices/a/up",
		"class/chain":       "->c/file",
		"class/absolute":    "->/devices/a",
		"class/out":         "->../../etc/passwd",
		"class/loop1":       "->loop2",
		"class/loop2":       "->loop1",
		"class/dangling":    "->../devices/none",
		"class/dots":        "->.././devices//a/../a/b",
		"devices/a/b/child": "->.",
	})
	tests := []struct {
		name, want string
		err        error
	}{
		{"class/c", "devices/a/b", nil},
		{"class/c/file", "devices/a/b/file", nil},
		{"class/chain", "devices/a/b/file", nil},
		{"class/dots", "devices/a/b", nil},
		{"devices/a/b/child/child/file", "devices/a/b/file", nil},
		{"devices/a/b/file", "devices/a/b/file", nil},
		{"class/absolute", "", errOutside},
		{"class/out", "", errOutside},
		{"class/loop1", "", unix.ELOOP},
		{"class/dangling", "", fs.ErrNotExist},
		{"class/none", "", fs.ErrNotExist},
	}
	for _, tt := range tests {
		got, err := resolve(sys, tt.name)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("resolve(%q) = %q, %v; want %q, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
}
