package radiosim

import (
	"math"
	"math/bits"
	"slices"
	"sort"
	"time"
)

// Stats is what happened since the last ResetStats.
type Stats struct {
	Duration time.Duration
	// ThroughputMbps is TCP payload that reached stations, in Mb/s, and
	// StationMbps each station's part of it, in the scenario's order.
	ThroughputMbps float64
	StationMbps    []float64
	// AirEfficiency is the sum over stations of throughput by what the station
	// would have alone at its rate then: 1 is a medium without loss, whoever uses
	// it.
	AirEfficiency float64
	// PingMs are the round trips of the pings, sorted.
	PingMs Samples
	// ResidencyMeanMs and ResidencyP95Ms are the time frames spent in driver
	// and firmware until the host saw their completion.
	ResidencyMeanMs, ResidencyP95Ms float64
	// StarvedPct is the share of time in which packets waited above the driver
	// while the air was idle for want of any in the hardware.
	StarvedPct float64
	// StopPct is the share of time in which the driver had stopped the queue.
	StopPct float64
	// Drops are packets lost in the access point.
	Drops uint64
	// AirPct is the share of time the medium was in use, AirtimeShare how that
	// was shared between stations (0 to 1, both ways), and Jain the fairness
	// of the sharing among those that used any.
	AirPct       float64
	AirtimeShare []float64
	Jain         float64
}

// Samples are sorted values.
type Samples []float64

// P is a percentile, 0 to 100, by the nearest rank; 0 without samples.
func (v Samples) P(percent float64) float64 {
	if len(v) == 0 {
		return 0
	}
	rank := int(math.Ceil(percent / 100 * float64(len(v))))
	return v[min(max(rank, 1), len(v))-1]
}

// stats collects between two calls of ResetStats.
type stats struct {
	since     int64
	bytes     uint64
	dropped   uint64
	airtimeNs int64
	pings     []float64

	resident    histogram
	residentSum int64

	starved, stopped timeShare
}

// timeShare adds up how long something was so.
type timeShare struct {
	on    bool
	from  int64
	total int64
}

func (t *timeShare) set(on bool, now int64) {
	if on == t.on {
		return
	}
	if t.on {
		t.total += now - t.from
	}
	t.on, t.from = on, now
}

func (t *timeShare) until(now int64) int64 {
	if t.on {
		return t.total + now - t.from
	}
	return t.total
}

func (t *timeShare) restart(now int64) { t.from, t.total = now, 0 }

func (s *stats) ping(ns int64) { s.pings = append(s.pings, float64(ns)/1e6) }

func (s *stats) residency(ns int64) {
	s.resident.add(ns)
	s.residentSum += ns
}

// histogram counts durations in steps of about 3 %.
type histogram struct {
	counts [64 * 32]uint32
	n      uint64
}

func (h *histogram) add(ns int64) {
	h.counts[bucket(uint64(ns))]++
	h.n++
}

// bucket is the position of the first bit and the five below it.
func bucket(v uint64) int {
	if v < 32 {
		return int(v)
	}
	exp := bits.Len64(v) - 6
	return exp*32 + int(v>>exp)
}

func (h *histogram) percentile(percent float64) int64 {
	rank := uint64(math.Ceil(percent / 100 * float64(h.n)))
	var seen uint64
	for i, c := range h.counts {
		if seen += uint64(c); c > 0 && seen >= rank {
			if i < 32 {
				return int64(i)
			}
			exp := i/32 - 1
			return int64(i-exp*32) << exp
		}
	}
	return 0
}

// starvedChanged is called whenever one of its terms may have changed.
func (s *Sim) starvedChanged() {
	starved := s.fq.backlog > 0 && s.air.queued == 0 && !s.air.busy
	s.stats.starved.set(starved, s.now)
}

func (s *Sim) stopChanged() { s.stats.stopped.set(s.queueStopped(), s.now) }

// ResetStats starts judging now.
func (s *Sim) ResetStats() {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.stats
	s.stats = stats{
		since: s.now, bytes: s.bytes, dropped: s.count.dropped,
		pings: old.pings[:0], starved: old.starved, stopped: old.stopped,
	}
	s.stats.starved.restart(s.now)
	s.stats.stopped.restart(s.now)
	for _, st := range s.stations {
		st.bytesSince, st.airtimeSince = st.bytes, st.airtimeNs
		st.earned, st.bytesAtRate = 0, st.bytes
	}
}

// Stats sums up what happened since the last ResetStats.
func (s *Sim) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.stats
	ns := max(s.now-c.since, 1)
	mbps := func(bytes uint64) float64 { return float64(bytes) * 8 * 1e3 / float64(ns) }
	percent := func(part int64) float64 { return 100 * float64(part) / float64(ns) }
	r := Stats{
		Duration:       time.Duration(s.now - c.since),
		ThroughputMbps: mbps(s.bytes - c.bytes),
		PingMs:         slices.Clone(c.pings),
		ResidencyP95Ms: float64(c.resident.percentile(95)) / 1e6,
		StarvedPct:     percent(c.starved.until(s.now)),
		StopPct:        percent(c.stopped.until(s.now)),
		Drops:          s.count.dropped - c.dropped,
		AirPct:         percent(c.airtimeNs),
	}
	sort.Float64s(r.PingMs)
	if c.resident.n > 0 {
		r.ResidencyMeanMs = float64(c.residentSum) / float64(c.resident.n) / 1e6
	}
	var sum, squares float64
	users := 0
	for _, st := range s.stations {
		x := mbps(st.bytes - st.bytesSince)
		r.StationMbps = append(r.StationMbps, x)
		r.AirEfficiency += st.earned*1e9/float64(ns) + mbps(st.bytes-st.bytesAtRate)/st.aloneMbps()
		share := 0.0
		if c.airtimeNs > 0 {
			share = float64(st.airtimeNs-st.airtimeSince) / float64(c.airtimeNs)
		}
		r.AirtimeShare = append(r.AirtimeShare, share)
		if share > 0 {
			users++
			sum += share
			squares += share * share
		}
	}
	if users > 0 {
		r.Jain = sum * sum / (float64(users) * squares)
	}
	return r
}

// setRate changes the PHY rate, and settles what came at the old one.
func (st *station) setRate(kbps int) {
	st.earned += float64(st.bytes-st.bytesAtRate) * 8 / 1e6 / st.aloneMbps()
	st.bytesAtRate = st.bytes
	st.kbps = kbps
}

// aloneMbps is what a station gets at its rate with the medium to itself and
// queues that are never short.
func (st *station) aloneMbps() float64 {
	kbps := int64(st.kbps)
	n, pre := int64(1), int64(preambleAG)
	if !st.spec.Legacy {
		pre = preamble
		n = min(maxSubframes, max(1, (maxAirtime-pre)/airtimeNs(tcpIPBytes, kbps)))
	}
	// Its ACKs take the medium about every second time: it is busy with what
	// it received while the access point contends anew.
	down := aifs + 5*slot + pre + n*airtimeNs(tcpIPBytes, kbps) + sifsAck
	up := aifs + pre + n*airtimeNs(tcpAckBytes, kbps) + sifsAck
	cycle := down + up/2
	return float64(n*mss*8) * 1e3 / float64(cycle)
}

// P is a percentile of the pings, in milliseconds.
func (s Stats) P(percent float64) float64 { return s.PingMs.P(percent) }
