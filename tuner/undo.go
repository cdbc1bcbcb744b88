package tuner

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"airtuned/debugfs"
	"airtuned/sysfs"
	"airtuned/tree"
)

// journal applies settings to one radio so that all of them can be undone: the
// value found is on disk before a knob is written for the first time.
type journal struct {
	knobs knobs
	store store
	// found is the radio's record; it is nil until something was written.
	found *Originals
	id    Originals // what a new record starts from
}

// newJournal takes over the record an earlier process left, unless the kernel
// has registered the radio anew since.
func newJournal(env Env, phy *debugfs.Phy, path string, phyIndex int) (*journal, error) {
	j := &journal{
		knobs: knobs{env: env, phy: phy},
		store: newStore(env.StateDir),
		id: Originals{
			Version: originalsVersion, BootID: sysfs.BootID(env.Proc),
			Path: path, Phy: phy.Name(), PhyIndex: phyIndex,
		},
	}
	found, err := j.store.load(path)
	if err != nil {
		return nil, err
	}
	// A boot that is not known (no /proc) voids nothing.
	rebooted := found != nil && found.BootID != j.id.BootID && found.BootID != "" && j.id.BootID != ""
	if found != nil && (rebooted || found.PhyIndex != phyIndex) {
		return j, nil // the values it speaks of are gone with that boot or that phy
	}
	j.found = found
	return j, nil
}

// original returns the recorded value of a knob.
func (j *journal) original(knob string) (string, bool) {
	if j.found == nil {
		return "", false
	}
	i := slices.IndexFunc(j.found.Knobs, func(o Original) bool { return o.Knob == knob })
	if i < 0 {
		return "", false
	}
	return j.found.Knobs[i].Value, true
}

// record makes sure that the present values of the knobs are on disk before
// they are first written.
func (j *journal) record(from []setting) error {
	next := j.id
	if j.found != nil {
		next.Knobs = slices.Clone(j.found.Knobs)
	}
	n := len(next.Knobs)
	for _, s := range from {
		if _, ok := j.original(s.knob); !ok {
			next.Knobs = append(next.Knobs, Original{s.knob, j.unfollowed(s)})
		}
	}
	if len(next.Knobs) == n {
		return nil
	}
	if err := j.store.save(&next); err != nil {
		return fmt.Errorf("%w; nothing was written: free space in, or allow writing to, the state directory", err)
	}
	j.found = &next
	return nil
}

// unfollowed is a knob's value as it was before this journal changed anything:
// a station that has what the radio has follows the radio, and had the radio's
// original when the radio had it.
func (j *journal) unfollowed(s setting) string {
	if !strings.HasPrefix(s.knob, knobStation) {
		return s.value
	}
	radio := knobLimit + s.knob[strings.LastIndexByte(s.knob, '/')+1:]
	original, changed := j.original(radio)
	if now, err := j.knobs.get(radio); changed && err == nil && now == s.value {
		return original
	}
	return s.value
}

// apply brings knobs to the values wanted and says what became of each. With
// dryRun it only says what it would do.
func (j *journal) apply(want []setting, reason string, dryRun bool) []Change {
	changes := make([]Change, 0, len(want))
	var from []setting
	for _, s := range want {
		now, err := j.knobs.get(s.knob)
		if err != nil && j.passed(s.knob, err) {
			continue
		}
		changes = append(changes, j.change(s.knob, s.value, reason))
		c := &changes[len(changes)-1]
		switch {
		case err != nil:
			c.Result, c.Reason = failure(err)
		case now == s.value:
			c.From, c.Result = now, Unchanged
		default:
			c.From, c.Result = now, Planned
			from = append(from, setting{s.knob, now})
		}
	}
	if dryRun || len(from) == 0 {
		return changes
	}
	err := j.record(from)
	for i := range changes {
		c := &changes[i]
		if c.Result != Planned {
			continue
		}
		if err == nil {
			c.Result = Applied
			if werr := j.knobs.set(c.Knob, c.To); werr != nil {
				c.Result, c.Reason = failure(werr)
				if strings.HasPrefix(c.Knob, knobThreaded) {
					// Half threaded is worse than not threaded.
					_ = j.knobs.write(c.Knob, c.From)
				}
			}
		} else {
			c.Result, c.Reason = Failed, err.Error()
		}
	}
	return changes
}

