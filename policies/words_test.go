package policies

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		of   saying
		want string
	}{
		{saying{searching: true}, "searching for the least limit that costs no throughput"},
		{saying{searching: true, half: 42}, "searching for the least limit that costs no throughput; half as much costs 4.1 % of the throughput"},
		{saying{}, "still measuring"},
		{saying{resting: true}, "found by measuring"},
		{saying{resting: true, less: 10, more: 1, half: 42, twice: 3}, "found by measuring; less costs 0.9 % of the throughput (half as much: 4.1 %), more gains nothing (twice as much: 0.2 %)"},
		{saying{less: 1, twice: 1}, "still measuring; less costs nothing, twice as much gains nothing"},
		{saying{least: true, more: 1, less: 5}, "still measuring; less is not allowed, more gains nothing"},
		{saying{most: true, half: 42}, "still measuring; half as much costs 4.1 % of the throughput, more is not allowed"},
		{saying{kind: below, limitUs: 1200, less: 1}, "trying a little less than 1200 us; less costs nothing"},
		{saying{kind: above, limitUs: 1200}, "trying a little more than 1200 us"},
		{saying{kind: halved, limitUs: 2000, searching: true}, "trying half of 2000 us"},
		{saying{kind: doubled, limitUs: 2000}, "trying twice 2000 us"},
		{saying{idle: true, kind: below, limitUs: 1200, more: 1}, "holding: nothing waits to be sent; more gains nothing"},
	} {
		if diff := cmp.Diff(tt.want, tt.of.String()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.of, diff)
		}
	}
}

func TestShown(t *testing.T) {
	for _, tt := range []struct {
		lnE         float64
		known       bool
		costs, gain string
	}{
		{0.04, true, "3.9 %", "4.1 %"},
		{-0.01, true, "nothing", "nothing"},
		{math.Inf(1), true, "100.0 %", "3000.0 %"},
		{0.0004, true, "nothing", "nothing"},
	} {
		if got := costs(tt.lnE, tt.known).String(); got != tt.costs {
			t.Errorf("%v costs %q, want %q", tt.lnE, got, tt.costs)
		}
		if got := gained(tt.lnE, tt.known).String(); got != tt.gain {
			t.Errorf("%v gains %q, want %q", tt.lnE, got, tt.gain)
		}
	}
	if costs(1, false) != 0 || gained(1, false) != 0 {
		t.Error("what is not known shows")
	}
}

// What delay says about its limit is what the plant is like: above the knee less
// costs little and more gains little.
func TestDelaySaysWhatItFound(t *testing.T) {
	p := newPlant(700)
	pol := mustNew(t, "delay", Params{}).(*delay)
	p.run(pol, 2*time.Minute)
	if got := pol.words.text; !strings.Contains(got, "less costs ") || !strings.Contains(got, "more gains ") {
		t.Errorf("after two minutes of demand: %q", got)
	}
	if w := pol.words; !w.half.known || w.half.lnE < 0.015 {
		t.Errorf("half as much costs %+v, want some per cent", w.half)
	}
}
