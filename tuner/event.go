package tuner

import (
	"strings"
	"time"
)

// Event is something the loop did with a radio: it changed knobs, its state, or
// both.
type Event struct {
	// Seq counts a radio's events from 1 on, so that a reader sees what it missed.
	Seq    uint64    `json:"seq"`
	At     time.Time `json:"at"`
	State  State     `json:"state"`
	Reason string    `json:"reason"`
	// Knob went from From to To. It stands for all that changed at once, best
	// effort's limit where that is among them; More is how many others did.
	Knob string `json:"knob,omitempty"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	More int    `json:"more,omitempty"`
}

// keepEvents is how many events a radio's status has: a few minutes of a loop
// that searches.
const keepEvents = 32

// events are the latest ones, in a ring.
type events struct {
	ring [keepEvents]Event
	n    uint64
}

func (e *events) add(ev Event) {
	ev.Seq = e.n + 1
	e.ring[e.n%keepEvents] = ev
	e.n = ev.Seq
}

// last is the latest event, nil before the first.
func (e *events) last() *Event {
	if e.n == 0 {
		return nil
	}
	return &e.ring[(e.n-1)%keepEvents]
}

// list is a copy, the oldest first.
func (e *events) list() []Event {
	n := min(e.n, keepEvents)
	out := make([]Event, 0, n)
	for i := e.n - n; i < e.n; i++ {
		out = append(out, e.ring[i%keepEvents])
	}
	return out
}

// noteChanges adds an event if any of the changes was applied.
func (t *Tuner) noteChanges(reason string, changes []Change) {
	var shown *Change
	more := -1
	for i := range changes {
		c := &changes[i]
		t.tap.Changed(c.Knob, c.From, c.To, string(c.Result), c.Reason)
		if c.Result != Applied {
			continue
		}
		more++
		if shown == nil || strings.HasSuffix(c.Knob, "/BE") && !strings.HasSuffix(shown.Knob, "/BE") {
			shown = c
		}
	}
	if shown != nil {
		t.events.add(Event{At: t.at, State: t.state, Reason: reason, Knob: shown.Knob, From: shown.From, To: shown.To, More: more})
	}
}

// noteState adds an event about the state, or the state to the event that led
// to it.
func (t *Tuner) noteState() {
	if e := t.events.last(); e != nil && e.At.Equal(t.at) && e.Reason == t.reason {
		e.State = t.state
		return
	}
	t.events.add(Event{At: t.at, State: t.state, Reason: t.reason})
}
