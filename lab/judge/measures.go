// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"math"
	"slices"
	"time"

	"airtuned/lab/result"
	"airtuned/lab/scenario"
)

// stretch is a time in which limits did not change, in seconds.
type stretch struct {
	from, to float64
	lnUs     float64 // ln of the low limit
}

// stretches are those between two times, in seconds.
func stretches(d *result.Document, from, to float64) (all []stretch) {
	for i, l := range d.Limits {
		end := to
		if i+1 < len(d.Limits) {
			end = min(to, d.Limits[i+1].AtS)
		}
		if start := max(from, l.AtS); start < end && l.LowUs > 0 {
			all = append(all, stretch{start, end, math.Log(float64(l.LowUs))})
		}
	}
	return all
}

// lnLimit is the mean of ln L over a time, and its standard deviation. Without
// limits they are no numbers.
func lnLimit(d *result.Document, from, to float64) (mean, sd float64) {
	var time, sum, squares float64
	all := stretches(d, from, to)
	for _, s := range all {
		time += s.to - s.from
		sum += (s.to - s.from) * s.lnUs
	}
	mean = sum / time
	for _, s := range all {
		squares += (s.to - s.from) * (s.lnUs - mean) * (s.lnUs - mean)
	}
	return mean, math.Sqrt(squares / time)
}

// away is whether a limit is not within a quarter of another.
func away(lnUs, lnOther float64) bool {
	return math.Abs(math.Exp(lnUs-lnOther)-1) > settled
}

// settledAfter is the last time in the warm-up, in seconds, at which the limit
// was away from what it is on average when measured.
func settledAfter(d *result.Document) float64 {
	mean, _ := lnLimit(d, d.WarmupS, d.WarmupS+d.DurationS)
	last := 0.0
	for _, s := range stretches(d, 0, d.WarmupS) {
		if away(s.lnUs, mean) {
			last = s.to
		}
	}
	return last
}

// change is something that happens to the stations from one time to another, in
// seconds.
type change struct {
	what     string
	rate     bool // else stations come or go
	from, to float64
	// until is when the next one begins.
	until float64
	// within is how soon p95 has to be steady, in seconds.
	within float64
}

// changes are those in a scenario after time 0, in their order.
func changes(s *scenario.Scenario) (all []change) {
	for _, g := range s.Stations {
		for i := 1; i < len(g.RateKbps); i++ {
			at := time.Duration(g.RateKbps[i].At).Seconds()
			what := "rate falls"
			if g.RateKbps[i].Value > g.RateKbps[i-1].Value {
				what = "rate rises"
			}
			all = append(all, change{what: what, rate: true, from: at, to: at, within: rateWithin.Seconds()})
		}
		spread := (time.Duration(g.Count-1) * time.Duration(g.Every)).Seconds()
		if at := time.Duration(g.Join).Seconds(); at > 0 {
			all = append(all, change{what: "stations join", from: at, to: at + spread, within: joinWithin.Seconds()})
		}
		if at := time.Duration(g.Leave).Seconds(); at > 0 {
			all = append(all, change{what: "stations leave", from: at, to: at + spread, within: joinWithin.Seconds()})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return cmp.Compare(a.from, b.from) })
	for i := range all {
		all[i].until = s.End().Seconds()
		if i+1 < len(all) {
			all[i].until = all[i+1].from
		}
	}
	return all
}

// response is how a run took a change.
type response struct {
	steadyMs float64 // median of the seconds' p95 when it was over
	worst    float64 // the highest of them, relative to that
	// settledS and answeredS are times after the change: from when on all
	// seconds are steady, and when the limit moved, or p95 was steady if that
	// was sooner.
	settledS, answeredS float64
	// least is the throughput of the poorest second by the lesser of the
	// median before and after.
	least float64
}

// respond judges the run of a document after a change.
func respond(d *result.Document, c change) response {
	p95 := func(s result.Second) float64 {
		if s.PingP95Ms == nil {
			return math.Inf(1) // no answer at all
		}
		return *s.PingP95Ms
	}
	mbps := func(s result.Second) float64 { return s.DownloadMbps + s.UploadMbps }
	// whole seconds of a time
	seconds := func(from, to float64) (in []result.Second) {
		for _, s := range d.Seconds {
			if s.AtS >= from && s.AtS+1 <= to {
				in = append(in, s)
			}
		}
		return in
	}
	later := seconds(c.to+c.within, c.until)
	r := response{steadyMs: median(later, p95), answeredS: math.Inf(1)}
	for _, s := range later {
		r.worst = max(r.worst, p95(s)/r.steadyMs)
	}
	for _, s := range seconds(c.to, c.until) {
		if p95(s) > unsteady*r.steadyMs {
			r.settledS = s.AtS + 1 - c.to
		}
	}
	before, _ := lnLimit(d, c.from-1, c.from)
	for _, s := range stretches(d, c.from, c.until) {
		if away(s.lnUs, before) {
			r.answeredS = max(s.from-c.to, 0)
			break
		}
	}
	r.answeredS = min(r.answeredS, r.settledS)

	reference := min(median(seconds(c.from-5, c.from), mbps), median(later, mbps))
	r.least = math.Inf(1)
	for _, s := range seconds(math.Floor(c.from), c.until) {
		r.least = min(r.least, mbps(s)/reference)
	}
	return r
}

// median of a figure of the seconds, the upper one of two. It is no number
// without any.
func median(seconds []result.Second, of func(result.Second) float64) float64 {
	if len(seconds) == 0 {
		return math.NaN()
	}
	var x []float64
	for _, s := range seconds {
		x = append(x, of(s))
	}
	slices.Sort(x)
	return x[len(x)/2]
}
