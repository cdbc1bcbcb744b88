package status

import (
	"strings"
	"testing"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/tuner"
)

// What status says of this host's own connections.
func TestTextTCP(t *testing.T) {
	best := int64(1100)
	for want, c := range map[string]*tuner.TCPStatus{
		"": nil,
		"2 of 5 connections active; round trip 4.2 ms (95 % under 6.0 ms, at best 1.1 ms); 12 segments sent again": {
			Flows: 5, Active: 2, RTTUs: &tuner.RTTStatus{P50: 4200, P95: 6000}, MinRTTUs: &best,
			Total: tuner.TCPTotals{RetransmittedSegments: 12},
		},
		"0 of 1 connections active; 0 segments sent again": {Flows: 1},
	} {
		r := radio(1)
		r.TCP = c
		text := strings.Join(Text(term.Terminal{}, Daemon{Radios: []tuner.Status{r}}, now), "\n")
		if !strings.Contains(text, want) || strings.Contains(text, "own TCP") != (c != nil) {
			t.Errorf("want %q in:\n%s", want, text)
		}
	}
}
