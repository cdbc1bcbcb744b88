package status

import (
	"strconv"
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
		line := stamp + " " + term.Safe(r.Phy) + " " + string(r.State)
		add := func(key string, n int64) { line += " " + key + "=" + strconv.FormatInt(n, 10) }
		if be, ok := r.AQL.Limits[wlan.BE.String()]; ok {
			line += " limit_us=" + be.String()
		}
		if n, ok := r.Features[tuner.FeatureQueue]; ok && n > 0 {
			add("limit_frames", int64(n))
		}
		if r.WindowEnd != nil {
			add("pending_us", r.Pending.AirtimeUs)
			if r.Pending.MaxFrames > 0 {
				add("pending_frames", int64(r.Pending.Frames))
			}
		}
		if q := r.ResidencyUs; q.P95 > 0 {
			add("residency_us", q.Mean)
			add("p95_us", q.P95)
		}
		add("throughput_kbps", int64(r.ThroughputKbps))
		add("stations", int64(len(r.Stations)))
		add("active", int64(r.ActiveStations))
		if n := r.BacklogPackets; n != nil {
			add("backlog", *n)
		}
		add("drops", int64(r.Total.Drops))
		add("decisions", int64(r.Decisions))
		lines = append(lines, line+" why="+strconv.Quote(term.Safe(r.Reason)))
	}
	return lines
}
