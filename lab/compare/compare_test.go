// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/radiosim"
)

func TestKnee(t *testing.T) {
	// The lab's side has the efficiencies, radiosim's is flat.
	points := func(efficiency ...float64) (all []point) {
		for i, us := range []uint32{kernelDefault, 300, 600, 1000, 1500}[:len(efficiency)] {
			all = append(all, point{us, 1, figures{efficiency: efficiency[i]}, figures{efficiency: 1}})
		}
		return all
	}
	for _, tt := range []struct {
		name     string
		points   []point
		lab, sim uint32
	}{
		{"rises", points(1, 0.5, 0.9, 0.99, 1), 1000, 300},
		{"exactly at 98 %", points(1, 0.5, 0.98, 0.99, 1), 600, 300},
		{"just below it", points(1, 0.5, 0.979, 0.99, 1), 1000, 300},
		{"falls again", points(1, 0.5, 1, 0.9, 0.8), 600, 300},
		{"only the last", points(1, 0.1, 0.2, 0.3, 1), 1500, 300},
		{"the default does not count", points(2, 0.5, 1, 1, 1), 600, 300},
		{"no limits", points(1), 0, 0},
	} {
		if got := knee(tt.points, ofLab); got != tt.lab {
			t.Errorf("%s: knee at %d us, want %d", tt.name, got, tt.lab)
		}
		if got := knee(tt.points, ofSim); got != tt.sim {
			t.Errorf("%s: knee of the flat side at %d us, want %d", tt.name, got, tt.sim)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		ratio     float64
		knee, p95 bool
	}{
		{1, true, true}, {1.5, true, false}, {1.51, false, false}, {1.29, true, true},
		{0.71, true, true}, {0.69, true, false}, {2000. / 3000, true, false}, {0.66, false, false},
	} {
		if kneeHolds(tt.ratio) != tt.knee || p95Holds(tt.ratio) != tt.p95 {
			t.Errorf("%v: knee %v, p95 %v", tt.ratio, kneeHolds(tt.ratio), p95Holds(tt.ratio))
		}
	}
}

func TestReadCells(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for i, text := range []string{ // ever newer
		`{"scenario":"crowd","kernel":"6.1","seed":1,"aql":"300","warmup_s":3,"duration_s":5,"download_mbps":1,"air_efficiency":0.1,"ping_ms":{"busy":{"p95":1}}}`,
		`{"scenario":"crowd","kernel":"6.1","seed":3,"aql":"300","warmup_s":3,"duration_s":9,"download_mbps":50,"air_efficiency":0.1,"ping_ms":{"busy":{"p95":1}}}`,
		`{"scenario":"crowd","kernel":"6.1","seed":2,"aql":"300","warmup_s":3,"duration_s":5,"download_mbps":20,"air_efficiency":0.5,"ping_ms":{"busy":{"p95":4}}}`,
		`{"scenario":"crowd","kernel":"6.1","seed":1,"aql":"300","warmup_s":3,"duration_s":5,"download_mbps":10,"air_efficiency":0.25,"ping_ms":{"busy":{"p95":2}}}`,
		`{"scenario":"crowd","kernel":"6.1","seed":1,"aql":"300","policy":"delay","warmup_s":3,"duration_s":5,"download_mbps":99,"air_efficiency":1,"ping_ms":{"busy":{"p95":9}}}`,
	} {
		// The name says nothing of the age.
		file := filepath.Join(dir, string(rune('z'-i))+".json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Minute)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	cells, err := readCells(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := cells.find("crowd", "300")
	if err != nil {
		t.Fatal(err)
	}
	want := measurement{figures{15, 0.375, 3}, "6.1", 3 * time.Second, 5 * time.Second, 2}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, err := cells.find("crowd", "600"); err == nil {
		t.Error("found what was not swept")
	}
}

func TestPairsExist(t *testing.T) {
	for _, p := range pairs {
		if _, err := radiosim.Lookup(p.sim); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join("../scenarios", p.lab+".yaml")); err != nil {
			t.Error(err)
		}
	}
}

func TestSimulateSetsLimits(t *testing.T) {
	run := func(us uint32) figures {
		f, err := simulate("one-fast", us, time.Second, time.Second, 1)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if tight, def := run(600), run(kernelDefault); tight.p95Ms > def.p95Ms/2 || tight.mbps == 0 {
		t.Errorf("p95 %.1f ms and %.0f Mb/s at 600 us, %.1f ms by default", tight.p95Ms, tight.mbps, def.p95Ms)
	}
}

func TestWriteKeepsWhatIsByHand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "radiosim.md")
	if err := write(file, "first\n"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(b, "\nby hand\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(file, "second\n"); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("second\n"+marker+"\nby hand\n", string(b)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
