package tuner

import (
	"strconv"
	"time"

	"airtuned/inet"
	"airtuned/policies"
	"airtuned/policies/tsq"
	"airtuned/sysfs"
	"airtuned/tree"
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
		if p.PacingShift == 0 || !mayPace(r, s) {
			return nil
		}
		shift = strconv.Itoa(p.PacingShift)
	}
	return []setting{{knobPacing, shift}}
}

// mayPace reports whether the shift is the daemon's to choose.
func mayPace(r Radio, s Settings) bool {
	return r.Features.Has(FeaturePacing) && s.PacingShift == PacingAuto &&
		(s.Policy != "observe" || policies.ProfileFor(r.Chip, r.Driver, r.Bus).Policy == "observe")
}

// pacing is what is known of the pacing shift.
type pacing struct {
	wrote string // what it was last brought to; empty: not touched
	taken bool   // another program has changed it since

	choice *tsq.Policy // nil where it is not the daemon's to choose
	// These are as of the look before.
	at        time.Time
	sent      uint64
	decisions uint64
	cpu       []sysfs.CPUTimes
}

// pace does what the settings want about the pacing shift, or gives the original
// back where they want nothing any more.
func (t *Tuner) pace(now time.Time) {
	if t.journal == nil || t.told || t.pacing.taken {
		return
	}
	plan := pacingPlan(t.radio, t.settings)
	reason := "pacing_shift: " + string(t.settings.PacingShift)
	original, touched := t.journal.original(knobPacing)
	if !inet.Built || !mayPace(t.radio, t.settings) {
		t.pacing.choice = nil
	} else {
		base := original
		if !touched {
			base, _ = t.journal.knobs.get(knobPacing)
		}
		if plan != nil {
			base = plan[0].value
		}
		shift, err := strconv.Atoi(base)
		switch c := t.pacing.choice; {
		case err != nil || shift < tsq.Min || shift > tsq.Max:
			t.pacing.choice = nil
		case c == nil || c.Base() != shift:
			t.pacing.choice = tsq.New(shift)
		default:
			if chosen, why := c.Shift(); chosen != shift {
				plan, reason = []setting{{knobPacing, strconv.Itoa(chosen)}}, why
			}
		}
	}
	if plan == nil {
		if t.pacing.wrote == "" || !touched {
			return
		}
		plan = []setting{{knobPacing, original}}
	}
	t.pacing.wrote = ""
	changes := t.setPacing(plan[0].value, reason, now)
	t.noteChanges(reason, changes)
	for _, c := range changes {
		if c.Result == Applied {
			t.changed(c, now)
		}
	}
}

// setPacing writes a shift.
func (t *Tuner) setPacing(shift, reason string, now time.Time) []Change {
	changes := t.journal.apply([]setting{{knobPacing, shift}}, reason, false)
	for _, c := range changes {
		switch c.Result {
		case Applied, Unchanged:
			t.pacing.wrote = c.To
		default:
			t.log.Warn("a change failed", "knob", c.Knob, "to", c.To, "error", c.Reason)
			if c := t.pacing.choice; inet.Built && c != nil {
				c.Abandon(now)
			}
		}
	}
	return changes
}

// minUploadKbps is the least traffic that makes this host's connections worth a look.
const minUploadKbps = 1000

// WantsTCP reports whether NoteTCP is worth its cost now, whoever else asks.
func (t *Tuner) WantsTCP(now time.Time) bool {
	c := t.pacing.choice
	switch {
	case c == nil || t.gone != "" || t.pacing.taken:
		return false
	case c.Trying():
		return true
	}
	return !t.told && c.Due(now) && kbps(t.view.txBytes, t.view.window) >= minUploadKbps
}

// choosePacing has the policy see what this host's connections did since the look
// before, and does what it says.
func (t *Tuner) choosePacing(now time.Time) {
	p := &t.pacing
	t.checkPacing()
	if p.choice == nil || p.taken || t.told && !p.choice.Trying() {
		return
	}
	was, _ := p.choice.Shift()
	settled := p.choice.Settled()
	if t.told || t.tcp.at.IsZero() || t.senses == nil {
		p.choice.Abandon(now)
	} else {
		sent := t.view.total.TxBytes + t.senses.total.TxBytes
		p.choice.Observe(&tsq.Observation{
			Now: now, Window: now.Sub(p.at), SentBytes: sent - p.sent, OwnBytes: t.tcp.queued, RTT: t.tcp.queuedRTT,
			Busy: p.busy(t.env.Proc),
			Disturbed: t.decisions != p.decisions || t.referee.phase != playing ||
				now.Before(t.pauseUntil) || now.Before(t.scanUntil),
		})
		p.at, p.sent, p.decisions = now, sent, t.decisions
	}
	shift, why := p.choice.Shift()
	if shift != was {
		t.setPacing(strconv.Itoa(shift), why, now)
	}
	if to := p.choice.Settled(); to != settled { // the trials before it, to and fro, are nobody's news
		c := Change{
			Radio: t.radio.Path, Phy: t.radio.Phy, Knob: knobPacing,
			From: strconv.Itoa(settled), To: strconv.Itoa(to), Result: Applied, Reason: why,
		}
		t.noteChanges(why, []Change{c})
		t.changed(c, now)
	}
}

// busy is the share of all CPU time that was used since the last call, below 0 where
// it is not known.
func (p *pacing) busy(proc tree.FS) float64 {
	text, err := tree.Read(proc, "stat")
	if err != nil {
		p.cpu = nil
		return -1
	}
	before := p.cpu
	p.cpu, err = sysfs.ParseStat(nil, text)
	if err != nil || len(before) != len(p.cpu) {
		return -1
	}
	var total, idle float64
	for i, c := range p.cpu {
		// Idle time goes back now and then (fs/proc/stat.c).
		total += float64(int64(c.Total() - before[i].Total()))
		idle += float64(int64(c.Idle + c.IOWait - before[i].Idle - before[i].IOWait))
	}
	if total <= 0 {
		return -1
	}
	return 1 - idle/total
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
