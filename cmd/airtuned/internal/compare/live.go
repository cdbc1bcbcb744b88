package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"airtuned/daemon/control"
	"airtuned/metrics"
	"airtuned/tuner"
)

// Live is a radio of the running daemon.
type Live struct {
	// Radio is which one: a device path.
	Radio string
	// Dial connects to the daemon.
	Dial func() (*control.Client, error)
	// Pings are sent meanwhile; nil for none.
	Pings *Pinger

	client *control.Client
}

// ErrManyRadios is wrapped by the error of Find when it has to be told which.
var ErrManyRadios = errors.New("there are several radios")

// Find asks the daemon for the one radio that sel means.
func Find(ctx context.Context, c *control.Client, sel string) (tuner.Status, error) {
	var s metrics.Status
	if err := c.Call(ctx, "status", nil, &s); err != nil {
		return tuner.Status{}, err
	}
	var all []tuner.Radio
	for _, r := range s.Radios {
		if r.State != tuner.Gone {
			all = append(all, r.Radio)
		}
	}
	meant, err := tuner.Select(all, sel)
	switch {
	case err != nil:
		return tuner.Status{}, err
	case len(meant) == 0:
		return tuner.Status{}, fmt.Errorf("%w: the daemon has none", tuner.ErrNoMatch)
	case len(meant) > 1:
		names := []string{}
		for _, m := range meant {
			names = append(names, m.Phy)
		}
		return tuner.Status{}, fmt.Errorf("%w: %s", ErrManyRadios, strings.Join(names, ", "))
	}
	for _, r := range s.Radios {
		if r.Path == meant[0].Path {
			return r, nil
		}
	}
	return tuner.Status{}, tuner.ErrNoMatch
}

// Now is the time.
func (l *Live) Now() time.Time { return time.Now() }

// Wait lets a time pass.
func (l *Live) Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// call calls a method on the connection there is.
func (l *Live) call(ctx context.Context, method string, params, result any) error {
	if l.client == nil {
		c, err := l.Dial()
		if err != nil {
			return err
		}
		l.client = c
	}
	return l.client.Call(ctx, method, params, result)
}

// Lend starts a policy for a time.
func (l *Live) Lend(ctx context.Context, policy string, most time.Duration) error {
	err := l.call(ctx, "policy", map[string]string{"radio": l.Radio, "policy": policy, "for": most.String()}, nil)
	var ce *control.Error
	if errors.As(err, &ce) && ce.Code == control.CodeParams {
		return fmt.Errorf("the daemon cannot set a policy for a time, is it older than this airtuned? (%w)", err)
	}
	return err
}

// returnWithin is how long a daemon may take to have its policy back. If it does
// not, the loan ends by itself.
const returnWithin = 5 * time.Second

// Return ends what Lend began, whatever became of its connection.
func (l *Live) Return() error {
	if l.client == nil {
		return nil
	}
	l.client.Close()
	l.client = nil
	ctx, cancel := context.WithTimeout(context.Background(), returnWithin)
	defer cancel()
	c, err := l.Dial()
	if err == nil {
		defer c.Close()
		err = c.Call(ctx, "policy", map[string]string{"radio": l.Radio, "for": "0s"}, nil)
	}
	if err != nil {
		return fmt.Errorf("the policy could not be put back, and comes back by itself within a minute after the interval: %w", err)
	}
	return nil
}

// Read asks the daemon for its status.
func (l *Live) Read(ctx context.Context) (Reading, error) {
	var s metrics.Status
	if err := l.call(ctx, "status", nil, &s); err != nil {
		return Reading{}, err
	}
	for i := range s.Radios {
		if r := &s.Radios[i]; r.Path == l.Radio {
			out := ReadingOf(r)
			if l.Pings != nil {
				l.Pings.Aim(r)
				out.Pings, out.Lost = l.Pings.Take()
			}
			return out, nil
		}
	}
	return Reading{}, fmt.Errorf("%w: the radio is gone", ErrDisturbed)
}

// ReadingOf is what a status says.
func ReadingOf(s *tuner.Status) Reading {
	return Reading{
		Policy: s.Policy, State: s.State, Reason: s.Reason,
		TxBytes: s.Total.TxBytes, Drops: s.Total.Drops,
		ResidencyUs: s.ResidencyUs.Mean, Active: s.ActiveStations > 0,
	}
}
