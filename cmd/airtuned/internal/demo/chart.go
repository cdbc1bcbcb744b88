package demo

import (
	"fmt"
	"math"
	"time"

	"airtuned/cmd/airtuned/internal/term"
)

// Point is what one slice of virtual time looked like: the mean of what came
// through and the 95th percentile of the pings. NaN where there was none.
type Point struct {
	ThroughputMbps float64
	LatencyMs      float64
}

// Chart draws every policy's latency and throughput over virtual time, each
// with the same scale, in at most t.Height-1 lines.
func Chart(t term.Terminal, title string, policies []string, points [][]Point, duration time.Duration) []string {
	const label, value = 15, 7 // columns
	width := max((t.Width-1-label-2*value-1)/2, 8)
	rows := min(max((t.Height-6)/max(len(policies), 1)-1, 1), 4)

	topLatency, topRate := 0.0, 0.0
	done := 0
	for _, ps := range points {
		done = max(done, len(ps))
		for _, p := range ps {
			if p.LatencyMs > topLatency {
				topLatency = p.LatencyMs
			}
			if p.ThroughputMbps > topRate {
				topRate = p.ThroughputMbps
			}
		}
	}
	topLatency, topRate = term.NiceTop(topLatency), term.NiceTop(topRate)

	clock := duration * time.Duration(done) / Slices
	lines := []string{
		t.Paint(term.Bold, title),
		t.Paint(term.Dim, term.Pad(fmt.Sprintf("%4.1f of %g s", clock.Seconds(), duration.Seconds()), label)+
			term.Pad(fmt.Sprintf("ping p95, ms (0 to %g)", topLatency), width+value+1)+
			fmt.Sprintf("throughput, Mb/s (0 to %g)", topRate)),
	}
	for i, policy := range policies {
		style := term.Cyan
		if policy == Baseline {
			style = term.Yellow
		}
		latency, rate := resample(points[i], Slices, width)
		left, right := t.Columns(latency, rows, topLatency), t.Columns(rate, rows, topRate)
		lines = append(lines, "")
		for row := range rows {
			name, l, r := "", "", ""
			if row == rows-1 {
				name = policy
				l, r = last(latency), last(rate)
			}
			lines = append(lines, t.Paint(style, term.Pad(name, label))+
				t.Paint(style, left[row])+term.PadLeft(l, value-1)+"  "+
				t.Paint(style, right[row])+term.PadLeft(r, value-1))
		}
	}
	return lines
}

// resample brings the slices that are there to the columns of the chart: the
// worst latency and the mean throughput of each column.
func resample(ps []Point, slices, width int) (latency, rate []float64) {
	latency, rate = make([]float64, width), make([]float64, width)
	for c := range width {
		latency[c], rate[c] = math.NaN(), math.NaN()
		from, to := c*slices/width, max((c+1)*slices/width, c*slices/width+1)
		sum, n := 0.0, 0
		for i := from; i < min(to, len(ps)); i++ {
			if v := ps[i].LatencyMs; !math.IsNaN(v) && !(latency[c] >= v) {
				latency[c] = v
			}
			sum += ps[i].ThroughputMbps
			n++
		}
		if n > 0 {
			rate[c] = sum / float64(n)
		}
	}
	return latency, rate
}

// last prints the latest value of a row.
func last(values []float64) string {
	for i := len(values) - 1; i >= 0; i-- {
		if !math.IsNaN(values[i]) {
			return number(values[i])
		}
	}
	return ""
}
