// SPDX-License-Identifier: Apache-2.0

package main

import "airtuned/lab/chart"

// picture shows busy p95 against throughput: down and to the right is better.
func picture(t *table) string {
	c := chart.Chart{
		Title:  t.scenario.Name + ": " + t.scenario.Description,
		XLabel: "Mb/s", YLabel: "ping p95, ms",
		Line: []chart.Point{},
	}
	best := t.rows.Best()
	for i, r := range t.rows {
		pt := chart.Point{X: r.Mbps, Y: r.P95, Colour: "#36c", Radius: 3.5, Label: r.Name()}
		switch {
		case i == best:
			pt.Colour, pt.Radius = "#080", 6
		case r.Policy != "":
			pt.Colour, pt.Radius = "#e70", 6
		case !r.Static():
			pt.Colour, pt.Radius = "#c00", 5
		}
		// Static limits have their names on the left, all else on the right.
		if pt.Right = !r.Static(); !pt.Right {
			c.Line = append(c.Line, pt)
		}
		c.Points = append(c.Points, pt)
	}
	return c.SVG()
}
