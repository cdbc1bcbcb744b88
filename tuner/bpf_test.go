package tuner_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/radiosim"
	"airtuned/tree"
	"airtuned/tuner"
)

// bpfTree is a debugfs whose counts of frames are BPF's.
type bpfTree struct {
	tree.FS
	seen   bool  // the first frame
	refuse error // why there are no counts
}

func (b *bpfTree) BPF(string) (bool, uint64, error) { return b.refuse == nil, 7, b.refuse }

func (b *bpfTree) Open(name string) (tree.File, error) {
	if !strings.HasSuffix(name, "num_pending_tx") {
		return b.FS.Open(name)
	}
	if b.refuse != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: unix.ENOENT}
	}
	f, err := b.FS.Open(name)
	return unseen{f, b}, err
}

type unseen struct {
	tree.File
	b *bpfTree
}

func (f unseen) ReadFresh(p []byte) (int, error) {
	if !f.b.seen {
		return 0, unix.ENODATA
	}
	return f.File.ReadFresh(p)
}

// Frames that BPF counts are sensed as soon as it has seen one.
func TestFramesByBPF(t *testing.T) {
	sc, err := radiosim.Lookup("one-fast")
	if err != nil {
		t.Fatal(err)
	}
	sim := radiosim.New(sc, radiosim.Options{Seed: 1})
	debug := &bpfTree{FS: sim.Debug()}
	env := tuner.Env{Sys: sim.Sys(), Debug: debug, Proc: sim.Proc(), StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	detect := func() tuner.Queue {
		t.Helper()
		d, err := tuner.Detect(env, func(tuner.Radio) tuner.Settings { return settings("observe") })
		if err != nil || len(d.Radios) != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		return d.Radios[0].Queue
	}
	counting := &tuner.QueueBPF{Counting: true, Stops: 7}
	if diff := cmp.Diff(tuner.Queue{Source: tuner.SourceFrames, BPF: counting}, detect()); diff != "" {
		t.Errorf("before the first frame (-want +got):\n%s", diff)
	}

	d, _ := tuner.Detect(env, func(tuner.Radio) tuner.Settings { return settings("observe") })
	l := &life{t, sim, tuner.New(env, d.Radios[0], settings("observe"), sim.Now()), env}
	l.run(3 * time.Second)
	if p := l.tun.Status().Pending; p.Frames != 0 || p.MaxFrames != 0 || p.AirtimeUs == 0 {
		t.Errorf("before the first frame: %+v", p)
	}
	debug.seen = true
	l.run(3 * time.Second)
	s := l.tun.Status()
	if s.Pending.Frames == 0 || s.Pending.MaxFrames == 0 || s.Queue.Max != s.Pending.MaxFrames || s.Queue.BPF == nil {
		t.Errorf("pending %+v, queue %+v", s.Pending, s.Queue)
	}

	debug.refuse = errors.New("no BTF")
	q := detect()
	if q.Source != tuner.SourceAirtime || q.Pending == 0 {
		t.Errorf("without BPF: %+v", q)
	}
	if diff := cmp.Diff(&tuner.QueueBPF{Reason: "no BTF"}, q.BPF); diff != "" {
		t.Errorf("without BPF (-want +got):\n%s", diff)
	}
}
