package tuner

import (
	"time"

	"airtuned/sysfs"
)

// threadedPlan lists the interfaces whose NAPI shall be threaded or not. auto
// turns it on where it is worth a try: never on one CPU, and never where the
// driver keeps its NAPI on a hidden netdev, which the file cannot reach. An
// explicit on or off is tried on every interface, and the kernel's answer told.
func threadedPlan(env Env, r Radio, mode ThreadedMode) []setting {
	var plan []setting
	switch mode {
	case ThreadedOn, ThreadedOff:
	case ThreadedAuto:
		if !r.NAPI.Settable || sysfs.CPUs(env.Sys, env.Proc) < 2 {
			return nil
		}
	default:
		return nil
	}
	for _, i := range r.Interfaces {
		plan = append(plan, setting{threadedKnob(i.Name), onOff(mode != ThreadedOff)})
	}
	return plan
}

// thread does what the settings want about threaded NAPI.
func (t *Tuner) thread(now time.Time) {
	if t.journal == nil || t.told {
		return
	}
	plan := threadedPlan(t.env, t.radio, t.settings.ThreadedNAPI)
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
