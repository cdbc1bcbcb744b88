package sysfs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const statText = `cpu  1052126 1579007 963322 1246991 8663 0 6591 4138 0 0
cpu0 538743 777908 481519 623008 4514 0 2535 2096 0 0
cpu3 513383 801099 481802 623983 4148 7 4056 2041 0 0
intr 258799186 0 0 0 2
ctxt 1513735455
`

func TestParseStat(t *testing.T) {
	want := []CPUTimes{
		{CPU: 0, User: 538743, Nice: 777908, System: 481519, Idle: 623008, IOWait: 4514, SoftIRQ: 2535, Steal: 2096},
		{CPU: 3, User: 513383, Nice: 801099, System: 481802, Idle: 623983, IOWait: 4148, IRQ: 7, SoftIRQ: 4056, Steal: 2041},
	}
	// Cut within what follows, or within that of a CPU.
	for _, s := range []string{statText, statText[:strings.Index(statText, "ctxt")], statText + "cpu9 1 2", strings.Split(statText, "intr")[0] + "cpu4 1 2"} {
		got, err := ParseStat(nil, []byte(s))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if want[0].Total() != 538743+777908+481519+623008+4514+2535+2096 {
		t.Errorf("total %d", want[0].Total())
	}
	old, err := ParseStat(nil, []byte("cpu  1 2 3 4\ncpu0 1 2 3 4\n"))
	if diff := cmp.Diff([]CPUTimes{{User: 1, Nice: 2, System: 3, Idle: 4}}, old); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, s := range []string{"", "cpu  1 2 3 4\n", "intr 1\n", "cpu0 1 2 3\n", "cpux 1 2 3 4\n", "cpu0 1 2 -3 4\n", "cpu99999 1 2 3 4\n"} {
		if got, err := ParseStat(nil, []byte(s)); err == nil {
			t.Errorf("%q: got %+v", s, got)
		}
	}
	b, dst := []byte(statText), make([]CPUTimes, 0, 4)
	if n := testing.AllocsPerRun(20, func() { dst, _ = ParseStat(dst, b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzCPUTimes(f *testing.F) {
	f.Add([]byte(statText))
	f.Add([]byte("cpu0 1 2 3 4\n"))
	f.Add([]byte("cpu0 99999999999999999999 2 3 4\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseStat(nil, b)
		if err == nil && len(got) == 0 {
			t.Error("neither CPUs nor an error")
		}
	})
}
