package tuner

import (
	"bytes"
	"slices"
	"time"

	"airtuned/debugfs"
	"airtuned/nl80211"
	"airtuned/policies"
	"airtuned/wlan"
)

// senses reads one radio's files and sums the readings up into observations.
// A sample reads the few files that cost the same however many stations there
// are; a window ends with one look at every station. Neither allocates as long
// as stations and interfaces stay the same.
type senses struct {
	phy *debugfs.Phy

	pending *debugfs.Reader[debugfs.AQLPending]
	frames  *debugfs.Reader[int]
	aqm     *debugfs.Reader[debugfs.AQM]
	queues  *debugfs.Reader[debugfs.Queues]

	framesMax int
	hwQueues  []int // the hardware queues that the interfaces use

	airtimeUs, frameCount, backlog level
	stopped, stoppedN              int
	read                           struct {
		pending debugfs.AQLPending
		aqm     debugfs.AQM
		queues  debugfs.Queues
		frames  int
	}

	stations []*station // sorted by address
	changed  bool       // a station came or went since the last window
	obs      policies.Observation
}

// level sums up samples of a gauge.
type level struct {
	n, nonZero    int
	sum, min, max float64
}

func (l *level) add(v float64) {
	if l.n == 0 || v < l.min {
		l.min = v
	}
	if l.n == 0 || v > l.max {
		l.max = v
	}
	l.n++
	l.sum += v
	if v > 0 {
		l.nonZero++
	}
}

func (l *level) gauge() policies.Gauge {
	if l.n == 0 {
		return policies.Gauge{}
	}
	n := float64(l.n)
	return policies.Gauge{N: l.n, Mean: l.sum / n, Min: l.min, Max: l.max, NonZero: float64(l.nonZero) / n}
}

// station is one associated station and what its counters said last.
type station struct {
	mac     wlan.MAC
	netdev  string
	aql     *debugfs.Reader[debugfs.StationAQL]
	aqm     *debugfs.Reader[debugfs.StationAQM]
	airtime *debugfs.Reader[debugfs.StationAirtime]

	seen      bool // has a first reading, so that differences mean something
	bytes     uint32
	packets   uint32
	drops     uint32
	airtimeUs uint64

	rateKbps uint64
	asleep   bool
}

func newSenses(phy *debugfs.Phy) *senses {
	s := &senses{
		phy:     phy,
		pending: phy.AQLPendingReader(),
		frames:  phy.NumPendingTxReader(),
		aqm:     phy.AQMReader(),
		queues:  phy.QueuesReader(),
	}
	if max, err := phy.MaxNumPendingTx(); err == nil {
		s.framesMax = max
	}
	return s
}

func (s *senses) close() {
	s.pending.Close()
	s.frames.Close()
	s.aqm.Close()
	s.queues.Close()
	for _, st := range s.stations {
		st.close()
	}
	s.stations = nil
}

func (st *station) close() {
	st.aql.Close()
	st.aqm.Close()
	st.airtime.Close()
}

// scan looks which interfaces and stations there are now.
func (s *senses) scan() error {
	netdevs, err := s.phy.Netdevs()
	if err != nil {
		return err
	}
	s.hwQueues = s.hwQueues[:0]
	var now []*station
	for _, netdev := range netdevs {
		if q, err := s.phy.HWQueues(netdev); err == nil {
			for _, n := range append(q.AC[:], q.Cab) {
				if n >= 0 && !slices.Contains(s.hwQueues, n) {
					s.hwQueues = append(s.hwQueues, n)
				}
			}
		}
		macs, err := s.phy.Stations(netdev)
		if err != nil {
			continue // the folder comes and goes with the interface's type
		}
		for _, mac := range macs {
			now = append(now, &station{mac: mac, netdev: netdev})
		}
	}
	slices.SortFunc(now, func(a, b *station) int { return bytes.Compare(a.mac[:], b.mac[:]) })
	now = slices.CompactFunc(now, func(a, b *station) bool { return a.mac == b.mac })

	for i, st := range now {
		if old := s.station(st.mac); old != nil && old.netdev == st.netdev {
			now[i] = old
			continue
		}
		s.changed = true
		st.aql = s.phy.StationAQLReader(st.netdev, st.mac)
		st.aqm = s.phy.StationAQMReader(st.netdev, st.mac)
		st.airtime = s.phy.StationAirtimeReader(st.netdev, st.mac)
	}
	for _, old := range s.stations {
		if !slices.Contains(now, old) {
			old.close()
			s.changed = true
		}
	}
	s.stations = now
	return nil
}

