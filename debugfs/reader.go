package debugfs

import (
	"bytes"

	"airtuned/tree"
)

// Reader reads one file again and again without allocating. It opens the file
// at the first Read and keeps it open. After any error the file is closed, so
// that the next Read opens it anew: a station that left and came back has new
// files under the old names. A Reader belongs to one goroutine, and an open
// one holds a file descriptor until Close.
type Reader[T any] struct {
	phy   *Phy
	dir   string // the folder whose absence means that it is gone
	path  string
	parse func([]byte, *T) error
	file  tree.File
	buf   []byte

	// What was last parsed, and into what: nil if that is void. Most texts are
	// what they were, and need no second parsing.
	last []byte
	out  *T
}

// Most texts are shorter than the first buffer; it grows, once, for others.
const (
	firstBuf = 512
	maxBuf   = 64 << 10
)

func newReader[T any](p *Phy, dir, file string, parse func([]byte, *T) error) *Reader[T] {
	return &Reader[T]{phy: p, dir: dir, path: dir + "/" + file, parse: parse}
}

// Read reads the file afresh, parses it and replaces *out. After an error *out
// is void. Between two calls with the same out nobody else may change it.
func (r *Reader[T]) Read(out *T) error {
	err := r.read(out)
	if err != nil {
		r.out = nil
		r.Close()
	}
	return err
}

func (r *Reader[T]) read(out *T) error {
	if r.file == nil {
		f, err := r.phy.t.Open(r.path)
		if err != nil {
			return r.phy.explain(r.dir, err)
		}
		r.file = f
	}
	if r.buf == nil {
		r.buf = make([]byte, firstBuf)
	}
	n, err := r.file.ReadFresh(r.buf)
	for err == nil && n == len(r.buf) { // there may be more: again from the start
		if n >= maxBuf {
			return garbled(tree.Join(r.phy.t, r.path), "", "a shorter text", r.buf)
		}
		r.buf = make([]byte, 2*len(r.buf))
		n, err = r.file.ReadFresh(r.buf)
	}
	if err != nil {
		return r.phy.explain(r.dir, err)
	}
	text := r.buf[:n]
	if r.out == out && bytes.Equal(text, r.last) {
		return nil
	}
	if err := r.parse(text, out); err != nil {
		return r.phy.locate(r.path, err)
	}
	if cap(r.last) < len(r.buf) {
		r.last = make([]byte, len(r.buf))
	}
	r.buf, r.last, r.out = r.last[:cap(r.last)], text, out
	return nil
}

// Close closes the file if it is open. The Reader can be used again.
func (r *Reader[T]) Close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}

// readOnce is for what is read seldom.
func readOnce[T any](p *Phy, dir, file string, parse func([]byte, *T) error) (T, error) {
	r := newReader(p, dir, file, parse)
	defer r.Close()
	var out, zero T
	if err := r.Read(&out); err != nil {
		return zero, err
	}
	return out, nil
}
