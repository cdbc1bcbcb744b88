package debugfs

import (
	"io/fs"
	"slices"
	"strings"

	"airtuned/tree"

	"golang.org/x/sys/unix"
)

// mem is a tree of files in memory that can be made to fail.
type mem struct {
	files  map[string]string // by full name; one ending in "/" is an empty folder
	fail   map[string]error  // by "open NAME", "read NAME", "write NAME", "list NAME"
	opened map[string]int
	closed map[string]int
	writes []string // "NAME: TEXT"
}

func newMem(files map[string]string) *mem {
	return &mem{files: files, fail: map[string]error{}, opened: map[string]int{}, closed: map[string]int{}}
}

func (m *mem) err(op, name string, missing error) error {
	err := m.fail[op+" "+name]
	if err == nil {
		err = missing
	}
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: tree.Join(m, name), Err: err}
}

func (m *mem) Open(name string) (tree.File, error) {
	var missing error
	if _, ok := m.files[name]; !ok {
		missing = unix.ENOENT
	}
	if err := m.err("open", name, missing); err != nil {
		return nil, err
	}
	m.opened[name]++
	return &memFile{m, name}, nil
}

func (m *mem) Write(name string, p []byte) error {
	var missing error
	if _, ok := m.files[name]; !ok {
		missing = unix.ENOENT
	}
	if err := m.err("write", name, missing); err != nil {
		return err
	}
	m.writes = append(m.writes, name+": "+string(p))
	return nil
}

func (m *mem) List(name string) ([]string, error) {
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	var names []string
	missing := error(unix.ENOENT)
	for full := range m.files {
		if rest, ok := strings.CutPrefix(full, prefix); ok {
			missing = nil
			if first, _, _ := strings.Cut(rest, "/"); first != "" {
				names = append(names, first)
			}
		}
	}
	if err := m.err("list", name, missing); err != nil {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (m *mem) Readlink(name string) (string, error) {
	return "", m.err("readlink", name, unix.EINVAL)
}

func (m *mem) String() string { return "/mem" }

type memFile struct {
	m    *mem
	name string
}

func (f *memFile) ReadFresh(p []byte) (int, error) {
	if len(f.m.fail) > 0 {
		if err := f.m.err("read", f.name, nil); err != nil {
			return 0, err
		}
	}
	return copy(p, f.m.files[f.name]), nil
}

func (f *memFile) Close() error {
	f.m.closed[f.name]++
	return nil
}
