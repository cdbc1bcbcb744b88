//go:build !race

package radiosim_test

import (
	"fmt"
	"testing"
	"time"

	"airtuned/radiosim"
	"airtuned/tree"
	"airtuned/tuner"
)

// queueLimit is the limit of frames in force.
func (b *bench) queueLimit() int {
	b.t.Helper()
	text, err := tree.ReadString(b.sim.Debug(), "ieee80211/phy0/ath10k/tx_queue_limit")
	if err != nil {
		b.t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscan(text, &n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

func blind(kbps, flows int) radiosim.Scenario {
	sc, _ := radiosim.Lookup("one-fast")
	sc.Stations = []radiosim.Station{{RateKbps: kbps, Flows: flows}}
	return sc
}

// TestBlindInFrames: where AQL counts nothing and the kernel limits frames, a
// download's queue is a third of what it is without, at the same throughput.
func TestBlindInFrames(t *testing.T) {
	for _, kbps := range []int{6500, 65000, 866700} {
		for _, policy := range []string{"delay", "dql"} {
			for seed := range uint64(2) {
				o := radiosim.Options{Seed: seed, Blind: true, Patched: true}
				base := newBenchOf(t, blind(kbps, 1), "", o).judge(15*time.Second, 20*time.Second)
				b := newBenchOf(t, blind(kbps, 1), policy, o)
				got := b.judge(15*time.Second, 20*time.Second)
				t.Logf("%d kb/s, %s: limit %d: %.1f Mb/s at %.1f ms, without %.1f Mb/s at %.1f ms",
					kbps, policy, b.queueLimit(), got.ThroughputMbps, got.PingMs.P(95), base.ThroughputMbps, base.PingMs.P(95))
				if got.ThroughputMbps < 0.97*base.ThroughputMbps || 3*got.PingMs.P(95) > base.PingMs.P(95) {
					t.Errorf("%d kb/s, %s, seed %d: %.3f of the throughput at %.2f of the latency, want 0.97 and a third", kbps, policy, seed,
						got.ThroughputMbps/base.ThroughputMbps, got.PingMs.P(95)/base.PingMs.P(95))
				}
				if s := b.tuner.Status(); s.State != tuner.Tuning {
					t.Errorf("%s: %s", s.State, s.Reason)
				}
				if b.limitUs() != 5000 {
					t.Errorf("%s left AQL's limit at %d us", policy, b.limitUs())
				}
				if err := b.tuner.Stop("the end"); err != nil || b.queueLimit() != 0 {
					t.Errorf("after the end the limit is %d: %v", b.queueLimit(), err)
				}
			}
		}
	}
}

// TestBlindFollowsTheLink: nobody reports the rate, but less and more leaves.
func TestBlindFollowsTheLink(t *testing.T) {
	o := radiosim.Options{Seed: 1, Blind: true, Patched: true}
	b := newBenchOf(t, blind(866700, 4), "delay", o)
	b.run(20*time.Second, nil)
	fast := b.queueLimit()
	b.sim.SetRate(0, 6500)
	b.run(5*time.Second, nil)
	slow := b.queueLimit()
	if slow > 16 {
		t.Errorf("from %d to %d frames within 5 s on a link a hundred times as slow", fast, slow)
	}
	s := b.judge(5*time.Second, 10*time.Second)
	if s.PingMs.P(95) > 60 || s.ThroughputMbps < 5 {
		t.Errorf("on the slow link: %.1f Mb/s at %.0f ms", s.ThroughputMbps, s.PingMs.P(95))
	}
	b.sim.SetRate(0, 866700)
	s = b.judge(5*time.Second, 10*time.Second)
	if s.ThroughputMbps < 550 || s.PingMs.P(95) > 12 {
		t.Errorf("on the fast link again: %.0f Mb/s at %.1f ms with %d frames", s.ThroughputMbps, s.PingMs.P(95), b.queueLimit())
	}
}

// TestBlindStartsOnAFullQueue: the daemon comes when the damage is done.
func TestBlindStartsOnAFullQueue(t *testing.T) {
	b := newBenchOf(t, blind(6500, 4), "delay", radiosim.Options{Seed: 1, Blind: true, Patched: true})
	loop := b.tuner
	b.tuner = nil
	b.run(20*time.Second, nil)
	b.tuner = loop
	b.run(12*time.Second, nil) // three of them for the queue to empty
	if n := b.queueLimit(); n == 0 || n > 24 {
		t.Errorf("%d frames: %s", n, loop.Status().Reason)
	}
}
