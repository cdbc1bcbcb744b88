package tuner

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"airtuned/debugfs"
	"airtuned/policies"
	"airtuned/sysfs"
	"airtuned/tree"
	"airtuned/wlan"
)

// TuneOnce applies a policy's first answer to one radio, without a loop. What
// was there is recorded, so that RestoreAll gives it back. A policy that learns
// from what its limits do gives the limits it would start from.
func TuneOnce(env Env, r Radio, s Settings, dryRun bool, now time.Time) ([]Change, error) {
	dev, err := findDevice(env, r.Path)
	if err != nil {
		return nil, err
	}
	phy := debugfs.NewPhy(env.Debug, r.Phy)
	j, err := newJournal(env, phy, r.Path, dev.PhyIndex)
	if err != nil {
		return nil, err
	}
	return j.tuneOnce(env, r, s, dryRun, now)
}

// tuneOnce is TuneOnce on a radio whose journal is open.
func (j *journal) tuneOnce(env Env, r Radio, s Settings, dryRun bool, now time.Time) ([]Change, error) {
	s = s.forRadio(r)
	policy, err := newPolicy(r, s)
	if err != nil {
		return nil, err
	}
	changes := j.apply(threadedPlan(r, s.ThreadedNAPI), "threaded_napi: "+string(s.ThreadedNAPI), dryRun)
	changes = append(changes, j.apply(pacingPlan(r, s), "pacing_shift: "+string(s.PacingShift), dryRun)...)
	if s.Policy == "observe" {
		return changes, nil
	}
	if why := unfit(r, s); why != "" {
		for _, ac := range wlan.ACs {
			c := j.change(limitKnob(ac), "", why)
			if l, known := r.AQL.Limits[ac.String()]; known {
				c.From, c.To = l.String(), l.String()
			}
			c.Result = Unsupported
			changes = append(changes, c)
		}
		return changes, nil
	}
	d := policy.Decide(glimpse(env, j.knobs.phy, r, now))
	if !d.Write {
		return changes, nil
	}
	want := plan(s.bound(d.Limits))
	for _, st := range d.Stations {
		for _, ac := range wlan.ACs {
			want = append(want, setting{stationKnob(st.MAC, ac), s.clamp(st.AC[ac]).String()})
		}
	}
	reason := d.Reason
	if s.Policy == "dql" || s.Policy == "delay" {
		reason = "where " + s.Policy + " starts"
	}
	return append(changes, j.apply(want, reason, dryRun)...), nil
}

// glimpse is an observation of one moment: who is there and at which rate.
func glimpse(env Env, phy *debugfs.Phy, r Radio, now time.Time) *policies.Observation {
	s := newSenses(env.Debug, phy)
	defer s.close()
	var limits wlan.Limits
	for _, ac := range wlan.ACs {
		limits.AC[ac] = r.AQL.Limits[ac.String()]
	}
	limits.ThresholdUs = r.AQL.ThresholdUs
	// What cannot be read is absent from the observation.
	_ = s.scan()
	if air, err := readNetlink(env.Netlink); err == nil && env.Netlink != nil {
		for _, i := range air.interfaces[air.wiphys[r.Phy].Index] {
			if stations, err := env.Netlink.Stations(i.Index); err == nil {
				s.note(stations)
			}
		}
	}
	_ = s.sample()
	o := s.observe(now, 0, limits, true)
	o.Stations = append([]policies.Station(nil), o.Stations...)
	return o
}

// unfit says why limits cannot be used on a radio, or nothing if they can.
func unfit(r Radio, s Settings) string {
	a := r.AQL
	switch {
	case len(a.Limits) == 0 || !a.Writable:
		return orElse(a.Reason, "the limits cannot be read")
	case s.Force || a.Reason == "":
		return ""
	}
	return a.Reason + "; force: true in the configuration writes limits all the same"
}

// Tunable reports whether a policy can act on a radio's limits.
func Tunable(r Radio, s Settings) bool { return unfit(r, s) == "" }

// RestoreAll puts the recorded originals of the radios that match (nil: all)
// back, in this process or after another one crashed. Records of radios that
// are not there any more, or that the kernel registered anew, are void and go.
func RestoreAll(env Env, match func(path, phy string) bool) ([]Change, error) {
	changes := []Change{}
	records, bad, err := newStore(env.StateDir).list()
	if err != nil || len(records)+len(bad) == 0 {
		return changes, err
	}
	var errs []error
	for path, err := range bad {
		d, _ := findDevice(env, path)
		if match == nil || match(path, d.Phy) {
			errs = append(errs, err)
		}
	}
	for _, o := range records {
		d, err := findDevice(env, o.Path)
		if match != nil && !match(o.Path, orElse(d.Phy, o.Phy)) {
			continue
		}
		c, err := restoreRecord(env, o, d, err)
		changes = append(changes, c...)
		errs = append(errs, err)
	}
	return changes, errors.Join(errs...)
}

// RestoreRadio is RestoreAll for one radio, by its path. It touches no file of
// any other.
func RestoreRadio(env Env, path string) ([]Change, error) {
	o, err := newStore(env.StateDir).load(path)
	if err != nil || o == nil {
		return nil, err
	}
	d, err := findDevice(env, path)
	return restoreRecord(env, o, d, err)
}

// restoreRecord puts a record back on the device that was found for it, if one
// was.
func restoreRecord(env Env, o *Originals, d sysfs.Device, err error) ([]Change, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !tree.Exists(env.Sys, "class") {
			return nil, fmt.Errorf("restore %s: %s is not a sysfs", o.Phy, env.Sys)
		}
		env.Log.Info("nothing to restore: the radio is gone, and its values with it", "path", o.Path)
		return nil, newStore(env.StateDir).forget(o.Path)
	case err != nil:
		return nil, fmt.Errorf("restore %s: %w", o.Phy, err) // it may be there
	}
	j, err := newJournal(env, debugfs.NewPhy(env.Debug, d.Phy), o.Path, d.PhyIndex)
	if err != nil {
		return nil, fmt.Errorf("restore %s: %w", d.Phy, err)
	}
	return j.restore("restore", nil)
}
