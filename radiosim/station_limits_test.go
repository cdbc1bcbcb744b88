//go:build !race

package radiosim

import (
	"fmt"
	"testing"
	"time"

	"airtuned/wlan"
)

// TestSlowStationsOwnLimit holds limits for all stations against ones in which
// the slow station has its own of two frames: with those the fast ones need far
// less for the same efficiency. Run with -v for the table.
func TestSlowStationsOwnLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const twoFrames = 2500
	measure := func(us, slow uint32) Stats {
		sc, _ := Lookup("fast-and-slow")
		s := New(sc, Options{Seed: 1})
		setLimits(t, s, wlan.Uniform(us, wlan.KernelDefault.ThresholdUs))
		if slow > 0 {
			st := s.stations[len(s.stations)-1]
			write(t, s, "ieee80211/phy0/netdev:wlan0/stations/"+st.mac.String()+"/aql", fmt.Sprintf("limit %d %d %d", wlan.BE, slow, slow))
		}
		s.Advance(s.Now().Add(5 * time.Second))
		s.ResetStats()
		s.Advance(s.Now().Add(15 * time.Second))
		r := s.Stats()
		t.Logf("limit %5d us, slow station's own %5d: E %.3f, p95 %5.1f ms, Jain %.2f, %5.1f Mb/s", us, slow, r.AirEfficiency, r.P(95), r.Jain, r.ThroughputMbps)
		return r
	}
	measure(0+5000, 0)
	best, bestP95 := 0.0, 0.0
	for _, us := range []uint32{800, 1000, 1500, 2000, 2500, 3000} {
		if r := measure(us, 0); r.AirEfficiency > best {
			best, bestP95 = r.AirEfficiency, r.P(95)
		}
	}
	measure(2000, 500) // one frame
	for _, us := range []uint32{800, 1000} {
		if r := measure(us, twoFrames); r.AirEfficiency < 0.97*best || r.P(95) > 0.8*bestP95 {
			t.Errorf("limit %d us and two frames: E %.3f at %.1f ms, the best limit for all has %.3f at %.1f ms", us, r.AirEfficiency, r.P(95), best, bestP95)
		}
	}
}
