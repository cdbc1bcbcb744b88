package status

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"airtuned/daemon/control"
	"airtuned/tuner"
)

// Update is what comes of following a daemon: a status, what it remembers, or
// that it is away.
type Update struct {
	Status *Daemon
	Past   []tuner.Past
	Away   bool
}

// Decode reads a status; what a newer daemon adds is ignored.
func Decode(text json.RawMessage) (Daemon, error) {
	var s Daemon
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("the daemon's status is not understood: %w", err)
	}
	return s, nil
}

// retryEvery is how often a daemon that is away is looked for.
const retryEvery = time.Second

// Follower asks the daemon at a socket again and again.
type Follower struct {
	Socket   string
	Interval time.Duration
	// Past asks for what the daemon remembers, whenever it is there anew.
	Past bool
}

// Follow hands each status to fn until ctx ends, which is no error, or fn returns
// one. A daemon that goes is waited for; one that is not there to begin with is an
// error.
func (f Follower) Follow(ctx context.Context, fn func(Update) error) error {
	c, err := control.Dial(f.Socket)
	if err != nil {
		return err
	}
	for {
		if c != nil {
			ended := f.listen(ctx, c, fn)
			c.Close()
			if ended != nil {
				return ended
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := fn(Update{Away: true}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryEvery):
		}
		if c, err = control.Dial(f.Socket); err != nil {
			c = nil
		}
	}
}

// listen is one connection. Its error is fn's.
func (f Follower) listen(ctx context.Context, c *control.Client, fn func(Update) error) (ended error) {
	if f.Past {
		var past struct {
			Radios []tuner.Past `json:"radios"`
		}
		// An older daemon has none.
		if c.Call(ctx, "history", nil, &past) == nil {
			if err := fn(Update{Past: past.Radios}); err != nil {
				return err
			}
		}
	}
	_ = c.Subscribe(ctx, f.Interval, func(text json.RawMessage) error {
		var s Daemon
		if s, ended = Decode(text); ended == nil {
			ended = fn(Update{Status: &s})
		}
		return ended
	})
	return ended
}
