package radiosim

import (
	"math"
	"slices"

	"airtuned/wlan"
)

// 802.11 timing in 5 GHz, best effort (IEEE 802.11-2016, 17.3 and 9.4.2.29).
const (
	aifs       = 16*us + 3*9*us
	slot       = 9 * us
	cwMin      = 15
	preamble   = 40 * us // VHT, two streams
	preambleAG = 20 * us
	sifsAck    = 16*us + 32*us // SIFS and a block ACK at 24 Mb/s

	maxSubframes = 64
	maxAirtime   = 5300 * us // of one PPDU; aPPDUMaxTime is 5484 us

	// mpduOverhead is what the air carries besides an IP packet: QoS header,
	// LLC/SNAP, CCMP, FCS, A-MPDU delimiter and padding.
	mpduOverhead = 26 + 8 + 16 + 4 + 4 + 2
	tcpAckBytes  = 52

	// rateReport is the number of PPDUs between two rate reports of the
	// firmware (HTT PEER_STATS).
	rateReport = 4
)

// air is the firmware's queues and the shared, half-duplex medium.
type air struct {
	queued  int32                      // frames in firmware, over all peers
	peers   [wlan.NumAC]ring[*station] // peers with frames, served in turn
	uplinks []*station                 // stations with something to send
	busy    bool
	contend bool
	least   int // the backoff that ends the contention
	backoff int // the access point's own

	// The PPDU on the air.
	frames   fifo
	sta      *station
	ac       int
	uplink   bool
	acks     int32
	duration int64
}

// toFirmware hands a frame to the firmware's queue for its peer.
func (s *Sim) toFirmware(t *txq, i int32) {
	if t.sta.asleep {
		s.packets.push(&t.sta.kept[t.ac], i)
		return
	}
	q := &t.sta.firmware[t.ac]
	if q.n == 0 && !t.sta.queuedInFw[t.ac] {
		t.sta.queuedInFw[t.ac] = true
		s.air.peers[t.ac].push(t.sta)
	}
	s.packets.push(q, i)
	s.air.queued++
	s.starvedChanged()
	s.contend()
}

// wantUplink enters a station with something to send into contention.
func (s *Sim) wantUplink(st *station) {
	if st.wantsAir || st.acks == 0 && st.replies.n == 0 {
		return
	}
	st.wantsAir, st.backoff = true, noBackoff
	s.air.uplinks = append(s.air.uplinks, st)
	s.contend()
}

// noBackoff marks a contender that has drawn no backoff yet.
const noBackoff = -1

// contend starts contention for the medium if anybody wants it. Everybody
// counts down a backoff drawn from the same window and keeps what is left of it
// when another was faster, so nobody loses often in a row. Those who come while
// a countdown runs wait for the next.
func (s *Sim) contend() {
	a := &s.air
	if a.busy || a.contend {
		return
	}
	least := cwMin + 1
	draw := func(backoff *int) {
		if *backoff == noBackoff {
			*backoff = s.rng.IntN(cwMin + 1)
		}
		least = min(least, *backoff)
	}
	if a.queued > 0 && !s.drv.down {
		draw(&a.backoff)
	}
	for _, st := range a.uplinks {
		draw(&st.backoff)
	}
	if least > cwMin {
		return
	}
	a.contend = true
	a.least = least
	s.ev.push(s.now+aifs+int64(least)*slot, evTxStart, 0)
}

// txStart gives the medium to the contender whose countdown ended, one of them
// if there are several, and forms its PPDU from what is queued now.
func (s *Sim) txStart() {
	a := &s.air
	a.contend = false
	var winner *station
	ready, found := 0, false
	count := func(st *station, backoff *int) {
		if *backoff == noBackoff {
			return
		}
		*backoff -= a.least
		if *backoff > 0 {
			return
		}
		if ready++; ready == 1 || s.rng.IntN(ready) == 0 {
			winner, found = st, true
		}
	}
	if a.queued > 0 && !s.drv.down {
		count(nil, &a.backoff)
	}
	for _, st := range a.uplinks {
		count(st, &st.backoff)
	}
	switch {
	case !found: // it has left
		s.contend()
		return
	case winner == nil:
		a.backoff = noBackoff
		s.txDown()
	default:
		i := slices.Index(a.uplinks, winner)
		a.uplinks = slices.Delete(a.uplinks, i, i+1)
		winner.wantsAir, winner.backoff = false, noBackoff
		s.txUp(winner)
	}
	a.busy = true
	s.starvedChanged()
	s.ev.push(s.now+a.duration, evTxEnd, 0)
}

// txDown forms an A-MPDU for the peer whose turn it is.
func (s *Sim) txDown() {
	a := &s.air
	st, ac := a.nextPeer()
	q := &st.firmware[ac]
	kbps := int64(st.kbps)
	limit := int32(maxSubframes)
	dur := int64(preamble)
	if st.spec.Legacy {
		limit, dur = 1, preambleAG
	}
	for a.frames.n < limit && q.n > 0 {
		t := airtimeNs(s.packets.all[q.head].ipBytes, kbps)
		if a.frames.n > 0 && dur+t > maxAirtime {
			break
		}
		dur += t
		i := s.packets.pop(q)
		if p := &s.packets.all[i]; p.sequence == 0 {
			st.sequence[ac]++
			p.sequence = st.sequence[ac]
		}
		s.packets.push(&a.frames, i)
	}
	a.queued -= a.frames.n
	if q.n > 0 {
		a.peers[ac].push(st)
	} else {
		st.queuedInFw[ac] = false
	}
	a.sta, a.ac, a.uplink = st, ac, false
	a.duration = dur + sifsAck
}

