// Package web shows what the daemon does to a browser and to Prometheus. It
// knows the daemon's control socket and nothing else: it needs no privilege but
// to read from it, and changes nothing.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"airtuned/daemon/control"
	"airtuned/metrics"
	"airtuned/tuner"
	"airtuned/wlan"
)

const (
	// every is how often the daemon tells its status.
	every = time.Second
	// silence is how long it may tell nothing before it counts as away.
	silence = 5 * time.Second
	// retry is how long to wait before it is looked for again.
	retry = time.Second
	// keepPoints is how much of the past a page gets that is opened: ten minutes.
	keepPoints = 600
	// keepEntries is how much of the decision log it gets.
	keepEntries = 300
	// backlog is how many messages a browser may be late before it has to start
	// over.
	backlog = 16
)

// Feed follows the daemon, over its restarts, and hands on what it says.
type Feed struct {
	Socket string
	Log    *slog.Logger

	mu      sync.Mutex
	status  metrics.Status
	raw     json.RawMessage // the same as the daemon wrote it
	at      time.Time       // of status; zero before the first
	started time.Time       // when this daemon was
	away    *away           // nil while it answers
	radios  map[string]*past
	entries []Entry
	readers map[chan []byte]struct{}
}

// away says since when and why the daemon does not answer.
type away struct {
	Since int64  `json:"since"` // ms
	Why   string `json:"why"`
}

// past is what a radio did.
type past struct {
	points []Point
	seq    uint64 // of the latest event in entries
	sent   uint64 // bytes, up to sentAt
	sentAt time.Time
}

// Point is a radio at a time, for the charts. What is not known is null.
type Point struct {
	At             int64    `json:"t"`                // ms
	ResidencyUs    *int64   `json:"residency_us"`     // mean
	ResidencyP95Us *int64   `json:"residency_p95_us"` // of the last minute
	PendingUs      *float64 `json:"pending_us"`       // airtime, of a busy station on average
	LimitUs        *uint32  `json:"limit_us"`         // best effort's, the higher
	ThroughputKbps uint64   `json:"throughput_kbps"`
}

// Entry is a line of the decision log. One without a radio is about the daemon
// itself.
type Entry struct {
	Radio string `json:"radio"`
	tuner.Event
}

// daemonState is the state of entries about the daemon.
const daemonState tuner.State = "daemon"

// message is what browsers get: all there is at first, then what is new.
type message struct {
	Now    int64              `json:"now"` // ms
	Away   *away              `json:"away"`
	Status json.RawMessage    `json:"status"` // null before the first
	Points map[string][]Point `json:"points"` // by radio
	Log    []Entry            `json:"log"`    // the oldest first
}

// Run follows the daemon until ctx ends.
func (f *Feed) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		f.lose(err, time.Now())
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

var errSilent = errors.New("the daemon is there, but says nothing")

