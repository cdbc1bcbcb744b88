package tuner

import (
	"math"
	"strings"
	"testing"
	"time"

	"airtuned/wlan"
)

// Limits that cost throughput lose the radio after two looks, for a while that
// doubles.
func TestRefereeTakesLimitsBack(t *testing.T) {
	s := newScript(t)
	s.p.d.Limits = wlan.Uniform(300, 24000)
	set := testSettings("static")
	set.Min = 20 * time.Microsecond
	if err := s.tun.Reconfigure(set, s.sim.Now()); err != nil {
		t.Fatal(err)
	}
	s.tun.policy = s.p
	s.p.d.Limits = wlan.Uniform(50, 24000)
	s.tun.referee.due = 3 * time.Second
	s.run(8 * time.Second)
	s.want(Tuning)
	if n := s.tun.referee.losses; n != 1 {
		t.Fatalf("%d looks lost, want 1", n)
	}
	s.run(15 * time.Second)
	s.want(Observing)
	if r := s.tun.Status().Reason; !strings.Contains(r, "delivers more under the limits it was found with; they are back for 10m") {
		t.Errorf("reason %q", r)
	}
	s.wantFollowing(wlan.KernelDefault.AC)

	s.tun.referee.until = s.sim.Now().Add(time.Second)
	s.run(2 * time.Second)
	s.want(Tuning)
	s.tun.referee.due = time.Second
	s.run(20 * time.Second)
	s.want(Observing)
	if p := s.tun.referee.pause; p != 2*lookPause {
		t.Errorf("paused for %v", p)
	}
	if err := s.tun.Stop("end"); err != nil {
		t.Fatal(err)
	}
	s.wantFollowing(wlan.KernelDefault.AC)
}

// Limits that cost nothing stay, and a look is short.
func TestRefereeLooksBriefly(t *testing.T) {
	s := newScript(t)
	s.run(time.Second)
	looked := 0
	watch := func(d time.Duration) {
		for end := s.sim.Now().Add(d); s.sim.Now().Before(end); {
			s.run(20 * time.Millisecond)
			if s.radio() == wlan.KernelDefault.AC {
				looked++
			}
		}
	}
	watch(10 * time.Second)
	if looked > 0 {
		t.Error("looked before there was a reason")
	}
	s.tun.referee.due = time.Second
	watch(15 * time.Second)
	s.want(Tuning)
	if d := time.Duration(looked) * 20 * time.Millisecond; d < lookFor || d > lookSettle+lookFor+200*time.Millisecond {
		t.Errorf("the originals were in force for %v", d)
	}
	if r := s.tun.referee; r.losses != 0 || r.due != lookEvery || r.phase != playing {
		t.Errorf("%+v", r)
	}
	s.wantFollowing(s.p.d.Limits.AC)
}

// Without demand nothing is compared; a look that is cut short ends with the
// policy's limits.
func TestRefereeNeedsDemand(t *testing.T) {
	r := newRig(t, "static")
	r.tun.referee.due = time.Second
	r.run(20*time.Second, 3000, 0, true)
	if d := r.tun.referee.demand; d != 0 {
		t.Errorf("%v of demand without backlog", d)
	}
	for r.tun.referee.phase != looking {
		r.run(200*time.Millisecond, 3000, 10, true)
		if r.now.After(t0.Add(time.Minute)) {
			t.Fatal("no look")
		}
	}
	r.run(400*time.Millisecond, 3000, 10, true)
	if !strings.Contains(r.limits(), "BE\t5000\t\t12000\n") {
		t.Errorf("looking at %q", r.limits())
	}
	r.tun.startOver()
	r.run(600*time.Millisecond, 3000, 10, true)
	r.want(Tuning, "")
	if !strings.Contains(r.limits(), "BE\t1500\t\t1500\n") {
		t.Errorf("after a look cut short: %q", r.limits())
	}
}

func TestRefereeGain(t *testing.T) {
	fast, slow := wlan.MAC{1}, wlan.MAC{2}
	for name, tt := range map[string]struct {
		sent  map[wlan.MAC]*delivery
		gain  float64
		known bool
	}{
		// Half the air each under ours, all of it the fast one's under theirs:
		// the same air, whatever the bytes.
		"by airtime": {map[wlan.MAC]*delivery{
			fast: {bytes: [2]uint64{50_000, 100_000}, airtimeUs: 1500},
			slow: {bytes: [2]uint64{1000, 0}, airtimeUs: 500},
		}, 0, true},
		"by rate": {map[wlan.MAC]*delivery{
			fast: {bytes: [2]uint64{50_000, 100_000}, rateKbps: 500_000, airtimeUs: 7},
			slow: {bytes: [2]uint64{1000, 0}, rateKbps: 10_000},
		}, 0, true},
		"more":           {map[wlan.MAC]*delivery{fast: {bytes: [2]uint64{1000, 1200}}}, 0.2, true},
		"nothing known":  {map[wlan.MAC]*delivery{fast: {bytes: [2]uint64{1000, 1200}}, slow: {bytes: [2]uint64{1, 2}}}, 0, false},
		"nothing passed": {map[wlan.MAC]*delivery{}, 0, false},
	} {
		r := referee{sent: tt.sent, us: [2]int64{1000, 1000}}
		if gain, known := r.gain(); known != tt.known || math.Abs(gain-tt.gain) > 1e-9 {
			t.Errorf("%s: gain %v, %v; want %v, %v", name, gain, known, tt.gain, tt.known)
		}
	}
}
