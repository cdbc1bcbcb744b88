package tuner

import (
	"time"

	"airtuned/sysfs"
)

// threadedPlan is what the configuration wants about threaded NAPI: a patched
// ath10k's own switch, else it is tried on every interface, and the kernel's
// answer told. auto is package host's, which has the evidence.
func threadedPlan(r Radio, mode ThreadedMode) []setting {
	if mode != ThreadedOn && mode != ThreadedOff {
		return nil
	}
	value := onOff(mode == ThreadedOn)
	if r.Features.Has(FeatureThreaded) {
		return []setting{{FeatureThreaded, value}}
	}
	var plan []setting
	for _, i := range r.Interfaces {
		plan = append(plan, setting{threadedKnob(i.Name), value})
	}
	return plan
}

// patchedNAPI is the radio's NAPI where a patched ath10k has a switch for it.
func (r Radio) patchedNAPI() NAPI {
	on, ok := r.Features[FeatureThreaded]
	switch {
	case !ok:
		return r.NAPI
	case on == 1:
		return NAPI{sysfs.NAPIThreaded, true, "ath10k/napi_threaded in debugfs reads 1"}
	}
	return NAPI{sysfs.NAPISoftirq, true, "ath10k/napi_threaded in debugfs can switch threads on"}
}

// thread does what the settings want about threaded NAPI.
func (t *Tuner) thread(now time.Time) {
	if t.journal == nil || t.told {
		return
	}
	plan := threadedPlan(t.radio, t.settings.ThreadedNAPI)
	reason := "threaded_napi: " + string(t.settings.ThreadedNAPI)
	changes := t.journal.apply(plan, reason, false)
	t.noteChanges(reason, changes)
	for _, c := range changes {
		switch c.Result {
		case Applied:
			t.changed(c, now)
		case Failed:
			t.log.Warn("a change failed", "knob", c.Knob, "to", c.To, "error", c.Reason)
		case Unsupported:
			// The kernel's answer is worth more than what was thought before.
			t.radio.NAPI.Settable = false
			t.log.Info("threaded NAPI is not to be had here", "knob", c.Knob, "why", orElse(t.radio.NAPI.Reason, c.Reason))
		}
	}
}
