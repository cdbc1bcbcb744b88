package daemon

import (
	"time"

	"airtuned/daemon/control"
	"airtuned/tuner"
)

// maxLoan bounds how long a policy can be lent at a time.
const maxLoan = time.Hour

// parseLoan reads the parameter for of the method policy. Without a policy it ends a
// loan, and is 0.
func parseLoan(policy, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	loan, err := time.ParseDuration(text)
	switch {
	case err != nil:
	case policy == "" && loan == 0, policy != "" && loan > 0 && loan <= maxLoan:
		return loan, nil
	}
	return 0, control.Errorf(control.CodeParams, "for is a time of at most %v for a policy, or 0s without one to end it, not %q", maxLoan, text)
}

// lend puts a policy in force for a time, so that a client that tries policies out
// and dies leaves nothing behind. The policy starts anew, even if it is the one in
// force. An empty one ends the loan. The caller has d's lock.
func (d *daemon) lend(r *radio, policy string, loan time.Duration) {
	lent := r.lent != ""
	r.endLoan()
	if policy == "" {
		if lent {
			d.reclaim(r)
		}
		return
	}
	r.lent = policy
	var timer *time.Timer
	timer = time.AfterFunc(loan, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if r.loan == timer { // else it was ended, or lent again
			d.log.Info("the time of a policy that was lent is over", "radio", r.seen.phy, "policy", r.lent)
			r.endLoan()
			d.reclaim(r)
		}
	})
	r.loan = timer
	r.want = tuner.Settings{} // whatever it was
	d.reclaim(r)
}

// reclaim has a radio treated as the configuration and what was commanded say.
func (d *daemon) reclaim(r *radio) {
	r.configure(d.config.SettingsFor(r.last.Load().Radio))
}

// endLoan forgets a loan. What is in force is not changed by that.
func (r *radio) endLoan() {
	if r.loan != nil {
		r.loan.Stop()
	}
	r.lent, r.loan = "", nil
}
