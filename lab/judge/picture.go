// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"

	"airtuned/lab/cells"
	"airtuned/lab/chart"
)

// picture shows each setting in each scenario: p95 in times the best static
// limit's against efficiency. What is aimed for is the area at the lower right.
func (f *field) picture() string {
	c := chart.Chart{
		Title:  "one point per scenario: latency against the best static limit there, and throughput",
		XLabel: "air efficiency, % of the highest of any static limit",
		YLabel: "ping p95, times the best static limit's",
		XMin:   90,
		Goal:   &chart.Goal{X: 100 * aim.efficiency, Y: aim.p95},
	}
	type series struct {
		cells.Setting
		colour string
		radius float64
	}
	list := []series{
		{kernelDefault, "#c00", 4},
		{cells.Setting{AQL: "12000"}, "#936", 4},
		{cells.Setting{AQL: "5000"}, "#69f", 4},
		{cells.Setting{AQL: "1500"}, "#039", 4},
	}
	colours := []string{"#e70", "#999", "#666", "#333"}
	for i, p := range slices.Backward(f.policies) {
		s := series{policy(p), colours[min(i, len(colours)-1)], 4}
		if i == 0 {
			s.radius = 6
		}
		list = append(list, s)
	}
	add := func(co *course, best, row cells.Row, colour, name string, radius float64) {
		pt := chart.Point{X: 100 * co.relative(row), Y: row.P95 / best.P95, Colour: colour, Radius: radius}
		pt.Tip = fmt.Sprintf("%s, %s: %.1f %%, %.2f times", co.name, name, pt.X, pt.Y)
		c.XMin = math.Min(c.XMin, 10*math.Floor(pt.X/10))
		c.Points = append(c.Points, pt)
	}
	for _, s := range list {
		c.Legend = append(c.Legend, chart.Entry{Colour: s.colour, Label: label(s.Setting)})
		f.each(s.Setting, func(co *course, best, row cells.Row) { add(co, best, row, s.colour, label(s.Setting), s.radius) })
	}
	const green, name = "#080", "best static limit"
	c.Legend = append(c.Legend, chart.Entry{Colour: green, Label: name})
	for _, co := range f.courses {
		if best, ok := co.best(); ok {
			add(co, best, best, green, name+", "+label(best.Setting), 4)
		}
	}
	return c.SVG()
}
