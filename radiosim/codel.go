package radiosim

import "math"

// CoDel as mac80211 sets it up for every station (net/mac80211/sta_info.c):
// 20 ms because an aggregate takes a few milliseconds on the air.
const (
	codelTarget   = 20 * ms
	codelInterval = 100 * ms
)

// codel is the state of one flow (include/net/codel.h, struct codel_vars).
type codel struct {
	dropping   bool
	count      uint32
	lastCount  uint32
	dropNext   int64
	firstAbove int64 // when the sojourn time will have been too long for an interval
}

// overdue is codel_should_drop: true once packets have waited longer than the
// target for a whole interval. backlog is what the flow holds without p.
func (c *codel) overdue(p *packet, backlog int64, now int64) bool {
	if p == nil || now-p.enqueued < codelTarget || backlog == 0 {
		c.firstAbove = 0
		return false
	}
	if c.firstAbove == 0 {
		c.firstAbove = now + codelInterval
		return false
	}
	return now > c.firstAbove
}

// next is the control law: the interval shrinks with the square root of the
// number of drops.
func (c *codel) next(from int64) int64 {
	return from + int64(float64(codelInterval)/math.Sqrt(float64(c.count)))
}

// codelDequeue takes the next packet of a flow, dropping what CoDel drops
// (include/net/codel_impl.h, codel_dequeue). It returns 0 when there is none.
func (s *Sim) codelDequeue(f *flow) int32 {
	c, now := &f.codel, s.now
	i := s.flowDequeue(f)
	if i == 0 {
		c.firstAbove, c.dropping = 0, false
		return 0
	}
	drop := c.overdue(s.packet(i), f.backlog, now)
	switch {
	case c.dropping && !drop:
		c.dropping = false
	case c.dropping:
		for c.dropping && now >= c.dropNext {
			c.count++
			i = s.codelDrop(f, i)
			if !c.overdue(s.packet(i), f.backlog, now) {
				c.dropping = false
			} else {
				c.dropNext = c.next(c.dropNext)
			}
		}
	case drop:
		i = s.codelDrop(f, i)
		c.overdue(s.packet(i), f.backlog, now)
		c.dropping = true
		// A queue that comes back soon goes on near the rate that held it.
		if again := c.count - c.lastCount; again > 1 && now-c.dropNext < 16*codelInterval {
			c.count = again
		} else {
			c.count = 1
		}
		c.lastCount = c.count
		c.dropNext = c.next(now)
	}
	return i
}

// codelDrop drops packet i and returns the one behind it.
func (s *Sim) codelDrop(f *flow, i int32) int32 {
	f.txq.drops++
	s.drop(i)
	return s.flowDequeue(f)
}
