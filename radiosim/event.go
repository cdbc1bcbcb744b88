package radiosim

// eventKind says what happens; the argument of an event is the index of the
// flow, station or scenario change it happens to.
type eventKind uint8

const (
	evArrive     eventKind = iota // packets of a flow reach the access point
	evAck                         // an acknowledgement reaches a flow's sender
	evRTO                         // a flow's retransmission timer
	evApp                         // an application-limited flow writes
	evPing                        // a ping is due
	evTurnaround                  // a station is done with what it received
	evTxStart                     // contention for the medium ends
	evTxEnd                       // the PPDU on the air ends
	evService                     // the host looks at its completions
	evScenario                    // a station joins, leaves or changes rate
	evFirmware                    // the firmware is up again after a crash
)

// event is due at a virtual time in nanoseconds. Events due at the same time
// run in the order they were scheduled.
type event struct {
	at   int64
	seq  uint64
	arg  int32
	kind eventKind
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

// eventQueue is a binary heap of plain structs: container/heap would allocate
// an interface for each.
type eventQueue struct {
	heap []event
	seq  uint64
}

func (q *eventQueue) push(at int64, kind eventKind, arg int32) {
	q.seq++
	e := event{at: at, seq: q.seq, kind: kind, arg: arg}
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(&q.heap[up]) {
			break
		}
		q.heap[i] = q.heap[up]
		i = up
	}
	q.heap[i] = e
}

// pop removes the first event. The queue must not be empty.
func (q *eventQueue) pop() event {
	first := q.heap[0]
	n := len(q.heap) - 1
	last := q.heap[n]
	q.heap = q.heap[:n]
	if n == 0 {
		return first
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && q.heap[c+1].before(&q.heap[c]) {
			c++
		}
		if !q.heap[c].before(&last) {
			break
		}
		q.heap[i] = q.heap[c]
		i = c
	}
	q.heap[i] = last
	return first
}
