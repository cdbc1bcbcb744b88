package tuner

import (
	"errors"
	"fmt"
	"io"
	"time"

	"airtuned/debugfs"
	"airtuned/policies"
	"airtuned/recording"
)

// Replayed is one thing of a recording, with what came of it when the readings
// were gone through again.
type Replayed struct {
	*recording.Event
	// At is how long after the beginning of the radio's recording it was.
	At time.Duration
	// Observation is what the readings of a window amount to, nil for everything
	// but decisions.
	Observation *policies.Observation
	// Again is what the recorded policy answers to it now, Other what another one
	// would have. Neither is acted upon.
	Again, Other policies.Decision
	// Inexact says why Again may differ from what was recorded although the same
	// policy was asked; empty if it may not.
	Inexact string
}

// Replay goes through a recording as the loop went through the readings: it senses
// them anew, asks the recorded policy, as it was, and another one, which begins
// without memory, and hands everything to show. It is open loop: what another
// policy would have brought about is not in a recording.
//
// The name of the other policy may be empty. The error is nil at the recording's
// end, show's, or the Reader's; what was shown before is good.
func Replay(r *recording.Reader, other string, show func(*Replayed) error) error {
	radios := map[*recording.Radio]*replay{}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p := radios[e.Radio]
		if p == nil {
			p = &replay{start: e.Radio.Now}
			radios[e.Radio] = p
		}
		out := &p.out
		*out = Replayed{Event: e, At: e.Radio.Now.Sub(p.start), Inexact: p.inexact}
		if err := p.take(e, other, out); err != nil {
			return err
		}
		if err := show(out); err != nil {
			return err
		}
	}
}

// replay is what became of one radio's recording so far.
type replay struct {
	start   time.Time
	senses  *senses // nil until the files are opened
	obs     *policies.Observation
	policy  policies.Policy // as recorded
	other   policies.Policy
	fresh   bool // the other one has not been asked yet
	inexact string
	out     Replayed
}

func (p *replay) take(e *recording.Event, other string, out *Replayed) (err error) {
	now := e.Radio.Now
	switch e.Kind {
	case recording.Begin:
		p.senses, p.obs, p.policy = nil, nil, nil
	case recording.Open:
		p.senses, p.obs = newSenses(e.Radio.Tree, debugfs.NewPhy(e.Radio.Tree, e.Phy)), nil
	case recording.Policy:
		p.inexact = ""
		p.policy, err = policies.New(e.Policy, e.Params)
		if err != nil {
			// A newer one's, perhaps.
			p.policy, p.inexact, err = nil, err.Error(), nil
		} else if policies.Recall(p.policy, now, e.Memory) != nil {
			p.inexact = "what the policy remembered at the beginning is of another version"
			p.policy, _ = policies.New(e.Policy, e.Params)
		}
		p.other, p.fresh = nil, true
		if other != "" {
			if p.other, err = policies.New(other, e.Params); err != nil {
				return err
			}
		}
		out.Inexact = p.inexact
	}
	if p.senses == nil {
		return nil
	}
	switch e.Kind {
	case recording.Scan:
		_ = p.senses.scan() // it said so at the time
	case recording.Rates:
		for _, r := range e.Rates {
			if st := p.senses.station(r.MAC); st != nil {
				st.rateKbps = r.Kbps
			}
		}
	case recording.Sample:
		_ = p.senses.sample()
	case recording.Observe:
		p.obs = p.senses.observe(now, e.Window, e.Limits, e.Fresh)
	case recording.Decide:
		if p.obs == nil {
			return fmt.Errorf("%w: a decision about nothing", recording.ErrFormat)
		}
		out.Observation = p.obs
		p.obs.Fresh = e.Fresh
		if p.policy != nil {
			out.Again = p.policy.Decide(p.obs)
		}
		if p.other != nil {
			p.obs.Fresh = e.Fresh || p.fresh
			out.Other = p.other.Decide(p.obs)
			p.obs.Fresh, p.fresh = e.Fresh, false
		}
	}
	return nil
}
