package radiosim

import "math"

type flowKind uint8

const (
	bulk    flowKind = iota // sends as fast as it may
	limited                 // an application writes at a constant rate
	ping                    // one packet now and then
)

const (
	mss         = 1448
	tcpIPBytes  = 1500
	pingBytes   = 84
	initialCwnd = 10
	// maxCwnd is the receive window: about 3 MB, what Linux grows to with a
	// tcp_rmem of 6 MB.
	maxCwnd = 2048

	// appTick is how often an application-limited flow writes.
	appTick = 5 * ms

	// wiredDelay is one way from a host on the access point's own wire.
	wiredDelay = 50 * us

	// turnaround is what a station's receive path (interrupt, GRO, TCP) takes
	// until its ACK wants the air. A ping is answered at once.
	turnaround = 150 * us

	cubicBeta = 0.7
	cubicC    = 0.4
)

// flow is one stream of packets to a station: its bucket in fq, and for TCP
// its sender (CUBIC with HyStart, SACK, RTO) and receiver. Everything below
// the access point keeps a flow in order, so whatever is missing below the
// highest packet that arrived is lost.
type flow struct {
	index int32
	kind  flowKind
	sta   *station
	txq   *txq

	// In fq.
	queue     fifo
	backlog   int64 // bytes
	deficit   int64
	chained   bool
	chainNext *flow
	codel     codel

	// Sender.
	running     bool
	arrivals    ring[arrival] // on the wire to the access point
	sent        uint32        // packets sent so far; numbers start at 1
	acked       receipt       // last acknowledgement seen
	writtenOff  uint32        // packets up to here were given up by the timer
	cwnd        float64       // packets
	ssthresh    float64
	cwndLimited bool
	recovery    uint32 // packets up to here were sent before the last reduction
	credit      int64  // bytes an application has written and TCP not sent
	kbps        int    // of the application
	nextAt      int64  // when the application or the ping is due

	srtt, rttvar, minRTT int64
	rtoAt                int64
	rtoArmed             bool
	backoff              uint
	undoCwnd             float64
	undoSsthresh         float64

	roundEnd     uint32 // HyStart
	roundMinRTT  int64
	roundSamples int

	wMax, wEst, k float64 // CUBIC
	epoch         int64

	// Receiver.
	received receipt
	acking   bool          // listed in the station's acking
	onAir    receipt       // the acknowledgement on the air
	acks     ring[receipt] // acknowledgements on the wire to the sender
}

// arrival is a burst on its way to the access point.
type arrival struct {
	due   int64
	sent  int64
	first uint32 // number of its first packet
	n     uint32
}

// receipt is what an acknowledgement tells: how many packets arrived, the
// highest number among them, and when that one was sent.
type receipt struct {
	due            int64 // at the sender
	sent           int64
	count, highest uint32
}

func (f *flow) reset() {
	f.cwnd, f.ssthresh = initialCwnd, math.MaxInt32
	f.minRTT = math.MaxInt64
	f.roundMinRTT = math.MaxInt64
	f.acked = receipt{count: f.received.count, highest: f.sent}
	f.acks.clear()
	f.arrivals.clear()
	f.writtenOff, f.recovery, f.roundEnd = f.sent, f.sent, f.sent
	f.roundSamples = 0
	f.srtt, f.rttvar, f.backoff, f.epoch, f.wMax = 0, 0, 0, 0, 0
	f.credit = 0
	f.undoCwnd = 0
}

func (f *flow) inflight() int64 {
	return int64(f.sent) - int64(max(f.acked.highest, f.writtenOff))
}

// trySend sends what the windows allow.
func (s *Sim) trySend(f *flow) {
	if !f.running {
		return
	}
	n := int64(min(f.cwnd, maxCwnd)) - f.inflight()
	f.cwndLimited = true
	if f.kind == limited && f.credit/mss < n {
		n = f.credit / mss
		f.cwndLimited = false
	}
	if n <= 0 {
		return
	}
	f.credit -= n * mss
	s.emit(f, uint32(n), s.wan/2)
	if !f.rtoArmed {
		f.rtoAt = s.now + f.rto()
		f.rtoArmed = true
		s.ev.push(f.rtoAt, evRTO, f.index)
	}
}

