package debugfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtuned/wlan"

	"github.com/google/go-cmp/cmp"
)

// samples are the texts in testdata/NAME/, by variant: captures of real
// kernels (hwsim-*) and texts from the kernels' format strings.
func samples(t testing.TB, name string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", name, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples of %s: %v", name, err)
	}
	m := make(map[string][]byte)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m[filepath.Base(f)] = b
	}
	return m
}

// testSamples parses every sample of a file and knows what is in each. It
// starts from a value full of rubbish, because readers reuse theirs, and checks
// that parsing does not allocate.
func testSamples[T any](t *testing.T, name string, parse func([]byte, *T) error, rubbish T, want map[string]T) {
	t.Helper()
	texts := samples(t, name)
	for variant := range want {
		if texts[variant] == nil {
			t.Errorf("no sample %s", variant)
		}
	}
	for variant, text := range texts {
		w, ok := want[variant]
		if !ok {
			t.Errorf("%s: sample is not in the table", variant)
			continue
		}
		got := rubbish
		if err := parse(text, &got); err != nil {
			t.Errorf("%s: %v", variant, err)
			continue
		}
		if diff := cmp.Diff(w, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", variant, diff)
		}
		if n := testing.AllocsPerRun(10, func() { _ = parse(text, &got) }); n != 0 {
			t.Errorf("%s: %v allocations", variant, n)
		}
	}
}

// testCuts checks that a text cut within a line is never taken for a whole one.
func testCuts[T any](t *testing.T, name string, parse func([]byte, *T) error) {
	t.Helper()
	for variant, text := range samples(t, name) {
		for i := 1; i < len(text); i++ {
			var out T
			if err := parse(text[:i], &out); text[i-1] != '\n' && !errors.Is(err, ErrFormat) {
				t.Fatalf("%s cut to %q: got error %v", variant, text[:i], err)
			}
		}
	}
}

// garbage is a text and what the error about it says.
type garbage map[string]string

func testGarbage[T any](t *testing.T, parse func([]byte, *T) error, texts garbage) {
	t.Helper()
	for text, want := range texts {
		var out T
		err := parse([]byte(text), &out)
		if err == nil {
			t.Errorf("%q: no error, parsed as %+v", text, out)
			continue
		}
		if err.Error() != want {
			t.Errorf("%q: error (-want +got):\n- %s\n+ %s", text, want, err)
		}
		if CauseOf(err) != Garbled {
			t.Errorf("%q: cause is %s", text, CauseOf(err))
		}
	}
}

func limits(lowUs, highUs uint32) (l [wlan.NumAC]wlan.Limit) {
	for ac := range l {
		l[ac] = wlan.Limit{LowUs: lowUs, HighUs: highUs}
	}
	return l
}

var fourTrue = [wlan.NumAC]bool{true, true, true, true}

func TestAQLTxqLimit(t *testing.T) {
	kernel := wlan.KernelDefault.AC
	tuned := kernel
	tuned[wlan.BE] = wlan.Limit{LowUs: 1500, HighUs: 1500}
	tuned[wlan.BK] = wlan.Limit{LowUs: 1500, HighUs: 1500}
	const most = 1<<32 - 1
	rubbish := AQLTxqLimit{Limits: limits(1, 2), Has: fourTrue, McastUs: 3, HasMcast: true}
	testSamples(t, "aql_txq_limit", ParseAQLTxqLimit, rubbish, map[string]AQLTxqLimit{
		"default":    {Limits: kernel, Has: fourTrue},
		"tuned":      {Limits: tuned, Has: fourTrue},
		"zero":       {Has: fourTrue},
		"max":        {Limits: limits(most, most), Has: fourTrue},
		"v7.2-mc":    {Limits: kernel, Has: fourTrue, McastUs: 50000, HasMcast: true},
		"openwrt-bc": {Limits: kernel, Has: fourTrue, McastUs: 50000, HasMcast: true},
	})
	testCuts(t, "aql_txq_limit", ParseAQLTxqLimit)
	testGarbage(t, ParseAQLTxqLimit, garbage{
		"":                         `aql_txq_limit: want text, got nothing`,
		"\n":                       `aql_txq_limit: want a row of an access category, got nothing`,
		"AC\tlow\thigh\n":          `aql_txq_limit: want a row of an access category, got nothing`,
		"VO\t5000\t\t12000":        `aql_txq_limit: last line: want a newline at its end, got "VO\t5000\t\t12000"`,
		"VO\t5000\n":               `aql_txq_limit: row VO, high: want a number below 2^32, got nothing`,
		"VO\t5000\t\t4294967296\n": `aql_txq_limit: row VO, high: want a number below 2^32, got "4294967296"`,
		"VO\t99999999999 1\n":      `aql_txq_limit: row VO: want a number below 2^32, got "99999999999"`,
		"BE\t-1\t\t12000\n":        `aql_txq_limit: row BE: want a number below 2^32, got "-1"`,
		"BE\t0x10\t\t12000\n":      `aql_txq_limit: row BE: want a number below 2^32, got "0x10"`,
		"VO\t1\t\t2\nMC\n":         `aql_txq_limit: row MC: want a number below 2^32, got nothing`,
		"VO\t1\t\t2\nMC\tlots\n":   `aql_txq_limit: row MC: want a number below 2^32, got "lots"`,
	})
}

