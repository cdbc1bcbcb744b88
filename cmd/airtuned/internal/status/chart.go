package status

import (
	"slices"
	"time"

	"airtuned/tuner"
)

// chartSeconds is how far charts look back: as far as the daemon remembers.
const chartSeconds = 300

// What charts show, and unknown where nothing is known. Whole numbers: floats are
// big and slow on routers.
const (
	residency  = 1 + iota // us
	throughput            // kb/s
	pending               // us
	limits                // us
	columns

	unknown = -1
)

// chart is what a radio did, second by second.
type chart struct {
	// points are of columns numbers each, the first of which is its second.
	points []int64
	// base is where the present second's traffic is counted from, last the latest
	// status.
	base, last mark
}

// mark is how much was sent up to when.
type mark struct {
	us           int64 // 0 if it is not known
	bytes, drops uint64
}

// at is the point of a second, a new one if need be.
func (c *chart) at(second int64) []int64 {
	if c.points == nil {
		c.points = make([]int64, chartSeconds*columns)
	}
	p := c.points[second%chartSeconds*columns:][:columns]
	if p[0] != second {
		for i := range p {
			p[i] = unknown
		}
		p[0] = second
		c.base = c.last
	}
	return p
}

// take takes in a status.
func (c *chart) take(r *tuner.Status, now time.Time) {
	if r.WindowEnd == nil {
		return
	}
	p := c.at(now.Unix())
	c.last = mark{r.WindowEnd.UnixMicro(), r.Total.TxBytes, r.Total.Drops}
	p[residency] = r.ResidencyUs.Mean
	p[pending] = max(r.Pending.AirtimeUs, 0)
	if be, ok := r.AQL.Limits["BE"]; ok {
		p[limits] = int64(be.HighUs)
	}
	// What one window sent says less than what was sent since the last second.
	p[throughput] = int64(r.ThroughputKbps)
	if us := c.since(); us > 0 && c.last.bytes >= c.base.bytes {
		p[throughput] = int64(c.last.bytes-c.base.bytes) * 8000 / us
	}
}

// since is the time that base and last are apart, in microseconds; 0 if one is
// not known.
func (c *chart) since() int64 {
	if c.base.us == 0 {
		return 0
	}
	return c.last.us - c.base.us
}

// dropsPerS is how many packets were dropped lately, by second.
func (c *chart) dropsPerS() int64 {
	us := c.since()
	if us <= 0 || c.last.drops < c.base.drops {
		return 0
	}
	return int64(c.last.drops-c.base.drops) * 1e6 / us
}

// fill takes in what the daemon remembers.
func (c *chart) fill(past tuner.Past, now time.Time) {
	for _, w := range past.Windows {
		get := func(name string) int64 {
			i := slices.Index(past.Columns, name)
			if i < 0 || i >= len(w) {
				return unknown
			}
			return max(w[i], 0)
		}
		ago, window := get("ms_ago"), get("window_ms")
		if ago < 0 || ago >= 1000*(chartSeconds-1) || window <= 0 {
			continue
		}
		p := c.at((now.UnixMilli() - ago) / 1000)
		p[pending], p[limits], p[throughput] = get("pending_us"), get("high_us"), get("tx_bytes")*8/window
		// By Little's law, as the daemon does; without frames, pending airtime.
		switch packets, frames := get("tx_packets"), get("frames"); {
		case packets > 0 && frames > 0:
			p[residency] = frames * window * 1000 / packets
		case packets > 0:
			p[residency] = p[pending]
		}
	}
	c.base, c.last = mark{}, mark{}
}

// values are the latest n seconds of a series.
func (c *chart) values(series, n int, now time.Time) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = unknown
		second := now.Unix() - int64(n-1-i)
		if c.points != nil && c.points[second%chartSeconds*columns] == second {
			out[i] = c.points[int(second%chartSeconds)*columns+series]
		}
	}
	return out
}
