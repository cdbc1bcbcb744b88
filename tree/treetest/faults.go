// Package treetest makes the kernel's files fail, for tests: every operation on
// a tree is told to the test, which lets it pass or spoils it.
package treetest

import (
	"io/fs"
	"sync"

	"airtuned/tree"
)

// The operations on a tree.
const (
	Open     = "open"
	Read     = "read"
	Write    = "write"
	CanWrite = "canwrite"
	List     = "list"
	Readlink = "readlink"
)

// Op is one operation on a file, by its full path.
type Op struct{ Kind, Path string }

// Fault is what becomes of an operation. The zero value lets it pass.
type Fault struct {
	// Wait is called before anything else.
	Wait func()
	// Err is what the operation fails with, and nothing is done...
	Err error
	// ...unless Done is set: then it is done, and fails all the same.
	Done bool
	// Text makes another text of the one that was read, or that is written.
	Text func([]byte) []byte
	// Names does the same to a list.
	Names func([]string) []string
}

// Faults decides about all operations on some trees. It is asked by many
// goroutines.
type Faults struct {
	mu    sync.Mutex
	judge func(Op) Fault
}

// Judge has f decide from now on; nil lets everything pass.
func (a *Faults) Judge(f func(Op) Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.judge = f
}

// Tree is t with the faults in between.
func (a *Faults) Tree(t tree.FS) tree.FS { return &faulty{t, a} }

type faulty struct {
	tree.FS
	all *Faults
}

// do carries an operation out as its fault wants it.
func (t *faulty) do(kind, name string, op func(Fault) error) error {
	path := tree.Join(t.FS, name)
	t.all.mu.Lock()
	var f Fault
	if t.all.judge != nil {
		f = t.all.judge(Op{kind, path})
	}
	t.all.mu.Unlock()
	if f.Wait != nil {
		f.Wait()
	}
	var err error
	if f.Err == nil || f.Done {
		err = op(f)
	}
	if f.Err != nil {
		return &fs.PathError{Op: kind, Path: path, Err: f.Err}
	}
	return err
}

func (t *faulty) Open(name string) (tree.File, error) {
	var opened tree.File
	err := t.do(Open, name, func(Fault) error {
		f, err := t.FS.Open(name)
		opened = &file{f, t, name}
		return err
	})
	if err != nil {
		return nil, err
	}
	return opened, nil
}

type file struct {
	tree.File
	tree *faulty
	name string
}

func (f *file) ReadFresh(p []byte) (n int, err error) {
	err = f.tree.do(Read, f.name, func(fault Fault) error {
		var err error
		n, err = f.File.ReadFresh(p)
		if err == nil && fault.Text != nil {
			n = copy(p, fault.Text(append([]byte(nil), p[:n]...)))
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (t *faulty) Write(name string, p []byte) error {
	return t.do(Write, name, func(fault Fault) error {
		if fault.Text != nil {
			p = fault.Text(append([]byte(nil), p...))
		}
		if len(p) == 0 {
			return nil // it gets lost
		}
		return t.FS.Write(name, p)
	})
}

func (t *faulty) CanWrite(name string) error {
	return t.do(CanWrite, name, func(Fault) error { return tree.CanWrite(t.FS, name) })
}

func (t *faulty) List(name string) (names []string, err error) {
	err = t.do(List, name, func(fault Fault) error {
		var err error
		names, err = t.FS.List(name)
		if err == nil && fault.Names != nil {
			names = fault.Names(names)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}

func (t *faulty) Readlink(name string) (target string, err error) {
	err = t.do(Readlink, name, func(fault Fault) error {
		var err error
		target, err = t.FS.Readlink(name)
		if err == nil && fault.Text != nil {
			target = string(fault.Text([]byte(target)))
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return target, nil
}
