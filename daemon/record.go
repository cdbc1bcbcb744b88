package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"airtuned/daemon/control"
	"airtuned/recording"
	"airtuned/tuner"
)

// Recorded is one radio of a recording, in the answer to the method record; its
// place in the list is the radio's number.
type Recorded struct {
	Path string `json:"path"`
	Phy  string `json:"phy"`
}

// RecordedBlock is a notification of the method record: what to store of a radio.
type RecordedBlock struct {
	Radio int    `json:"radio"`
	Block []byte `json:"block"` // base64
}

// callRecord has the loops of radios taken down, for as long as the client takes
// what they send.
func (d *daemon) callRecord(ctx context.Context, c control.Call) (any, func(context.Context, func(any) error), error) {
	select {
	case <-d.found:
	case <-ctx.Done():
		return nil, nil, control.Errorf(control.CodeBusy, "the daemon is still looking for radios; try again")
	}
	var p selector
	if err := c.Decode(&p); err != nil {
		return nil, nil, err
	}
	radios, err := d.pick(ctx, p.Radio)
	if err != nil {
		return nil, nil, err
	}
	if len(radios) == 0 {
		return nil, nil, control.Errorf(control.CodeNoRadio, "there is no radio to record")
	}
	var writers []*recording.Writer
	abandon := func() {
		for _, w := range writers {
			w.Abandon()
		}
	}
	result := struct {
		Radios []Recorded `json:"radios"`
	}{}
	for _, r := range radios {
		w := recording.NewWriter()
		writers = append(writers, w)
		phy, err := ask(ctx, r, func(t *tuner.Tuner, now time.Time) (string, error) {
			return t.Status().Phy, t.Record(w, d.Version, now)
		})
		if err != nil {
			abandon()
			if errors.Is(err, tuner.ErrRecorded) {
				err = control.Errorf(control.CodeBusy, "%s: %v", r.path, err)
			}
			return nil, nil, err
		}
		result.Radios = append(result.Radios, Recorded{r.path, phy})
	}
	return result, func(ctx context.Context, send func(any) error) {
		defer abandon()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var wg sync.WaitGroup
		for i, w := range writers {
			wg.Go(func() {
				for {
					select {
					case block, ok := <-w.Blocks():
						if !ok {
							return // the loop has ended
						}
						if send(RecordedBlock{i, block}) != nil {
							cancel()
							return
						}
						w.Recycle(block)
					case <-ctx.Done():
						return
					}
				}
			})
		}
		wg.Wait()
	}, nil
}
