// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The picture's size and margins in pixels.
const (
	width, height           = 720, 420
	left, right, top, below = 64, 120, 40, 52
)

// picture shows busy p95 against throughput: down and to the right is better.
// Latency's axis is logarithmic.
func picture(t *table) string {
	low, high := math.Inf(1), 0.0
	most := 0.0
	for _, r := range t.rows {
		if r.p95 > 0 {
			low, high = math.Min(low, r.p95), math.Max(high, r.p95)
		}
		most = math.Max(most, r.mbps)
	}
	if high == 0 || most == 0 {
		low, high, most = 1, 10, 1
	}
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)+1e-9))
	step := niceStep(most / 5)
	most = math.Ceil(most/step) * step
	x := func(mbps float64) float64 { return left + mbps/most*(width-left-right) }
	y := func(ms float64) float64 {
		return height - below - math.Log10(ms/low)/math.Log10(high/low)*(height-top-below)
	}

	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, width, height)
	p(`<rect width="100%%" height="100%%" fill="white"/>`)
	p(`<text x="%d" y="22" font-size="13">%s</text>`, 16, html.EscapeString(t.scenario.Name+": "+t.scenario.Description))
	for ms := low; ms <= high*1.001; ms *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := ms * m; v <= high*1.001 {
				p(`<line x1="%d" x2="%d" y1="%.1f" y2="%.1[3]f" stroke="#ddd"/>`, left, width-right, y(v))
				p(`<text x="%d" y="%.1f" text-anchor="end">%g</text>`, left-6, y(v)+4, v)
			}
		}
	}
	for v := 0.0; v <= most*1.001; v += step {
		p(`<line x1="%.1f" x2="%.1[1]f" y1="%d" y2="%d" stroke="#ddd"/>`, x(v), top, height-below)
		p(`<text x="%.1f" y="%d" text-anchor="middle">%g</text>`, x(v), height-below+18, v)
	}
	p(`<text x="%d" y="%d" text-anchor="middle">Mb/s</text>`, (left+width-right)/2, height-12)
	p(`<text x="16" y="%d" text-anchor="middle" transform="rotate(-90 16 %[1]d)">ping p95, ms</text>`, (top+height-below)/2)

	var line []string
	for _, r := range t.rows {
		if r.static() && r.p95 > 0 {
			line = append(line, fmt.Sprintf("%.1f,%.1f", x(r.mbps), y(r.p95)))
		}
	}
	p(`<polyline points="%s" fill="none" stroke="#36c"/>`, strings.Join(line, " "))
	best := t.best()
	for i, r := range t.rows {
		if r.p95 <= 0 {
			continue
		}
		colour, radius := "#36c", 3.5
		switch {
		case i == best:
			colour, radius = "#080", 6
		case r.policy != "":
			colour, radius = "#e70", 6
		case !r.static():
			colour, radius = "#c00", 5
		}
		p(`<circle cx="%.1f" cy="%.1f" r="%g" fill="%s"/>`, x(r.mbps), y(r.p95), radius, colour)
		// Static limits have their names on the left, all else on the right.
		anchor, dx := "end", -9.0
		if !r.static() {
			anchor, dx = "start", 9
		}
		p(`<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" font-size="11">%s</text>`, x(r.mbps)+dx, y(r.p95)+4, anchor, colour, html.EscapeString(r.name()))
	}
	p(`</svg>`)
	return b.String()
}

// niceStep is the least of 1, 2 and 5 times a power of ten that is not below x.
func niceStep(x float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= x {
			return m * p
		}
	}
	return 10 * p
}
