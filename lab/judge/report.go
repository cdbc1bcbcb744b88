// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"airtuned/lab/cells"
	"airtuned/lab/result"
)

// report is what is said, and what bars were missed.
type report struct {
	text   strings.Builder
	missed []string
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(&r.text, format, args...) }

// must notes a bar that was missed, and says yes or no.
func (r *report) must(holds bool, what string, args ...any) string {
	if !holds {
		r.missed = append(r.missed, fmt.Sprintf(what, args...))
	}
	return verdict(holds)
}

func verdict(holds bool) string {
	if holds {
		return "yes"
	}
	return "**no**"
}

// header begins a table. Columns after the first are of figures.
func (r *report) header(columns ...string) {
	r.printf("\n| %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)-1))
}

const preface = `<!-- Written by "make lab-judge": do not edit. -->
# Policies against the best static limit

The real mac80211 and ath10k driver%s over an emulated QCA9984, on virtual time.
Efficiency, E, is the sum over stations of throughput divided by that of such a
station alone, here in per cent of the highest that any static limit reaches in
the scenario. p95 is of pings from the access point to stations with downloads.
The best static limit is, of a grid around it, the one of least p95 among those
with %.0f %% of the highest E. All are measured for %v, policies after %v in which
they settle; figures are means of %d seeds, those with * of fewer, and (a..b) is
the range over the seeds.

![latency and throughput against the best static limit](judge.svg)
`

// judge holds what was measured against the bars.
func (f *field) judge() *report {
	r := new(report)
	r.printf(preface, f.kernel(), 100*cells.Tolerated, measured, settling, f.seeds)
	if n := len(f.missing); n > 0 {
		r.printf("\n**Preliminary: %d runs are missing.**\n", n)
	}
	if len(f.courses) > 0 {
		f.overview(r)
		f.musts(r)
		f.aims(r)
		f.withoutCounter(r)
		f.steadiness(r)
	}
	f.transients(r)
	f.applications(r)
	return r
}

// kernel is which one the documents are of, as part of a sentence.
func (f *field) kernel() string {
	for _, c := range f.courses {
		for _, docs := range c.docs {
			return " of Linux " + docs[0].Kernel
		}
	}
	return ""
}

func (r *report) document() string {
	var b strings.Builder
	b.WriteString(r.text.String())
	if len(r.missed) == 0 {
		b.WriteString("\n## Missed\n\nNothing that was judged.\n")
		return b.String()
	}
	b.WriteString("\n## Missed\n\n")
	for _, m := range r.missed {
		b.WriteString("- " + m + "\n")
	}
	return b.String()
}

// relative is the efficiency as a part of the most of any static limit.
func (c *course) relative(row cells.Row) float64 { return row.Efficiency / c.static.Most() }

// star marks means of fewer seeds than were asked for.
func (f *field) star(docs []*result.Document) string {
	if uint64(len(docs)) < f.seeds {
		return "*"
	}
	return ""
}

// overview is all settings in all scenarios.
func (f *field) overview(r *report) {
	r.printf("\n## Overview\n\nE in %%, p95 in ms.\n")
	settings := []cells.Setting{kernelDefault}
	for _, us := range shown {
		settings = append(settings, cells.Setting{AQL: us})
	}
	for _, p := range slices.Backward(f.policies) {
		settings = append(settings, policy(p))
	}
	columns := []string{"scenario"}
	for _, s := range settings {
		columns = append(columns, label(s))
	}
	r.header(append(columns, "best static limit", "us")...)
	for _, c := range f.courses {
		r.printf("| %s |", c.name)
		cell := func(s cells.Setting) {
			if row, ok := c.row(s); ok {
				r.printf(" %.1f / %.1f%s |", 100*c.relative(row), row.P95, f.star(c.docs[s]))
				return
			}
			r.printf(" |")
		}
		for _, s := range settings {
			cell(s)
		}
		if best, ok := c.best(); ok {
			cell(best.Setting)
			r.printf(" %s |\n", best.AQL)
		} else {
			r.printf(" | |\n")
		}
	}
}

// spread is the mean of the seeds' p95 and their range.
func spread(docs []*result.Document) string {
	low, high, sum := math.Inf(1), 0.0, 0.0
	for _, d := range docs {
		v := 0.0
		if d.PingMs.Busy != nil {
			v = d.PingMs.Busy.P95
		}
		low, high, sum = math.Min(low, v), math.Max(high, v), sum+v
	}
	return fmt.Sprintf("%.1f (%.1f..%.1f)", sum/float64(len(docs)), low, high)
}

// each calls do for the courses in which a policy and a static limit were
// measured.
func (f *field) each(policy cells.Setting, do func(c *course, best, mine cells.Row)) {
	for _, c := range f.courses {
		best, ok := c.best()
		mine, found := c.row(policy)
		if ok && found {
			do(c, best, mine)
		}
	}
}

// reaches is whether a row passes a bar.
func (b bar) reaches(c *course, best, row cells.Row) bool {
	return c.relative(row) >= b.efficiency && row.P95 <= b.p95*best.P95
}

func (f *field) musts(r *report) {
	mine := judgedSetting(f)
	r.printf(`
## What %s must reach

E of at least so many per cent of the highest of any static limit, which is what
the best limit was chosen by as well, and p95 of at most so many times the best
limit's. Where the best limit's p95 is below a third of the kernel default's, the
policy's must be, too.
`, mine.Name())
	r.header("scenario", "best us", "next lower us: E %", "best's p95 ms", "p95 ms", "times", "at most", "E %", "at least", "of the best's E %", "default's p95 ms", "a third", "reached")
	f.each(mine, func(c *course, best, row cells.Row) {
		base, known := c.row(kernelDefault)
		low, lower := "", true
		if known && best.P95 < third*base.P95 {
			lower = row.P95 < third*base.P95
			low = verdict(lower)
		}
		ok := c.must.reaches(c, best, row)
		word := verdict(ok && lower)
		if !ok {
			r.must(false, "%s: E %.1f %% (at least %.0f), p95 %.2f times the best's (at most %.2f)", c.name,
				100*c.relative(row), 100*c.must.efficiency, row.P95/best.P95, c.must.p95)
		}
		if !lower {
			r.must(false, "%s: p95 %.1f ms is not below a third of the kernel default's %.1f ms", c.name, row.P95, base.P95)
		}
		next := "none"
		if b, found := c.below(best); found {
			next = fmt.Sprintf("%s: %.1f", b.AQL, 100*c.relative(b))
		}
		r.printf("| %s | %s | %s | %s | %s%s | %.2f | %.2f | %.1f | %.0f | %.1f | %.1f | %s | %s |\n", c.name, best.AQL, next, spread(c.docs[best.Setting]),
			spread(c.docs[mine]), f.star(c.docs[mine]), row.P95/best.P95, c.must.p95, 100*c.relative(row), 100*c.must.efficiency,
			100*row.Efficiency/best.Efficiency, base.P95, low, word)
	})
}

func (f *field) aims(r *report) {
	r.printf(`
## What would be best

In all scenarios E of %.0f %% and p95 of %.2f times the best limit's. With limits per
station less than any limit for all can have: %.0f ms or %.0f ms. Airtime no less
fairly shared (Jain's index) than by the kernel's default.
`, 100*aim.efficiency, aim.p95, trialNamed("fast-and-slow").aimP95Ms, trialNamed("crowd").aimP95Ms)
	r.header("scenario", "policy", "E %", "times", "reached", "p95 ms", "at most", "reached", "fairness", "default's", "no less")
	for _, p := range f.policies {
		f.each(policy(p), func(c *course, best, row cells.Row) {
			r.printf("| %s | %s | %.1f | %.2f | %s | %.1f |", c.name, p, 100*c.relative(row), row.P95/best.P95,
				verdict(aim.reaches(c, best, row)), row.P95)
			if c.aimP95Ms > 0 {
				r.printf(" %.0f | %s |", c.aimP95Ms, verdict(c.relative(row) >= aim.efficiency && row.P95 <= c.aimP95Ms))
			} else {
				r.printf(" | |")
			}
			if base, ok := c.row(kernelDefault); ok {
				r.printf(" %.2f | %.2f | %s |\n", row.Jain, base.Jain, verdict(row.Jain >= base.Jain-jainLoss))
			} else {
				r.printf(" %.2f | | |\n", row.Jain)
			}
		})
	}
}

func trialNamed(name string) trial {
	return trials[slices.IndexFunc(trials, func(t trial) bool { return t.name == name })]
}

func (f *field) withoutCounter(r *report) {
	mine := judgedSetting(f)
	r.printf(`
## Without the pending counter

On the stock kernel, without ath10k's num_pending_tx: E and p95 within %.0f %% of what
they are with it, unless what must be reached is reached without as well.
`, 100*stockLoss)
	r.header("scenario", "E % with", "without", "p95 ms with", "without", "times", "must reached without", "within")
	f.each(mine, func(c *course, best, with cells.Row) {
		if len(c.stock) == 0 {
			return
		}
		without := cells.Mean(mine, c.stock)
		near := without.Efficiency >= (1-stockLoss)*with.Efficiency && without.P95 <= (1+stockLoss)*with.P95
		reached := c.must.reaches(c, best, without)
		r.printf("| %s | %.1f | %.1f%s | %s | %s | %.2f | %s | %s |\n", c.name, 100*c.relative(with), 100*c.relative(without), f.star(c.stock),
			spread(c.docs[mine]), spread(c.stock), without.P95/with.P95, verdict(reached),
			r.must(near || reached, "%s without the pending counter: E %.1f %% after %.1f, p95 %.2f times as long", c.name,
				100*c.relative(without), 100*c.relative(with), without.P95/with.P95))
	})
}

func (f *field) steadiness(r *report) {
	mine := judgedSetting(f)
	r.printf(`
## How limits settle and move

sd is the standard deviation of ln L over the %v measured, of each seed: below
%.0f %%, or %.0f %% where L is less than %d frames of the slowest station. L, the low
limit, has settled from a cold start when it is within %.0f %% of its later mean for the
rest of the warm-up: within %v. Both are judged by the worst seed.
`, measured, 100*moves, 100*movesFew, fewFrames, 100*settled, settledWithin)
	r.header("scenario", "L us, by seed", "sd %, by seed", "below", "steady", "settled after s, by seed", "soon")
	for _, c := range f.courses {
		docs := c.docs[mine]
		if len(docs) == 0 {
			continue
		}
		var levels, sds, times []string
		var sum, most, last float64
		for _, d := range docs {
			mean, sd := lnLimit(d, d.WarmupS, d.WarmupS+d.DurationS)
			after := settledAfter(d)
			sum += mean
			most, last = math.Max(most, sd), math.Max(last, after)
			levels = append(levels, fmt.Sprintf("%.0f", math.Exp(mean)))
			sds = append(sds, fmt.Sprintf("%.1f", 100*sd))
			times = append(times, fmt.Sprintf("%.1f", after))
		}
		below := moves
		if few(&c.scenario, math.Exp(sum/float64(len(docs)))) {
			below = movesFew
		}
		r.printf("| %s | %s | %s | %.0f | %s | %s | %s |\n", c.name, strings.Join(levels, ", "), strings.Join(sds, ", "), 100*below,
			r.must(most < below, "%s: limits move by %.1f %% (below %.0f)", c.name, 100*most, 100*below),
			strings.Join(times, ", "),
			r.must(last <= settledWithin.Seconds(), "%s: settled after %.1f s (within %v)", c.name, last, settledWithin))
	}
}

func (f *field) transients(r *report) {
	if len(f.changing) == 0 {
		return
	}
	mine := judgedSetting(f)
	r.printf(`
## What %s does about changes

A change of rate is answered within %v: L has moved by %.0f %%, or p95 is steady. p95
of any second that begins %v after a change of rate or %v after the last station
came or went is within %.1f times the steady one, which is the median of these
seconds. Throughput of no second falls below %.0f %% of what it was before or is later,
whichever is less. The worst seed counts. The kernel default's figures show how much
single seconds differ where nothing reacts.
`, mine.Name(), answeredWithin, 100*settled, rateWithin, joinWithin, unsteady, 100*collapsed)
	r.header("scenario", "change", "steady p95 ms, by seed", "answered after s", "soon", "steady after s", "worst later", "steady", "least Mb/s, %", "no collapse", "default's p95 ms", "its worst later")
	for _, c := range f.changing {
		docs := c.docs[mine]
		if len(docs) == 0 {
			continue
		}
		for _, ch := range changes(&c.scenario) {
			what := fmt.Sprintf("%s at %v", ch.what, span(ch.from, ch.to))
			all := worst(docs, ch)
			answered := " | "
			if ch.rate {
				answered = fmt.Sprintf("%.1f | %s", all.answeredS, r.must(all.answeredS <= answeredWithin.Seconds(),
					"%s, %s: answered after %.1f s", c.scenario.Name, what, all.answeredS))
			}
			r.printf("| %s | %s | %s%s | %s | %.1f | %.2f | %s | %.0f | %s |", c.scenario.Name, what, all.bySeed, f.star(docs),
				answered, all.settledS, all.worst,
				r.must(all.worst <= unsteady, "%s, %s: a later second's p95 is %.2f times the steady one", c.scenario.Name, what, all.worst),
				100*all.least,
				r.must(all.least >= collapsed, "%s, %s: throughput falls to %.0f %%", c.scenario.Name, what, 100*all.least))
			if base := c.docs[kernelDefault]; len(base) > 0 {
				x := worst(base, ch)
				r.printf(" %s%s | %.2f |\n", x.bySeed, f.star(base), x.worst)
			} else {
				r.printf(" | |\n")
			}
		}
	}
}

// worstResponse is the worst of each kind over the seeds.
type worstResponse struct {
	response
	bySeed string // the steady p95 in ms
}

func worst(docs []*result.Document, c change) worstResponse {
	all := worstResponse{response: response{least: math.Inf(1)}}
	var steady []string
	for _, d := range docs {
		x := respond(d, c)
		steady = append(steady, fmt.Sprintf("%.1f", x.steadyMs))
		all.answeredS, all.settledS = max(all.answeredS, x.answeredS), max(all.settledS, x.settledS)
		all.worst, all.least = max(all.worst, x.worst), min(all.least, x.least)
	}
	all.bySeed = strings.Join(steady, ", ")
	return all
}

// span is a time, or two.
func span(from, to float64) string {
	if from == to {
		return fmt.Sprintf("%g s", from)
	}
	return fmt.Sprintf("%g..%g s", from, to)
}

func (f *field) applications(r *report) {
	if f.limited == nil || len(f.limited.docs[judgedSetting(f)]) == 0 {
		return
	}
	c := f.limited
	carries := float64(c.scenario.WAN.RateKbps) / 1000
	r.printf(`
## Where the air is not the limit

In %s, %s, L holds: it moves as little as
in steady state, its mean over the last %v differs by at most %.0f %% from that over
the last %v of the warm-up, and throughput is %.0f %% of what the network carries.
`, c.scenario.Name, c.scenario.Description, driftOver, 100*drift, driftOver, 100*limitedDelivers)
	r.header("seed", "Mb/s", "delivered", "L us, warm-up", "L us, end", "drift %", "no drift", "sd %", "holds")
	for _, d := range c.docs[judgedSetting(f)] {
		end, over := d.WarmupS+d.DurationS, driftOver.Seconds()
		first, _ := lnLimit(d, d.WarmupS-over, d.WarmupS)
		last, _ := lnLimit(d, end-over, end)
		mean, sd := lnLimit(d, d.WarmupS, end)
		below := moves
		if few(&c.scenario, math.Exp(mean)) {
			below = movesFew
		}
		by := math.Exp(last-first) - 1
		mbps := d.DownloadMbps + d.UploadMbps
		at := func(what string) string { return fmt.Sprintf("%s, seed %d: %s", c.scenario.Name, d.Seed, what) }
		r.printf("| %d | %.1f | %s | %.0f | %.0f | %+.1f | %s | %.1f | %s |\n", d.Seed, mbps,
			r.must(mbps >= limitedDelivers*carries, at("%.1f Mb/s of %.0f"), mbps, carries),
			math.Exp(first), math.Exp(last), 100*by,
			r.must(math.Abs(by) <= drift, at("L drifts by %+.1f %%"), 100*by), 100*sd,
			r.must(sd < below, at("limits move by %.1f %% (below %.0f)"), 100*sd, 100*below))
	}
}