// emit puts n packets on the wire to the access point.
func (s *Sim) emit(f *flow, n uint32, delay int64) {
	f.arrivals.push(arrival{due: s.now + delay, sent: s.now, first: f.sent + 1, n: n})
	f.sent += n
	s.ev.push(s.now+delay, evArrive, f.index)
}

// arrive is a burst reaching the access point.
func (s *Sim) arrive(f *flow) {
	if f.arrivals.n == 0 || f.arrivals.front().due != s.now {
		return // from before a reset
	}
	a := f.arrivals.pop()
	bytes := int32(tcpIPBytes)
	if f.kind == ping {
		bytes = pingBytes
	}
	for k := range a.n {
		s.inject(f, bytes, a.sent, a.first+k)
	}
}

// inject puts one packet into mac80211 (ieee80211_queue_skb).
func (s *Sim) inject(f *flow, bytes int32, sent int64, number uint32) {
	s.count.injected++
	if !f.sta.joined {
		s.count.dropped++
		return
	}
	i := s.packets.get()
	p := &s.packets.all[i]
	*p = packet{flow: f.index, number: number, ipBytes: bytes, sent: sent}
	s.fqEnqueue(f, i)
	s.scheduleTxq(f.txq)
	if !s.drv.down {
		s.wakeTxq(f.txq.ac)
	}
	s.starvedChanged()
}

// delivery is what a station gets of a packet.
type delivery struct {
	flow, ipBytes int32
	number        uint32
	sequence      uint32
	sent          int64
}

func (s *Sim) deliverable(i int32) delivery {
	p := &s.packets.all[i]
	return delivery{p.flow, p.ipBytes, p.number, p.sequence, p.sent}
}

// deliver is a packet reaching its station, which answers.
func (s *Sim) deliver(d delivery) {
	s.count.delivered++
	f := s.flows[d.flow]
	st := f.sta
	if f.kind == ping {
		st.replies.push(d.sent)
		s.wantUplink(st)
		return
	}
	st.bytes += mss
	s.bytes += mss
	f.received.count++
	f.received.highest = d.number
	f.received.sent = d.sent
	// Every second packet is acknowledged, and the last one of a burst.
	if !f.acking {
		f.acking = true
		st.acking = append(st.acking, f)
		st.acks++
	} else if f.received.count&1 == 0 {
		st.acks++
	}
	if !st.turning {
		st.turning = true
		s.ev.push(s.now+turnaround, evTurnaround, int32(st.index))
	}
}

// ack is an acknowledgement reaching the sender.
func (s *Sim) ack(f *flow) {
	if f.acks.n == 0 || f.acks.front().due != s.now {
		return // from before a reset
	}
	a := f.acks.pop()
	if a.highest <= f.acked.highest {
		return
	}
	arrived := a.count - f.acked.count
	// What the timer gave up is not lost a second time.
	lost := int64(a.highest) - int64(max(f.acked.highest, min(f.writtenOff, a.highest))) - int64(arrived)
	f.acked = a
	if f.kind == limited && lost > 0 {
		f.credit += lost * mss // sent again
	}
	f.measure(s.now - a.sent)

	if a.highest <= f.writtenOff && f.undoCwnd > 0 {
		// What the timer gave up comes through after all: it was only late.
		f.cwnd, f.ssthresh = f.undoCwnd, f.undoSsthresh
		f.writtenOff = 0
	}
	f.undoCwnd = 0
	f.backoff = 0
	f.rtoAt = s.now + f.rto()

	switch {
	case lost > 0 && a.highest > f.recovery:
		f.reduce()
		f.cwnd = max(2, f.cwnd*cubicBeta)
		f.ssthresh = f.cwnd
		f.recovery = f.sent
	case a.highest > f.recovery && f.cwndLimited:
		s.grow(f, float64(arrived))
	}
	s.trySend(f)
}

// measure takes a round-trip sample (RFC 6298, with Linux's floor of 200 ms).
func (f *flow) measure(rtt int64) {
	if f.srtt == 0 {
		f.srtt, f.rttvar = rtt, rtt/2
	} else {
		f.rttvar += (abs(rtt-f.srtt) - f.rttvar) / 4
		f.srtt += (rtt - f.srtt) / 8
	}
	f.minRTT = min(f.minRTT, rtt)
	f.roundMinRTT = min(f.roundMinRTT, rtt)
}

