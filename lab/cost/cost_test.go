// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"
)

// The loop is under load on the files that it is measured on, and once it has
// settled nothing is allocated but by a look at who is there.
func TestLoopIsAtWork(t *testing.T) {
	dir := t.TempDir()
	settings.Policy = "static"
	m, err := newMachine(filepath.Join(dir, "m"), "../../testdata/trees/qca9888", 3)
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLoop(m, options{policy: "static"}, filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	l.step(30 * samplesPerWindow)
	if s := l.t.Status(); s.ActiveStations != 3 || s.ThroughputKbps == 0 || s.Pending.AirtimeUs == 0 || s.Pending.Frames == 0 {
		t.Errorf("status %+v", s)
	}
	if steady, rescan := l.allocations(); !raceEnabled && (steady != 0 || rescan == 0) {
		t.Errorf("%v allocations in a sample, %v at a rescan", steady, rescan)
	}
}
