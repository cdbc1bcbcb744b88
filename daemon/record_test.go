package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"airtuned/daemon/control"
	"airtuned/recording"
	"airtuned/tuner"
)

// recorder is a client that records.
type recorder struct {
	cancel context.CancelFunc
	ended  chan struct{}
	file   []byte
}

// record starts one, as the control socket would. It calls take, if not nil, with
// each block before it is stored.
func (s *system) record(params string, take func() error) (*recorder, error) {
	s.t.Helper()
	_, run, err := s.methods["record"].Stream(s.t.Context(), control.Call{Params: json.RawMessage(params), MayChange: true})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	r := &recorder{cancel: cancel, ended: make(chan struct{}), file: recording.AppendHeader(nil)}
	go func() {
		defer close(r.ended)
		run(ctx, func(v any) error {
			if take != nil {
				if err := take(); err != nil {
					return err
				}
			}
			b := v.(RecordedBlock)
			r.file = recording.AppendBlock(r.file, b.Radio, b.Block)
			return nil
		})
	}()
	return r, nil
}

// replay ends the recording and counts its decisions, those made alike again, and
// the windows lost.
func (r *recorder) replay(t *testing.T) (decisions, alike int, lost uint64) {
	t.Helper()
	r.cancel()
	<-r.ended
	in, err := recording.NewReader(bytes.NewReader(recording.AppendEnd(r.file)))
	if err != nil {
		t.Fatal(err)
	}
	err = tuner.Replay(in, "", func(e *tuner.Replayed) error {
		switch e.Kind {
		case recording.Decide:
			decisions++
			if recording.Same(e.Decision, e.Again) {
				alike++
			}
		case recording.Lost:
			lost += e.Windows
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return decisions, alike, lost
}

func TestRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env := simulate(t)
		s := start(t, env, "")
		time.Sleep(5 * time.Second)
		r, err := s.record("", nil)
		if err != nil {
			t.Fatal(err)
		}
		// One at a time for each radio; the second does not disturb the first.
		var ce *control.Error
		if _, err := s.record(`{"radio":"phy0"}`, nil); !errors.As(err, &ce) || ce.Code != control.CodeBusy {
			t.Errorf("a second recording: %v", err)
		}
		if _, err := s.record(`{"radio":"phy9"}`, nil); !errors.As(err, &ce) || ce.Code != control.CodeNoRadio {
			t.Errorf("a radio that is not there: %v", err)
		}
		if _, err := s.record(`{"phy":"phy0"}`, nil); !errors.As(err, &ce) || ce.Code != control.CodeParams {
			t.Errorf("a bad parameter: %v", err)
		}
		time.Sleep(10 * time.Second)
		decisions, alike, lost := r.replay(t)
		if decisions < 40 || alike != decisions || lost > 0 {
			t.Errorf("%d of %d decisions are made again, %d windows lost", alike, decisions, lost)
		}

		// The next one may follow at once.
		r, err = s.record("", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if decisions, alike, _ := r.replay(t); decisions < 5 || alike != decisions {
			t.Errorf("then %d of %d decisions are made again", alike, decisions)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A client that takes nothing, or is gone, costs the loop nothing; what it missed
// is counted.
func TestRecordSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env := simulate(t)
		s := start(t, env, "")
		time.Sleep(2 * time.Second)
		wake := make(chan struct{})
		r, err := s.record("", func() error { <-wake; return nil })
		if err != nil {
			t.Fatal(err)
		}
		before := s.status().Radios[0].Decisions
		time.Sleep(40 * time.Second) // 200 windows, and 128 blocks may wait
		s.wantState(tuner.Tuning)
		if now := s.status().Radios[0].Decisions; now == before {
			t.Error("the loop stands still")
		}
		past, err := call[struct {
			Radios []tuner.Past `json:"radios"`
		}](s, "history", "")
		if err != nil || len(past.Radios) != 1 || len(past.Radios[0].Windows) < 190 {
			t.Errorf("%+v, %v: fewer than 5 windows a second", past, err)
		}
		close(wake)
		time.Sleep(5 * time.Second)
		decisions, alike, lost := r.replay(t)
		if alike != decisions || decisions < 140 || lost < 50 || lost > 100 {
			t.Errorf("%d of %d decisions are made again, %d windows lost", alike, decisions, lost)
		}

		r, err = s.record("", func() error { return errors.New("gone") })
		if err != nil {
			t.Fatal(err)
		}
		<-r.ended
		time.Sleep(time.Second)
		if _, err := s.record("", nil); err != nil {
			t.Errorf("after one that is gone: %v", err)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// When the daemon ends, so does the recording, with what came last.
func TestRecordUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env := simulate(t)
		s := start(t, env, "")
		time.Sleep(3 * time.Second)
		r, err := s.record("", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		<-r.ended
		if !bytes.Contains(r.file, []byte("the daemon stops")) {
			t.Error("the last state is not in the recording")
		}
	})
}