func (s *senses) station(mac wlan.MAC) *station {
	i, ok := slices.BinarySearchFunc(s.stations, mac, func(st *station, m wlan.MAC) int { return bytes.Compare(st.mac[:], m[:]) })
	if !ok {
		return nil
	}
	return s.stations[i]
}

// note takes in what a netlink dump said of the stations.
func (s *senses) note(stations []nl80211.Station) {
	for i := range stations {
		if st := s.station(stations[i].MAC); st != nil {
			st.rateKbps = stations[i].TxRateKbps
		}
	}
}

// sample reads the fast files once. A file that does not exist is a source
// that is absent, not an error; the error is that of aql_pending, which every
// radio that can be tuned has (6.0 on), or of num_pending_tx before.
func (s *senses) sample() error {
	err := s.pending.Read(&s.read.pending)
	if err == nil {
		s.airtimeUs.add(float64(s.read.pending.TotalUs))
	}
	if s.framesMax > 0 {
		if ferr := s.frames.Read(&s.read.frames); ferr == nil {
			s.frameCount.add(float64(s.read.frames))
		}
	}
	if aerr := s.aqm.Read(&s.read.aqm); aerr == nil && s.read.aqm.HasBacklog() {
		s.backlog.add(float64(s.read.aqm.BacklogPackets))
	}
	if qerr := s.queues.Read(&s.read.queues); qerr == nil {
		s.stoppedN++
		for _, q := range s.hwQueues {
			if q < s.read.queues.N && s.read.queues.Stop[q]&debugfs.StopDriver != 0 {
				s.stopped++
				break
			}
		}
	}
	return err
}

// observe ends a window: it reads every station once and returns what the
// radio did since the last call. The observation is valid until the next one.
func (s *senses) observe(now time.Time, window time.Duration, limits wlan.Limits, fresh bool) *policies.Observation {
	o := &s.obs
	*o = policies.Observation{
		Now: now, Window: window, Limits: limits, Fresh: fresh, StationsChanged: s.changed,
		Pending: s.airtimeUs.gauge(), Frames: s.frameCount.gauge(), FramesMax: s.framesMax,
		Backlog: s.backlog.gauge(), StoppedN: s.stoppedN,
		Stations: o.Stations[:0],
	}
	if s.stoppedN > 0 {
		o.Stopped = float64(s.stopped) / float64(s.stoppedN)
	}
	s.airtimeUs, s.frameCount, s.backlog = level{}, level{}, level{}
	s.stopped, s.stoppedN, s.changed = 0, 0, false

	for _, st := range s.stations {
		p := policies.Station{MAC: st.mac, RateKbps: st.rateKbps}
		if !st.observe(&p) {
			s.changed = true // it left; the next scan sees it
			continue
		}
		o.TxBytes += p.TxBytes
		o.TxPackets += p.TxPackets
		o.Stations = append(o.Stations, p)
	}
	return o
}

// observe reads a station's files into p; false if the station is gone.
func (st *station) observe(p *policies.Station) bool {
	var aqm debugfs.StationAQM
	switch err := st.aqm.Read(&aqm); {
	case err == nil:
		var bytes, packets, drops uint32
		for i := range aqm.TID[:aqm.N] {
			t := &aqm.TID[i]
			bytes += t.TxBytes
			packets += t.TxPackets
			drops += t.Drops
			p.BacklogBytes += uint64(t.BacklogBytes)
			p.BacklogPackets += uint64(t.BacklogPackets)
		}
		if st.seen {
			p.TxBytes, p.TxPackets, p.Drops = since(bytes, st.bytes), since(packets, st.packets), since(drops, st.drops)
		}
		st.bytes, st.packets, st.drops = bytes, packets, drops
	case debugfs.CauseOf(err) == debugfs.Gone:
		return false
	}
	var aql debugfs.StationAQL
	if err := st.aql.Read(&aql); err == nil {
		p.Limit, p.HasLimit, p.PendingUs = aql.Limits, true, aql.PendingUs
	}
	var airtime debugfs.StationAirtime
	if err := st.airtime.Read(&airtime); err == nil {
		if st.seen && airtime.TXUs >= st.airtimeUs {
			p.AirtimeUs = airtime.TXUs - st.airtimeUs
		}
		st.airtimeUs = airtime.TXUs
	}
	st.seen = true
	p.Active = p.TxPackets > 0 || p.BacklogPackets > 0
	return true
}

// since is the difference of a counter that wraps at 2^32. One that went
// backwards was reset, and what it counted since is its value.
func since(now, before uint32) uint64 {
	d := now - before
	if d > 1<<31 {
		return uint64(now)
	}
	return uint64(d)
}