// nextPeer takes the peer whose turn it is from the highest access category
// with frames. There must be some.
func (a *air) nextPeer() (*station, int) {
	for ac := range a.peers {
		for a.peers[ac].n > 0 {
			st := a.peers[ac].pop()
			if st.firmware[ac].n > 0 {
				return st, ac
			}
			st.queuedInFw[ac] = false // it has left
		}
	}
	panic("radiosim: frames in firmware without a peer")
}

// txUp sends a station's TCP ACKs and ping replies.
func (s *Sim) txUp(st *station) {
	a := &s.air
	// ACKs are cumulative: those that do not fit are thinned out.
	a.acks = min(st.acks, maxSubframes)
	dur := int64(preamble)
	if st.spec.Legacy {
		dur = preambleAG
	}
	dur += int64(a.acks) * airtimeNs(tcpAckBytes, int64(st.kbps))
	dur += int64(st.replies.n) * airtimeNs(pingBytes, int64(st.kbps))
	st.acks = 0
	st.repliesOnAir = st.replies.n
	st.ackingOnAir, st.acking = st.acking, st.ackingOnAir[:0]
	for _, f := range st.ackingOnAir {
		f.acking = false
		f.onAir = f.received
	}
	a.sta, a.uplink = st, true
	a.duration = dur + sifsAck
}

// airtimeNs is how long one MPDU with an IP packet of so many bytes takes.
func airtimeNs(ipBytes int32, kbps int64) int64 {
	return (int64(ipBytes) + mpduOverhead) * 8 * 1e6 / kbps
}

// txEnd delivers the PPDU that was on the air.
func (s *Sim) txEnd() {
	a := &s.air
	a.busy = false
	st := a.sta
	st.airtimeNs += a.duration
	s.stats.airtimeNs += a.duration
	if a.uplink {
		s.upEnd(st)
	} else {
		s.downEnd(st)
	}
	a.sta = nil
	s.starvedChanged()
	if a.uplink && s.drv.done.n == 0 && !s.drv.down {
		s.pushPending()
	}
	s.completionsReady()
	s.contend()
}

func (s *Sim) downEnd(st *station) {
	a := &s.air
	if !s.opt.Blind {
		s.registerAirtime(&st.txq[a.ac], int32(a.duration/us))
	}
	if st.ppdus++; st.ppdus >= rateReport || st.reportedKbps == 0 {
		st.ppdus = 0
		st.rateSeen = st.kbps
	}
	var again fifo
	held := &st.held[a.ac]
	for i := s.packets.pop(&a.frames); i != 0; i = s.packets.pop(&a.frames) {
		switch {
		case !st.joined:
			s.count.dropped++
		case st.spec.Loss > 0 && s.rng.Float64() < st.spec.Loss:
			s.packets.push(&again, i)
			continue
		case again.n == 0 && len(*held) == 0:
			s.deliver(s.deliverable(i))
		default:
			hold(held, s.deliverable(i))
		}
		s.completed(i)
	}
	s.requeue(st, a.ac, &again)
	s.release(st, a.ac)
}

// hold keeps what came after a lost MPDU, in order, as the receiver's reorder
// buffer does.
func hold(held *[]delivery, d delivery) {
	at := len(*held)
	for at > 0 && (*held)[at-1].sequence > d.sequence {
		at--
	}
	*held = slices.Insert(*held, at, d)
}

// release delivers what is in order: everything before the first MPDU that
// must be sent again, which is in front of the queue.
func (s *Sim) release(st *station, ac int) {
	held := &st.held[ac]
	if len(*held) == 0 {
		return
	}
	missing := uint32(math.MaxUint32)
	if head := st.firmware[ac].head; head != 0 && s.packets.all[head].sequence != 0 {
		missing = s.packets.all[head].sequence
	}
	n := 0
	for n < len(*held) && (*held)[n].sequence < missing {
		s.deliver((*held)[n])
		n++
	}
	*held = slices.Delete(*held, 0, n)
}

// requeue puts lost frames back in front of their peer's queue.
func (s *Sim) requeue(st *station, ac int, again *fifo) {
	if again.n == 0 {
		return
	}
	q := &st.firmware[ac]
	if q.n > 0 {
		s.packets.all[again.tail].next = q.head
		again.tail = q.tail
	}
	s.air.queued += again.n
	again.n += q.n
	*q = *again
	if !st.queuedInFw[ac] {
		st.queuedInFw[ac] = true
		s.air.peers[ac].push(st)
	}
}

func (s *Sim) upEnd(st *station) {
	for range st.repliesOnAir {
		sent := st.replies.pop()
		s.stats.ping(s.now + wiredDelay - sent)
	}
	for _, f := range st.ackingOnAir {
		f.onAir.due = s.now + s.wan/2
		f.acks.push(f.onAir)
		s.ev.push(f.onAir.due, evAck, f.index)
	}
	st.ackingOnAir = st.ackingOnAir[:0]
}
