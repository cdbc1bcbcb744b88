//go:build (!mips && !mipsle) || full

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"airtuned/policies/placement"
	"airtuned/sysfs"
	"airtuned/tuner"
)

// checkEvery is how often knobs are looked at for another program's writes,
// threads and owners for news.
const checkEvery = 10 * time.Second

// leftOut says why there is no loop; empty where there is.
const leftOut = ""

// Host is the loop. All of its methods are for one goroutine.
type Host struct {
	env      Env
	log      *slog.Logger
	settings Settings
	radios   []Radio

	placement placement.Policy
	journal   *journal
	// knobs are those that an action has turned, by the action's ID, and places
	// the actions whose threads have a place.
	knobs  map[string][]string
	places map[string]*placement.Action

	senses    senses
	checked   time.Time
	told      bool // a command or a foreign write decides the state
	state     tuner.State
	reason    string
	said      string // the last reason that was logged
	saturated []int
}

// New returns the loop, after it has put back what an earlier run left.
func New(env Env, s Settings) *Host {
	if env.Place == nil {
		env.Place = sysfs.SetThreadAffinity
	}
	h := &Host{
		env: env, log: env.Log, settings: s,
		knobs: map[string][]string{}, places: map[string]*placement.Action{},
		state: tuner.Observing,
	}
	h.senses.env = env
	var err error
	if h.journal, err = newJournal(env); err != nil {
		h.log.Warn("the record of the host's original values is unusable; nothing will be written", "error", err)
		h.told, h.state, h.reason = true, tuner.Observing, err.Error()
		return h
	}
	changes, err := h.journal.restore("restored after an earlier run", nil)
	h.logRestored(changes, err)
	return h
}

// Configure changes the settings and the radios, and takes back at once what
// they no longer allow.
func (h *Host) Configure(s Settings, radios []Radio) {
	h.settings, h.radios = s, radios
	h.senses.look = true
	if s.Off {
		h.release("placement: off")
		return
	}
	for id, a := range h.places {
		if !h.allowed(a) {
			h.undo(id, "threaded_napi or interfaces have changed")
			h.placement.Drop(id)
		}
	}
}

// allowed reports whether an action with threads is still wanted.
func (h *Host) allowed(a *placement.Action) bool {
	if slices.Contains(h.settings.Interfaces, a.Link) {
		return true
	}
	return slices.ContainsFunc(h.radios, func(r Radio) bool {
		return r.Phy == a.Link && (len(a.Set) == 0 || r.Settings.ThreadedNAPI == tuner.ThreadedAuto)
	})
}

// Step is one turn of the loop, to be called every StepEvery.
func (h *Host) Step(now time.Time) {
	if h.told {
		return
	}
	if h.settings.Off {
		h.become(tuner.Observing, "placement: off")
		return
	}
	if now.Sub(h.checked) >= checkEvery || now.Before(h.checked) {
		h.checked = now
		h.senses.look = true
		if knob, is := h.journal.foreign(); knob != "" {
			h.told = true
			h.become(tuner.Held, fmt.Sprintf("another program changed %s to %s; all is left as it is", knob, is))
			h.log.Warn("foreign write", "reason", h.reason)
			return
		}
	}
	o, err := h.senses.observe(now, h.settings, h.radios, &h.placement)
	if err != nil {
		h.become(tuner.Observing, err.Error())
		return
	}
	d := h.placement.Decide(o)
	h.saturated = append(h.saturated[:0], d.Saturated...)
	switch {
	case d.Do != nil:
		h.do(d.Do, now)
	case d.Undo != "":
		h.undo(d.Undo, d.Reason)
	default:
		h.place(now)
	}
	if d.Reason != h.reason && strings.HasPrefix(d.Reason, "helped") {
		h.log.Info("kept", "why", d.Reason)
	}
	if h.told {
		return
	}
	state := tuner.Observing
	if len(h.knobs) > 0 {
		state = tuner.Tuning
	}
	if d.Reason == "" && state == tuner.Tuning {
		d.Reason = h.reason
	}
	h.become(state, d.Reason)
}

// become changes state and reason, and logs why nothing can be done about a
// saturated CPU, though not each time it is.
func (h *Host) become(s tuner.State, reason string) {
	if s == h.state && reason == h.reason {
		return
	}
	h.state, h.reason = s, reason
	if s == tuner.Observing && len(h.saturated) > 0 && reason != "" && reason != h.said {
		h.said = reason
		h.log.Info("observing", "reason", reason)
	}
}

