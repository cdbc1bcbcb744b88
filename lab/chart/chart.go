// SPDX-License-Identifier: Apache-2.0

// Package chart draws points in two dimensions as an SVG picture. The vertical
// axis is logarithmic, the horizontal one is not.
package chart

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

// Chart is a picture.
type Chart struct {
	Title, XLabel, YLabel string
	// XMin is where the horizontal axis begins.
	XMin float64
	// Goal, if any, is an area to be marked.
	Goal *Goal
	// Line connects points.
	Line []Point
	// Points are shown in this order, but for those with no Y above 0.
	Points []Point
	// Legend explains colours, at the right.
	Legend []Entry
}

// Goal is the area with at least X and at most Y.
type Goal struct{ X, Y float64 }

// Point is a dot.
type Point struct {
	X, Y   float64
	Colour string
	Radius float64
	// Label is beside it, on the right or else on the left.
	Label string
	Right bool
	// Tip is shown by a viewer that is pointed at it.
	Tip string
}

// Entry is of a legend.
type Entry struct{ Colour, Label string }

// SVG is the picture.
func (c *Chart) SVG() string {
	low, high, most := math.Inf(1), 0.0, 0.0
	for _, pt := range c.Points {
		if pt.Y > 0 {
			low, high = math.Min(low, pt.Y), math.Max(high, pt.Y)
		}
		most = math.Max(most, pt.X)
	}
	if high == 0 || most <= c.XMin {
		low, high, most = 1, 10, c.XMin+1
	}
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)+1e-9))
	step := NiceStep((most - c.XMin) / 5)
	most = math.Ceil(most/step) * step
	x := func(v float64) float64 { return left + (v-c.XMin)/(most-c.XMin)*(width-left-right) }
	y := func(v float64) float64 {
		return height - below - math.Log10(v/low)/math.Log10(high/low)*(height-top-below)
	}

	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, width, height)
	p(`<rect width="100%%" height="100%%" fill="white"/>`)
	p(`<text x="%d" y="22" font-size="13">%s</text>`, 16, html.EscapeString(c.Title))
	if g := c.Goal; g != nil {
		p(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#dfd"/>`, x(g.X), y(g.Y), x(most)-x(g.X), y(low)-y(g.Y))
	}
	for v := low; v <= high*1.001; v *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := v * m; v <= high*1.001 {
				p(`<line x1="%d" x2="%d" y1="%.1f" y2="%.1[3]f" stroke="#ddd"/>`, left, width-right, y(v))
				p(`<text x="%d" y="%.1f" text-anchor="end">%g</text>`, left-6, y(v)+4, v)
			}
		}
	}
	for v := c.XMin; v <= most*1.001; v += step {
		p(`<line x1="%.1f" x2="%.1[1]f" y1="%d" y2="%d" stroke="#ddd"/>`, x(v), top, height-below)
		p(`<text x="%.1f" y="%d" text-anchor="middle">%g</text>`, x(v), height-below+18, v)
	}
	p(`<text x="%d" y="%d" text-anchor="middle">%s</text>`, (left+width-right)/2, height-12, html.EscapeString(c.XLabel))
	p(`<text x="16" y="%d" text-anchor="middle" transform="rotate(-90 16 %[1]d)">%s</text>`, (top+height-below)/2, html.EscapeString(c.YLabel))

	if c.Line != nil {
		var line []string
		for _, pt := range c.Line {
			if pt.Y > 0 {
				line = append(line, fmt.Sprintf("%.1f,%.1f", x(pt.X), y(pt.Y)))
			}
		}
		p(`<polyline points="%s" fill="none" stroke="#36c"/>`, strings.Join(line, " "))
	}
	for _, pt := range c.Points {
		if pt.Y <= 0 {
			continue
		}
		end := "/>"
		if pt.Tip != "" {
			end = "><title>" + html.EscapeString(pt.Tip) + "</title></circle>"
		}
		p(`<circle cx="%.1f" cy="%.1f" r="%g" fill="%s"%s`, x(pt.X), y(pt.Y), pt.Radius, pt.Colour, end)
		if pt.Label == "" {
			continue
		}
		anchor, dx := "end", -9.0
		if pt.Right {
			anchor, dx = "start", 9
		}
		p(`<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" font-size="11">%s</text>`, x(pt.X)+dx, y(pt.Y)+4, anchor, pt.Colour, html.EscapeString(pt.Label))
	}
	for i, e := range c.Legend {
		at := top + 8 + 18*i
		p(`<circle cx="%d" cy="%d" r="5" fill="%s"/>`, width-right+16, at, e.Colour)
		p(`<text x="%d" y="%d">%s</text>`, width-right+26, at+4, html.EscapeString(e.Label))
	}
	p(`</svg>`)
	return b.String()
}

// NiceStep is the least of 1, 2 and 5 times a power of ten that is not below x.
func NiceStep(x float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= x {
			return m * p
		}
	}
	return 10 * p
}
