// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"airtuned/lab/result"
	"airtuned/lab/scenario"
)

func example() *table {
	return &table{
		scenario: scenario.Scenario{Name: "one-fast", Description: "one & only"},
		kernel:   "6.1.0", seeds: 1,
		rows: []row{
			{setting: setting{aql: "default"}, mbps: 588, p95: 21},
			{setting: setting{aql: "300"}, mbps: 472, p95: 1},
			{setting: setting{aql: "1500"}, mbps: 580, p95: 3},
			{setting: setting{aql: "3000"}, mbps: 588, p95: 6},
			{setting: setting{aql: "off"}, mbps: 600, p95: 300},
			{setting: setting{aql: "default", policy: "delay"}, mbps: 587, p95: 2},
		},
	}
}

func TestBest(t *testing.T) {
	tb := example()
	if got := tb.best(); got != 2 {
		t.Errorf("best row %d, want 2: 1500 keeps 98 %% of the best static limit", got)
	}
	tb.rows[2].mbps = 570
	if got := tb.best(); got != 3 {
		t.Errorf("best row %d, want 3: 1500 costs too much", got)
	}
	// Efficiency counts where it is known.
	for i := range tb.rows {
		tb.rows[i].efficiency = 0.9
	}
	if got := tb.best(); got != 1 {
		t.Errorf("best row %d, want 1: all are as efficient", got)
	}
	tb.rows = tb.rows[:1]
	if got := tb.best(); got != -1 {
		t.Errorf("best row %d without static limits", got)
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

func TestNiceStep(t *testing.T) {
	got := []float64{niceStep(0.7), niceStep(1), niceStep(1.1), niceStep(117), niceStep(600)}
	if diff := cmp.Diff([]float64{1, 1, 2, 200, 1000}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMean(t *testing.T) {
	a, b := &result.Document{DownloadMbps: 10, UploadMbps: 1}, &result.Document{DownloadMbps: 20}
	a.PingMs.Busy = &result.Latency{P95: 4}
	b.PingMs.Busy = &result.Latency{P95: 6}
	got := mean(setting{aql: "1500"}, []*result.Document{a, b})
	if got.mbps != 15.5 || got.p95 != 5 || got.name() != "1500" {
		t.Errorf("got %+v", got)
	}
}
