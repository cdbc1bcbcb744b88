package tuner

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/debugfs"
	"airtuned/nl80211"
	"airtuned/policies"
	"airtuned/recording"
	"airtuned/tree"
	"airtuned/wlan"
)

// senses reads one radio's files and sums the readings up into observations.
// A sample reads the few files that cost the same however many stations there
// are; a window ends with one look at every station. Neither allocates as long
// as stations and interfaces stay the same.
type senses struct {
	debug tree.FS
	phy   *debugfs.Phy

	pending source[debugfs.AQLPending]
	frames  source[int]
	aqm     source[debugfs.AQM]
	queues  source[debugfs.Queues]
	limit   source[debugfs.AQLTxqLimit]
	resets  source[debugfs.FWResetStats]
	limitTx source[int] // tx_queue_limit

	framesMax int   // 0 if unknown
	maxLater  bool  // it is not known yet
	maxOpen   int   // files of stations that stay open
	hwQueues  []int // the hardware queues that the interfaces use

	netdevs        []string
	netdevsChanged bool // at the last scan
	scans          uint // with these interfaces

	total                          Totals
	airtimeUs, frameCount, backlog level
	stopped, stoppedN              int

	stations []*station // sorted by address
	changed  bool       // a station came or went since the last window
	windows  int        // observed so far
	lookAll  bool       // at every station's queues in the next window
	obs      policies.Observation
	tap      *recording.Writer // nil unless the loop is recorded
	text     [512]byte         // of the files of powersave
}

// source is one file and what it said last. A file that is not there is tried
// again at scans: the first, second, fourth, eighth and so on with the same
// interfaces. A folder just created may still get it; most never do, and finding
// out that costs as much as ten samples.
type source[T any] struct {
	reader *debugfs.Reader[T]
	last   T
	absent error
}

func newSource[T any](r *debugfs.Reader[T]) source[T] { return source[T]{reader: r} }

// read reads the file into last. The error of an absent file stays the same.
func (s *source[T]) read() error {
	if s.absent != nil {
		return s.absent
	}
	err := s.reader.Read(&s.last)
	if debugfs.CauseOf(err) == debugfs.Absent {
		s.absent = err
	}
	return err
}

func (s *source[T]) close() {
	s.reader.Close()
	s.absent = nil
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
	aql     source[debugfs.StationAQL]
	aqm     source[debugfs.StationAQM]
	airtime source[debugfs.StationAirtime]

	// counted and timed are set by a first reading of aqm and of airtime: only
	// then do differences mean something.
	counted, timed bool
	bytes          uint32
	packets        uint32
	drops          uint32
	airtimeUs      uint64

	// quiet is for how many windows nothing was sent to it, nor waited for it.
	quiet int

	rateKbps uint64

	total Totals
	// airtimeMean is its booked airtime of a window, in us, smoothed.
	airtimeMean float64

	virtualTime bool // its airtime has no deficit
	powersave   powersave
}

func newSenses(debug tree.FS, phy *debugfs.Phy) *senses {
	s := &senses{
		debug:   debug,
		phy:     phy,
		pending: newSource(phy.AQLPendingReader()),
		frames:  newSource(phy.NumPendingTxReader()),
		aqm:     newSource(phy.AQMReader()),
		queues:  newSource(phy.QueuesReader()),
		limit:   newSource(phy.AQLTxqLimitReader()),
		resets:  newSource(phy.FWResetStatsReader()),
		limitTx: newSource(phy.TxQueueLimitReader()),
	}
	s.readFramesMax()
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		s.maxOpen = int(min(uint64(limit.Cur)/maxOpenShare, math.MaxInt32))
	}
	return s
}

// airtimeWindows is over how many windows a station's airtime is smoothed.
const airtimeWindows = 8

// readFramesMax reads what does not change. Only BPF does not know it before
// the first frame.
func (s *senses) readFramesMax() {
	max, err := s.phy.MaxNumPendingTx()
	s.maxLater = errors.Is(err, unix.ENODATA)
	if err == nil {
		s.framesMax = max
	}
}

// The files of stations stay open from one window to the next, unless they are
// more than this share of what the process may have open: other radios and the
// control socket need some, too.
const (
	filesPerStation = 3 // and two more of those that seem to sleep
	maxOpenShare    = 4
)

