// Package tree is the one seam between airtuned and the kernel's file trees
// (/sys, /sys/kernel/debug, /proc). A Dir serves a real directory or a folder
// of fixtures; the simulated radio and the tests bring their own FS.
//
// Kernel files are not ordinary files: every read renders the text anew, every
// write is one command. So there is no seeking and no buffering here: a read
// is one pread at offset 0 and a write is one write(2). A few files know only
// the read of an open file's start; those are opened for each.
//
// Watching for change is not part of it: the daemon does that, once, and the
// loop only ever learns "look again", so that it runs the same on virtual time.
package tree

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// FS is a tree of kernel files. Names are slash-separated, relative to the
// root and without "..", as in io/fs. Errors wrap the kernel's errno, so that
// errors.Is(err, fs.ErrNotExist) and errors.Is(err, unix.EPERM) work.
type FS interface {
	// Open opens a file for repeated reading.
	Open(name string) (File, error)
	// Write hands p to the file in a single write(2).
	Write(name string, p []byte) error
	// List returns the names in a directory, sorted.
	List(name string) ([]string, error)
	// Readlink returns where a symbolic link points, unresolved.
	Readlink(name string) (string, error)
	// String names the root in messages, e.g. "/sys/kernel/debug".
	String() string
}

// File is an open kernel file.
type File interface {
	// ReadFresh reads the file anew from its start, with one pread, into p and
	// returns how much it got. It does not return io.EOF. When p is filled to
	// its end the text may have been longer.
	ReadFresh(p []byte) (int, error)
	Close() error
}

// BufSize is large enough for every file read with Read but the longest ones;
// Read grows on demand.
const BufSize = 4096

// maxText bounds what Read takes from one file.
const maxText = 1 << 20

// Read returns the whole text of a file. A text that fills the buffer is read
// again from the start into a larger one, because two reads of a kernel file
// may come from two renderings.
func Read(t FS, name string) ([]byte, error) {
	f, err := t.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for size := BufSize; ; size *= 4 {
		buf := make([]byte, size)
		n, err := f.ReadFresh(buf)
		if err != nil {
			return nil, err
		}
		if n < size {
			return buf[:n], nil
		}
		if size >= maxText {
			return nil, &fs.PathError{Op: "read", Path: Join(t, name), Err: fmt.Errorf("longer than %d bytes", maxText)}
		}
	}
}

// ReadString is Read without the white space around the text.
func ReadString(t FS, name string) (string, error) {
	b, err := Read(t, name)
	return strings.TrimSpace(string(b)), err
}

// Exists reports whether a directory or file can be seen at name.
func Exists(t FS, name string) bool {
	if _, err := t.List(name); err == nil {
		return true
	}
	f, err := t.Open(name)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// Join is the full path of name for messages.
func Join(t FS, name string) string { return t.String() + "/" + name }

// Dir is the FS of a real directory. It never leaves it, not even through a
// symbolic link. The zero value is not useful.
type Dir string

// DirOf is the real directory that a tree serves, if it does, be it below what
// the tree has of its own (Below).
func DirOf(t FS) (Dir, bool) {
	if o, ok := t.(interface{ Below() FS }); ok {
		t = o.Below()
	}
	d, ok := t.(Dir)
	return d, ok
}

// root opens the directory anew for each operation, so that a file system
// mounted later on it (debugfs) is seen. The loop keeps its files open and
// does not come through here.
func (d Dir) root(op, name string) (*os.Root, error) {
	r, err := os.OpenRoot(string(d))
	if err != nil {
		return nil, err
	}
	if name != "." && !filepath.IsLocal(name) {
		r.Close()
		return nil, &fs.PathError{Op: op, Path: Join(d, name), Err: fs.ErrInvalid}
	}
	return r, nil
}

// full gives an error of os.Root, whose path is relative, its full path.
func (d Dir) full(err error) error {
	if pe, ok := err.(*fs.PathError); ok && !filepath.IsAbs(pe.Path) {
		return &fs.PathError{Op: strings.TrimSuffix(pe.Op, "at"), Path: Join(d, pe.Path), Err: pe.Err}
	}
	return err
}

// noBlock keeps a fifo in a hostile tree from blocking the open.
const noBlock = unix.O_NONBLOCK

// open opens a file without ever waiting for whoever is at its other end.
func (d Dir) open(name string, flag int) (*os.File, error) {
	r, err := d.root("open", name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := r.OpenFile(name, flag|noBlock, 0)
	return f, d.full(err)
}

// Open opens a file for reading.
func (d Dir) Open(name string) (File, error) {
	f, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &file{f: f, fd: int(f.Fd()), path: Join(d, name), dir: d, name: name}, nil
}

// Write opens an existing file, writes p at once and closes it.
func (d Dir) Write(name string, p []byte) error {
	f, err := d.open(name, os.O_WRONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := unix.Write(int(f.Fd()), p)
	if err == nil && n != len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: Join(d, name), Err: err}
	}
	return nil
}

// List returns the sorted names in a directory.
func (d Dir) List(name string) ([]string, error) {
	r, err := d.root("list", name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := r.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, d.full(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, d.full(err)
	}
	slices.Sort(names)
	return names, nil
}

// Readlink returns the target of a symbolic link.
func (d Dir) Readlink(name string) (string, error) {
	r, err := d.root("readlink", name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	s, err := r.Readlink(name)
	return s, d.full(err)
}

// String is the directory itself.
func (d Dir) String() string { return strings.TrimRight(string(d), "/") }

type file struct {
	f    *os.File
	fd   int
	path string
	dir  Dir
	name string
}

func (f *file) ReadFresh(p []byte) (int, error) {
	for {
		n, err := unix.Pread(f.fd, p, 0)
		switch err {
		case nil:
			return n, nil
		case unix.EINTR:
		case unix.ESPIPE:
			return f.readAnew(p)
		default:
			return 0, &fs.PathError{Op: "read", Path: f.path, Err: err}
		}
	}
}

// readAnew is ReadFresh for files that cannot be read at an offset: those that
// the kernel makes with debugfs_create_u32 and its like (fs/libfs.c,
// simple_attr_open), e.g. aql_threshold.
func (f *file) readAnew(p []byte) (int, error) {
	if info, err := f.f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: unix.ESPIPE} // a fifo
	}
	again, err := f.dir.Open(f.name)
	if err != nil {
		return 0, err
	}
	defer again.Close()
	for {
		n, err := unix.Read(again.(*file).fd, p)
		if err == nil {
			return n, nil
		}
		if err != unix.EINTR {
			return 0, &fs.PathError{Op: "read", Path: f.path, Err: err}
		}
	}
}

func (f *file) Close() error {
	f.fd = -1 // soon somebody else's
	return f.f.Close()
}

// CanWrite opens a file for writing, as Write would, and writes nothing. It is
// the only honest way to know: mode bits lie in both directions.
func (d Dir) CanWrite(name string) error {
	f, err := d.open(name, os.O_WRONLY)
	if err != nil {
		return err
	}
	return f.Close()
}

// CanWrite reports whether a file could be written; a tree that cannot tell
// does not object.
func CanWrite(t FS, name string) error {
	if w, ok := t.(interface{ CanWrite(name string) error }); ok {
		return w.CanWrite(name)
	}
	return nil
}
