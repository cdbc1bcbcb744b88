package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"airtuned/tuner"
	"airtuned/wlan"
)

// TestChanges checks the table of changes: one row for what is the same in all
// access categories, one for each that differs.
func TestChanges(t *testing.T) {
	change := func(knob, from string) tuner.Change {
		return tuner.Change{Phy: "phy0", Knob: knob, From: from, To: "2/2", Result: tuner.Applied, Reason: "why"}
	}
	for _, tt := range []struct {
		from string // of best effort
		want string
	}{
		{"5/12", `
RADIO  KNOB           FROM   TO  RESULT   WHY
phy0   aql_txq_limit  5/12  2/2  applied  why
limits: low/high, us of airtime
Next: rest.
`},
		{"3/3", `
RADIO  KNOB                 FROM   TO  RESULT   WHY
phy0   aql_txq_limit/VO,VI  5/12  2/2  applied  why
phy0   aql_txq_limit/BE      3/3  2/2  applied  why
phy0   aql_txq_limit/BK     5/12  2/2  applied  why
limits: low/high, us; VO: voice, VI: video, BE: best effort, BK: background
Next: rest.
`},
	} {
		var all []tuner.Change
		for _, ac := range wlan.ACs {
			from := "5/12"
			if ac == wlan.BE {
				from = tt.from
			}
			all = append(all, change(limitKnob+ac.String(), from))
		}
		var b strings.Builder
		printChanges(&b, all, "rest")
		if diff := cmp.Diff(tt.want[1:], b.String()); diff != "" {
			t.Errorf("best effort from %s (-want +got):\n%s", tt.from, diff)
		}
	}
}
