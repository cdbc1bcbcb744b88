package tuner_test

import (
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"airtuned/debugfs"
	"airtuned/inet"
	"airtuned/radiosim"
	"airtuned/sysfs"
	"airtuned/tuner"
)

// patched is a radio on a kernel with all of packaging/kernel.
func patched(blind bool) radiosim.Options { return radiosim.Options{Blind: blind, Patched: true} }

func (l *life) phy() *debugfs.Phy { return debugfs.NewPhy(l.sim.Debug(), "phy0") }

func (l *life) queueLimit() int {
	l.t.Helper()
	n, err := l.phy().TxQueueLimit()
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

func (l *life) shift() int {
	l.t.Helper()
	n, err := l.phy().TxSkPacingShift()
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

func TestFeatures(t *testing.T) {
	l := start(t, "one-fast", "delay", patched(true))
	l.run(4 * time.Second)
	f := l.tun.Status().Features
	if f[tuner.FeatureQueue] != l.queueLimit() || f[tuner.FeaturePacing] != 7 || f[tuner.FeatureWake] != 25 || f[tuner.FeatureThreaded] != 0 || !f.Has(tuner.FeatureThreaded) {
		t.Errorf("features %v", f)
	}
	l = start(t, "one-fast", "delay", radiosim.Options{Stock: true})
	if f := l.tun.Status().Features; len(f) != 0 {
		t.Errorf("features of a stock kernel: %v", f)
	}
}

// Where AQL is blind the loop acts in frames, and gives back what it found.
func TestFramesStopRestores(t *testing.T) {
	for _, policy := range []string{"delay", "dql"} {
		l := start(t, "one-fast", policy, patched(true))
		if err := l.phy().SetTxQueueLimit(900); err != nil {
			t.Fatal(err)
		}
		l.run(8 * time.Second)
		l.want(tuner.Tuning, "frames are limited")
		if n := l.queueLimit(); n <= 0 || n > 512 {
			t.Errorf("%s: %d frames", policy, n)
		}
		l.wantDefault()
		if err := l.tun.Stop("the test is over"); err != nil {
			t.Fatal(err)
		}
		if n := l.queueLimit(); n != 900 {
			t.Errorf("%s: %d frames after the end, found 900", policy, n)
		}
	}
}

// A process that dies leaves a record, and the next one restores from it.
func TestFramesRestoredAfterACrash(t *testing.T) {
	l := start(t, "one-fast", "delay", patched(true))
	l.run(5 * time.Second)
	if l.queueLimit() == 0 {
		t.Fatal("no limit")
	}
	if _, err := tuner.RestoreAll(l.env, nil); err != nil || l.queueLimit() != 0 {
		t.Errorf("%d frames: %v", l.queueLimit(), err)
	}
}

func TestFramesNotForOthers(t *testing.T) {
	for name, l := range map[string]*life{
		"static":    start(t, "four-fast", "static", patched(true)),
		"observe":   start(t, "four-fast", "observe", patched(true)),
		"not blind": start(t, "four-fast", "delay", patched(false)),
	} {
		l.run(8 * time.Second)
		if n := l.queueLimit(); n != 0 {
			t.Errorf("%s: %d frames", name, n)
		}
	}
	l := start(t, "four-fast", "delay", radiosim.Options{Blind: true})
	l.run(5 * time.Second)
	l.want(tuner.Observing, "docs/kernel-patches.md")
}

func TestFramesForeignWrite(t *testing.T) {
	l := start(t, "one-fast", "delay", patched(true))
	l.run(5 * time.Second)
	if err := l.phy().SetTxQueueLimit(777); err != nil {
		t.Fatal(err)
	}
	l.run(5 * time.Second)
	l.want(tuner.Held, "tx_queue_limit")
	if err := l.tun.Stop("the test is over"); err != nil || l.queueLimit() != 777 {
		t.Errorf("%d frames, the other program's are 777: %v", l.queueLimit(), err)
	}
}

// A file that cannot be reached for a while changes nothing for good.
func TestFramesFileFails(t *testing.T) {
	const file = "ieee80211/phy0/ath10k/tx_queue_limit"
	l := start(t, "one-fast", "delay", patched(true))
	l.run(5 * time.Second)
	l.sim.FailFile(file, syscall.EIO)
	l.run(3 * time.Second)
	if s := l.tun.Status(); s.State == tuner.Tuning {
		t.Errorf("%s: %s", s.State, s.Reason)
	}
	l.sim.FailFile(file, nil)
	l.run(90 * time.Second)
	l.want(tuner.Tuning, "frames are limited")
	if err := l.tun.Stop("the test is over"); err != nil || l.queueLimit() != 0 {
		t.Errorf("%d frames: %v", l.queueLimit(), err)
	}
}

// Firmware keeps frames for a station that sleeps: they must not use the limit up
// for the others.
func TestFramesWhileAStationSleeps(t *testing.T) {
	l := start(t, "four-fast", "delay", patched(true))
	l.run(5 * time.Second)
	l.sim.Sleep(0, true)
	l.run(6 * time.Second)
	if s := l.tun.Status(); s.ThroughputKbps < 300_000 {
		t.Errorf("%d kbit/s for those awake, with %d frames: %s", s.ThroughputKbps, l.queueLimit(), s.Reason)
	}
}

// The policy of a radio that is seen to count airtime again is the configured one.
func TestFramesUntilAirtimeIsCounted(t *testing.T) {
	l := start(t, "one-fast", "delay", patched(true))
	l.run(5 * time.Second)
	l.sim.SetBlind(false)
	l.run(8 * time.Second)
	l.want(tuner.Tuning, "")
	if s := l.tun.Status(); strings.Contains(s.Reason, "frames") || l.queueLimit() != 0 {
		t.Errorf("%d frames: %s", l.queueLimit(), s.Reason)
	}
}

func TestFramesFirmwareRestart(t *testing.T) {
	l := start(t, "one-fast", "delay", patched(true))
	l.run(5 * time.Second)
	l.sim.Crash()
	l.run(8 * time.Second)
	l.want(tuner.Held, "restarted")
	l.run(20 * time.Second)
	l.want(tuner.Tuning, "frames are limited")
}

func TestPacingShift(t *testing.T) {
	set := func(shift tuner.PacingShift) tuner.Settings {
		s := settings("delay")
		s.PacingShift = shift
		return s
	}
	l := start(t, "one-fast", "delay", patched(false))
	r := l.tun.Status().Radio
	reconfigure := func(shift tuner.PacingShift) {
		t.Helper()
		if err := l.tun.Reconfigure(set(shift), l.sim.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		shift tuner.PacingShift
		want  int
	}{{"auto", 7}, {"8", 8}, {"9", 9}, {"leave", 7}, {"10", 10}} {
		if reconfigure(tt.shift); l.shift() != tt.want {
			t.Errorf("%s: %d, want %d", tt.shift, l.shift(), tt.want)
		}
	}
	l.run(8 * time.Second) // with limits coming and going
	if l.shift() != 10 || l.tun.Status().Features[tuner.FeaturePacing] != 10 {
		t.Errorf("%d, want 10", l.shift())
	}
	if err := l.tun.Stop("the test is over"); err != nil || l.shift() != 7 {
		t.Errorf("%d after the end: %v", l.shift(), err)
	}

	changes, err := tuner.TuneOnce(l.env, r, set("8"), false, l.sim.Now())
	if err != nil || l.shift() != 8 || changes[0].Knob != "tx_sk_pacing_shift" || changes[0].From != "7" {
		t.Errorf("tuned once: %d, %v, %+v", l.shift(), err, changes)
	}
	if _, err := tuner.RestoreAll(l.env, nil); err != nil || l.shift() != 7 {
		t.Errorf("%d after restore: %v", l.shift(), err)
	}
}

// What another program sets is left to it, until the wish changes.
func TestPacingShiftTaken(t *testing.T) {
	l := start(t, "one-fast", "observe", patched(false))
	s := settings("observe")
	s.PacingShift = "8"
	if err := l.tun.Reconfigure(s, l.sim.Now()); err != nil || l.shift() != 8 {
		t.Fatalf("%d: %v", l.shift(), err)
	}
	if err := l.phy().SetTxSkPacingShift(6); err != nil {
		t.Fatal(err)
	}
	l.run(5 * time.Second)
	if err := l.tun.Reconfigure(s, l.sim.Now()); err != nil || l.shift() != 6 {
		t.Errorf("%d, the other program's is 6: %v", l.shift(), err)
	}
	if err := l.tun.Stop("the test is over"); err != nil || l.shift() != 6 {
		t.Errorf("%d after the end: %v", l.shift(), err)
	}
}

// upload has the loop think that what the radio sends comes from this host, with
// round trips by the shift in force.
func (l *life) upload(d time.Duration) {
	l.t.Helper()
	index, err := sysfs.IfIndex(l.env.Sys, "wlan0")
	if err != nil {
		l.t.Fatal(err)
	}
	ip := netip.MustParseAddr("10.0.0.2")
	next := l.sim.Now()
	for end := l.sim.Now().Add(d); l.sim.Now().Before(end); l.run(20 * time.Millisecond) {
		now := l.sim.Now()
		if now.Before(next) || !l.tun.WantsTCP(now) {
			continue
		}
		next = now.Add(2 * time.Second)
		l.tun.NoteTCP(&inet.Snapshot{
			Addresses: []inet.Address{{IfIndex: index, IP: ip}},
			Sockets: []inet.Socket{{
				Local: netip.AddrPortFrom(ip, 1), Remote: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), 2), Cookie: 1,
				TCPInfo: inet.TCPInfo{
					Has: inet.HasBasics | inet.HasRTT | inet.HasAcked | inet.HasNotSent, NotSentBytes: 1,
					RTT: time.Second >> l.shift(), AckedBytes: l.tun.Status().Total.TxBytes,
				},
			}},
		}, now)
	}
}

// choosing is a loop that may choose the shift.
func choosing(t *testing.T) *life {
	l := start(t, "one-slow", "kernel-default", patched(false)) // slow for the sake of the test's time
	s := settings("kernel-default")
	s.PacingShift = tuner.PacingAuto
	if err := l.tun.Reconfigure(s, l.sim.Now()); err != nil {
		t.Fatal(err)
	}
	return l
}

// The simulated radio loses nothing by a larger shift.
func TestPacingChosen(t *testing.T) {
	l := choosing(t)
	l.run(5 * time.Second)
	if l.shift() != 7 {
		t.Fatalf("%d without TCP of this host", l.shift())
	}
	l.upload(4 * time.Minute)
	s := l.tun.Status()
	moves := 0
	for _, e := range s.Events {
		if e.Knob == "tx_sk_pacing_shift" {
			moves++
		}
	}
	if s.Features[tuner.FeaturePacing] < 8 || l.shift() < 8 || moves == 0 || moves > 3 ||
		s.LastChange == nil || !strings.Contains(s.LastChange.Reason, "round trip") {
		t.Errorf("%d; %d events, last change %+v", l.shift(), moves, s.LastChange)
	}
	if err := l.tun.Stop("the test is over"); err != nil || l.shift() != 7 {
		t.Errorf("%d after the end: %v", l.shift(), err)
	}
}

// TestPacingTrialEnds: a trial under way does not outlive what allowed it.
func TestPacingTrialEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(l *life)
		want int
	}{
		"held": {func(l *life) { l.tun.Hold("a test") }, 7},
		"configured": {func(l *life) {
			s := settings("kernel-default")
			s.PacingShift = "leave"
			_ = l.tun.Reconfigure(s, l.sim.Now())
		}, 7},
		"restored": {func(l *life) { _, _ = l.tun.Restore("a test") }, 7},
		"blind":    {func(l *life) { l.tun.NoteTCP(nil, l.sim.Now()) }, 7},
		"taken":    {func(l *life) { _ = l.phy().SetTxSkPacingShift(6) }, 6},
	} {
		l := choosing(t)
		for i := 0; l.shift() == 7; i++ {
			if l.upload(time.Second); i > 60 {
				t.Fatal("no trial began")
			}
		}
		tt.do(l)
		l.upload(5 * time.Second)
		if l.shift() != tt.want {
			t.Errorf("%s: %d, want %d", name, l.shift(), tt.want)
		}
	}
}
