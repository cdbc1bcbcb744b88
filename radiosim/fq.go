package radiosim

// fq is the state that all queues of the radio share (include/net/fq.h). Each
// flow has a bucket of its own: collisions do not happen.
type fq struct {
	backlog     int32 // packets
	memory      int32 // bytes of truesize
	memoryLimit uint32
	limit       uint32
	quantum     uint32
	overlimit   uint32
	overmemory  uint32
}

const fqFlows = 4096

func (q *fq) init() {
	*q = fq{memoryLimit: 16 << 20, limit: 8192, quantum: 300}
}

// flowChain is a list of flows, singly linked: only its ends are touched.
type flowChain struct{ head, tail *flow }

func (l *flowChain) push(f *flow) {
	f.chainNext = nil
	if l.head == nil {
		l.head = f
	} else {
		l.tail.chainNext = f
	}
	l.tail = f
}

func (l *flowChain) pop() *flow {
	f := l.head
	l.head = f.chainNext
	f.chainNext = nil
	return f
}

// txq is one station's queue for one access category (struct txq_info).
type txq struct {
	sta      *station
	ac       int
	newFlows flowChain
	oldFlows flowChain

	backlogBytes   int64
	backlogPackets int32
	// What the aqm file reports; all count up.
	flows, drops, overlimit uint32
	txBytes, txPackets      uint32

	dirty bool // a dequeue met a stopped queue (IEEE80211_TXQ_DIRTY)

	// On the list of active queues (sched.go).
	scheduled  bool
	prev, next *txq
	round      uint16
	lastActive int64
}

// fqEnqueue is fq_tin_enqueue.
func (s *Sim) fqEnqueue(f *flow, i int32) {
	p, t := &s.packets.all[i], f.txq
	p.enqueued = s.now
	f.backlog += int64(p.skbBytes())
	t.backlogBytes += int64(p.skbBytes())
	t.backlogPackets++
	s.fq.memory += p.truesize()
	s.fq.backlog++
	if !f.chained {
		f.chained = true
		f.deficit = int64(s.fq.quantum)
		t.flows++
		t.newFlows.push(f)
	}
	s.packets.push(&f.queue, i)

	oom := uint32(s.fq.memory) > s.fq.memoryLimit
	for uint32(s.fq.backlog) > s.fq.limit || oom {
		fat := s.fattestFlow()
		if fat == nil {
			return
		}
		for range max(1, min(32, fat.queue.n/2)) {
			s.drop(s.flowDequeue(fat))
		}
		fat.txq.overlimit++
		s.fq.overlimit++
		if oom {
			s.fq.overmemory++
			oom = uint32(s.fq.memory) > s.fq.memoryLimit
		}
	}
}

func (s *Sim) fattestFlow() (fat *flow) {
	var most int64
	for _, f := range s.flows {
		if f.backlog > most {
			fat, most = f, f.backlog
		}
	}
	return fat
}

// flowDequeue takes a flow's first packet out of the accounts, or returns 0.
func (s *Sim) flowDequeue(f *flow) int32 {
	i := s.packets.pop(&f.queue)
	if i == 0 {
		return 0
	}
	p := &s.packets.all[i]
	f.backlog -= int64(p.skbBytes())
	f.txq.backlogBytes -= int64(p.skbBytes())
	f.txq.backlogPackets--
	s.fq.memory -= p.truesize()
	s.fq.backlog--
	return i
}

// fqDequeue is fq_tin_dequeue: new flows first, deficit round robin, CoDel.
func (s *Sim) fqDequeue(t *txq) int32 {
	for {
		list := &t.newFlows
		if list.head == nil {
			list = &t.oldFlows
			if list.head == nil {
				return 0
			}
		}
		f := list.head
		if f.deficit <= 0 {
			f.deficit += int64(s.fq.quantum)
			t.oldFlows.push(list.pop())
			continue
		}
		i := s.codelDequeue(f)
		if i == 0 {
			list.pop()
			// A pass through the old flows keeps a sparse flow from starving them.
			if list == &t.newFlows && t.oldFlows.head != nil {
				t.oldFlows.push(f)
			} else {
				f.chained = false
			}
			continue
		}
		bytes := s.packets.all[i].skbBytes()
		f.deficit -= int64(bytes)
		t.txBytes += uint32(bytes)
		t.txPackets++
		return i
	}
}

// fqPurge drops whatever a queue holds.
func (s *Sim) fqPurge(t *txq) {
	for _, list := range []*flowChain{&t.newFlows, &t.oldFlows} {
		for list.head != nil {
			f := list.pop()
			f.chained = false
			for f.queue.n > 0 {
				s.drop(s.flowDequeue(f))
			}
		}
	}
}
