package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/host"
	"airtuned/tuner"
	"airtuned/wlan"
)

func TestStatusText(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	limits := map[string]wlan.Limit{"VO": {LowUs: 900, HighUs: 900}, "BE": {LowUs: 900, HighUs: 900}}
	s := daemonStatus{Version: "1.0", UptimeS: 3725, Radios: []tuner.Status{
		{
			Radio: tuner.Radio{
				Phy: "phy0", Chip: "QCA9984", Driver: "ath10k_pci", Bus: "pci", Policy: "delay",
				Interfaces: []tuner.Interface{{Name: "wlan0\x1b[2J", Type: "AP"}},
				AQL:        tuner.AQL{Limits: limits},
			},
			State: tuner.Tuning, Reason: "enough",
			Pending:        tuner.PendingStatus{Frames: 12, MaxFrames: 1424, AirtimeUs: 1234},
			ResidencyUs:    tuner.ResidencyStatus{Mean: 1500, P95: 2600},
			ThroughputKbps: 123456, ActiveStations: 1, Decisions: 7,
			Stations: []tuner.StationStatus{{
				MAC: wlan.MAC{2, 0, 0, 0, 0, 1}, PendingUs: 1200, ThroughputKbps: 123456,
				Limits: map[string]wlan.Limit{"VO": {LowUs: 1, HighUs: 2}, "BE": {LowUs: 3, HighUs: 4}},
			}},
			LastChange: &tuner.LastChange{At: now.Add(-90 * time.Second), Knob: "aql_txq_limit/BE", From: "1000/1000", To: "900/900", Reason: "why"},
		},
		{Radio: tuner.Radio{Phy: "phy1"}, State: tuner.Gone, Reason: "the device has gone"},
	}, Host: &host.Status{
		State: tuner.Tuning, Reason: "helped", CPUs: 4, Saturated: []int{0, 1},
		Changes: []tuner.Change{{Phy: "host", Knob: "threaded/eth0", From: "0", To: "1"}},
	}}
	want := strings.TrimPrefix(`
airtuned 1.0, up 1 h 2 min

phy0  QCA9984, ath10k_pci on pci
  interfaces   wlan0?[2J (AP)
  state        tuning with the policy delay: enough
  queue        12 of 1424 frames, 1.2 ms of airtime; a frame waits 1.5 ms there (95 % of the time under 2.6 ms)
  throughput   123.5 Mb/s; 1 of 1 stations active
  limits       900/900 us
  decisions    7
  last change  1 min 30 s ago: aql_txq_limit/BE 1000/1000 -> 900/900: why
  STATION            THROUGHPUT  PENDING  LIMITS us
  02:00:00:00:00:01  123.5 Mb/s   1.2 ms  VO 1/2, BE 3/4

phy1  unknown chip
  interfaces   none
  state        gone: the device has gone

host  4 CPUs
  saturated    CPU 0-1, by softirqs
  placement    the network's work was moved: helped
  changed      threaded/eth0 0 -> 1`, "\n")
	if diff := cmp.Diff(want, strings.Join(statusText(term.Terminal{}, s, now), "\n")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	got := strings.Join(statusText(term.Terminal{}, daemonStatus{}, now), "\n")
	if !strings.Contains(got, "No Wi-Fi radio is there now") {
		t.Errorf("without radios: %s", got)
	}
}

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
