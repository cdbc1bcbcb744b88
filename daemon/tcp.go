package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"airtuned/inet"
	"airtuned/tuner"
)

const (
	// tcpEvery is the time between two looks at this host's TCP connections, while
	// somebody asks or a radio's loop wants them: each lists them all.
	tcpEvery = 2 * time.Second
	// tcpRetry is the same after a look that failed.
	tcpRetry = time.Minute
)

// followTCP lists this host's TCP connections when somebody wants to know.
func (d *daemon) followTCP(ctx context.Context) error {
	if !inet.Built || d.Sockets == nil {
		return nil
	}
	var next time.Time
	s, trouble := new(inet.Snapshot), ""
	look := func() {
		now := time.Now()
		next = now.Add(tcpEvery)
		err := d.Sockets(s)
		given := s
		if err != nil {
			given, next = nil, now.Add(tcpRetry)
			if err.Error() != trouble {
				trouble = err.Error()
				d.log.Debug("this host's TCP connections are not known", "error", err)
			}
		}
		if !d.noteTCP(ctx, given) {
			s = new(inet.Snapshot) // a loop that is blocked reads the old one later
		}
	}
	tick := time.NewTicker(tcpEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case asked := <-d.tcpAsked:
			if !time.Now().Before(next) {
				look()
			}
			close(asked)
		case now := <-tick.C:
			if now.Add(tcpEvery/2).After(next) && slices.ContainsFunc(d.all(), func(r *radio) bool { return r.wantsTCP.Load() }) {
				look()
			}
		}
	}
}

// noteTCP hands connections to the loops. It reports whether all of them took them in.
func (d *daemon) noteTCP(ctx context.Context, s *inet.Snapshot) bool {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	radios := d.all()
	took := make([]bool, len(radios))
	var wg sync.WaitGroup
	for i, r := range radios {
		wg.Go(func() {
			_, err := ask(ctx, r, func(t *tuner.Tuner, now time.Time) (struct{}, error) {
				t.NoteTCP(s, now)
				return struct{}{}, nil
			})
			took[i] = err == nil
		})
	}
	wg.Wait()
	return !slices.Contains(took, false)
}

// lookAtTCP has the connections listed, if that was not done just now, and waits for
// it as long as for a radio.
func (d *daemon) lookAtTCP(ctx context.Context) {
	if !inet.Built || d.Sockets == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	done := make(chan struct{})
	select {
	case d.tcpAsked <- done:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
