package tuner

import (
	"slices"
	"testing"
	"time"
)

// A history has the windows of the last minutes, the oldest first, and no more.
func TestHistory(t *testing.T) {
	r := newRig(t, "static")
	r.run(2*time.Second, 3000, 10, true)
	p := r.tun.History(r.now)
	if p.Path != r.tun.radio.Path || len(p.Windows) < 8 || len(p.Windows) > 10 {
		t.Fatalf("path %q, %d windows in two seconds", p.Path, len(p.Windows))
	}
	column := func(name string) int { return slices.Index(p.Columns, name) }
	for i, w := range p.Windows {
		if len(w) != len(p.Columns) {
			t.Fatalf("%d values, %d columns", len(w), len(p.Columns))
		}
		if i > 0 && w[column("ms_ago")] >= p.Windows[i-1][column("ms_ago")] {
			t.Errorf("window %d is not later than the one before", i)
		}
	}
	last := p.Windows[len(p.Windows)-1]
	for name, want := range map[string]int64{
		"window_ms": 200, "state": 0, "low_us": 1500, "high_us": 1500, "pending_us": 3000, "pending_max_us": 3000,
		"backlog": 10, "tx_packets": 2000, "tx_bytes": 2000 * 1500, "drops": 0, "active": 1, "stations": 3,
	} {
		if got := last[column(name)]; got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	r.tun.Hold("measuring")
	r.run(400*time.Second, 3000, 10, true)
	p = r.tun.History(r.now)
	if first := p.Windows[0]; len(p.Windows) != keepWindows || first[column("ms_ago")] > 300_000 || first[column("state")] != 2 {
		t.Errorf("%d windows, the oldest %v", len(p.Windows), first)
	}
}
