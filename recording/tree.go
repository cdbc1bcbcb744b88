package recording

import (
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"airtuned/tree"
)

// Tree is t as a loop has to see it so that what it reads is taken down. Writes
// go through as they are.
func (w *Writer) Tree(t tree.FS) tree.FS {
	if w == nil {
		return t
	}
	return tap{t, w}
}

type tap struct {
	tree.FS
	w *Writer
}

// Open takes down that a file can be opened, or why not. Until it is read, its
// text is empty.
func (t tap) Open(name string) (tree.File, error) {
	f, err := t.FS.Open(name)
	if t.w.off() {
		return f, err
	}
	s := t.w.source(name)
	if err != nil || s.err != "" {
		s.read(nil, err)
	}
	if err != nil {
		return nil, err
	}
	return tapped{f, s}, nil
}

// List takes a folder down.
func (t tap) List(name string) ([]string, error) {
	names, err := t.FS.List(name)
	if !t.w.off() {
		t.w.source(name+"/").read([]byte(strings.Join(names, "\n")), err)
	}
	return names, err
}

type tapped struct {
	tree.File
	s *source
}

// ReadFresh takes a reading down.
func (f tapped) ReadFresh(p []byte) (int, error) {
	n, err := f.File.ReadFresh(p)
	f.s.read(p[:n], err)
	return n, err
}

// recorded is the tree of a recording, as of what was last read from it.
type recorded struct{ r *Radio }

// find returns what is known of a name.
func (t recorded) find(op, name string) (*content, error) {
	c := t.r.names[name]
	if c == nil {
		return nil, &fs.PathError{Op: op, Path: tree.Join(t, name), Err: unix.ENOENT}
	}
	if c.err != nil {
		return nil, &fs.PathError{Op: op, Path: tree.Join(t, name), Err: c.err}
	}
	return c, nil
}

func (t recorded) Open(name string) (tree.File, error) {
	if _, err := t.find("open", name); err != nil {
		return nil, err
	}
	return played{t, name}, nil
}

func (t recorded) List(name string) ([]string, error) {
	c, err := t.find("open", name+"/")
	if err != nil || len(c.text) == 0 {
		return nil, err
	}
	names := strings.Split(string(c.text), "\n")
	slices.Sort(names)
	return names, nil
}

func (t recorded) Write(name string, _ []byte) error {
	return &fs.PathError{Op: "write", Path: tree.Join(t, name), Err: unix.EROFS}
}

func (t recorded) Readlink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: tree.Join(t, name), Err: unix.EINVAL}
}

func (t recorded) String() string { return "recording:" }

type played struct {
	t    recorded
	name string
}

func (f played) ReadFresh(p []byte) (int, error) {
	c, err := f.t.find("read", f.name)
	if err != nil {
		return 0, err
	}
	return copy(p, c.text), nil
}

func (f played) Close() error { return nil }