// follow takes in statuses until there are no more.
func (f *Feed) follow(ctx context.Context) error {
	c, err := control.Dial(f.Socket)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer watch.Stop()
	err = c.Subscribe(ctx, every, func(raw json.RawMessage) error {
		watch.Reset(silence)
		return f.take(raw, time.Now())
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// lose notes that the daemon does not answer.
func (f *Feed) lose(err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away != nil {
		f.away.Why = err.Error()
		return
	}
	f.Log.Warn("the daemon is away", "error", err)
	f.away = &away{Since: now.UnixMilli(), Why: err.Error()}
	m := message{Now: now.UnixMilli(), Away: f.away, Status: f.raw}
	if !f.at.IsZero() {
		m.Log = f.enter([]Entry{about(now, "the daemon is away: "+err.Error())})
	}
	f.send(m)
}

func about(now time.Time, what string) Entry {
	return Entry{Event: tuner.Event{At: now, State: daemonState, Reason: what}}
}

// take takes a status in.
func (f *Feed) take(raw json.RawMessage, now time.Time) error {
	var s metrics.Status
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("the daemon's status is not understood: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.radios == nil {
		f.radios = map[string]*past{}
	}
	m := message{Now: now.UnixMilli(), Status: raw, Points: map[string][]Point{}}
	started := now.Add(-time.Duration(s.UptimeS * float64(time.Second)))
	// Its uptime is rounded, and the line takes a while.
	another := !f.at.IsZero() && started.Sub(f.started) > silence/2
	if another {
		for _, p := range f.radios {
			p.seq = 0
		}
		m.Log = append(m.Log, about(now, "the daemon was started anew, version "+s.Version))
	} else if f.away != nil && !f.at.IsZero() {
		m.Log = append(m.Log, about(now, "the daemon answers again"))
	}
	if another || f.at.IsZero() {
		f.started = started
	}
	if f.away != nil || f.at.IsZero() {
		f.Log.Info("the daemon answers", "version", s.Version, "radios", len(s.Radios))
	}
	f.away, f.status, f.raw, f.at = nil, s, raw, now

	for i := range s.Radios {
		r := &s.Radios[i]
		p := f.radios[r.Path]
		if p == nil {
			p = &past{}
			f.radios[r.Path] = p
		}
		for _, e := range r.Events {
			if e.Seq > p.seq {
				p.seq = e.Seq
				m.Log = append(m.Log, Entry{r.Path, e})
			}
		}
		if r.State != tuner.Gone {
			point := p.point(r, now)
			p.points = append(p.points[max(0, len(p.points)+1-keepPoints):], point)
			m.Points[r.Path] = []Point{point}
		}
	}
	for path := range f.radios {
		if !has(s.Radios, path) {
			delete(f.radios, path) // it has been gone for long
		}
	}
	m.Log = f.enter(m.Log)
	f.send(m)
	return nil
}

func has(radios []tuner.Status, path string) bool {
	for i := range radios {
		if radios[i].Path == path {
			return true
		}
	}
	return false
}

// enter adds to the log and returns what it added.
func (f *Feed) enter(entries []Entry) []Entry {
	f.entries = append(f.entries, entries...)
	f.entries = f.entries[max(0, len(f.entries)-keepEntries):]
	return entries
}

// point is a radio now, as the charts have it.
func (past *past) point(r *tuner.Status, now time.Time) Point {
	p := Point{At: now.UnixMilli(), ThroughputKbps: r.ThroughputKbps}
	if r.WindowEnd != nil {
		// Not of one window of 200 ms in each second, but of all since the last point.
		if us := r.WindowEnd.Sub(past.sentAt).Microseconds(); us > 0 && us < silence.Microseconds() && r.Total.TxBytes >= past.sent {
			p.ThroughputKbps = (r.Total.TxBytes - past.sent) * 8000 / uint64(us)
		}
		past.sent, past.sentAt = r.Total.TxBytes, *r.WindowEnd
	}
	if us := r.ResidencyUs.Mean; us > 0 {
		p.ResidencyUs = &us
	}
	if us := r.ResidencyUs.P95; us > 0 {
		p.ResidencyP95Us = &us
	}
	if l, ok := r.AQL.Limits[wlan.BE.String()]; ok {
		p.LimitUs = &l.HighUs
		each := math.Round(float64(r.Pending.AirtimeUs) / float64(max(r.ActiveStations, 1)))
		p.PendingUs = &each
	}
	return p
}

// Status is the latest status, nil while the daemon is away, and why it is.
func (f *Feed) Status() (*metrics.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.away != nil:
		return nil, errors.New(f.away.Why)
	case f.at.IsZero():
		return nil, errors.New("not asked yet")
	}
	s := f.status
	return &s, nil
}

// maxReaders bounds how many browsers watch.
const maxReaders = 64

var errCrowded = errors.New("too many browsers watch already")

// read returns messages for one browser, the first with all there is. The
// channel is closed when the reader is too slow.
func (f *Feed) read() (<-chan []byte, func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.readers) >= maxReaders {
		return nil, nil, errCrowded
	}
	m := message{Now: time.Now().UnixMilli(), Away: f.away, Status: f.raw, Points: map[string][]Point{}, Log: f.entries}
	for path, p := range f.radios {
		m.Points[path] = p.points
	}
	c := make(chan []byte, backlog)
	c <- encode(m)
	if f.readers == nil {
		f.readers = map[chan []byte]struct{}{}
	}
	f.readers[c] = struct{}{}
	return c, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.readers, c)
	}, nil
}

// send hands a message to all who watch.
func (f *Feed) send(m message) {
	if len(f.readers) == 0 {
		return
	}
	text := encode(m)
	for c := range f.readers {
		select {
		case c <- text:
		default:
			close(c)
			delete(f.readers, c)
		}
	}
}

func encode(m message) []byte {
	if m.Log == nil {
		m.Log = []Entry{}
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // the daemon's status was valid JSON, and the rest is ours
	}
	return text
}
