package sysfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	softnetText = `0000005e 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
000093fa 00000002 0000001f 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000003 00000000 00000000
`
	softnetOld = `0000005e 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
000093fa 00000002 0000001f 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
`
)

func TestParseSoftnetStat(t *testing.T) {
	for text, second := range map[string]int{softnetText: 3, softnetOld: 1} {
		got, err := ParseSoftnetStat(text)
		want := []SoftnetStat{{CPU: 0, Processed: 0x5e}, {CPU: second, Processed: 0x93fa, Dropped: 2, TimeSqueeze: 0x1f}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	for _, s := range []string{"1 2\n", "1 2 x\n", "100000000 0 0\n"} {
		if got, err := ParseSoftnetStat(s); err == nil {
			t.Errorf("%q: got %+v", s, got)
		}
	}
}

func FuzzSoftnetStat(f *testing.F) {
	f.Add(softnetText)
	f.Add(softnetOld)
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseSoftnetStat(s)
		for _, st := range got {
			if err != nil || st.CPU < 0 || st.CPU >= maxCPU {
				t.Errorf("%+v, error %v", st, err)
			}
		}
	})
}