func (s *senses) close() {
	s.pending.close()
	s.frames.close()
	s.aqm.close()
	s.queues.close()
	s.limit.close()
	s.resets.close()
	s.limitTx.close()
	for _, st := range s.stations {
		st.close()
	}
	s.stations = nil
}

func (st *station) close() {
	st.aql.close()
	st.aqm.close()
	st.airtime.close()
	st.powersave.close()
}

// scan looks which interfaces and stations there are now.
func (s *senses) scan() error {
	defer s.tap.Scanned()
	netdevs, err := s.phy.Netdevs()
	if err != nil {
		return err
	}
	if s.maxLater {
		s.readFramesMax()
	}
	s.netdevsChanged = !slices.Equal(netdevs, s.netdevs)
	if s.netdevsChanged {
		s.scans = 0
	}
	if s.scans++; s.scans&(s.scans-1) == 0 {
		s.pending.absent, s.frames.absent, s.aqm.absent, s.queues.absent, s.limit.absent, s.resets.absent, s.limitTx.absent = nil, nil, nil, nil, nil, nil, nil
	}
	s.netdevs = netdevs
	s.hwQueues = s.hwQueues[:0]
	var now []*station
	for _, netdev := range netdevs {
		if q, err := s.phy.HWQueues(netdev); err == nil {
			for _, n := range append(q.AC[:], q.Cab) {
				if n != debugfs.NoQueue && !slices.Contains(s.hwQueues, n) {
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
	// A client that roams between two networks of a radio is in both for a
	// while. One has to stand for it, and always the same.
	slices.SortFunc(now, func(a, b *station) int {
		return cmp.Or(bytes.Compare(a.mac[:], b.mac[:]), strings.Compare(a.netdev, b.netdev))
	})
	now = slices.CompactFunc(now, func(a, b *station) bool { return a.mac == b.mac })

	for i, st := range now {
		if old := s.station(st.mac); old != nil && old.netdev == st.netdev {
			now[i] = old
			continue
		}
		s.changed = true
		st.aql = newSource(s.phy.StationAQLReader(st.netdev, st.mac))
		st.aqm = newSource(s.phy.StationAQMReader(st.netdev, st.mac))
		st.airtime = newSource(s.phy.StationAirtimeReader(st.netdev, st.mac))
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
	s.tap.Rates(len(stations))
	for i := range stations {
		s.tap.Rate(stations[i].MAC, stations[i].TxRateKbps)
		if st := s.station(stations[i].MAC); st != nil {
			st.rateKbps = stations[i].TxRateKbps
		}
	}
}

// sample reads the fast files once. A file that does not exist is a source
// that is absent, not an error; the error is that of aql_pending, which every
// radio that can be tuned has (6.0 on), or of num_pending_tx before.
func (s *senses) sample() error {
	err := s.pending.read()
	if err == nil {
		s.airtimeUs.add(float64(s.pending.last.TotalUs))
	}
	if s.framesMax > 0 && s.frames.read() == nil {
		s.frameCount.add(float64(s.frames.last))
	}
	if s.aqm.read() == nil && s.aqm.last.Has&debugfs.AQMBacklog != 0 {
		s.backlog.add(float64(s.aqm.last.BacklogPackets))
	}
	if s.queues.read() == nil {
		s.stoppedN++
		if s.driverStopped() {
			s.stopped++
		}
	}
	s.tap.Sampled()
	return err
}

// driverStopped reports whether the driver has stopped a queue in use.
func (s *senses) driverStopped() bool {
	q := &s.queues.last
	for _, n := range s.hwQueues {
		if n < q.N && q.Stop[n]&debugfs.StopDriver != 0 {
			return true
		}
	}
	return false
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
	// It limits nothing where frames cannot be counted.
	if s.framesMax > 0 && s.limitTx.read() == nil {
		o.QueueLimit, o.HasQueueLimit = s.limitTx.last, true
	}
	if s.stoppedN > 0 {
		o.Stopped = float64(s.stopped) / float64(s.stoppedN)
	}
	s.airtimeUs, s.frameCount, s.backlog = level{}, level{}, level{}
	s.stopped, s.stoppedN, s.changed = 0, 0, false

	asleep, waiting := false, false
	lean := filesPerStation*len(s.stations) > s.maxOpen
	for i, st := range s.stations {
		p := policies.Station{MAC: st.mac, RateKbps: st.rateKbps}
		if !st.observe(&p, s.lookAll || (s.windows+i)%idleWindows == 0) {
			s.changed = true // it left; the next scan sees it
			continue
		}
		if p.TxPackets == 0 && (p.BacklogPackets > 0 || p.PendingUs != [wlan.NumAC]int32{}) && s.asleep(st) {
			p.Asleep, p.Active = true, false
		}
		asleep = asleep || p.Asleep
		waiting = waiting || p.BacklogPackets > 0 && !p.Asleep
		if lean {
			st.close()
		}
		sent := Totals{p.TxBytes, p.TxPackets, p.Drops, p.AirtimeUs}
		st.total.add(sent)
		s.total.add(sent)
		st.airtimeMean += (float64(p.AirtimeUs) - st.airtimeMean) / airtimeWindows
		o.TxBytes += p.TxBytes
		o.TxPackets += p.TxPackets
		o.Stations = append(o.Stations, p)
	}
	if asleep && !waiting {
		// What waits is for stations that sleep: the radio cannot send it, so it
		// is no demand.
		o.Backlog = policies.Gauge{N: o.Backlog.N}
	}
	// Something waits, and for none of those looked at.
	s.lookAll = !waiting && s.aqm.absent == nil && s.aqm.last.BacklogPackets > 0
	s.windows++
	s.tap.Observed(window, limits, fresh)
	return o
}

// The kernel takes four times as long to render aqm as aql and airtime together,
// and most stations are idle most of the time. So aqm is read seldom when it told
// nothing new for quietWindows, until the kernel books airtime for the station, has
// some pending, or idleWindows have passed.
const (
	quietWindows = 5
	idleWindows  = 10
)

// observe reads a station's files into p; false if the station is gone. Unless
// due is set, its queues may be left out: then they are as they were.
func (st *station) observe(p *policies.Station, due bool) bool {
	err := st.airtime.read()
	if err == nil {
		tx := st.airtime.last.TXUs
		if st.timed && tx >= st.airtimeUs {
			p.AirtimeUs = tx - st.airtimeUs
		}
		st.airtimeUs, st.timed = tx, true
		st.virtualTime = !st.airtime.last.HasDeficit
	} else if debugfs.CauseOf(err) == debugfs.Gone {
		return false
	}
	if st.aql.read() == nil {
		p.Limit, p.HasLimit, p.PendingUs = st.aql.last.Limits, true, st.aql.last.PendingUs
	}
	// A driver that booked airtime before would have done so again.
	books := err == nil && st.airtimeUs > 0
	if books && !due && st.quiet >= quietWindows && p.AirtimeUs == 0 && p.PendingUs == [wlan.NumAC]int32{} {
		return true
	}
	switch err := st.aqm.read(); {
	case err == nil:
		q := &st.aqm.last.Total
		p.BacklogBytes, p.BacklogPackets = uint64(q.BacklogBytes), uint64(q.BacklogPackets)
		if st.counted {
			p.TxBytes, p.TxPackets, p.Drops = since(q.TxBytes, st.bytes), since(q.TxPackets, st.packets), since(q.Drops, st.drops)
		}
		st.bytes, st.packets, st.drops, st.counted = q.TxBytes, q.TxPackets, q.Drops, true
	case debugfs.CauseOf(err) == debugfs.Gone:
		return false
	}
	p.Active = p.TxPackets > 0 || p.BacklogPackets > 0
	if st.quiet++; p.Active || p.Drops > 0 {
		st.quiet = 0
	}
	return true
}

// virtualTime is virtualTime of detection, for stations that came since.
func (s *senses) virtualTime() bool {
	return slices.ContainsFunc(s.stations, func(st *station) bool { return st.virtualTime })
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

// everyAC is what limits must be known of to be compared with others.
var everyAC = [wlan.NumAC]bool{true, true, true, true}

var errCut = errors.New("aql_txq_limit: rows are missing")

// inForce reads the limits in force. The threshold is not part of it.
func (s *senses) inForce() ([wlan.NumAC]wlan.Limit, error) {
	err := s.limit.read()
	if err == nil && s.limit.last.Has != everyAC {
		err = errCut
	}
	return s.limit.last.Limits, err
}

// restarts is how often the firmware was restarted so far; false where the
// driver does not count that.
func (s *senses) restarts() (uint32, bool) {
	err := s.resets.read()
	return s.resets.last.Crashes, err == nil
}