func TestAQLTxqLimitNewer(t *testing.T) {
	var got AQLTxqLimit
	err := ParseAQLTxqLimit([]byte("AC low high burst\nBE 1 2 3\nMGMT 7\nXX\nMC 8 9\n"), &got)
	want := AQLTxqLimit{McastUs: 8, HasMcast: true}
	want.Limits[wlan.BE] = wlan.Limit{LowUs: 1, HighUs: 2}
	want.Has[wlan.BE] = true
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestAQLPending(t *testing.T) {
	rubbish := AQLPending{ACUs: [wlan.NumAC]int32{9, 9, 9, 9}, TotalUs: 9, McastUs: 9, HasMcast: true}
	testSamples(t, "aql_pending", ParseAQLPending, rubbish, map[string]AQLPending{
		"idle":               {},
		"busy":               {ACUs: [wlan.NumAC]int32{0, 0, 9872, 236}, TotalUs: 10108},
		"hwsim-6.12-held":    {ACUs: [wlan.NumAC]int32{0, 0, 12748, 0}, TotalUs: 12748},
		"hwsim-6.12-flood":   {ACUs: [wlan.NumAC]int32{0, 0, 12600, 0}, TotalUs: 12600},
		"negative-underflow": {ACUs: [wlan.NumAC]int32{0, 0, -252, 0}, TotalUs: -252},
		"v7.2-mc":            {ACUs: [wlan.NumAC]int32{0, 0, 9872, 236}, TotalUs: 10108, McastUs: 2480, HasMcast: true},
		"openwrt-bc":         {ACUs: [wlan.NumAC]int32{0, 0, 9872, 236}, TotalUs: 10108, McastUs: 2480, HasMcast: true},
	})
	testCuts(t, "aql_pending", ParseAQLPending)
	const three = "VO 0 us\nVI 0 us\nBE 0 us\n"
	testGarbage(t, ParseAQLPending, garbage{
		"":                              `aql_pending: want text, got nothing`,
		"BE     xx us\n":                `aql_pending: row BE: want a number of us, got "xx"`,
		"BE     1 ms\n":                 `aql_pending: row BE: want a number of us, got "1"`,
		"BE     4294967296 us\n":        `aql_pending: row BE: want a number of us, got "4294967296"`,
		"MC\n":                          `aql_pending: row MC: want a number of us, got nothing`,
		three + "total 0 us\n":          `aql_pending: row BK: want it to be there, got nothing`,
		three + "BK 0 us\n":             `aql_pending: row total: want it to be there, got nothing`,
		three + "BK 0 us\ntotal 0 us":   `aql_pending: last line: want a newline at its end, got "total 0 us"`,
		three + "BK 0 us\ntotal - us\n": `aql_pending: row total: want a number of us, got "-"`,
	})
}

func TestAQM(t *testing.T) {
	idle := AQM{Has: allAQM, Flows: 4096, MemoryLimitBytes: 16 << 20, LimitPackets: 8192, QuantumBytes: 300}
	with := func(change func(*AQM)) AQM {
		a := idle
		change(&a)
		return a
	}
	rubbish := AQM{Has: allAQM, Truncated: true, Flows: 1, BacklogPackets: 2, Overlimit: 3, Overmemory: 4,
		Collisions: 5, MemoryUsageBytes: 6, MemoryLimitBytes: 7, LimitPackets: 8, QuantumBytes: 9}
	testSamples(t, "aqm", ParseAQM, rubbish, map[string]AQM{
		"idle-vht":              idle,
		"idle-2ghz-only-no-vht": with(func(a *AQM) { a.MemoryLimitBytes = 4 << 20 }),
		"busy":                  with(func(a *AQM) { a.BacklogPackets, a.Collisions, a.MemoryUsageBytes = 120, 14, 276480 }),
		"hwsim-6.12-ap":         with(func(a *AQM) { a.BacklogPackets, a.MemoryUsageBytes = 282, 649728 }),
		"hwsim-6.12-held":       with(func(a *AQM) { a.BacklogPackets, a.MemoryUsageBytes, a.LimitPackets = 29, 66816, 1000 }),
		"hwsim-6.12-bcast": with(func(a *AQM) {
			a.BacklogPackets, a.Collisions, a.MemoryUsageBytes, a.LimitPackets = 18, 300, 41472, 1000
		}),
		// fq_limit was 1000, so the 345 drops were over the limit, whatever the
		// label says. The quantum of 300 was cut to "30".
		"hwsim-6.12-flood": with(func(a *AQM) {
			a.BacklogPackets, a.Overlimit, a.Collisions, a.MemoryUsageBytes, a.LimitPackets = 978, 345, 300, 2253312, 1000
			a.QuantumBytes, a.Truncated, a.Has = 0, true, allAQM&^AQMQuantum
		}),
		"long-uptime": with(func(a *AQM) {
			a.BacklogPackets, a.Overlimit, a.Collisions, a.MemoryUsageBytes = 8190, 1834412, 44120391, 15998976
			a.QuantumBytes, a.Truncated, a.Has = 0, true, allAQM&^AQMQuantum
		}),
	})
	testGarbage(t, ParseAQM, garbage{
		"":                                      `aqm: row fq_backlog: want it to be there, got nothing`,
		"access name":                           `aqm: row fq_backlog: want it to be there, got "access name"`,
		"R fq_backlog 1":                        `aqm: row fq_backlog: want it to be there, got "R fq_backlog 1"`,
		"R fq_backlog x\n":                      `aqm: row fq_backlog: want a number below 2^32, got "x"`,
		"R fq_backlog 1\nR fq_collisions -1\n":  `aqm: row fq_collisions: want a number below 2^32, got "-1"`,
		"R fq_backlog 1\nR fq_limit\nR fq_more": `aqm: row fq_limit: want a number below 2^32, got nothing`,
	})
}

// However the kernel's buffer cuts the text, a number is right or absent.
func TestAQMCutAnywhere(t *testing.T) {
	text := samples(t, "aqm")["busy"]
	var whole AQM
	if err := ParseAQM(text, &whole); err != nil {
		t.Fatal(err)
	}
	for i := range text {
		var cut AQM
		if ParseAQM(text[:i], &cut) != nil {
			continue
		}
		if !cut.Truncated {
			t.Errorf("cut to %d bytes: not seen as truncated", i)
		}
		part := whole
		part.Has, part.Truncated = cut.Has, true
		// Compare what is there: formatting leaves out the rest.
		if diff := cmp.Diff(formatAQM(&part), formatAQM(&cut)); diff != "" {
			t.Errorf("cut to %d bytes (-want +got):\n%s", i, diff)
		}
	}
}

func TestQueues(t *testing.T) {
	all := func(n int, stop StopReason) (q Queues) {
		q.N = n
		for i := range n {
			q.Stop[i] = stop
		}
		return q
	}
	unlocked := all(16, StopDriver)
	unlocked.Stop[0], unlocked.Stop[15] = 0, 0
	scan := all(16, 0)
	scan.Stop[0] = StopOffchannel
	rubbish := all(MaxQueues, 7)
	rubbish.Pending[3] = 5
	testSamples(t, "queues", ParseQueues, rubbish, map[string]Queues{
		"idle":                    all(16, 0),
		"hwsim-6.1":               all(5, 0),
		"txlock-all-stopped":      all(16, StopDriver),
		"after-unlock-vdev0-only": unlocked,
		"offchannel-scan":         scan,
	})
	testCuts(t, "queues", ParseQueues)
	testGarbage(t, ParseQueues, garbage{
		"":                            `queues: want text, got nothing`,
		"\n":                          `queues: want one row per queue, in order, got nothing`,
		"01: 0x00000000/0\n":          `queues: want one row per queue, in order, got "01: 0x00000000/0"`,
		"4294967296: 0x00000000/0\n":  `queues: want one row per queue, in order, got "4294967296: 0x00000000/0"`,
		"00: 0x00000000\n":            `queues: row 00: want 0xSTOP/PENDING, got "00: 0x00000000"`,
		"00: 0x00000000/\n":           `queues: row 00: want 0xSTOP/PENDING, got "00: 0x00000000/"`,
		"00: 0x100000000/0\n":         `queues: row 00: want 0xSTOP/PENDING, got "00: 0x100000000/0"`,
		"00: 0x00000000/0 0\n":        `queues: row 00: want 0xSTOP/PENDING, got "00: 0x00000000/0 0"`,
		"00: 0x00000000/0\n\n":        `queues: want one row per queue, in order, got nothing`,
		formatQueuesOf(MaxQueues + 1): `queues: want one row per queue, in order, got "64: 0x00000000/0"`,
	})
	var got Queues
	if err := ParseQueues([]byte("00: 0x00000401/12\n"), &got); err != nil || got.Pending[0] != 12 ||
		got.Stop[0] != StopDriver|StopIftypeChange {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func formatQueuesOf(n int) string {
	q := Queues{N: MaxQueues}
	s := formatQueues(&q)
	for range n - MaxQueues {
		s += "64: 0x00000000/0\n"
	}
	return s
}

func TestHWQueues(t *testing.T) {
	rubbish := HWQueues{AC: [wlan.NumAC]int{7, 7, 7, 7}, Cab: 7}
	testSamples(t, "hw_queues", ParseHWQueues, rubbish, map[string]HWQueues{
		"ath10k-ap":      {Cab: 0},
		"ath10k-sta":     {Cab: NoQueue},
		"hwsim-6.1-ap":   {AC: [wlan.NumAC]int{0, 1, 2, 3}, Cab: 0},
		"hwsim-6.1-sta":  {AC: [wlan.NumAC]int{0, 1, 2, 3}, Cab: NoQueue},
		"hwsim-6.1-down": {AC: [wlan.NumAC]int{NoQueue, NoQueue, NoQueue, NoQueue}, Cab: NoQueue},
	})
	testCuts(t, "hw_queues", ParseHWQueues)
	testGarbage(t, ParseHWQueues, garbage{
		"":                            `hw_queues: want text, got nothing`,
		"cab queue: 0\n":              `hw_queues: AC queues VO: want it to be there, got nothing`,
		"AC queues: VO:0 VI:0 BE:0\n": `hw_queues: AC queues BK: want it to be there, got nothing`,
		"AC queues: VO:0 VI\n":        `hw_queues: AC queues: want AC:QUEUE, got "AC queues: VO:0 VI"`,
		"AC queues: VO:256\n":         `hw_queues: AC queues: want AC:QUEUE, got "AC queues: VO:256"`,
		"cab queue: x\n":              `hw_queues: cab queue: want a queue, got "x"`,
	})
}

func TestAirtimeFlags(t *testing.T) {
	testSamples(t, "airtime_flags", ParseAirtimeFlags, 0xff, map[string]AirtimeFlags{
		"default": AirtimeTX | AirtimeRX,
		"tx-only": AirtimeTX,
		"zero":    0,
	})
	testCuts(t, "airtime_flags", ParseAirtimeFlags)
	testGarbage(t, ParseAirtimeFlags, garbage{
		"\n":           `airtime_flags: want NAME (BIT), got nothing`,
		"3\n":          `airtime_flags: want NAME (BIT), got "3"`,
		"AIRTIME_TX\n": `airtime_flags: want NAME (BIT), got "AIRTIME_TX"`,
	})
	var got AirtimeFlags
	if err := ParseAirtimeFlags([]byte("AIRTIME_TX\t(1)\nAIRTIME_NEW\t(4)\n"), &got); err != nil || got != AirtimeTX {
		t.Errorf("got %v, error %v", got, err)
	}
}

func TestStationAQL(t *testing.T) {
	kernel := wlan.KernelDefault.AC
	tuned := kernel
	tuned[wlan.BE] = wlan.Limit{LowUs: 1500, HighUs: 5000}
	be := func(us int32) [wlan.NumAC]int32 { return [wlan.NumAC]int32{wlan.BE: us} }
	rubbish := StationAQL{PendingUs: [wlan.NumAC]int32{9, 9, 9, 9}, Limits: limits(1, 2)}
	testSamples(t, "sta_aql", ParseStationAQL, rubbish, map[string]StationAQL{
		"hwsim-6.1":        {Limits: kernel},
		"hwsim-6.12-held":  {PendingUs: be(12748), Limits: kernel},
		"hwsim-6.12-flood": {PendingUs: be(12600), Limits: kernel},
		"v5.5-busy":        {PendingUs: be(4876), Limits: kernel},
		"tuned-be":         {PendingUs: be(1488), Limits: tuned},
	})
	testCuts(t, "sta_aql", ParseStationAQL)
	const depth = "Q depth: VO: 0 us VI: 0 us BE: 0 us BK: 0 us\n"
	const limit = "Q limit[low/high]: VO: 1/2 VI: 1/2 BE: 1/2 BK: 1/2\n"
	testGarbage(t, ParseStationAQL, garbage{
		"":                                       `aql: want text, got nothing`,
		depth:                                    `aql: Q limit VO: want it to be there, got nothing`,
		limit:                                    `aql: Q depth VO: want it to be there, got nothing`,
		"Q depth: VO: 0 us VI: 0 us\n":           `aql: Q depth BE: want it to be there, got nothing`,
		"Q depth: VO: 0 VI: 0 us\n":              `aql: Q depth VO: want a number of us, got "0"`,
		"Q depth: junk\n":                        `aql: Q depth : want a number of us, got "junk"`,
		depth + "Q limit[low/high]: VO: 5000\n":  `aql: Q limit VO: want LOW/HIGH, got "5000"`,
		depth + "Q limit[low/high]: VO: 5000/\n": `aql: Q limit VO: want LOW/HIGH, got "5000/"`,
		depth + "Q limit[low/high]: VO: 1/4294967296\n": `aql: Q limit VO: want LOW/HIGH, got "1/4294967296"`,
		depth + "Q limit[low/high]: VO:\n":              `aql: Q limit VO: want LOW/HIGH, got nothing`,
	})
	var got StationAQL
	text := strings.Replace(depth, "BE: 0", "BE: 4294967044", 1) + limit + "Q more: 1\n"
	want := StationAQL{PendingUs: be(-252), Limits: limits(1, 2)}
	if err := ParseStationAQL([]byte(text), &got); err != nil || got != want {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func TestStationAirtime(t *testing.T) {
	be := func(us int64) [wlan.NumAC]int64 { return [wlan.NumAC]int64{256, 256, us, 256} }
	rubbish := StationAirtime{RXUs: 1, TXUs: 2, Weight: 3, DeficitUs: be(4), HasDeficit: true}
	testSamples(t, "sta_airtime", ParseStationAirtime, rubbish, map[string]StationAirtime{
		"ath10k":            {RXUs: 1234567, TXUs: 7654321, Weight: 256, DeficitUs: be(-1187), HasDeficit: true},
		"hwsim-6.12-ap":     {Weight: 256, DeficitUs: be(2048), HasDeficit: true},
		"hwsim-6.12-held":   {Weight: 512, DeficitUs: be(12032), HasDeficit: true},
		"hwsim-6.12-flood":  {Weight: 512, DeficitUs: be(13056), HasDeficit: true},
		"virtual-time-5.14": {TXUs: 7654321, Weight: 256},
		"5.10-extremes": {RXUs: 1<<64 - 1, TXUs: 1, Weight: 65535,
			DeficitUs: [wlan.NumAC]int64{-1 << 63, 1<<63 - 1, -1, 0}, HasDeficit: true},
	})
	testCuts(t, "sta_airtime", ParseStationAirtime)
	testGarbage(t, ParseStationAirtime, garbage{
		"":                                      `airtime: want text, got nothing`,
		"RX: 0 us\nWeight: 1\n":                 `airtime: TX: want it to be there, got nothing`,
		"TX: 0 us\nWeight: 1\n":                 `airtime: RX: want it to be there, got nothing`,
		"RX: 0 us\nTX: 0 us\n":                  `airtime: Weight: want it to be there, got nothing`,
		"RX: -1 us\n":                           `airtime: RX: want a number of us, got "-1"`,
		"RX: 0\n":                               `airtime: RX: want a number of us, got "0"`,
		"RX: 18446744073709551616 us\n":         `airtime: RX: want a number of us, got "18446744073709551616"`,
		"RX: 999999999999999999999 us\n":        `airtime: RX: want a number of us, got "999999999999999999999"`,
		"Weight: 4294967296\n":                  `airtime: Weight: want a number below 2^32, got "4294967296"`,
		"Deficit: VO: 9223372036854775808 us\n": `airtime: Deficit VO: want a number of us, got "9223372036854775808"`,
		"RX: 0 us\nTX: 0 us\nWeight: 1\nDeficit: VO: 1 us\n": `airtime: Deficit VI: want it to be there, got nothing`,
	})
}

// station is what the samples have in common: one busy TID and 15 others.
func station(busy TIDQueue) StationAQM {
	var s StationAQM
	for tid, ac := range wlan.TIDToAC {
		s.TID[tid].AC = ac
		s.HasTID[tid] = true
	}
	s.Total, s.TID[0] = busy, busy
	s.Total.AC = 0
	s.TID[0].AC = wlan.BE
	return s
}

func TestStationAQM(t *testing.T) {
	ath10k := station(TIDQueue{BacklogBytes: 45420, BacklogPackets: 30, NewFlows: 812, Drops: 14, Marks: 3,
		Collisions: 2, TxBytes: 198234112, TxPackets: 130934, Flags: TxqAMPDU})
	codel := ath10k
	codel.CoDel, codel.HasCoDel = CoDel{TargetUs: 19999, IntervalUs: 99999, ECN: true}, true
	management := ath10k
	management.TID[1].Flags = TxqStop | TxqAMPDU | TxqDirty
	management.TID[16] = TIDQueue{BacklogBytes: 300, BacklogPackets: 2, NewFlows: 5, Drops: 1,
		TxBytes: 1<<32 - 1, TxPackets: 7, Flags: TxqNoAMSDU}
	management.HasTID[16] = true
	management.Total = TIDQueue{BacklogBytes: 45720, BacklogPackets: 32, NewFlows: 817, Drops: 15, Marks: 3,
		Collisions: 2, TxBytes: 198234111, TxPackets: 130941, Flags: TxqStop | TxqAMPDU | TxqNoAMSDU | TxqDirty}
	const flags = TxqAMPDU | TxqNoAMSDU
	rubbish := management
	rubbish.CoDel, rubbish.HasCoDel = CoDel{TargetUs: 1, IntervalUs: 2, ECN: true}, true
	testSamples(t, "sta_aqm", ParseStationAQM, rubbish, map[string]StationAQM{
		"from-6.16":      ath10k,
		"upto-6.15":      codel,
		"management-txq": management,
		"hwsim-6.12-ap": station(TIDQueue{BacklogBytes: 383400, BacklogPackets: 270, NewFlows: 8, Drops: 1,
			TxBytes: 41180, TxPackets: 29, Flags: flags}),
		"hwsim-6.12-held": station(TIDQueue{BacklogBytes: 41180, BacklogPackets: 29, NewFlows: 19, Drops: 240,
			TxBytes: 100820, TxPackets: 71, Flags: flags}),
		"hwsim-6.12-bcast": station(TIDQueue{BacklogBytes: 25560, BacklogPackets: 18, NewFlows: 19, Drops: 240,
			TxBytes: 116440, TxPackets: 82, Flags: flags}),
		"hwsim-6.12-flood": station(TIDQueue{BacklogBytes: 1388760, BacklogPackets: 978, NewFlows: 19, Drops: 240,
			Overlimit: 345, TxBytes: 116440, TxPackets: 82, Flags: flags}),
	})
	testCuts(t, "sta_aqm", ParseStationAQM)
	const header = "tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags\n"
	testGarbage(t, ParseStationAQM, garbage{
		"":      `aqm: want text, got nothing`,
		"\n":    `aqm: header: want a column tid, got nothing`,
		header:  `aqm: want a row of a TID, got nothing`,
		"0 2\n": `aqm: header: want a column tid, got "0 2"`,
		strings.Replace(header, " drops", "", 1) + "0 2 0 0 0 0 0 0 0 0 0x0(RUN)\n": `aqm: header: want a column drops, got "tid ac backlog-bytes backlog-packets new"...`,
		header + "0 2 0 0 0 0 0 0 0 0 0\n":                                          `aqm: column flags: want a row of numbers and flags, got "0 2 0 0 0 0 0 0 0 0 0"`,
		header + "0 2 0 0 0 0 0 0 0 0 0 x(RUN)\n":                                   `aqm: column flags: want a row of numbers and flags, got "0 2 0 0 0 0 0 0 0 0 0 x(RUN)"`,
		header + "0 4 0 0 0 0 0 0 0 0 0 0x0(RUN)\n":                                 `aqm: column ac: want a row of numbers and flags, got "0 4 0 0 0 0 0 0 0 0 0 0x0(RUN)"`,
		header + "0 2 0 0 0 0 0 0 0 4294967296 0 0x0()\n":                           `aqm: column tx-bytes: want a row of numbers and flags, got "0 2 0 0 0 0 0 0 0 4294967296 0 0x0()"`,
		header + "\n": `aqm: column tid: want a row of numbers and flags, got nothing`,
		header + "17 0 0 0 0 0 0 0 0 0 0 0x0(RUN)\n":   `aqm: want a row of a TID, got nothing`,
		"target 1ms interval 2us ecn yes\n" + header:   `aqm: first line: want target Nus interval Nus ecn yes or no, got "target 1ms interval 2us ecn yes"`,
		"target 1us interval 2us ecn maybe\n" + header: `aqm: first line: want target Nus interval Nus ecn yes or no, got "target 1us interval 2us ecn maybe"`,
		strings.Repeat("tid ", 25) + "\n":              `aqm: header: want fewer columns, got "tid tid tid tid tid tid tid tid tid tid "...`,
	})
}

// Columns are found by name, wherever a newer kernel puts them.
func TestStationAQMNewer(t *testing.T) {
	text := "tid ac sojourn backlog-packets backlog-bytes flags new-flows drops marks overlimit collisions tx-packets tx-bytes new\n" +
		"3 1 x 2 3 0x8000000(RUN SLEEPY DIRTY) 4 5 6 7 8 9 10 y\n" +
		"17 1 x 2 3 0x8(RUN) 4 5 6 7 8 9 10 y\n"
	q := TIDQueue{BacklogPackets: 2, BacklogBytes: 3, Flags: TxqDirty, NewFlows: 4, Drops: 5, Marks: 6,
		Overlimit: 7, Collisions: 8, TxPackets: 9, TxBytes: 10}
	var want, got StationAQM
	want.Total = q
	q.AC = wlan.VI
	want.TID[3], want.HasTID[3] = q, true
	err := ParseStationAQM([]byte(text), &got)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestNumbers(t *testing.T) {
	testSamples(t, "aql_threshold", parseAQLThreshold, 1, map[string]uint32{"default": 24000})
	testSamples(t, "aql_enable", parseAQLEnable, true, map[string]bool{"on": true, "off": false})
	testSamples(t, "chip_id", parseChipID, 1, map[string]uint32{"qca988x": 0x043202ff, "qca9984": 0x01000000, "wcn3990": 0})
	testSamples(t, "num_pending_tx", parseNumPendingTx, 1, map[string]int{"busy": 1419, "idle": 0, "underflow": -3})
	testCuts(t, "aql_threshold", parseAQLThreshold)
	testCuts(t, "aql_enable", parseAQLEnable)
	testCuts(t, "chip_id", parseChipID)
	testCuts(t, "num_pending_tx", parseNumPendingTx)
	testGarbage(t, parseAQLThreshold, garbage{
		"":             `aql_threshold: want text, got nothing`,
		"\n":           `aql_threshold: want a number below 2^32, got nothing`,
		"4294967296\n": `aql_threshold: want a number below 2^32, got "4294967296"`,
		"1 2\n":        `aql_threshold: want a number below 2^32, got "1 2"`,
		"1\n2\n":       `aql_threshold: want a number below 2^32, got "1\n2"`,
		"-1\n":         `aql_threshold: want a number below 2^32, got "-1"`,
	})
	testGarbage(t, parseAQLEnable, garbage{
		"":    `aql_enable: want 0 or 1, got nothing`,
		"2\n": `aql_enable: want 0 or 1, got "2\n"`,
		"Y\n": `aql_enable: want 0 or 1, got "Y\n"`,
	})
	testGarbage(t, parseChipID, garbage{
		"0x\n":          `ath10k/chip_id: want a hexadecimal number, got "0x"`,
		"0xg\n":         `ath10k/chip_id: want a hexadecimal number, got "0xg"`,
		"0x1ffffffff\n": `ath10k/chip_id: want a hexadecimal number, got "0x1ffffffff"`,
	})
	testGarbage(t, parseNumPendingTx, garbage{
		"-\n":           `ath10k/num_pending_tx: want a number of frames, got "-"`,
		"-2147483649\n": `ath10k/num_pending_tx: want a number of frames, got "-2147483649"`,
		"12 of 1424\n":  `ath10k/num_pending_tx: want a number of frames, got "12 of 1424"`,
	})
	testGarbage(t, parseMaxNumPendingTx, garbage{
		"0\n":          `ath10k/max_num_pending_tx: want a number of frames, got "0"`,
		"4294967295\n": `ath10k/max_num_pending_tx: want a number of frames, got "4294967295"`,
	})
	testGarbage(t, parseTxQueueLimit, garbage{
		"":             `ath10k/tx_queue_limit: want text, got nothing`,
		"-1\n":         `ath10k/tx_queue_limit: want a number of frames, got "-1"`,
		"2147483648\n": `ath10k/tx_queue_limit: want a number of frames, got "2147483648"`,
	})
	testGarbage(t, parseTxSkPacingShift, garbage{
		"32\n": `tx_sk_pacing_shift: want 0 to 31, got "32"`,
		"-1\n": `tx_sk_pacing_shift: want 0 to 31, got "-1"`,
		"7":    `tx_sk_pacing_shift: last line: want a newline at its end, got "7"`,
	})
	testGarbage(t, parseNapiThreaded, garbage{
		"2\n": `ath10k/napi_threaded: want 0 or 1, got "2"`,
		"Y\n": `ath10k/napi_threaded: want 0 or 1, got "Y"`,
	})
	testGarbage(t, parseTxWakePercent, garbage{
		"101\n": `ath10k/tx_wake_percent: want 0 to 100, got "101"`,
		"\n":    `ath10k/tx_wake_percent: want 0 to 100, got nothing`,
	})
}

func TestFWResetStats(t *testing.T) {
	testSamples(t, "fw_reset_stats", ParseFWResetStats, FWResetStats{7, 7, 7}, map[string]FWResetStats{
		"started": {ColdResets: 1},
		"crashed": {Crashes: 2, WarmResets: 1<<32 - 1, ColdResets: 3},
	})
	testCuts(t, "fw_reset_stats", ParseFWResetStats)
	testGarbage(t, ParseFWResetStats, garbage{
		"":                       `ath10k/fw_reset_stats: want text, got nothing`,
		"fw_crash_counter\t1\n":  `ath10k/fw_reset_stats: want rows for crashes, warm and cold resets, got nothing`,
		"fw_crash_counter\t-1\n": `ath10k/fw_reset_stats: row fw_crash_counter: want a number below 2^32, got "-1"`,
		"fw_crash_counter\n":     `ath10k/fw_reset_stats: row fw_crash_counter: want a number below 2^32, got nothing`,
	})
}

// The short ways do what the long ones do, on what the kernel writes and on what
// it does not.
func TestShortWays(t *testing.T) {
	for _, s := range []string{
		"", " ", "0", "7 8", "\t12\t3", " 123456789 x", "1234567890", "4294967295 us", "4294967296 us", "00000000012 us",
		"x", "-5 us", "-2147483648 us", "-2147483649 us", "5", "5us", "5 us", "5 usual", "5 us VI: 0 us", "5  us", "5\tus\t6", "5 u", "- us", "99999999999 us",
	} {
		field, rest := cutField([]byte(s))
		want, ok := parseU32(field)
		got, gotRest, gotOK := cutU32([]byte(s))
		if gotOK != ok || ok && (got != want || string(gotRest) != string(rest)) {
			t.Errorf("cutU32(%q): %d, %q, %v, want %d, %q, %v", s, got, gotRest, gotOK, want, rest, ok)
		}
		us, ok := parseI32(field)
		unit, rest := cutField(rest)
		ok = ok && string(unit) == "us"
		gotUs, gotRest, gotOK := cutUs([]byte(s))
		if gotOK != ok || ok && (gotUs != us || string(gotRest) != string(rest)) {
			t.Errorf("cutUs(%q): %d, %q, %v, want %d, %q, %v", s, gotUs, gotRest, gotOK, us, rest, ok)
		}
	}
	// The header and the rows that are known by sight are read like others.
	usual := usualHeader + "\n0 2 1 2 3 4 5 6 7 8 9 0x2(RUN AMPDU)\n3 1" + unusedTID + "\n"
	var known, found StationAQM
	if err := ParseStationAQM([]byte(usual), &known); err != nil {
		t.Fatal(err)
	}
	if err := ParseStationAQM([]byte(strings.Replace(usual, "tid ac", "tid  ac", 1)), &found); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(found, known); diff != "" {
		t.Errorf("by columns (-), by sight (+):\n%s", diff)
	}
}
