package tuner

import "time"

// threadedPlan lists the interfaces whose NAPI the configuration wants threaded
// or not: it is tried on every interface, and the kernel's answer told. auto is
// package host's, which has the evidence.
func threadedPlan(r Radio, mode ThreadedMode) []setting {
	var plan []setting
	if mode == ThreadedOn || mode == ThreadedOff {
		for _, i := range r.Interfaces {
			plan = append(plan, setting{threadedKnob(i.Name), onOff(mode == ThreadedOn)})
		}
	}
	return plan
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
