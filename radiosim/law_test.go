package radiosim

import (
	"fmt"
	"testing"
	"time"

	"airtuned/wlan"
)

const slowHostInterval = 3 * time.Millisecond

// measure runs a scenario with fixed limits and judges it after its warm-up.
func measure(tb testing.TB, name string, l wlan.Limits, o Options, warmUp, d time.Duration) Stats {
	tb.Helper()
	sc, err := Lookup(name)
	if err != nil {
		tb.Fatal(err)
	}
	s := New(sc, o)
	setLimits(tb, s, l)
	s.Advance(s.Now().Add(warmUp))
	s.ResetStats()
	s.Advance(s.Now().Add(d))
	return s.Stats()
}

func setLimits(tb testing.TB, s *Sim, l wlan.Limits) {
	tb.Helper()
	for ac, v := range l.AC {
		write(tb, s, "ieee80211/phy0/aql_txq_limit", fmt.Sprintf("%d %d %d\n", ac, v.LowUs, v.HighUs))
	}
	write(tb, s, "ieee80211/phy0/aql_threshold", fmt.Sprintf("%d\n", l.ThresholdUs))
}

func write(tb testing.TB, s *Sim, name, text string) {
	tb.Helper()
	if err := s.Debug().Write(name, []byte(text)); err != nil {
		tb.Fatal(err)
	}
}

// limits are low = high = us, or the kernel's for 0.
func limits(us uint32) wlan.Limits {
	if us == 0 {
		return wlan.KernelDefault
	}
	return wlan.Uniform(us, wlan.KernelDefault.ThresholdUs)
}

// lone is a scenario of one station and nothing sent to it.
func lone(kbps int) Scenario {
	return Scenario{Name: "lone", RTT: 20 * time.Millisecond, Stations: []Station{{RateKbps: kbps}}}
}

func TestTxqAirtimeCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		pending, total int32
		low, high      uint32
		threshold      uint32
		disabled       bool
		want           bool
	}{
		"below low":                           {pending: 4999, total: 90000, low: 5000, high: 12000, threshold: 24000, want: true},
		"at low, radio full":                  {pending: 5000, total: 24000, low: 5000, high: 12000, threshold: 24000},
		"at low, radio not full":              {pending: 5000, total: 23999, low: 5000, high: 12000, threshold: 24000, want: true},
		"at high":                             {pending: 12000, total: 12000, low: 5000, high: 12000, threshold: 24000},
		"low = high, threshold of no account": {pending: 1499, total: 99999, low: 1500, high: 1500, threshold: 0, want: true},
		"low above high decides alone":        {pending: 8000, total: 0, low: 9000, high: 10, threshold: 24000, want: true},
		"zero blocks":                         {pending: 0, total: 0, threshold: 24000},
		"disabled":                            {pending: 99999, total: 99999, low: 1, high: 1, threshold: 1, disabled: true, want: true},
		"underflow of the radio's sum":        {pending: 5000, total: -4, low: 5000, high: 12000, threshold: 24000},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(lone(vht80x2), Options{})
			st := s.stations[0]
			st.airtime[wlan.BE].pending = tc.pending
			st.airtime[wlan.BE].limit = wlan.Limit{LowUs: tc.low, HighUs: tc.high}
			s.aql.pending = tc.total
			s.aql.limits.ThresholdUs = tc.threshold
			s.aql.enabled = !tc.disabled
			if got := s.txqAirtimeCheck(&st.txq[wlan.BE]); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestPhyAirtimeCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		queues  uint32
		pending int32
		want    bool
	}{
		"one queue may have high":              {1, 11999, true},
		"one queue, at high":                   {1, 12000, false},
		"each further adds half of low":        {5, 12000 + 4*2500 - 1, true},
		"five queues, full":                    {5, 12000 + 4*2500, false},
		"none is no bound, by unsigned wrap":   {0, 1 << 30, true},
		"an underflow is a large number":       {1, -4, false},
		"aql_enable 0 does not lift it either": {1, 12000, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(lone(vht80x2), Options{})
			s.active[wlan.BE].n = tc.queues
			s.aql.acPending[wlan.BE] = tc.pending
			s.aql.enabled = false
			if got := s.phyAirtimeCheck(int(wlan.BE)); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestExpectedAirtime(t *testing.T) {
	for _, tc := range []struct {
		kbps   int
		legacy bool
		want   int32
	}{
		{0, false, 0},
		{866700, false, 15},          // 14.5 us and 44 >> 5
		{433300, false, 30},          // 29.0 and 40 >> 5
		{65000, false, 195},          // 193.5 and 40 >> 4: 126 us for 1024 bytes
		{13000, false, 977},          // 967 and 40 >> 2 ... 630 us: >> 1
		{6500, false, 1954},          // 1934 and 40 >> 1
		{6000, true, 20 + 16 + 2096}, // no aggregation
	} {
		got := expectedAirtimeUs(tc.kbps, tc.legacy, 1534)
		if got < tc.want-10 || got > tc.want+10 || tc.kbps == 0 && got != 0 {
			t.Errorf("%d kb/s: %d us, want about %d", tc.kbps, got, tc.want)
		}
	}
}

// TestLimitThenOne sees that a queue holds its limit and at most one frame.
func TestLimitThenOne(t *testing.T) {
	sc, _ := Lookup("one-fast")
	s := New(sc, Options{Seed: 1})
	setLimits(t, s, wlan.Uniform(2000, 24000))
	var most int32
	for range 20000 {
		s.Advance(s.Now().Add(100 * time.Microsecond))
		most = max(most, s.stations[0].airtime[wlan.BE].pending)
		if s.aql.pending != s.aql.acPending[wlan.BE] || s.aql.pending != s.stations[0].airtime[wlan.BE].pending {
			t.Fatalf("the books differ: %d %d %d", s.aql.pending, s.aql.acPending[wlan.BE], s.stations[0].airtime[wlan.BE].pending)
		}
	}
	if most < 2000 || most >= 2000+16 {
		t.Errorf("pending reached %d us under a limit of 2000 with frames of 12 us", most)
	}
}

// TestBooksClose sees every account return to zero once traffic has ended.
func TestBooksClose(t *testing.T) {
	for _, svc := range []time.Duration{0, slowHostInterval} {
		sc := Scenario{RTT: 20 * time.Millisecond, PingEvery: 50 * time.Millisecond, ServiceInterval: svc, Stations: []Station{
			{RateKbps: vht80x2, Flows: 2, Leave: 2 * time.Second},
			{RateKbps: 65000, Flows: 1, AppKbps: 2000, Loss: 0.05, Leave: 2 * time.Second},
			{RateKbps: 24000, Legacy: true, Flows: 1, Leave: 2 * time.Second},
		}}
		s := New(sc, Options{Seed: 1})
		s.Advance(Epoch.Add(1900 * time.Millisecond))
		for i, st := range s.stations {
			if st.bytes == 0 || st.airtime[wlan.BE].tx == 0 {
				t.Errorf("station %d had no traffic", i)
			}
		}
		s.Advance(Epoch.Add(4 * time.Second))
		if s.aql.pending != 0 || s.aql.acPending[wlan.BE] != 0 || s.drv.pending != 0 || s.fq.backlog != 0 || s.fq.memory != 0 || s.air.queued != 0 {
			t.Errorf("svc %v: left over: aql %d, ac %d, slots %d, fq %d packets %d bytes, firmware %d", svc,
				s.aql.pending, s.aql.acPending[wlan.BE], s.drv.pending, s.fq.backlog, s.fq.memory, s.air.queued)
		}
		checkConserved(t, s)
	}
}

// checkConserved sees that no packet was made or lost by the simulation.
func checkConserved(t *testing.T, s *Sim) {
	t.Helper()
	queued := int64(s.fq.backlog) + int64(s.air.queued)
	if !s.air.uplink {
		queued += int64(s.air.frames.n)
	}
	for _, st := range s.stations {
		for ac := range st.held {
			queued += int64(len(st.held[ac])) + int64(st.kept[ac].n)
		}
	}
	if in, out := int64(s.count.injected), int64(s.count.delivered+s.count.dropped)+queued; in != out {
		t.Errorf("at %v: %d packets in, %d delivered + %d dropped + %d queued", time.Duration(s.now), in, s.count.delivered, s.count.dropped, queued)
	}
}

func TestConservation(t *testing.T) {
	for _, sc := range Scenarios() {
		s := New(sc, Options{Seed: 5})
		for range 30 {
			s.Advance(s.Now().Add(137 * time.Millisecond))
			checkConserved(t, s)
		}
		s.Crash()
		checkConserved(t, s)
		s.Advance(s.Now().Add(3 * time.Second))
		checkConserved(t, s)
		s.RemoveRadio()
		s.Advance(s.Now().Add(time.Second))
		checkConserved(t, s)
		if s.drv.pending != 0 || s.fq.backlog != 0 {
			t.Errorf("%s: a radio that is gone holds %d and %d packets", sc.Name, s.drv.pending, s.fq.backlog)
		}
		s.ReturnRadio()
		s.Advance(s.Now().Add(time.Second))
		checkConserved(t, s)
		if s.Associated() == 0 {
			t.Errorf("%s: no station came back", sc.Name)
		}
	}
}

// TestCodel sees CoDel leave a queue alone that is bad for less than an
// interval, then drop, and faster the longer it lasts.
func TestCodel(t *testing.T) {
	sc := lone(vht80x2)
	sc.Stations[0].Flows = 1
	s := New(sc, Options{})
	f := s.flows[0]
	fill := func(n int) {
		for range n {
			i := s.packets.get()
			s.packets.all[i] = packet{flow: f.index, ipBytes: tcpIPBytes}
			s.fqEnqueue(f, i)
		}
	}
	dequeue := func() {
		if i := s.fqDequeue(f.txq); i != 0 {
			s.packets.put(i)
		}
	}
	fill(2000)
	s.now += codelTarget - 1
	dequeue()
	if f.codel.firstAbove != 0 {
		t.Error("counts a sojourn below the target as too long")
	}
	s.now += 1 * ms
	dequeue()
	for range 99 {
		s.now += ms
		dequeue()
	}
	if f.txq.drops != 0 {
		t.Errorf("%d drops within the first interval", f.txq.drops)
	}
	var at []int64
	for range 600 {
		s.now += ms
		before := f.txq.drops
		dequeue()
		if f.txq.drops != before {
			at = append(at, s.now)
		}
	}
	if len(at) < 10 {
		t.Fatalf("%d drops in 600 ms", len(at))
	}
	for i := 2; i < len(at); i++ {
		if gap, last := at[i]-at[i-1], at[i-1]-at[i-2]; gap > last+ms {
			t.Errorf("drop %d came after %d ms, the one before after %d", i, gap/ms, last/ms)
		}
	}
	if second := at[1] - at[0]; second < 95*ms || second > 105*ms {
		t.Errorf("the second drop came %d ms after the first, want an interval", second/ms)
	}

	// A queue below the target ends it.
	for f.queue.n > 0 {
		dequeue()
	}
	fill(1)
	dequeue()
	if f.codel.dropping {
		t.Error("still dropping on an empty queue")
	}
}

// TestSparseFlowFirst sees a ping pass the backlog of its own station.
func TestSparseFlowFirst(t *testing.T) {
	sc := lone(vht80x2)
	sc.Stations[0].Flows = 1
	sc.PingEvery = time.Second
	s := New(sc, Options{})
	bulkFlow, pingFlow := s.flows[0], s.flows[1]
	put := func(f *flow, bytes int32) {
		i := s.packets.get()
		s.packets.all[i] = packet{flow: f.index, ipBytes: bytes}
		s.fqEnqueue(f, i)
	}
	for range 100 {
		put(bulkFlow, tcpIPBytes)
	}
	for range 3 {
		s.packets.put(s.fqDequeue(bulkFlow.txq))
	}
	put(pingFlow, pingBytes)
	if i := s.fqDequeue(bulkFlow.txq); s.packets.all[i].flow != pingFlow.index {
		t.Error("the ping waits behind the bulk flow")
	}
}

// TestOverlimit sees fq drop from the fattest flow at its limit.
func TestOverlimit(t *testing.T) {
	sc := lone(vht80x2)
	sc.Stations[0].Flows = 2
	s := New(sc, Options{})
	write(t, s, "ieee80211/phy0/aqm", "fq_limit 1000\n")
	for k := range 1200 {
		f := s.flows[0]
		if k%10 == 0 {
			f = s.flows[1]
		}
		i := s.packets.get()
		s.packets.all[i] = packet{flow: f.index, ipBytes: tcpIPBytes}
		s.count.injected++
		s.fqEnqueue(f, i)
	}
	if s.fq.backlog > 1000 || s.fq.overlimit == 0 {
		t.Errorf("%d packets, %d times over the limit", s.fq.backlog, s.fq.overlimit)
	}
	if s.flows[1].queue.n != 120 {
		t.Errorf("the thin flow lost packets: %d of 120 left", s.flows[1].queue.n)
	}
}

// TestAirtimeFairness sees stations of very different rates share the air.
func TestAirtimeFairness(t *testing.T) {
	r := measure(t, "fast-and-slow", wlan.KernelDefault, Options{Seed: 1}, 8*time.Second, 10*time.Second)
	if r.Jain < 0.9 {
		t.Errorf("airtime %.2f, Jain %.2f", r.AirtimeShare, r.Jain)
	}
	if len(r.StationMbps) != 4 || r.StationMbps[0] < 20*r.StationMbps[3] {
		t.Errorf("throughput %.1f: the fast stations pay for the slow one", r.StationMbps)
	}
}

func TestOptions(t *testing.T) {
	run := func(o Options, us uint32) Stats {
		return measure(t, "one-fast", limits(us), o, 2*time.Second, 3*time.Second)
	}
	for name, o := range map[string]Options{"blind": {Blind: true}, "no AQL": {NoAQL: true}} {
		if tight, wide := run(o, 300), run(o, 0); tight.ThroughputMbps < 0.95*wide.ThroughputMbps || tight.P(50) < 15 {
			t.Errorf("%s: a limit of 300 us acts: %.0f Mb/s at %.1f ms", name, tight.ThroughputMbps, tight.P(50))
		}
	}
	slow, _ := Lookup("slow-host")
	if slow.ServiceInterval != slowHostInterval {
		t.Errorf("slow-host has an interval of %v", slow.ServiceInterval)
	}
}

// TestLoss sees MPDUs that are sent again arrive in order, and no TCP flow
// notice but by the time it takes.
func TestLoss(t *testing.T) {
	sc := lone(vht80x2)
	sc.Stations[0].Flows = 1
	sc.Stations[0].Loss = 0.02
	s := New(sc, Options{Seed: 1})
	setLimits(t, s, wlan.Uniform(1500, 24000))
	var seen uint32
	for range 3000 {
		s.Advance(s.Now().Add(time.Millisecond))
		f := s.flows[0]
		if f.received.highest < seen {
			t.Fatalf("packet %d after %d", f.received.highest, seen)
		}
		seen = f.received.highest
	}
	if s.bytes < 100e6/8*3 {
		t.Errorf("%d bytes in 3 s", s.bytes)
	}
	f := s.flows[0]
	if missing := f.received.highest - f.received.count; missing != f.txq.drops {
		t.Errorf("%d packets missing, CoDel dropped %d", missing, f.txq.drops)
	}
	checkConserved(t, s)
}

// TestLimited sees an application-limited flow get what it asks for and build
// no queue.
func TestLimited(t *testing.T) {
	sc := lone(vht80x2)
	sc.PingEvery = 20 * time.Millisecond
	sc.Stations[0].AppKbps = 50000
	s := New(sc, Options{Seed: 1})
	s.Advance(Epoch.Add(2 * time.Second))
	s.ResetStats()
	s.Advance(Epoch.Add(6 * time.Second))
	if r := s.Stats(); r.ThroughputMbps < 49 || r.ThroughputMbps > 51 || r.P(95) > 3 {
		t.Errorf("%.1f Mb/s at %.1f ms", r.ThroughputMbps, r.P(95))
	}
}

// TestMonotone holds what every limit must do, whatever the numbers.
func TestMonotone(t *testing.T) {
	var last Stats
	for i, us := range []uint32{300, 1000, 3000, 8000} {
		r := measure(t, "one-fast", limits(us), Options{Seed: 3}, 2*time.Second, 3*time.Second)
		if i > 0 {
			if r.ThroughputMbps < 0.98*last.ThroughputMbps {
				t.Errorf("limit %d us: throughput fell from %.0f to %.0f Mb/s", us, last.ThroughputMbps, r.ThroughputMbps)
			}
			if r.ResidencyMeanMs <= last.ResidencyMeanMs || r.P(95) < last.P(95)*0.8 {
				t.Errorf("limit %d us: residency %.1f after %.1f ms, ping p95 %.1f after %.1f",
					us, r.ResidencyMeanMs, last.ResidencyMeanMs, r.P(95), last.P(95))
			}
		}
		last = r
	}
}
