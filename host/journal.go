//go:build (!mips && !mipsle) || full

package host

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"airtuned/sysfs"
	"airtuned/tuner"
)

// name stands for this machine where a radio's phy would stand.
const name = "host"

// journal turns knobs so that all can be turned back: what was found is on disk
// before a knob is turned for the first time.
type journal struct {
	env   Env
	store tuner.Record
	found tuner.Originals
	wrote map[string]change // by knob, by this process
}

type change struct{ to, why string }

// newJournal takes over the record of an earlier process of this boot.
func newJournal(env Env) (*journal, error) {
	j := &journal{env: env, store: tuner.RecordOf(env.StateDir, tuner.HostRecord), wrote: map[string]change{}}
	fresh := tuner.Originals{BootID: sysfs.BootID(env.Proc), Path: tuner.HostRecord, Phy: name}
	found, err := j.store.Load()
	if err != nil {
		return nil, err
	}
	j.found = fresh
	// A boot that is not known (no /proc) voids nothing.
	if found != nil && (found.BootID == fresh.BootID || found.BootID == "" || fresh.BootID == "") {
		j.found = *found
	}
	return j, nil
}

func (j *journal) original(knob string) (string, bool) {
	for _, o := range j.found.Knobs {
		if o.Knob == knob {
			return o.Value, true
		}
	}
	return "", false
}

// apply turns a knob and says what became of it.
func (j *journal) apply(knob, to, why string) tuner.Change {
	c := tuner.Change{Phy: name, Knob: knob, To: to, Reason: why}
	from, err := j.env.get(knob)
	c.From = from
	switch _, recorded := j.original(knob); {
	case err != nil:
	case from == to:
		c.Result = tuner.Unchanged
		return c
	case !recorded:
		next := j.found
		next.Knobs = append(slices.Clone(next.Knobs), tuner.Original{Knob: knob, Value: from})
		if err = j.store.Save(&next); err == nil {
			j.found = next
		}
	}
	if err == nil {
		j.wrote[knob] = change{to, why}
		if err = j.env.set(knob, to); err == nil {
			c.Result = tuner.Applied
			return c
		}
		_ = j.env.write(knob, from)
	}
	c.Result, c.Reason = tuner.Failed, err.Error()
	// Interrupts that the kernel places itself answer EIO.
	if errors.Is(err, sysfs.ErrNoNAPI) || gone(err) || errors.Is(err, unix.EIO) {
		c.Result = tuner.Unsupported
	}
	return c
}

// restore turns knobs back, those turned last first, and forgets them; of all
// that are recorded those that which names, nil: all. What another program has
// changed since is left to it, and what is gone needs nothing.
func (j *journal) restore(reason string, which func(knob string) bool) ([]tuner.Change, error) {
	if len(j.found.Knobs) == 0 {
		return nil, nil
	}
	var changes []tuner.Change
	var left []tuner.Original
	var errs []error
	for _, o := range slices.Backward(j.found.Knobs) {
		if which != nil && !which(o.Knob) {
			left = append(left, o)
			continue
		}
		now, err := j.env.get(o.Knob)
		if gone(err) {
			delete(j.wrote, o.Knob)
			continue
		}
		c := tuner.Change{Phy: name, Knob: o.Knob, From: now, To: o.Value, Reason: reason}
		wrote, ours := j.wrote[o.Knob]
		switch {
		case err != nil:
		case now == o.Value:
			c.Result = tuner.Unchanged
		case ours && now != wrote.to:
			c.Result, c.To, c.Reason = tuner.Unchanged, now, "changed by another program since; left as it is"
		default:
			c.Result = tuner.Applied
			err = j.env.set(o.Knob, o.Value)
		}
		if err != nil {
			c.Result, c.Reason = tuner.Failed, err.Error()
			left = append(left, o)
			errs = append(errs, fmt.Errorf("restore %s: %w", o.Knob, err))
		} else {
			delete(j.wrote, o.Knob)
		}
		changes = append(changes, c)
	}
	slices.Reverse(left)
	j.found.Knobs = left
	if left == nil {
		errs = append(errs, j.store.Forget())
	} else {
		errs = append(errs, j.store.Save(&j.found))
	}
	return changes, errors.Join(errs...)
}

// foreign finds a knob that another program has changed, and what it is now.
func (j *journal) foreign() (knob, is string) {
	for knob, wrote := range j.wrote {
		if now, err := j.env.get(knob); err == nil && now != wrote.to {
			return knob, now
		}
	}
	return "", ""
}

// inForce lists the changes that are not undone.
func (j *journal) inForce() []tuner.Change {
	changes := []tuner.Change{}
	if j == nil {
		return changes
	}
	for _, o := range j.found.Knobs {
		c := tuner.Change{Phy: name, Knob: o.Knob, From: o.Value, Result: tuner.Applied}
		if w, ok := j.wrote[o.Knob]; ok {
			c.To, c.Reason = w.to, w.why
		} else if now, err := j.env.get(o.Knob); err == nil {
			c.To, c.Reason = now, "recorded by an earlier run"
		}
		changes = append(changes, c)
	}
	return changes
}
