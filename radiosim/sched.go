package radiosim

// The airtime scheduler of mac80211 (net/mac80211/tx.c and sta_info.c):
// deficit round robin in airtime over the stations that have something to send.

const (
	airtimeWeight   = 256      // us; IEEE80211_DEFAULT_AIRTIME_WEIGHT
	airtimeActive   = 100 * ms // AIRTIME_ACTIVE_DURATION
	airtimeUseTx    = 1
	airtimeUseRx    = 2
	numHwQueues     = 16
	queueOfChannel  = 15 // ath10k keeps the last one for off-channel frames
	queueOfVif      = 0  // vdev_id % 15
	stopReasonDrive = 1  // bit 0: IEEE80211_QUEUE_STOP_REASON_DRIVER
)

// activeList is the list of queues to be served (local->active_txqs[ac]).
type activeList struct {
	head, tail *txq
	n          uint32
	round      uint16
	capped     bool // the phy cap is reached, nothing is served
}

func (l *activeList) pushFront(t *txq) {
	t.prev, t.next = nil, l.head
	if l.head == nil {
		l.tail = t
	} else {
		l.head.prev = t
	}
	l.head = t
	t.scheduled = true
	l.n++
}

func (l *activeList) pushBack(t *txq) {
	t.prev, t.next = l.tail, nil
	if l.tail == nil {
		l.head = t
	} else {
		l.tail.next = t
	}
	l.tail = t
	t.scheduled = true
	l.n++
}

func (l *activeList) remove(t *txq) {
	if t.prev == nil {
		l.head = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.tail = t.prev
	} else {
		t.next.prev = t.prev
	}
	t.prev, t.next = nil, nil
	t.scheduled = false
	l.n--
}

// scheduleTxq puts a queue on the list of active ones
// (__ieee80211_schedule_txq). One without packets stays for a while if it owes
// airtime (ieee80211_txq_keep_active), so that nobody gets rid of a debt by a
// pause.
func (s *Sim) scheduleTxq(t *txq) {
	if t.scheduled {
		return
	}
	hasQueue := t.backlogPackets > 0
	if a := &t.sta.airtime[t.ac]; !hasQueue && (a.deficit-a.pending >= 0 || s.now-t.lastActive > airtimeActive) {
		return
	}
	l := &s.active[t.ac]
	if hasQueue && s.airtimeFlags != 0 {
		l.pushFront(t)
	} else {
		l.pushBack(t)
	}
	if hasQueue {
		t.lastActive = s.now
	}
}

// scheduleStart begins a round (ieee80211_txq_schedule_start). The kernel says
// "capped" with round 0 and so counts from 1 again, which makes it skip, once,
// a queue last served in another round 1; the completions of a real driver come
// in smaller lots and paper over that, so it is left out here.
func (s *Sim) scheduleStart(ac int) {
	l := &s.active[ac]
	l.capped = !s.phyAirtimeCheck(ac)
	l.round++
}

// nextTxq takes the queue to be served next off the list, or returns nil
// (ieee80211_next_txq).
func (s *Sim) nextTxq(ac int) *txq {
	l := &s.active[ac]
	if l.capped {
		return nil
	}
	var first *txq
	eligible := false
	for {
		t := l.head
		if t == nil {
			return nil
		}
		if t == first {
			if !eligible {
				return nil
			}
			eligible = false
		}
		if first == nil {
			first = t
		}
		a := &t.sta.airtime[ac]
		check := s.txqAirtimeCheck(t)
		if check {
			eligible = true
		}
		deficit := a.deficit - a.pending
		if deficit < 0 {
			a.deficit += airtimeWeight
		}
		if deficit < 0 || !check {
			if l.tail != t {
				l.remove(t)
				l.pushBack(t)
			}
			continue
		}
		if t.round == l.round {
			return nil
		}
		l.remove(t)
		t.round = l.round
		return t
	}
}

// txDequeue takes the next packet of a queue for the driver, or returns 0
// (ieee80211_tx_dequeue).
func (s *Sim) txDequeue(t *txq) int32 {
	if !s.txqAirtimeCheck(t) {
		return 0
	}
	if s.queueStopped() {
		t.dirty = true
		return 0
	}
	i := s.fqDequeue(t)
	if i != 0 {
		s.accountPending(t, &s.packets.all[i])
	}
	return i
}

// registerAirtime books airtime a station has used
// (ieee80211_sta_register_airtime).
func (s *Sim) registerAirtime(t *txq, us int32) {
	a := &t.sta.airtime[t.ac]
	a.tx += uint64(us)
	if s.airtimeFlags&airtimeUseTx != 0 && s.now-t.lastActive <= airtimeActive {
		a.deficit -= us
	}
}
