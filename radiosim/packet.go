package radiosim

// packet is one frame on its way to a station. Packets live in one slice and
// are linked by index, so that moving one through five queues costs nothing
// and the garbage collector never sees them. Index 0 is no packet.
type packet struct {
	next     int32
	flow     int32
	number   uint32 // the sender's count of packets, never reused
	sequence uint32 // of the MPDU, once it was on the air
	ipBytes  int32
	estUs    uint16 // what AQL accounted for it
	sent     int64  // by the sender
	enqueued int64  // into fq
	pushed   int64  // into the driver
}

// skbBytes is the length mac80211 sees: 802.11 QoS header and LLC/SNAP added.
func (p *packet) skbBytes() int32 { return p.ipBytes + 34 }

// truesize is what the packet costs in fq's memory limit (skb->truesize of a
// received frame: a 2 KiB buffer with its overhead, or a small one).
func (p *packet) truesize() int32 {
	if p.ipBytes > 512 {
		return 2304
	}
	return 768
}

// packets hands out packets.
type packets struct {
	all  []packet
	free int32
}

func newPackets(n int) packets { return packets{all: make([]packet, 1, n)} }

func (ps *packets) get() int32 {
	if i := ps.free; i != 0 {
		ps.free = ps.all[i].next
		return i
	}
	ps.all = append(ps.all, packet{})
	return int32(len(ps.all) - 1)
}

func (ps *packets) put(i int32) {
	ps.all[i].next = ps.free
	ps.free = i
}

// fifo is a queue of packets.
type fifo struct{ head, tail, n int32 }

func (ps *packets) push(q *fifo, i int32) {
	ps.all[i].next = 0
	if q.n == 0 {
		q.head = i
	} else {
		ps.all[q.tail].next = i
	}
	q.tail = i
	q.n++
}

// pop returns 0 when the queue is empty.
func (ps *packets) pop(q *fifo) int32 {
	if q.n == 0 {
		return 0
	}
	i := q.head
	q.head = ps.all[i].next
	q.n--
	if q.n == 0 {
		q.head, q.tail = 0, 0
	}
	return i
}

// ring is a queue of small values which allocates only to grow.
type ring[T any] struct {
	buf  []T
	head int
	n    int
}

func (r *ring[T]) push(v T) {
	if r.n == len(r.buf) {
		grown := make([]T, max(8, 2*len(r.buf)))
		for i := range r.n {
			grown[i] = r.buf[(r.head+i)%len(r.buf)]
		}
		r.buf, r.head = grown, 0
	}
	r.buf[(r.head+r.n)%len(r.buf)] = v
	r.n++
}

func (r *ring[T]) pop() T {
	v := r.buf[r.head]
	r.head = (r.head + 1) % len(r.buf)
	r.n--
	return v
}

func (r *ring[T]) front() *T { return &r.buf[r.head] }

func (r *ring[T]) clear() { r.head, r.n = 0, 0 }
