package radiosim

import (
	"math/rand/v2"
	"sync"
	"time"

	"airtuned/wlan"
)

// Virtual time in nanoseconds.
const (
	us int64 = 1000
	ms       = 1000 * us
)

// Epoch is when every simulation starts.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// maxPendingTx is the number of slots of a QCA9984 without peer flow control
// (TARGET_10_4_NUM_MSDU_DESC).
const maxPendingTx = 1424

// Options vary a scenario.
type Options struct {
	// Seed decides everything random.
	Seed uint64
	// Stock leaves out ath10k/num_pending_tx and max_num_pending_tx, which no
	// mainline kernel exports.
	Stock bool
	// Patched adds the other files that packaging/kernel gives a kernel.
	Patched bool
	// Blind firmware reports no rates: pending stays 0, limits do nothing.
	Blind bool
	// NoAQL is a driver without the AQL feature: no stations/MAC/aql, limits
	// are accepted and do nothing.
	NoAQL bool
	// ServiceInterval replaces the scenario's.
	ServiceInterval *time.Duration
}

// Sim is one simulated radio. Its methods and the trees it serves may be used
// by several goroutines.
type Sim struct {
	mu  sync.Mutex
	sc  Scenario
	opt Options
	rng *rand.Rand

	now int64 // ns since Epoch
	svc int64 // service interval, ns
	wan int64 // TCP round trip on the wire, ns
	ev  eventQueue

	stations []*station // of the scenario, in its order
	assoc    []*station // associated now, in order of joining
	flows    []*flow
	changes  []change
	packets  packets

	fq           fq
	active       [wlan.NumAC]activeList
	aql          aql
	airtimeFlags uint16
	drv          driver
	patched      patched
	air          air

	bytes uint64 // TCP payload delivered
	count counts
	stats stats

	files
	generation, generationSeen uint64

	stuck      bool // StickPending
	gone       bool // RemoveRadio
	crashes    int
	coldResets int
	multicast  int32 // HoldMulticast
}

// counts are for the conservation of packets: injected = delivered + dropped +
// queued.
type counts struct{ injected, delivered, dropped uint64 }

// station is one station and what the access point keeps for it.
type station struct {
	index  int
	spec   Station
	mac    wlan.MAC
	kbps   int // PHY rate now
	joined bool
	flows  []*flow

	txq     [wlan.NumAC]txq
	airtime [wlan.NumAC]airtime

	reportedKbps int // what mac80211 takes the rate to be
	rateSeen     int // what the firmware will report with the next completion
	ppdus        int

	firmware   [wlan.NumAC]fifo
	queuedInFw [wlan.NumAC]bool
	asleep     bool               // Sleep
	kept       [wlan.NumAC]fifo   // in firmware until it wakes
	sequence   [wlan.NumAC]uint32 // of the last MPDU

	// On the station's side.
	wantsAir     bool
	backoff      int
	turning      bool // evTurnaround is scheduled
	acks         int32
	acking       []*flow
	ackingOnAir  []*flow
	replies      ring[int64] // when the pings to be answered were sent
	repliesOnAir int
	held         [wlan.NumAC][]delivery // behind a lost MPDU

	bytes, bytesSince uint64
	// earned is what it got at rates it had before, since the last ResetStats, in
	// seconds of having the medium alone; bytesAtRate is where its present rate
	// began.
	earned                  float64
	bytesAtRate             uint64
	airtimeNs, airtimeSince int64
}

func (st *station) reportRate() { st.reportedKbps = st.rateSeen }

// change is something the scenario does at some time.
type change struct {
	st    *station
	join  bool
	leave bool
	kbps  int
}

// New sets up a scenario at virtual time Epoch. The scenario is not changed.
func New(sc Scenario, o Options) *Sim {
	s := &Sim{
		sc: sc, opt: o,
		rng:          rand.New(rand.NewPCG(o.Seed, 0x61697274756e6564)),
		svc:          int64(sc.ServiceInterval),
		wan:          int64(sc.RTT),
		packets:      newPackets(16384),
		airtimeFlags: airtimeUseTx | airtimeUseRx,
		coldResets:   1,
	}
	if o.ServiceInterval != nil {
		s.svc = int64(*o.ServiceInterval)
	}
	s.fq.init()
	s.aql = aql{enabled: true, limits: wlan.KernelDefault}
	s.drv.max = maxPendingTx
	s.patched = patched{pacingShift: 7, wakePercent: 25}
	s.air.backoff = noBackoff
	for i := range sc.Stations {
		s.addStation(i)
	}
	s.initFiles()
	for _, st := range s.stations {
		if st.spec.Join == 0 {
			s.join(st)
		} else {
			s.at(st.spec.Join, change{st: st, join: true})
		}
		if st.spec.Leave > 0 {
			s.at(st.spec.Leave, change{st: st, leave: true})
		}
		for _, r := range st.spec.Rates {
			s.at(r.At, change{st: st, kbps: r.RateKbps})
		}
	}
	return s
}

func (s *Sim) at(t time.Duration, c change) {
	s.changes = append(s.changes, c)
	s.ev.push(int64(t), evScenario, int32(len(s.changes)-1))
}

func (s *Sim) addStation(i int) {
	st := &station{
		index: i, spec: s.sc.Stations[i],
		mac: wlan.MAC{0x02, 0, 0, 0, byte(1 + i>>8), byte(i)},
	}
	st.kbps = st.spec.RateKbps
	for ac := range st.txq {
		st.txq[ac] = txq{sta: st, ac: ac}
	}
	add := func(kind flowKind, kbps int) {
		f := &flow{index: int32(len(s.flows)), kind: kind, sta: st, txq: &st.txq[wlan.BE], kbps: kbps}
		s.flows = append(s.flows, f)
		st.flows = append(st.flows, f)
	}
	for range st.spec.Flows {
		add(bulk, 0)
	}
	if st.spec.AppKbps > 0 {
		add(limited, st.spec.AppKbps)
	}
	if s.sc.PingEvery > 0 {
		add(ping, 0)
	}
	s.stations = append(s.stations, st)
}

