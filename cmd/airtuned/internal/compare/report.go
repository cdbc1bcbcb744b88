package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"airtuned/cmd/airtuned/internal/term"
)

// The metrics. Their names are keys in JSON. Drops are those of an interval.
const (
	Throughput   = "throughput_kbps"
	Residency    = "residency_mean_us"
	ResidencyP95 = "residency_p95_us"
	PingMedian   = "ping_median_us"
	PingP95      = "ping_p95_us"
	Drops        = "drops"
)

// kinds are the metrics, what people call them, and the unit of 1000 of them.
var kinds = []struct{ name, label, unit string }{
	{Throughput, "throughput", " Mb/s"},
	{Residency, "residency (mean)", " ms"},
	{ResidencyP95, "residency (p95)", " ms"},
	{PingMedian, "ping (median)", " ms"},
	{PingP95, "ping (p95)", " ms"},
	{Drops, "drops", ""},
}

// Verdict is what may be said of a metric.
type Verdict string

// The verdicts are about B against A.
const (
	NoDifference Verdict = "no difference" // that could be told from chance
	Same         Verdict = "same"          // there is one, and it is too small to matter
	Lower        Verdict = "lower"
	Higher       Verdict = "higher"
	TooFew       Verdict = "too few" // rounds in which it could be measured
)

const (
	// Alpha is the probability that an experiment in which the policies make no
	// difference ends with the verdict that they do, in whatever metric.
	Alpha = 0.05
	// mattersPct is the least difference, in percent of A's median, that is called
	// one: no person feels less.
	mattersPct = 2
)

// Metric is the outcome for one metric.
type Metric struct {
	Name string `json:"name"`
	// A and B are medians over the rounds.
	A int64 `json:"a"`
	B int64 `json:"b"`
	// Difference is by how much B is above A within a round (Hodges-Lehmann), Low
	// and High bound it; nil where there are too few rounds.
	Difference int64  `json:"difference"`
	Low        *int64 `json:"low"`
	High       *int64 `json:"high"`
	// P is of the signed-rank test, for this metric alone. It counts as
	// significant from 0.05 by the number of metrics downwards.
	P       float64 `json:"p"`
	Rounds  int     `json:"rounds"`
	Verdict Verdict `json:"verdict"`

	label, unit string
}

// Report is what an experiment came to. Its JSON form is a contract.
type Report struct {
	A         string    `json:"a"`
	B         string    `json:"b"`
	Start     time.Time `json:"start"`
	Rounds    int       `json:"rounds"`
	IntervalS float64   `json:"interval_s"`
	SettleS   float64   `json:"settle_s"`
	Seed      uint64    `json:"seed"`
	// ConfidencePct is that of each metric's interval, so that all of them hold
	// together with 95 %.
	ConfidencePct float64  `json:"confidence_pct"`
	Metrics       []Metric `json:"metrics"`
	Verdict       string   `json:"verdict"`
	Notes         []string `json:"notes"`
	Legs          []Leg    `json:"legs"`
}

func newReport(o Options, start time.Time, legs []Leg) *Report {
	rep := &Report{
		A: o.A, B: o.B, Start: start, Rounds: o.Rounds, IntervalS: o.Interval.Seconds(), SettleS: o.Settle.Seconds(),
		Seed: o.Seed, Legs: legs, Notes: []string{},
	}
	var a, b []map[string]int64 // by round
	idle, absent, pings, lost := 0, 0, 0, 0
	for i := range legs {
		l := &legs[i]
		if l.Side == "A" {
			a = append(a, l.Values)
		} else {
			b = append(b, l.Values)
		}
		if l.ActivePct < 50 {
			idle++
		}
		if l.InForcePct < 90 {
			absent++
		}
		pings, lost = pings+l.Pings, lost+l.PingsLost
	}
	rep.Metrics = conclude(a, b)
	rep.ConfidencePct = 100 - 100*Alpha/float64(len(rep.Metrics))
	rep.Verdict = rep.words()
	rep.note(idle, len(legs), "intervals had little traffic: policies differ under load")
	rep.note(absent, len(legs), "intervals were not under the policy's limits all the time")
	rep.note(lost, pings, "pings were not answered, and are not counted")
	return rep
}

func (r *Report) note(n, of int, what string) {
	if n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d %s", n, of, what))
	}
}

