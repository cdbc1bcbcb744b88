package debugfs

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fuzz feeds a parser anything. It must not panic, must call garbage
// ErrFormat, and what it accepts must be the same when the kernel would write
// it and it were read again.
func fuzz[T any](f *testing.F, name string, parse func([]byte, *T) error, format func(*T) string) {
	f.Add([]byte(nil))
	for _, text := range samples(f, name) {
		f.Add(text)
		f.Add(text[:len(text)*2/3])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var first, second T
		if err := parse(text, &first); err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("not an ErrFormat: %v", err)
			}
			return
		}
		again := format(&first)
		if err := parse([]byte(again), &second); err != nil {
			t.Fatalf("%q became %q: %v", text, again, err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("%q became %q (-first +second):\n%s", text, again, diff)
		}
	})
}

func FuzzParseAQLTxqLimit(f *testing.F) {
	fuzz(f, "aql_txq_limit", ParseAQLTxqLimit, formatAQLTxqLimit)
}

func FuzzParseAQLPending(f *testing.F) {
	fuzz(f, "aql_pending", ParseAQLPending, formatAQLPending)
}

func FuzzParseAQM(f *testing.F) {
	fuzz(f, "aqm", ParseAQM, formatAQM)
}

func FuzzParseQueues(f *testing.F) {
	fuzz(f, "queues", ParseQueues, formatQueues)
}

func FuzzParseHWQueues(f *testing.F) {
	fuzz(f, "hw_queues", ParseHWQueues, formatHWQueues)
}

func FuzzParseAirtimeFlags(f *testing.F) {
	fuzz(f, "airtime_flags", ParseAirtimeFlags, formatAirtimeFlags)
}

func FuzzParseStationAQL(f *testing.F) {
	fuzz(f, "sta_aql", ParseStationAQL, formatStationAQL)
}

func FuzzParseStationAirtime(f *testing.F) {
	fuzz(f, "sta_airtime", ParseStationAirtime, formatStationAirtime)
}

func FuzzParseStationAQM(f *testing.F) {
	fuzz(f, "sta_aqm", ParseStationAQM, formatStationAQM)
}

func FuzzParseFWResetStats(f *testing.F) {
	fuzz(f, "fw_reset_stats", ParseFWResetStats, func(s *FWResetStats) string {
		return fmt.Sprintf("fw_crash_counter\t\t%d\nfw_warm_reset_counter\t\t%d\nfw_cold_reset_counter\t\t%d\n",
			s.Crashes, s.WarmResets, s.ColdResets)
	})
}

func FuzzParseAQLThreshold(f *testing.F) {
	fuzz(f, "aql_threshold", parseAQLThreshold, func(v *uint32) string { return fmt.Sprintln(*v) })
}

func FuzzParseAQLEnable(f *testing.F) {
	fuzz(f, "aql_enable", parseAQLEnable, func(v *bool) string {
		if *v {
			return "1\n"
		}
		return "0\n"
	})
}

func FuzzParseChipID(f *testing.F) {
	fuzz(f, "chip_id", parseChipID, func(v *uint32) string { return fmt.Sprintf("0x%08x\n", *v) })
}

func FuzzParseNumPendingTx(f *testing.F) {
	fuzz(f, "num_pending_tx", parseNumPendingTx, func(v *int) string { return fmt.Sprintln(*v) })
}

func FuzzParseMaxNumPendingTx(f *testing.F) {
	fuzz(f, "num_pending_tx", parseMaxNumPendingTx, func(v *int) string { return fmt.Sprintln(*v) })
}

func FuzzParseTxQueueLimit(f *testing.F) {
	fuzz(f, "num_pending_tx", parseTxQueueLimit, func(v *int) string { return fmt.Sprintln(*v) })
}

func FuzzParseTxSkPacingShift(f *testing.F) {
	fuzz(f, "num_pending_tx", parseTxSkPacingShift, func(v *int) string { return fmt.Sprintln(*v) })
}

func FuzzParseTxWakePercent(f *testing.F) {
	fuzz(f, "num_pending_tx", parseTxWakePercent, func(v *int) string { return fmt.Sprintln(*v) })
}

func FuzzParseNapiThreaded(f *testing.F) {
	fuzz(f, "aql_enable", parseNapiThreaded, func(v *bool) string {
		if *v {
			return "1\n"
		}
		return "0\n"
	})
}
