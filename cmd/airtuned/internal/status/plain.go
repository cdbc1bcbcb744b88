package status

import (
	"fmt"
	"strings"
	"time"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/tuner"
	"airtuned/wlan"
)

// Plain is a line for each radio, for logs: KEY=VALUE, of which those are left
// out that are not known.
func Plain(s Daemon, now time.Time) []string {
	stamp := now.Format(time.RFC3339)
	if len(s.Radios) == 0 {
		return []string{stamp + " no radio"}
	}
	var lines []string
	for i := range s.Radios {
		r := &s.Radios[i]
		var b strings.Builder
		b.WriteString(stamp + " " + term.Safe(r.Phy) + " " + string(r.State))
		if be, ok := r.AQL.Limits[wlan.BE.String()]; ok {
			fmt.Fprintf(&b, " limit_us=%s", be)
		}
		if n, ok := r.Features[tuner.FeatureQueue]; ok && n > 0 {
			fmt.Fprintf(&b, " limit_frames=%d", n)
		}
		if r.WindowEnd != nil {
			fmt.Fprintf(&b, " pending_us=%d", r.Pending.AirtimeUs)
			if r.Pending.MaxFrames > 0 {
				fmt.Fprintf(&b, " pending_frames=%d", r.Pending.Frames)
			}
		}
		if q := r.ResidencyUs; q.P95 > 0 {
			fmt.Fprintf(&b, " residency_us=%d p95_us=%d", q.Mean, q.P95)
		}
		fmt.Fprintf(&b, " throughput_kbps=%d stations=%d active=%d", r.ThroughputKbps, len(r.Stations), r.ActiveStations)
		if n := r.BacklogPackets; n != nil {
			fmt.Fprintf(&b, " backlog=%d", *n)
		}
		fmt.Fprintf(&b, " drops=%d decisions=%d why=%q", r.Total.Drops, r.Decisions, term.Safe(r.Reason))
		lines = append(lines, b.String())
	}
	return lines
}
