package radiosim

// driver is ath10k's HTT transmit queue (drivers/net/wireless/ath/ath10k/
// htt_tx.c and mac.c, push mode): a fixed number of slots shared by all peers.
type driver struct {
	pending, max int32
	limit        int32 // tx_queue_limit; 0: none
	// stopped queues, by hardware queue: ath10k stops all of them when it is
	// full and wakes only those in use, so the others stay stopped for ever.
	stopped [numHwQueues]bool
	down    bool // the firmware has crashed and is not up yet

	done     fifo // frames off the air which the host has not looked at
	serviced bool // evService is scheduled
}

func (s *Sim) queueStopped() bool { return s.drv.stopped[queueOfVif] }

func (s *Sim) stopQueues() {
	for q := range s.drv.stopped {
		s.drv.stopped[q] = true
	}
	s.stopChanged()
}

func (s *Sim) wakeQueues() {
	s.drv.stopped[queueOfVif] = false
	s.drv.stopped[queueOfChannel] = false
	s.stopChanged()
}

// push moves one packet of a queue into the driver; false when there was none
// or no place. ath10k takes the slot first; taking the packet first spares a
// stop and a wake at each try on a full queue, which no time would pass for.
func (s *Sim) push(t *txq) bool {
	if s.drv.limit > 0 && s.drv.pending >= s.drv.limit {
		return false
	}
	i := s.txDequeue(t)
	if i == 0 {
		return false
	}
	s.packets.all[i].pushed = s.now
	s.drv.pending++
	if s.drv.pending == s.drv.max {
		s.stopQueues()
	}
	s.toFirmware(t, i)
	return true
}

// pushTxq pushes what it can of a queue and returns it to the scheduler.
func (s *Sim) pushTxq(t *txq) (pushed bool) {
	for s.push(t) {
		pushed = true
	}
	s.scheduleTxq(t)
	return pushed
}

// wakeTxq is ath10k_mac_op_wake_tx_queue: it serves the first queue in line,
// whichever was woken. The driver stops at an empty one that only keeps its
// place; here the next gets its turn, lest a packet waits for another to come.
func (s *Sim) wakeTxq(ac int) {
	s.scheduleStart(ac)
	for {
		t := s.nextTxq(ac)
		if t == nil || s.pushTxq(t) {
			return
		}
	}
}

// pushPending is ath10k_mac_tx_push_pending, called at the end of a poll. The
// bus takes what was pushed and interrupts again, so there is another poll
// until nothing more can be pushed: each gives a station that owes airtime some
// of it back.
func (s *Sim) pushPending() {
	room := s.drv.max / 2
	if s.drv.limit > 0 {
		room = min(room, s.drv.limit)
	}
	for pushed := true; pushed && s.drv.pending < room; {
		pushed = false
		for ac := range s.active {
			if s.active[ac].head == nil {
				continue
			}
			s.scheduleStart(ac)
			for t := s.nextTxq(ac); t != nil; t = s.nextTxq(ac) {
				pushed = s.pushTxq(t) || pushed
			}
		}
	}
}

// completed is called by the firmware for each frame it is done with.
func (s *Sim) completed(i int32) { s.packets.push(&s.drv.done, i) }

// completionsReady lets the host see the completions: at once, or when it next
// looks.
func (s *Sim) completionsReady() {
	if s.drv.done.n == 0 {
		return
	}
	if s.svc <= 0 {
		s.service()
		return
	}
	if !s.drv.serviced {
		s.drv.serviced = true
		s.ev.push((s.now/s.svc+1)*s.svc, evService, 0)
	}
}

// service is the host's visit: free slots and airtime, then refill.
func (s *Sim) service() {
	s.drv.serviced = false
	woken := false
	for i := s.packets.pop(&s.drv.done); i != 0; i = s.packets.pop(&s.drv.done) {
		p := &s.packets.all[i]
		t := s.flows[p.flow].txq
		s.completePending(t, p)
		if s.opt.Blind { // ath10k_mac_update_airtime: 6 Mb/s if the rate is not known
			s.registerAirtime(t, (p.skbBytes()+38)*8*10/60+100)
		}
		s.stats.residency(s.now - p.pushed)
		s.packets.put(i)
		s.drv.pending--
		if s.drv.pending == s.drv.max-1 && !s.drv.down {
			s.wakeQueues()
			woken = true
		}
	}
	for _, st := range s.assoc {
		st.reportRate()
	}
	if s.drv.down {
		return
	}
	s.pushPending()
	if woken {
		s.wakeDirty()
	}
	s.starvedChanged()
}

// wakeDirty serves the queues that met the stop (ieee80211_wake_txqs).
func (s *Sim) wakeDirty() {
	for ac := range s.active {
		for _, st := range s.assoc {
			if t := &st.txq[ac]; t.dirty {
				t.dirty = false
				s.wakeTxq(ac)
			}
		}
	}
}
