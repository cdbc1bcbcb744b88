// SPDX-License-Identifier: Apache-2.0

// Package cells measures scenarios of the lab under settings of the access
// point's queue, several at a time. What has been run is kept, by all that it
// depends on, so that nothing is run twice.
package cells

import (
	"math"
	"slices"

	"airtuned/lab/result"
	"airtuned/lab/scenario"
)

// Setting is what the access point does about its queue.
type Setting struct {
	AQL    string // as in a scenario
	Policy string
}

// Name of the setting in tables.
func (s Setting) Name() string {
	switch {
	case s.Policy != "":
		return "airtuned " + s.Policy
	case s.AQL == scenario.AQLDefault:
		return "kernel default"
	case s.AQL == scenario.AQLOff:
		return "AQL off"
	}
	return s.AQL
}

// Static is whether it is one limit for all time.
func (s Setting) Static() bool {
	return s.Policy == "" && s.AQL != scenario.AQLDefault && s.AQL != scenario.AQLOff
}

// Of is the scenario under the setting, with a seed.
func (s Setting) Of(sc scenario.Scenario, seed uint64) scenario.Scenario {
	sc.AQL, sc.Policy, sc.Seed = s.AQL, s.Policy, seed
	return sc
}

// Row is what a setting came to in a scenario: means over the seeds.
type Row struct {
	Setting
	Mbps, Efficiency      float64
	P50, P95, P99, Idle95 float64 // of pings to busy and to idle stations, ms
	RTT, Firmware         float64 // ms
	Frames, Full          float64
	Jain                  float64 // of airtimes
}

// Mean is over documents of the same setting. What none of them says is 0.
func Mean(set Setting, docs []*result.Document) Row {
	of := func(f func(d *result.Document) float64) float64 {
		var x []float64
		for _, d := range docs {
			x = append(x, f(d))
		}
		return result.Mean(x)
	}
	latency := func(l *result.Latency) result.Latency {
		if l == nil {
			return result.Latency{}
		}
		return *l
	}
	number := func(p *float64) float64 {
		if p == nil {
			return 0
		}
		return *p
	}
	return Row{
		Setting:    set,
		Mbps:       of(func(d *result.Document) float64 { return d.DownloadMbps + d.UploadMbps }),
		Efficiency: of(func(d *result.Document) float64 { return number(d.AirEfficiency) }),
		P50:        of(func(d *result.Document) float64 { return latency(d.PingMs.Busy).P50 }),
		P95:        of(func(d *result.Document) float64 { return latency(d.PingMs.Busy).P95 }),
		P99:        of(func(d *result.Document) float64 { return latency(d.PingMs.Busy).P99 }),
		Idle95:     of(func(d *result.Document) float64 { return latency(d.PingMs.Idle).P95 }),
		RTT: of(func(d *result.Document) float64 {
			if d.TCP == nil {
				return 0
			}
			return d.TCP.RTTMs
		}),
		Firmware: of(func(d *result.Document) float64 { return number(d.FirmwareMs) }),
		Frames: of(func(d *result.Document) float64 {
			if d.PendingFrames == nil {
				return 0
			}
			return d.PendingFrames.Mean
		}),
		Full: of(func(d *result.Document) float64 { return number(d.FullPct) }),
		Jain: of(func(d *result.Document) float64 { return number(d.JainAirtime) }),
	}
}

// Tolerated is the part of the most that any static limit delivers that the
// best one has to keep.
const Tolerated = 0.98

// Rows are those of one scenario.
type Rows []Row

// delivery is what limits must not cost: air efficiency, or plain throughput
// where that is unknown.
func (rows Rows) delivery(r Row) float64 {
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Efficiency == 0 }) {
		return r.Mbps
	}
	return r.Efficiency
}

// Most is the most that any static limit delivers.
func (rows Rows) Most() float64 {
	most := 0.0
	for _, r := range rows {
		if r.Static() {
			most = math.Max(most, rows.delivery(r))
		}
	}
	return most
}

// Best is the static limit of least latency among those that cost nothing, or
// -1 if there is no static limit.
func (rows Rows) Best() int {
	most, best := rows.Most(), -1
	for i, r := range rows {
		if r.Static() && rows.delivery(r) >= Tolerated*most && (best < 0 || r.P95 < rows[best].P95) {
			best = i
		}
	}
	return best
}