// do turns the knobs of an action. All of them, or none.
func (h *Host) do(a *placement.Action, now time.Time) {
	for _, s := range a.Set {
		if !h.turn(a, s, now) {
			return
		}
	}
	if a.Threads != nil {
		h.places[a.ID] = a
		h.senses.links = h.senses.find(h.settings, h.radios)
		h.place(now)
	}
	if _, ok := h.knobs[a.ID]; !ok && h.placement.InForce(a.ID) {
		h.knobs[a.ID] = nil // threads that are yet to come
	}
}

// turn turns one knob of an action. If that fails, the others are turned back.
func (h *Host) turn(a *placement.Action, s placement.Setting, now time.Time) bool {
	value := s.Value
	if s.CPUs != nil {
		value = sysfs.FormatCPUList(s.CPUs)
	}
	c := h.journal.apply(s.Knob, value, a.Reason)
	if !slices.Contains(h.knobs[a.ID], c.Knob) {
		h.knobs[a.ID] = append(h.knobs[a.ID], c.Knob)
	}
	switch c.Result {
	case tuner.Applied:
		h.log.Info("changed", "knob", c.Knob, "from", c.From, "to", c.To, "why", c.Reason)
		return true
	case tuner.Unchanged:
		return true
	case tuner.Unsupported:
		h.log.Info("cannot be changed here", "knob", c.Knob, "why", c.Reason)
	default:
		h.log.Warn("a change failed", "knob", c.Knob, "to", c.To, "error", c.Reason)
	}
	h.undo(a.ID, c.Knob+" could not be changed")
	h.placement.Failed(a.ID, now)
	return false
}

// place gives the threads of links their CPUs: they may come after the knob was
// turned, and more of them with more queues.
func (h *Host) place(now time.Time) {
	for _, a := range h.places {
		for _, t := range h.senses.threadsOf(a.Link) {
			knob := knobAffinity + t.Name
			if slices.Contains(h.knobs[a.ID], knob) {
				continue
			}
			if !h.turn(a, placement.Setting{Knob: knob, CPUs: a.Threads}, now) {
				return
			}
		}
	}
}

// undo turns the knobs of an action back.
func (h *Host) undo(id, reason string) {
	knobs := h.knobs[id]
	delete(h.knobs, id)
	delete(h.places, id)
	h.senses.look = true
	changes, err := h.journal.restore(reason, func(knob string) bool { return slices.Contains(knobs, knob) })
	h.logRestored(changes, err)
}

func (h *Host) logRestored(changes []tuner.Change, err error) {
	for _, c := range changes {
		if c.Result == tuner.Applied {
			h.log.Info("restored", "knob", c.Knob, "from", c.From, "to", c.To, "why", c.Reason)
		}
	}
	if err != nil {
		h.log.Error("could not put every original of the host back", "error", err)
	}
}

// release turns everything back.
func (h *Host) release(reason string) ([]tuner.Change, error) {
	clear(h.knobs)
	clear(h.places)
	h.placement.Forget()
	h.saturated = nil
	if h.journal == nil {
		return nil, nil
	}
	changes, err := h.journal.restore(reason, nil)
	h.logRestored(changes, err)
	return changes, err
}

// Hold leaves everything as it is until Resume.
func (h *Host) Hold(reason string) {
	h.told = true
	h.become(tuner.Held, reason)
}

// Restore puts the originals back, until Resume.
func (h *Host) Restore(reason string) ([]tuner.Change, error) {
	changes, err := h.release(reason)
	h.told = true
	h.become(tuner.Restored, reason)
	return changes, err
}

// Resume goes on after a hold, a restore or another program's write, which is
// not fought over: what it wrote is as good as found.
func (h *Host) Resume() {
	if h.journal == nil || !h.told {
		return
	}
	h.release("resumed")
	h.told = false
	h.become(tuner.Observing, "resumed")
}

// Stop puts the originals back.
func (h *Host) Stop(reason string) error {
	_, err := h.release(reason)
	h.senses.close()
	return err
}

// Status is what is done now.
func (h *Host) Status() Status {
	s := Status{State: h.state, Reason: h.reason, CPUs: sysfs.CPUs(h.env.Sys, h.env.Proc), Saturated: append([]int{}, h.saturated...)}
	s.Changes = h.journal.inForce()
	return s
}

// look is what can be told beside what Look tells.
func look(env Env) (changes []tuner.Change, why string) {
	j, err := newJournal(env)
	if err != nil {
		return nil, err.Error()
	}
	why, _ = owners(env)
	return j.inForce(), why
}

// Restore puts the originals back that an earlier process has recorded.
func Restore(env Env) ([]tuner.Change, error) {
	if env.Place == nil {
		env.Place = sysfs.SetThreadAffinity
	}
	j, err := newJournal(env)
	if err != nil {
		return nil, err
	}
	return j.restore("restore", nil)
}

// gone reports whether what a knob belongs to is not there any more.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
