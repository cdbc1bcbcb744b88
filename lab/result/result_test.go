// SPDX-License-Identifier: Apache-2.0

package result

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPercentile(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, tt := range []struct {
		sorted  []float64
		p, want float64
	}{
		{ten, 50, 5}, {ten, 51, 6}, {ten, 95, 10}, {ten, 90, 9}, {ten, 100, 10}, {ten, 0, 1},
		{[]float64{7}, 99, 7},
	} {
		if got := Percentile(tt.sorted, tt.p); got != tt.want {
			t.Errorf("percentile %v of %v: %v, want %v", tt.p, tt.sorted, got, tt.want)
		}
	}
}

func TestJain(t *testing.T) {
	for _, tt := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{3, 3, 3}, 1}, {[]float64{5, 0, 0, 0}, 0.25}, {[]float64{1, 3}, 0.8},
	} {
		if got := Jain(tt.x); got != tt.want {
			t.Errorf("Jain(%v) = %v, want %v", tt.x, got, tt.want)
		}
	}
	for _, none := range [][]float64{nil, {0, 0}} {
		if got := Jain(none); !math.IsNaN(got) {
			t.Errorf("Jain(%v) = %v, want NaN", none, got)
		}
		if got := Rounded(Jain(none), 2); got != nil {
			t.Errorf("Jain(%v) is in the document as %v", none, *got)
		}
	}
}

func TestSummarize(t *testing.T) {
	got := Summarize([]float64{3, 1.00049, 2}, 4)
	want := &Latency{Sent: 4, Lost: 1, P50: 2, P95: 3, P99: 3, Max: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Summarize([]float64{1.00049}, 1).P50; got != 1 {
		t.Errorf("p50 %v is not rounded to microseconds", got)
	}
	if got := Summarize(nil, 5); got == nil || got.Lost != 5 || got.P50 != 0 {
		t.Errorf("all lost: %+v", got)
	}
	if got := Summarize(nil, 0); got != nil {
		t.Errorf("nothing sent: %+v, want nothing", got)
	}
}

func TestLevelOf(t *testing.T) {
	if diff := cmp.Diff(&Level{Mean: 2.3, Max: 4}, LevelOf([]float64{1, 4, 2})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := LevelOf(nil); got != nil {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestEncode(t *testing.T) {
	d := Document{Scenario: "x", Stations: []Station{{Name: "a"}}, Limits: []Limit{{LowUs: 5000, HighUs: 12000}}}
	b, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "scenario": "x",
  "radio": "",
  "kernel": "",
  "seed": 0,
  "chip": "",
  "queue_source": "",
  "aql": "",
  "warmup_s": 0,
  "duration_s": 0,
  "download_mbps": 0,
  "upload_mbps": 0,
  "ping_ms": {},
  "stops": 0,
  "stations": [
    {
      "name": "a",
      "download_mbps": 0,
      "upload_mbps": 0
    }
  ],
  "limits": [
    {
      "at_s": 0,
      "low_us": 5000,
      "high_us": 12000
    }
  ],
  "seconds": null
}
`
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