func (f *flow) rto() int64 {
	if f.srtt == 0 {
		return 1000 * ms << f.backoff
	}
	return (f.srtt + max(200*ms, 4*f.rttvar)) << f.backoff
}

// reduce notes where CUBIC was when it met a loss.
func (f *flow) reduce() {
	f.epoch = 0
	if f.cwnd < f.wMax {
		f.wMax = f.cwnd * (1 + cubicBeta) / 2 // fast convergence
	} else {
		f.wMax = f.cwnd
	}
}

// grow opens the window after n packets arrived.
func (s *Sim) grow(f *flow, n float64) {
	if f.cwnd < f.ssthresh {
		f.cwnd = min(f.cwnd+n, maxCwnd)
		f.hystart(int(n))
		return
	}
	if f.epoch == 0 {
		f.epoch = s.now
		f.wEst = f.cwnd
		if f.cwnd < f.wMax {
			f.k = math.Cbrt((f.wMax - f.cwnd) / cubicC)
		} else {
			f.k = 0
			f.wMax = f.cwnd
		}
	}
	t := float64(s.now-f.epoch+f.minRTT)/1e9 - f.k
	target := f.wMax + cubicC*t*t*t
	step := n * 0.01
	if target > f.cwnd {
		step = n * min((target-f.cwnd)/f.cwnd, 0.5)
	}
	// As fast as Reno would be, at least.
	f.wEst += n * 3 * (1 - cubicBeta) / (1 + cubicBeta) / f.cwnd
	f.cwnd = min(max(f.cwnd+step, min(f.wEst, f.cwnd+n)), maxCwnd)
}

// hystart ends slow start when the round trips of a round have grown by an
// eighth (net/ipv4/tcp_cubic.c, delay detection).
func (f *flow) hystart(n int) {
	f.roundSamples += n
	if f.cwnd >= 16 && f.roundSamples >= 8 &&
		f.roundMinRTT > f.minRTT+min(max(f.minRTT/8, 4*ms), 16*ms) {
		f.ssthresh = f.cwnd
	}
	if f.acked.highest >= f.roundEnd {
		f.roundEnd = f.sent
		f.roundMinRTT = math.MaxInt64
		f.roundSamples = 0
	}
}

// timeout is the retransmission timer.
func (s *Sim) timeout(f *flow) {
	f.rtoArmed = false
	if !f.running || f.inflight() <= 0 {
		return
	}
	if s.now < f.rtoAt {
		f.rtoArmed = true
		s.ev.push(f.rtoAt, evRTO, f.index)
		return
	}
	if f.undoCwnd == 0 {
		f.undoCwnd, f.undoSsthresh = f.cwnd, f.ssthresh
	}
	f.reduce()
	f.ssthresh = max(2, f.cwnd*cubicBeta)
	f.cwnd = 1
	if f.kind == limited {
		f.credit += f.inflight() * mss // sent again
	}
	f.writtenOff, f.recovery = f.sent, f.sent
	f.backoff = min(f.backoff+1, 6)
	s.trySend(f)
}

// appDue starts a bulk flow; an application-limited one writes its share of a
// tick.
func (s *Sim) appDue(f *flow) {
	if !f.running || f.nextAt != s.now {
		return
	}
	if f.kind == bulk {
		s.trySend(f)
		return
	}
	f.credit = min(f.credit+int64(f.kbps)*(appTick/us)/8000, maxCwnd*mss)
	s.trySend(f)
	f.nextAt = s.now + appTick
	s.ev.push(f.nextAt, evApp, f.index)
}

// pingDue sends one ping and schedules the next, with a little jitter so that
// it keeps no step with anything.
func (s *Sim) pingDue(f *flow) {
	if !f.running || f.nextAt != s.now {
		return
	}
	s.emit(f, 1, wiredDelay)
	every := int64(s.sc.PingEvery)
	f.nextAt = s.now + every*3/4 + s.rng.Int64N(every/2+1)
	s.ev.push(f.nextAt, evPing, f.index)
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}
