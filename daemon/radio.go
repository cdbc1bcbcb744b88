package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"airtuned/inet"
	"airtuned/nl80211"
	"airtuned/tuner"
)

// radio is the loop of one radio and the ways to reach it. None of the ways
// waits for the loop without a bound.
type radio struct {
	path string
	env  tuner.Env
	log  *slog.Logger

	// commands are run between two steps.
	commands chan func()
	events   chan nl80211.EventKind
	dumps    chan dump
	// look asks the loop to look at everything anew, settings to change to
	// these: both only ever matter in their latest version.
	look     atomic.Bool
	settings atomic.Pointer[tuner.Settings]
	// wantsTCP is set while the loop has use for this host's TCP connections.
	wantsTCP atomic.Bool
	// last is the status as of when it was last asked for.
	last atomic.Pointer[tuner.Status]
	// turned is when the loop last came round, since the radio's start.
	turned  atomic.Int64
	started time.Time
	// done is closed when the loop has ended; stopped is then what went wrong
	// with putting originals back.
	done    chan struct{}
	stopped error

	// The rest belongs to the loop.

	tuner   *tuner.Tuner // nil after a panic
	now     time.Time    // of this turn
	found   tuner.Radio  // as when the loop was started
	current tuner.Settings

	// And this to the supervisor, under its lock.

	seen   place          // where it was at the latest look
	want   tuner.Settings // what was last sent to the loop
	policy string         // set by command, until the next reload
	lent   string         // the same, until the loan ends; it goes first
	loan   *time.Timer    // ends it
	goneAt time.Time      // zero while it is there
	cancel context.CancelFunc
}

// dump is a netlink station dump of one interface.
type dump struct {
	ifname   string
	stations []nl80211.Station
}

// errFault is what a command gets whose radio's loop panicked.
var errFault = errors.New("the radio's loop has failed and its original values are back; resume starts it anew")

func newRadio(env tuner.Env, found tuner.Radio, s tuner.Settings) *radio {
	r := &radio{
		path: found.Path, env: env, log: env.Log.With("radio", found.Phy, "path", found.Path),
		commands: make(chan func()),
		events:   make(chan nl80211.EventKind, 16),
		dumps:    make(chan dump, 8),
		started:  time.Now(),
		done:     make(chan struct{}),
		found:    found,
		current:  s,
		want:     s,
	}
	r.last.Store(&tuner.Status{
		Radio: found, State: tuner.Observing, Reason: "starting", Stations: []tuner.StationStatus{}, Events: []tuner.Event{},
	})
	return r
}

// run is the loop. It is the one place that tells the tuner the time.
func (r *radio) run(ctx context.Context) {
	defer close(r.done)
	r.turn(r.putBack)
	if ctx.Err() == nil {
		r.turn(r.begin)
	}
	tick := time.NewTicker(r.current.Sample)
	defer tick.Stop()
	sample := r.current.Sample
	for {
		select {
		case <-ctx.Done():
			r.turn(r.stop)
			return
		case <-tick.C:
			r.turn(r.step)
		case command := <-r.commands:
			r.turn(command)
		case kind := <-r.events:
			r.turn(func() {
				if r.tuner != nil {
					r.tuner.Note(kind, r.now)
				}
			})
		case d := <-r.dumps:
			r.turn(func() {
				if r.tuner != nil {
					r.tuner.NoteStations(d.ifname, d.stations, r.now)
				}
			})
		}
		if r.current.Sample != sample {
			sample = r.current.Sample
			tick.Reset(sample)
		}
	}
}

// turn does one thing and survives it.
func (r *radio) turn(do func()) {
	r.now = time.Now()
	defer func() {
		if p := recover(); p != nil {
			r.fail(p)
		}
		r.turned.Store(int64(time.Since(r.started)))
	}()
	do()
}

// putBack restores what a daemon that crashed has left on this radio.
func (r *radio) putBack() {
	changes, err := r.restoreRecord()
	if err != nil {
		r.log.Error("could not put every original value back that an earlier run left", "error", err)
	}
	if len(changes) > 0 {
		r.log.Info("put original values back that an earlier run left", "knobs", len(changes))
	}
}

