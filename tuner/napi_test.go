package tuner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThreadedPlan(t *testing.T) {
	stock := Radio{Interfaces: []Interface{{Name: "wlan0"}, {Name: "wlan1"}}}
	patched := stock
	patched.Features = Features{FeatureThreaded: 0}
	for _, tt := range []struct {
		r    Radio
		mode ThreadedMode
		want []setting
	}{
		{stock, ThreadedOn, []setting{{"threaded/wlan0", "1"}, {"threaded/wlan1", "1"}}},
		{stock, ThreadedOff, []setting{{"threaded/wlan0", "0"}, {"threaded/wlan1", "0"}}},
		{stock, ThreadedAuto, nil}, // package host's
		{stock, ThreadedLeave, nil},
		{patched, ThreadedOn, []setting{{"napi_threaded", "1"}}},
		{patched, ThreadedOff, []setting{{"napi_threaded", "0"}}},
		{patched, ThreadedAuto, nil},
		{patched, ThreadedLeave, nil},
	} {
		got := threadedPlan(tt.r, tt.mode)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(setting{})); diff != "" {
			t.Errorf("%s, %v (-want +got):\n%s", tt.mode, tt.r.Features, diff)
		}
	}
}

func TestPatchedNAPI(t *testing.T) {
	r := Radio{NAPI: NAPI{Mode: "softirq", Reason: "hidden"}}
	if got := r.patchedNAPI(); got != r.NAPI {
		t.Errorf("stock: %+v", got)
	}
	for on, mode := range []string{"softirq", "threaded"} {
		r.Features = Features{FeatureThreaded: on}
		if got := r.patchedNAPI(); got.Mode != mode || !got.Settable {
			t.Errorf("%d: %+v", on, got)
		}
	}
}
