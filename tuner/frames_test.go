package tuner

import (
	"testing"
	"time"

	"airtuned/policies"
)

func TestFrameGuards(t *testing.T) {
	now := t0
	look := func(f *frameLimit, d time.Duration, o policies.Observation) (v verdict) {
		for end := now.Add(d); now.Before(end); {
			now = now.Add(200 * time.Millisecond)
			o.Now, o.Window = now, 200*time.Millisecond
			v = f.check(&o)
		}
		return v
	}
	frames := func(min, max float64) policies.Gauge {
		return policies.Gauge{N: 10, Mean: (min + max) / 2, Min: min, Max: max, NonZero: 1}
	}
	waiting := policies.Gauge{N: 10, Mean: 20, Min: 20, Max: 20, NonZero: 1}
	jam := policies.Observation{Frames: frames(64, 64), Backlog: waiting}
	ours := func() *frameLimit { return &frameLimit{on: true, limit: 64, wrote: true} }

	f := ours()
	if v := look(f, 800*time.Millisecond, jam); v.action == backOff {
		t.Errorf("backs off after 0.8 s: %s", v.reason)
	}
	if v := look(f, 400*time.Millisecond, jam); v.action != backOff {
		t.Error("a jam is not seen")
	}
	fine := policies.Observation{Frames: frames(0, 70), Backlog: waiting, TxPackets: 500}
	if v := look(f, queuePause-time.Second, fine); v.action != backOff {
		t.Error("the limit is back too early")
	}
	if v := look(f, 2*time.Second, fine); v.action == backOff {
		t.Error("the limit does not come back")
	}
	look(f, 2*time.Second, jam)
	if v := look(f, queuePause+2*time.Second, fine); v.action != backOff {
		t.Error("the second pause is no longer than the first")
	}

	// A queue that empties to a new limit is no jam, nor is one that is not ours.
	if v := look(ours(), 3*time.Second, policies.Observation{Frames: frames(300, 340), Backlog: waiting}); v.action == backOff {
		t.Error(v.reason)
	}
	f = ours()
	f.wrote = false
	if v := look(f, 3*time.Second, jam); v.action == backOff {
		t.Error(v.reason)
	}

	f = ours()
	if v := look(f, 2*time.Second, policies.Observation{Frames: frames(-3, 5), TxPackets: 10}); v.action != backOff {
		t.Error("a negative count is believed")
	}
	f = ours()
	if v := look(f, stuckAfter+time.Second, policies.Observation{Frames: frames(9, 9)}); v.action != backOff {
		t.Error("a leak is not seen")
	}
	if v := look(f, time.Second, policies.Observation{Frames: frames(9, 40), TxPackets: 10}); v.action != backOff {
		t.Error("a leak is forgotten")
	}
	if v := look(f, time.Second, policies.Observation{Frames: frames(0, 40), TxPackets: 10}); v.action == backOff {
		t.Error("a leak that is mended is held against it")
	}
}