func (r *radio) restoreRecord() ([]tuner.Change, error) {
	return tuner.RestoreRadio(r.env, r.path)
}

func (r *radio) begin() {
	r.tuner = tuner.New(r.env, r.found, r.current, r.now)
}

func (r *radio) step() {
	if s := r.settings.Swap(nil); s != nil {
		r.current = *s
		if r.tuner != nil {
			if err := r.tuner.Reconfigure(*s, r.now); err != nil {
				r.log.Error("new settings were refused", "error", err)
			}
		}
	}
	if r.tuner == nil {
		return
	}
	if r.look.Swap(false) {
		r.tuner.Rescan()
	}
	r.tuner.Step(r.now)
	if inet.Built {
		r.wantsTCP.Store(r.tuner.WantsTCP(r.now))
	}
}

func (r *radio) stop() {
	if r.tuner == nil {
		return
	}
	r.stopped = r.tuner.Stop("the daemon stops")
	s := r.tuner.Status()
	r.last.Store(&s)
}

// fail takes a loop out of service that panicked. Others are not concerned.
func (r *radio) fail(p any) {
	r.log.Error("the radio's loop failed; please report this", "panic", p, "stack", string(debug.Stack()))
	failed := r.tuner
	r.tuner = nil
	r.wantsTCP.Store(false)
	// What failed once may fail again, and each of these helps by itself.
	attempt := func(what string, do func() error) {
		defer func() {
			if p := recover(); p != nil {
				r.log.Error(what, "panic", p)
			}
		}()
		if err := do(); err != nil {
			r.log.Error(what, "error", err)
		}
	}
	if failed != nil {
		attempt("stop the failed loop", func() error { return failed.Stop("its loop failed") })
	}
	attempt("restore after the loop failed", func() error { _, err := r.restoreRecord(); return err })
}

// ask has the loop call f and returns the answer. It does not wait longer than
// ctx lasts, nor for a loop that has ended.
func ask[T any](ctx context.Context, r *radio, f func(*tuner.Tuner, time.Time) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	reply := make(chan answer, 1)
	command := func() {
		a := answer{err: errFault}
		defer func() { reply <- a }() // even if f panics
		if r.tuner != nil {
			v, err := f(r.tuner, r.now)
			a = answer{v, err}
		}
	}
	var none T
	select {
	case r.commands <- command:
	case <-r.done:
		return none, errors.New("the radio is gone")
	case <-ctx.Done():
		return none, ctx.Err()
	}
	select {
	case a := <-reply:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// resume goes back to the policy, with a new loop if the old one failed.
func (r *radio) resume(ctx context.Context) error {
	resume := func(t *tuner.Tuner, now time.Time) (struct{}, error) {
		t.Resume(now)
		return struct{}{}, nil
	}
	_, err := ask(ctx, r, resume)
	if !errors.Is(err, errFault) {
		return err
	}
	select {
	case r.commands <- r.begin:
		return nil
	case <-r.done:
		return errors.New("the radio is gone")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// status is the radio's status, or the last one known, marked as such, if it
// does not answer.
func (r *radio) status(ctx context.Context) tuner.Status {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	s, err := ask(ctx, r, func(t *tuner.Tuner, _ time.Time) (tuner.Status, error) { return t.Status(), nil })
	if err == nil {
		r.last.Store(&s)
		return s
	}
	s = *r.last.Load()
	select {
	case <-r.done: // it ended: the last status is the true one
		return s
	default:
	}
	s.State = tuner.Held
	s.Reason = fmt.Sprintf("not answering for %v: the kernel holds it", r.silent().Round(time.Second))
	if errors.Is(err, errFault) {
		s.Reason = errFault.Error()
	}
	return s
}

// silent is how long ago the loop came round.
func (r *radio) silent() time.Duration {
	return time.Since(r.started) - time.Duration(r.turned.Load())
}

// note hands an event to the loop. One that finds no room is lost: the loop
// looks at everything anew every few seconds.
func (r *radio) note(kind nl80211.EventKind) {
	select {
	case r.events <- kind:
	default:
		r.look.Store(true)
	}
}

func (r *radio) noteStations(d dump) {
	select {
	case r.dumps <- d:
	default:
	}
}
