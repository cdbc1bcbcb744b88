// Package demo runs the real loop on the simulated radio, under one policy
// after the other, and shows what each does to latency and throughput.
package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"airtuned/cmd/airtuned/internal/term"
)

// Baseline is the policy every other is compared with: the kernel left alone.
const Baseline = "kernel-default"

// Report is the outcome of a demo. Its JSON form is a contract; the same
// options give the same document, byte for byte.
type Report struct {
	Scenario string `json:"scenario"`
	// DurationS is the virtual time that is judged; WarmupS came before it.
	DurationS float64  `json:"duration_s"`
	WarmupS   float64  `json:"warmup_s"`
	Seed      uint64   `json:"seed"`
	Results   []Result `json:"results"`
}

// Result is one policy's. All figures are of the time after the warm-up.
type Result struct {
	Policy         string  `json:"policy"`
	ThroughputMbps float64 `json:"throughput_mbps"`
	// LatencyMs is what a sparse flow, a ping through the access point, feels.
	LatencyMs Quantiles `json:"latency_ms"`
	// ResidencyMs is the time frames spent in driver and firmware.
	ResidencyMs Residency `json:"residency_ms"`
	// StarvedPct is how much of the time the air was idle though there was
	// something to send.
	StarvedPct float64 `json:"starved_pct"`
	// LimitUs is the AQL limit of best effort at the end.
	LimitUs Limit `json:"limit_us"`
}

// Quantiles of a distribution.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Residency sums up a distribution.
type Residency struct {
	Mean float64 `json:"mean"`
	P95  float64 `json:"p95"`
}

// Limit is a pair of AQL limits in microseconds.
type Limit struct {
	Low  uint32 `json:"low"`
	High uint32 `json:"high"`
}

// round2 keeps two decimals, so that the document does not pretend more.
func round2(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return math.Round(v*100) / 100
}

// Table shows the results to a person.
func (r Report) Table(t term.Terminal) []string {
	tb := term.Table{Head: []string{"POLICY", ">Mb/s", ">PING p50", ">p95", ">p99", ">QUEUE", ">p95", ">IDLE", ">LIMIT"}}
	for _, x := range r.Results {
		policy := x.Policy
		if policy == Baseline {
			policy = t.Paint(term.Yellow, policy)
		} else {
			policy = t.Paint(term.Cyan, policy)
		}
		limit := fmt.Sprintf("%d/%d", x.LimitUs.Low, x.LimitUs.High)
		if x.LimitUs.Low == x.LimitUs.High {
			limit = fmt.Sprint(x.LimitUs.Low)
		}
		tb.Rows = append(tb.Rows, []string{
			policy, fmt.Sprintf("%.1f", x.ThroughputMbps),
			number(x.LatencyMs.P50), t.Paint(term.Bold, number(x.LatencyMs.P95)), number(x.LatencyMs.P99),
			number(x.ResidencyMs.Mean), number(x.ResidencyMs.P95),
			fmt.Sprintf("%.1f%%", x.StarvedPct), limit,
		})
	}
	return append(tb.Lines(t), t.Paint(term.Dim, "ping, queue (mean): ms; idle: air unused while packets wait; AQL limit: us"))
}

// number prints a figure with as many digits as matter.
func number(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// Summary says in a sentence or two what the results show.
func (r Report) Summary() []string {
	var base *Result
	best := -1
	for i := range r.Results {
		x := &r.Results[i]
		switch {
		case x.Policy == Baseline:
			base = x
		case x.Policy == "delay" || best < 0:
			best = i
		}
	}
	if base == nil {
		return nil
	}
	judged := fmt.Sprintf("Judged: %g s of virtual time after %g s of warm-up, seed %d.", r.DurationS, r.WarmupS, r.Seed)
	if best < 0 {
		return []string{judged}
	}
	x := r.Results[best]
	s := fmt.Sprintf("%s: a ping takes %s ms instead of %s ms (95th percentile)", x.Policy, number(x.LatencyMs.P95), number(base.LatencyMs.P95))
	if base.ThroughputMbps > 0 {
		s += fmt.Sprintf(", at %.0f %% of the throughput", 100*x.ThroughputMbps/base.ThroughputMbps)
	}
	return []string{s + ".", judged}
}

// order puts the baseline first and drops repeated names.
func order(policies []string) []string {
	out := []string{Baseline}
	for _, p := range policies {
		if p = strings.TrimSpace(p); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
