//go:build !race

package radiosim_test

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/policies"
	"airtuned/radiosim"
	"airtuned/recording"
	"airtuned/tuner"
)

// tape takes a bench's recording as a file.
type tape struct {
	w    *recording.Writer
	file []byte
}

func record(b *bench) *tape {
	b.t.Helper()
	p := &tape{w: recording.NewWriter(), file: recording.AppendHeader(nil)}
	if err := b.tuner.Record(p.w, "test", b.sim.Now()); err != nil {
		b.t.Fatal(err)
	}
	return p
}

// take stores what is there.
func (p *tape) take() {
	for {
		select {
		case block, ok := <-p.w.Blocks():
			if !ok {
				return
			}
			p.file = recording.AppendBlock(p.file, 0, block)
			p.w.Recycle(block)
		default:
			return
		}
	}
}

// played is what a replay amounts to.
type played struct {
	decisions, again, other int // those made, and those made alike
	failed                  map[string]string
	lost                    uint64
	stations                int // the most in one observation
	changes                 int
	states                  []string
}

func replay(t *testing.T, file []byte, policy string) played {
	t.Helper()
	r, err := recording.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	p := played{failed: map[string]string{}}
	err = tuner.Replay(r, policy, func(e *tuner.Replayed) error {
		switch e.Kind {
		case recording.Decide:
			if e.Inexact != "" {
				t.Fatal(e.Inexact)
			}
			p.decisions++
			p.stations = max(p.stations, len(e.Observation.Stations))
			if recording.Same(e.Decision, e.Again) {
				p.again++
			} else if p.decisions-p.again == 1 {
				t.Errorf("at %v: recorded %+v, now %+v", e.At, e.Decision, e.Again)
			}
			if e.Decision.Limits == e.Other.Limits {
				p.other++
			}
		case recording.Reading:
			if e.Err != nil {
				p.failed[e.Name] = e.Err.Error()
			}
		case recording.Lost:
			p.lost += e.Windows
		case recording.Change:
			p.changes++
		case recording.State:
			p.states = append(p.states, e.State)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A recording that begins in the middle of the loop's work has all that its
// decisions come from: each is made again, by every policy, while stations come
// and go and rates change.
func TestReplayDecidesAlike(t *testing.T) {
	for _, policy := range policies.Names() {
		for _, scenario := range []string{"join-leave", "fast-and-slow"} {
			t.Run(policy+"/"+scenario, func(t *testing.T) {
				b := newBench(t, scenario, policy, radiosim.Options{Seed: 1})
				b.run(7*time.Second, nil)
				p := record(b)
				b.run(20*time.Second, p.take)
				b.tuner.StopRecording(p.w)
				p.take()
				got := replay(t, recording.AppendEnd(p.file), "static")
				if got.decisions < 80 || got.again != got.decisions {
					t.Errorf("%d of %d decisions are made again", got.again, got.decisions)
				}
				if got.lost > 0 || got.stations < 2 || (got.changes == 0) != (policy != "delay" && policy != "dql") {
					t.Errorf("%+v", got)
				}
				if (got.other == got.decisions) != (policy == "static") {
					t.Errorf("static decides alike in %d of %d cases", got.other, got.decisions)
				}
				t.Logf("%d bytes, %d decisions, %d stations", len(p.file), got.decisions, got.stations)
			})
		}
	}
}

// Being recorded costs the loop one window and changes nothing else.
func TestRecordingLeavesTheLoopAlone(t *testing.T) {
	run := func(recorded bool) (int, uint64) {
		b := newBench(t, "one-fast", "delay", radiosim.Options{Seed: 1})
		b.run(25*time.Second, nil)
		if recorded {
			p := record(b)
			b.run(20*time.Second, p.take)
		} else {
			b.run(20*time.Second, nil)
		}
		return b.limitUs(), b.tuner.Status().Total.TxPackets
	}
	limit, sent := run(false)
	limitRecorded, sentRecorded := run(true)
	if r := float64(sentRecorded) / float64(sent); r < 0.99 || r > 1.01 {
		t.Errorf("%d packets instead of %d", sentRecorded, sent)
	}
	if r := float64(limitRecorded) / float64(limit); r < 0.8 || r > 1.25 {
		t.Errorf("limit %d us instead of %d us", limitRecorded, limit)
	}
}

// Readings that fail are in the recording by name, and lost windows as a number;
// what follows them is whole again.
func TestRecordingOfTrouble(t *testing.T) {
	b := newBench(t, "four-fast", "delay", radiosim.Options{Seed: 1})
	b.run(5*time.Second, nil)
	p := record(b)
	b.run(3*time.Second, p.take)
	b.sim.FailFile("ieee80211/phy0/ath10k/num_pending_tx", unix.EIO)
	b.run(3*time.Second, p.take)
	b.sim.FailFile("ieee80211/phy0/ath10k/num_pending_tx", nil)
	b.run(3*time.Second, p.take)
	b.run(60*time.Second, nil) // nobody takes anything
	b.run(10*time.Second, p.take)
	b.tuner.StopRecording(p.w)
	p.take()
	got := replay(t, recording.AppendEnd(p.file), "")
	if got.again != got.decisions || got.decisions < 80 {
		t.Errorf("%d of %d decisions are made again", got.again, got.decisions)
	}
	if got.lost < 60 || got.lost > 300 {
		t.Errorf("%d windows lost", got.lost)
	}
	name := "ieee80211/phy0/ath10k/num_pending_tx"
	if got.failed[name] != unix.EIO.Error() {
		t.Errorf("failed readings: %v", got.failed)
	}
	if !errors.Is(unix.ENOENT, fs.ErrNotExist) || len(got.states) < 1 {
		t.Errorf("states %v", got.states)
	}
}

// A loop that is recorded does not allocate more than one that is not.
func TestRecordingAllocatesNothing(t *testing.T) {
	count := func(recorded bool) float64 {
		b := newBench(t, "four-fast", "static", radiosim.Options{Seed: 1})
		b.run(3*time.Second, nil)
		drain := func() {}
		if recorded {
			p := record(b)
			b.run(3*time.Second, func() { p.take(); p.file = p.file[:0] })
			drain = func() {
				for {
					select {
					case block := <-p.w.Blocks():
						p.w.Recycle(block)
					default:
						return
					}
				}
			}
			b.run(30*time.Second, drain) // buffers find their size
		}
		return testing.AllocsPerRun(20, func() {
			b.run(window, drain)
		})
	}
	without, with := count(false), count(true)
	if with > without+1 {
		t.Errorf("%v allocations per window, %v unrecorded", with, without)
	}
}