// conclude compares the values of rounds, by metric.
func conclude(a, b []map[string]int64) []Metric {
	var out []Metric
	var differences [][]int64
	for _, k := range kinds {
		var as, bs, ds []int64
		for i := range a {
			va, oka := a[i][k.name]
			vb, okb := b[i][k.name]
			if oka && okb {
				as, bs, ds = append(as, va), append(bs, vb), append(ds, vb-va)
			}
		}
		if len(ds) > 0 {
			differences = append(differences, ds)
			out = append(out, Metric{
				Name: k.name, A: median(as), B: median(bs), Rounds: len(ds), label: k.label, unit: k.unit,
			})
		}
	}
	level := Alpha / float64(len(out)) // Bonferroni: the intervals hold together
	for i := range out {
		out[i].judge(differences[i], level)
	}
	return out
}

// judge says what the differences of a metric are worth.
func (m *Metric) judge(differences []int64, level float64) {
	m.P = signedRank(differences)
	shift, low, high, ok := hodgesLehmann(differences, level)
	m.Difference, m.Verdict = shift, TooFew
	if !ok {
		return
	}
	m.Low, m.High = &low, &high
	small := m.A * mattersPct / 100
	switch {
	case m.P > level || low <= 0 && high >= 0:
		m.Verdict = NoDifference
	case low >= -small && high <= small:
		m.Verdict = Same
	case high < 0:
		m.Verdict = Lower
	default:
		m.Verdict = Higher
	}
}

// words is the verdict for people.
func (r *Report) words() string {
	text := ""
	add := func(head string, verdicts ...Verdict) {
		for i := range r.Metrics {
			if m := &r.Metrics[i]; slices.Contains(verdicts, m.Verdict) {
				text += head + m.label
				if m.Verdict == Lower || m.Verdict == Higher {
					text += " " + strings.TrimLeft(m.relative(m.Difference), "+-") + " " + string(m.Verdict)
				}
				head = ", "
			}
		}
		if head == ", " {
			text += ". "
		}
	}
	add("With "+r.B+" instead of "+r.A+": ", Lower, Higher)
	add("The same within 2 %: ", Same)
	add("No difference that chance would not explain: ", NoDifference)
	add("Measured in too few rounds: ", TooFew)
	return strings.TrimSpace(text)
}

// relative is a difference in percent of A, or as it is where A is 0.
func (m *Metric) relative(d int64) string {
	if m.A == 0 {
		return m.number(d)
	}
	return signed(1000*d/m.A, 10) + " %"
}

// number is a value of the metric with its unit.
func (m *Metric) number(v int64) string {
	if m.unit == "" {
		return strconv.FormatInt(v, 10)
	}
	return strings.TrimPrefix(signed(v, 1000), "+") + m.unit
}

// signed is a number of parts with its sign and what three digits can show.
func signed(v int64, parts int64) string {
	sign := "+"
	if v < 0 {
		sign, v = "-", -v
	}
	whole, rest := v/parts, v%parts
	switch {
	case whole >= 100:
		return sign + strconv.FormatInt((v+parts/2)/parts, 10)
	case parts == 10 || whole >= 10:
		return sign + fmt.Sprintf("%d.%d", whole, rest*10/parts)
	}
	return sign + fmt.Sprintf("%d.%02d", whole, rest*100/parts)
}

// Lines is the report for people.
func (r *Report) Lines(t term.Terminal) []string {
	table := term.Table{Head: []string{"", ">A: " + r.A, ">B: " + r.B, ">B - A", ">from", ">to", "verdict"}}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		low, high := "-", "-"
		if m.Low != nil {
			low, high = m.relative(*m.Low), m.relative(*m.High)
		}
		table.Rows = append(table.Rows, []string{
			m.label, m.number(m.A), m.number(m.B), m.relative(m.Difference), low, high, string(m.Verdict),
		})
	}
	lines := append(table.Lines(t), "", r.Verdict)
	for _, n := range r.Notes {
		lines = append(lines, "Note: "+n+".")
	}
	return append(lines, fmt.Sprintf("Medians of %d rounds; differences within a round, with their %.1f %% intervals.", r.Rounds, r.ConfidencePct))
}

// Line is a leg for people who wait.
func (l *Leg) Line() string {
	text := l.Side + " " + l.Policy
	for _, k := range kinds {
		if v, ok := l.Values[k.name]; ok && (k.name == Throughput || k.name == Residency || k.name == PingMedian) {
			m := Metric{unit: k.unit}
			text += "  " + k.label + " " + m.number(v)
		}
	}
	return text
}
