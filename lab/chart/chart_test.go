// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSVG(t *testing.T) {
	c := Chart{
		Title: "a & b", XLabel: "x <", YLabel: "y >", XMin: 40, Goal: &Goal{97, 1.3},
		Points: []Point{
			{X: 50, Y: 10, Radius: 3, Label: "one"},
			{X: 100, Y: 1, Radius: 3, Tip: "two"},
			{X: 100, Y: 0, Radius: 3, Label: "not measured"},
		},
		Legend: []Entry{{"#f00", "red"}},
	}
	texts, elements := map[string]bool{}, map[string]int{}
	d := xml.NewDecoder(strings.NewReader(c.SVG()))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := tok.(type) {
		case xml.CharData:
			texts[string(x)] = true
		case xml.StartElement:
			elements[x.Name.Local]++
		}
	}
	for _, want := range []string{"a & b", "x <", "y >", "one", "two", "red", "40", "60", "100", "5"} {
		if !texts[want] {
			t.Errorf("no text %q among %v", want, texts)
		}
	}
	for _, not := range []string{"not measured", "0"} {
		if texts[not] {
			t.Errorf("there is a text %q", not)
		}
	}
	if elements["circle"] != 3 || elements["rect"] != 2 || elements["polyline"] != 0 {
		t.Errorf("elements %v, want 2 points with a legend's, background and goal, no line", elements)
	}
	empty := (&Chart{XMin: 40}).SVG() // nothing was measured
	if strings.Contains(empty, "NaN") || strings.Contains(empty, "Inf") {
		t.Errorf("no numbers in an empty picture: %s", empty)
	}
}

func TestNiceStep(t *testing.T) {
	got := []float64{NiceStep(0.7), NiceStep(1), NiceStep(1.1), NiceStep(117), NiceStep(600)}
	if diff := cmp.Diff([]float64{1, 1, 2, 200, 1000}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
