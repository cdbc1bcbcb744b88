// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"airtuned/lab/cells"
	"airtuned/lab/scenario"
)

func example() *table {
	return &table{
		scenario: scenario.Scenario{Name: "one-fast", Description: "one & only"},
		kernel:   "6.1.0", seeds: 1,
		rows: cells.Rows{
			{Setting: cells.Setting{AQL: "default"}, Mbps: 588, P95: 21},
			{Setting: cells.Setting{AQL: "300"}, Mbps: 472, P95: 1},
			{Setting: cells.Setting{AQL: "1500"}, Mbps: 580, P95: 3},
			{Setting: cells.Setting{AQL: "3000"}, Mbps: 588, P95: 6},
			{Setting: cells.Setting{AQL: "off"}, Mbps: 600, P95: 300},
			{Setting: cells.Setting{AQL: "default", Policy: "delay"}, Mbps: 587, P95: 2},
		},
	}
}

func TestDocument(t *testing.T) {
	got := document([]table{*example()})
	for _, want := range []string{
		"\n## one-fast\n", "One & only. Linux 6.1.0",
		"\n| **1500** | 580.0 |  | 0.0 | 3.0 |", "\n| AQL off | 600.0 |", "\n| airtuned delay | 587.0 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

func TestPicture(t *testing.T) {
	texts, points := map[string]bool{}, 0
	d := xml.NewDecoder(strings.NewReader(picture(example())))
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
			if x.Name.Local == "circle" {
				points++
			}
		}
	}
	for _, want := range []string{"one-fast: one & only", "1500", "AQL off", "airtuned delay", "Mb/s", "100"} {
		if !texts[want] {
			t.Errorf("no text %q among %v", want, texts)
		}
	}
	if points != 6 {
		t.Errorf("%d points, want 6", points)
	}
	picture(&table{}) // nothing was measured
}
