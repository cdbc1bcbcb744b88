package radiosim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDeterminism(t *testing.T) {
	for _, sc := range Scenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			run := func(seed uint64) Stats {
				s := New(sc, Options{Seed: seed})
				s.Advance(Epoch.Add(3 * time.Second))
				return s.Stats()
			}
			first := run(1)
			if diff := cmp.Diff(first, run(1)); diff != "" {
				t.Errorf("the same seed gave another run (-first +second):\n%s", diff)
			}
			if cmp.Equal(first, run(2)) {
				t.Error("another seed gave the same run")
			}
			if first.ThroughputMbps == 0 || len(first.PingMs) == 0 {
				t.Errorf("nothing happened: %+v", first)
			}
		})
	}
}
