package status

import (
	"strings"
	"time"

	"airtuned/cmd/airtuned/internal/term"
)

// Plain is a line for each radio, for logs.
func Plain(s Daemon, now time.Time) []string {
	stamp := now.Format(time.RFC3339)
	if len(s.Radios) == 0 {
		return []string{stamp + " no radio"}
	}
	var lines []string
	for i := range s.Radios {
		r := &s.Radios[i]
		parts := append(limitAndTime(r), figures(r)...)
		lines = append(lines, stamp+" "+term.Safe(r.Phy)+" "+string(r.State)+": "+strings.Join(parts, ", ")+": "+term.Safe(r.Reason))
	}
	return lines
}
