package bpf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"airtuned/tree"
)

// The files of debugfs that the overlay adds, in ieee80211/PHY/ath10k.
const (
	root            = "ieee80211"
	numPendingTx    = "num_pending_tx"
	maxNumPendingTx = "max_num_pending_tx"
)

// errNotATH10K: of other drivers' radios nothing is counted.
var errNotATH10K = errors.New("not a radio of ath10k")

// Overlay is a tree of debugfs in which each radio of ath10k has num_pending_tx
// and max_num_pending_tx: the kernel's own where it has them, else BPF's. These
// are there as soon as the programs are attached, which the first to ask for
// one causes; until the first frame is counted reading them fails with ENODATA.
// All else is as below.
//
// The programs stay attached until a listing of the radios shows that none of
// those counted is left, so that the driver can be unloaded.
type Overlay struct {
	tree.FS
	sys    string
	attach func() (counter, error)

	mu     sync.Mutex
	probe  counter // nil while not attached
	failed error   // why not; nil if it was not tried for this driver
	driver uint64  // the inode of the driver's BTF then
	radios []*radio
}

// counter is a Probe.
type counter interface {
	Add(inode uint64) (slot int, err error)
	Remove(slot int)
	Counts(slot int) Counts
	Close()
}

// radio is one that is counted.
type radio struct {
	phy   string
	inode uint64
	slot  int
	gone  bool
}

// NewOverlay puts the files on top of debug. sys is where sysfs is.
func NewOverlay(sys string, debug tree.FS) *Overlay {
	return &Overlay{FS: debug, sys: sys, attach: func() (counter, error) { return Attach() }}
}

// Open opens a file for reading.
func (o *Overlay) Open(name string) (tree.File, error) {
	f, err := o.FS.Open(name)
	phy, file := ours(name)
	if file == "" || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r, why := o.radio(phy)
	if why != nil {
		return nil, err // as the kernel said
	}
	return &counted{o: o, r: r, name: name, max: file == maxNumPendingTx}, nil
}

// ours splits the name of a file that the overlay adds.
func ours(name string) (phy, file string) {
	p := strings.Split(name, "/")
	if len(p) == 4 && p[0] == root && p[2] == "ath10k" && (p[3] == numPendingTx || p[3] == maxNumPendingTx) {
		return p[1], p[3]
	}
	return "", ""
}

// List returns the names in a directory, sorted. That of the radios tells which
// need not be counted any longer.
func (o *Overlay) List(name string) ([]string, error) {
	names, err := o.FS.List(name)
	if name == root && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		o.keep(names)
	}
	return names, err
}

// CanWrite is that of the tree below.
func (o *Overlay) CanWrite(name string) error { return tree.CanWrite(o.FS, name) }

// Below is the tree below.
func (o *Overlay) Below() tree.FS { return o.FS }

// BPF tells of a radio's frames: whether BPF counts them, and if so how often
// the driver stopped all queues because they were too many. The error says why
// it cannot. Without one, and not counting, the kernel has the files, or the
// radio is none of ath10k's.
func (o *Overlay) BPF(phy string) (counting bool, stops uint64, err error) {
	if tree.Exists(o.FS, root+"/"+phy+"/ath10k/"+numPendingTx) {
		return false, 0, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	r, err := o.radio(phy)
	switch {
	case errors.Is(err, errNotATH10K), errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNoBTF):
		return false, 0, nil
	case err != nil:
		return false, 0, err
	}
	return true, o.probe.Counts(r.slot).Stops, nil
}

// radio returns the radio of that name, which is counted from now on.
func (o *Overlay) radio(phy string) (*radio, error) {
	dir := filepath.Join(o.sys, "class", root, phy)
	driver, err := os.Readlink(dir + "/device/driver")
	if err != nil {
		return nil, fmt.Errorf("find the driver of %s: %w", phy, err)
	}
	if !strings.HasPrefix(filepath.Base(driver), "ath10k_") {
		return nil, errNotATH10K
	}
	inode, err := inodeOf(dir)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(o.radios, func(r *radio) bool { return r.inode == inode }); i >= 0 {
		o.radios[i].phy = phy // it may have another name now
		return o.radios[i], nil
	}
	if err := o.attached(); err != nil {
		return nil, err
	}
	slot, err := o.probe.Add(inode)
	if err != nil {
		return nil, err
	}
	r := &radio{phy: phy, inode: inode, slot: slot}
	o.radios = append(o.radios, r)
	return r, nil
}

// attached attaches the programs if they are not. A driver that refused them
// is not tried again, which would take long each time; one loaded anew is.
func (o *Overlay) attached() error {
	if o.probe != nil {
		return nil
	}
	driver, _ := inodeOf(filepath.Join(o.sys, "kernel/btf", module)) // 0 without BTF
	if o.failed != nil && o.driver == driver {
		return o.failed
	}
	o.driver = driver
	probe, err := o.attach()
	if err != nil {
		o.failed = err
		return err
	}
	o.probe, o.failed = probe, nil
	return nil
}

// keep forgets the radios that are not among phys, and detaches the programs
// with the last.
func (o *Overlay) keep(phys []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.radios = slices.DeleteFunc(o.radios, func(r *radio) bool {
		if slices.Contains(phys, r.phy) {
			return false
		}
		r.gone = true
		o.probe.Remove(r.slot)
		return true
	})
	if len(o.radios) == 0 && o.probe != nil {
		o.probe.Close()
		o.probe = nil
	}
}

// Close detaches the programs.
func (o *Overlay) Close() { o.keep(nil) }

// inodeOf is the inode of a directory in sysfs: the id of its kernfs node
// (fs/kernfs/inode.c, kernfs_init_inode).
func inodeOf(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return st.Ino, nil
}

// counted is one of the added files.
type counted struct {
	o    *Overlay
	r    *radio
	name string
	max  bool
}

// ReadFresh renders the number as the kernel would.
func (f *counted) ReadFresh(p []byte) (int, error) {
	f.o.mu.Lock()
	defer f.o.mu.Unlock()
	if f.r.gone {
		return 0, f.error(unix.ENODEV)
	}
	c := f.o.probe.Counts(f.r.slot)
	if c.Max <= 0 {
		return 0, f.error(unix.ENODATA)
	}
	n := c.Pending
	if f.max {
		n = c.Max
	}
	var text [24]byte
	return copy(p, append(strconv.AppendInt(text[:0], int64(n), 10), '\n')), nil
}

func (f *counted) error(errno error) error {
	return &fs.PathError{Op: "read", Path: tree.Join(f.o, f.name), Err: errno}
}

func (f *counted) Close() error { return nil }