// fate is what restore does about a knob.
type fate uint8

const (
	putBack fate = iota
	leave        // it is somebody else's by now: forget the original
	later        // the original stays recorded
)

// holdsLimits reports whether limits are recorded, that is, were changed.
func (j *journal) holdsLimits() bool {
	return j.found != nil && slices.ContainsFunc(j.found.Knobs, func(o Original) bool { return limits(o.Knob) })
}

// restore puts every recorded value back, the radio's own before those of its
// stations, so that stations which followed the radio follow it again. The
// record goes once nothing is left in it. What decides about each knob; nil
// puts all of them back.
func (j *journal) restore(reason string, what func(knob string) fate) ([]Change, error) {
	if j.found == nil {
		return nil, j.forget() // one that is there is void
	}
	todo := slices.Clone(j.found.Knobs)
	sort.SliceStable(todo, func(i, j int) bool {
		return !strings.HasPrefix(todo[i].Knob, knobStation) && strings.HasPrefix(todo[j].Knob, knobStation)
	})
	knobs := j.knobs
	knobs.restoring = true
	var changes []Change
	var left []Original
	var errs []error
	for _, o := range todo {
		fate := putBack
		if what != nil {
			fate = what(o.Knob)
		}
		if fate == later {
			left = append(left, o)
			continue
		}
		c := j.change(o.Knob, o.Value, reason)
		now, err := j.knobs.get(o.Knob)
		c.From = now
		switch {
		case err != nil && j.passed(o.Knob, err):
			continue
		case err != nil:
		case fate == leave:
			c.Result, c.To, c.Reason = Unchanged, now, "changed by another program since; left as it is"
		case now == o.Value:
			c.Result = Unchanged
		default:
			c.Result = Applied
			err = knobs.set(o.Knob, o.Value)
		}
		if err != nil {
			c.Result, c.Reason = failure(err)
			left = append(left, o)
			errs = append(errs, fmt.Errorf("restore %s of %s: %w", o.Knob, j.id.Phy, err))
		}
		changes = append(changes, c)
	}
	if left != nil {
		next := *j.found
		next.Knobs = left
		if err := j.store.save(&next); err == nil {
			j.found = &next
		}
		return changes, errors.Join(errs...)
	}
	return changes, j.forget()
}

// forget drops the record: there is nothing to restore any more.
func (j *journal) forget() error {
	j.found = nil
	return j.store.forget(j.id.Path)
}

func (j *journal) change(knob, to, reason string) Change {
	return Change{Radio: j.id.Path, Phy: j.knobs.phy.Name(), Knob: knob, To: to, Reason: reason}
}

// failure turns an error into the result and reason of a change.
func failure(err error) (Result, string) {
	if errors.Is(err, sysfs.ErrNoNAPI) || debugfs.CauseOf(err) == debugfs.NotBuilt || errors.Is(err, fs.ErrNotExist) {
		return Unsupported, explain(err)
	}
	return Failed, explain(err)
}

// explain is an error with the next step to take, where there is one.
func explain(err error) string {
	if advice := debugfs.CauseOf(err).Advice(); advice != "" {
		return err.Error() + ": " + advice
	}
	return err.Error()
}

// passed reports whether a knob went with its station or interface and so
// needs nothing back. A radio's own knobs never pass: if they cannot be
// reached now (debugfs not mounted), the record must stay.
func (j *journal) passed(knob string, err error) bool {
	switch {
	case strings.HasPrefix(knob, knobStation):
		// EIO alone says nothing: it may be gone or in trouble.
		return errors.Is(err, errGoneStation) || errors.Is(err, debugfs.ErrGone)
	case strings.HasPrefix(knob, knobThreaded):
		// Before Linux 5.12 the interface is there, and only the file is not.
		return errors.Is(err, fs.ErrNotExist) && !tree.Exists(j.knobs.env.Sys, "class/net/"+knob[len(knobThreaded):])
	}
	return false
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
