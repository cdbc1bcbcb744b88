package tuner

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/policies"
	"airtuned/wlan"
)

// told is what an event says, in short.
func told(events []Event) []string {
	var out []string
	for _, e := range events {
		s := fmt.Sprintf("%s: %s", e.State, e.Reason)
		if e.Knob != "" {
			s += fmt.Sprintf(" [%s %s -> %s, %d more]", e.Knob, e.From, e.To, e.More)
		}
		out = append(out, s)
	}
	return out
}

// What the loop did with a radio can be read afterwards: one event for what
// changed at once, and the state with it.
func TestEvents(t *testing.T) {
	r := newRig(t, "static")
	r.run(time.Second, 3000, 10, true)
	if _, err := r.tun.Restore("asked to"); err != nil {
		t.Fatal(err)
	}
	r.tun.Resume(r.now)
	r.run(time.Second, 3000, 10, true)
	r.k.setLimit(limitFile, wlan.BE, wlan.Limit{LowUs: 777, HighUs: 888})
	r.run(time.Second, 3000, 10, true)
	r.tun.Resume(r.now)
	r.run(time.Second, 3000, 10, true)
	r.tun.Hold("measuring")

	events := r.tun.Status().Events
	limits := "[aql_txq_limit/BE 5000/12000 -> 1500/1500, 3 more]"
	want := []string{
		"tuning: the profile's numbers " + limits,
		"restored: asked to [aql_txq_limit/BE 1500/1500 -> 5000/12000, 3 more]",
		"observing: resumed",
		"tuning: the profile's numbers " + limits,
		"held: another program changed the limits (BE 1500/1500 -> 777/888); they are left to it",
		"observing: resumed",
		"tuning: the profile's numbers [aql_txq_limit/BE 777/888 -> 1500/1500, 0 more]",
		"held: measuring",
	}
	if diff := cmp.Diff(want, told(events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	for i, e := range events {
		if e.Seq != uint64(i+1) || i > 0 && e.At.Before(events[i-1].At) || e.At.Before(t0) {
			t.Errorf("event %d is number %d at %v", i, e.Seq, e.At)
		}
	}
}

// The oldest events make room, and their numbers tell.
func TestEventsAreBounded(t *testing.T) {
	var e events
	if e.last() != nil || len(e.list()) != 0 {
		t.Error("there are events before the first")
	}
	for range 3*keepEvents + 5 {
		e.add(Event{State: Tuning})
	}
	got := e.list()
	if len(got) != keepEvents || got[0].Seq != 2*keepEvents+6 || got[keepEvents-1].Seq != 3*keepEvents+5 {
		t.Errorf("%d events, %d to %d", len(got), got[0].Seq, got[len(got)-1].Seq)
	}
}

// Counters go on over everything that makes the loop look again.
func TestTotals(t *testing.T) {
	r := newRig(t, "static")
	r.run(2*time.Second, 3000, 10, true)
	s := r.tun.Status()
	if s.Total.TxPackets == 0 || s.Total.TxBytes != 1500*s.Total.TxPackets || s.Total.TxPackets > uint64(r.packets) {
		t.Errorf("%d packets were sent, counted %+v", r.packets, s.Total)
	}
	if st := s.Stations[0]; st.Total != s.Total || st.Interface != "wlan0" || st.BacklogPackets != 10 || !st.Active {
		t.Errorf("station %+v, radio %+v", st, s.Total)
	}
	if s.WindowEnd == nil || r.now.Sub(*s.WindowEnd) >= r.tun.settings.Window {
		t.Errorf("at %v the last window ended %v", r.now, s.WindowEnd)
	}
	if s.BacklogPackets == nil || *s.BacklogPackets != 10 {
		t.Errorf("backlog %v", s.BacklogPackets)
	}
	r.tun.open() // as after a new name
	again := r.tun.Status().Total
	if again != s.Total {
		t.Errorf("total %+v, want %+v", again, s.Total)
	}
	r.run(time.Second, 3000, 10, true)
	if now := r.tun.Status().Total; now.TxPackets <= again.TxPackets {
		t.Errorf("total %+v did not grow from %+v", now, again)
	}
}

// The mean is Little's law over the last second, not the mean of windows of which
// some carried next to nothing.
func TestResidency(t *testing.T) {
	var v view
	window := func(frames float64, packets uint64) {
		v.note(&policies.Observation{
			Window: 200 * time.Millisecond, TxPackets: packets, Frames: policies.Gauge{N: 10, Mean: frames},
		})
	}
	window(1000, 10) // more than a second ago
	for range 4 {
		window(100, 10000) // 2 ms each
	}
	window(100, 100) // 200 ms
	window(0, 0)     // nothing is known of this one
	// 5 windows with 100 frames in them, and 40100 packets through.
	if got, want := v.residencyStatus(), (ResidencyStatus{Mean: 2494, P50: 2000, P95: 20_000_000, P99: 20_000_000}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
