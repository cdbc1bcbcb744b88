package tuner

import (
	"strconv"
	"time"

	"airtuned/policies"
)

// pacingPlan is the tx_sk_pacing_shift that the settings want, where the kernel
// has that file. It concerns TCP of this host alone, so no loop looks at it. Whoever
// only wants to observe has nothing written, unless observing is all that the
// chip's profile does about limits.
func pacingPlan(r Radio, s Settings) []setting {
	if !r.Features.Has(FeaturePacing) {
		return nil
	}
	shift := string(s.PacingShift)
	switch s.PacingShift {
	case "", PacingLeave:
		return nil
	case PacingAuto:
		p := policies.ProfileFor(r.Chip, r.Driver, r.Bus)
		if p.PacingShift == 0 || s.Policy == "observe" && p.Policy != "observe" {
			return nil
		}
		shift = strconv.Itoa(p.PacingShift)
	}
	return []setting{{knobPacing, shift}}
}

// pacing is what is known of the pacing shift.
type pacing struct {
	wrote string // what it was last brought to; empty: not touched
	taken bool   // another program has changed it since
}

// pace does what the settings want about the pacing shift, or gives the original
// back where they want nothing any more.
func (t *Tuner) pace(now time.Time) {
	if t.journal == nil || t.told || t.pacing.taken {
		return
	}
	plan := pacingPlan(t.radio, t.settings)
	reason := "pacing_shift: " + string(t.settings.PacingShift)
	if plan == nil {
		if t.pacing.wrote == "" {
			return
		}
		original, ok := t.journal.original(knobPacing)
		if !ok {
			return
		}
		plan = []setting{{knobPacing, original}}
	}
	t.pacing.wrote = ""
	changes := t.journal.apply(plan, reason, false)
	t.noteChanges(reason, changes)
	for _, c := range changes {
		switch c.Result {
		case Applied, Unchanged:
			t.pacing.wrote = c.To
			if c.Result == Applied {
				t.changed(c, now)
			}
		default:
			t.log.Warn("a change failed", "knob", c.Knob, "to", c.To, "error", c.Reason)
		}
	}
}

// checkPacing notes whether another program has changed the shift: then it is
// left to that.
func (t *Tuner) checkPacing() {
	if t.pacing.wrote == "" || t.pacing.taken {
		return
	}
	now, err := t.journal.knobs.get(knobPacing)
	if err == nil && now != t.pacing.wrote {
		t.pacing.taken = true
		t.log.Warn("foreign write", "knob", knobPacing, "from", t.pacing.wrote, "to", now)
	}
}