// join associates a station: a new sta_info, with the limits of the radio.
func (s *Sim) join(st *station) {
	if st.joined || s.gone {
		return
	}
	st.joined, st.asleep = true, false
	st.reportedKbps, st.rateSeen, st.ppdus = 0, 0, 0
	for ac := range st.txq {
		st.txq[ac] = txq{sta: st, ac: ac}
		st.airtime[ac] = airtime{deficit: airtimeWeight, limit: s.aql.limits.AC[ac]}
	}
	s.assoc = append(s.assoc, st)
	for _, f := range st.flows {
		f.reset()
		f.running = true
		// Nothing starts in step with anything else.
		start := s.now + s.rng.Int64N(100*ms)
		switch f.kind {
		case ping:
			f.nextAt = start
			s.ev.push(start, evPing, f.index)
		default:
			f.nextAt = start
			s.ev.push(start, evApp, f.index)
		}
	}
	s.stationsChanged()
}

// leave takes a station and whatever is queued for it away.
func (s *Sim) leave(st *station) {
	if !st.joined {
		return
	}
	st.joined = false
	for _, f := range st.flows {
		f.running = false
		f.arrivals.clear()
		f.acks.clear()
		f.acking = false
	}
	s.flush(st)
	for ac := range st.txq {
		if st.txq[ac].scheduled {
			s.active[ac].remove(&st.txq[ac])
		}
	}
	for i, o := range s.assoc {
		if o == st {
			s.assoc = append(s.assoc[:i], s.assoc[i+1:]...)
			break
		}
	}
	for i, o := range s.air.uplinks {
		if o == st {
			s.air.uplinks = append(s.air.uplinks[:i], s.air.uplinks[i+1:]...)
			st.wantsAir = false
			break
		}
	}
	st.turning, st.acks, st.acking, st.ackingOnAir = false, 0, st.acking[:0], st.ackingOnAir[:0]
	st.replies.clear()
	st.repliesOnAir = 0
	for ac := range st.held {
		s.count.dropped += uint64(len(st.held[ac]))
		st.held[ac] = st.held[ac][:0]
	}
	s.stationsChanged()
	s.completionsReady()
}

// flush drops a station's packets: those in fq are gone at once, those in
// firmware come back as completions.
func (s *Sim) flush(st *station) {
	for ac := range st.txq {
		s.fqPurge(&st.txq[ac])
		for i := s.packets.pop(&st.kept[ac]); i != 0; i = s.packets.pop(&st.kept[ac]) {
			s.count.dropped++
			s.completed(i)
		}
		q := &st.firmware[ac]
		s.air.queued -= q.n
		for i := s.packets.pop(q); i != 0; i = s.packets.pop(q) {
			s.count.dropped++
			s.completed(i)
		}
	}
	s.starvedChanged()
}

func (s *Sim) packet(i int32) *packet {
	if i == 0 {
		return nil
	}
	return &s.packets.all[i]
}

// drop loses a packet that is in no account any more.
func (s *Sim) drop(i int32) {
	s.count.dropped++
	s.packets.put(i)
}

// Now is the virtual time.
func (s *Sim) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Epoch.Add(time.Duration(s.now))
}

// Advance runs everything that is due up to and including a time.
func (s *Sim) Advance(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := int64(until.Sub(Epoch))
	for len(s.ev.heap) > 0 && s.ev.heap[0].at <= end {
		e := s.ev.pop()
		s.now = e.at
		s.run(e)
	}
	s.now = max(s.now, end)
}

func (s *Sim) run(e event) {
	switch e.kind {
	case evArrive:
		s.arrive(s.flows[e.arg])
	case evAck:
		s.ack(s.flows[e.arg])
	case evRTO:
		s.timeout(s.flows[e.arg])
	case evApp:
		s.appDue(s.flows[e.arg])
	case evPing:
		s.pingDue(s.flows[e.arg])
	case evTurnaround:
		if st := s.stations[e.arg]; st.turning {
			st.turning = false
			s.wantUplink(st)
		}
	case evTxStart:
		s.txStart()
	case evTxEnd:
		s.txEnd()
	case evService:
		s.service()
	case evScenario:
		c := s.changes[e.arg]
		switch {
		case c.join:
			s.join(c.st)
		case c.leave:
			s.leave(c.st)
		default:
			c.st.setRate(c.kbps)
		}
	case evFirmware:
		s.firmwareUp()
	}
}

// Generation counts what makes a loop look again: stations that came or went,
// the radio renamed, removed or restarted.
func (s *Sim) Generation() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.generation
}

// StationsChanged says whether the generation moved since it was last asked.
func (s *Sim) StationsChanged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.generation != s.generationSeen
	s.generationSeen = s.generation
	return changed
}

func (s *Sim) stationsChanged() {
	s.generation++
	s.renewFiles()
}

// Associated is the number of stations now.
func (s *Sim) Associated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.assoc)
}

// Link is what an access point knows of a station that is associated.
type Link struct {
	MAC      wlan.MAC
	RateKbps int
}

// Links are those there are now, in order of joining.
func (s *Sim) Links() []Link {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Link, 0, len(s.assoc))
	for _, st := range s.assoc {
		out = append(out, Link{st.mac, st.kbps})
	}
	return out
}

// DeliveredBytes counts the TCP payload that reached stations since the start.
func (s *Sim) DeliveredBytes() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}
