package status

import (
	"math"
	"time"

	"airtuned/tuner"
)

// chartSeconds is how far charts look back: as far as the daemon remembers.
const chartSeconds = 300

// series are what charts show.
const (
	residency = iota // us
	throughput
	pending
	limits
	seriesN
)

// chart is what a radio did, second by second. A point is void unless it is of
// the second it is asked for.
type chart struct {
	points [chartSeconds]point
	// base is where the present second's traffic is counted from, last the latest
	// status.
	base, last mark
}

type point struct {
	second int64
	values [seriesN]float64
}

// mark is how much was sent up to when.
type mark struct {
	at           time.Time
	bytes, drops uint64
}

// at is the point of a second, a new one if need be.
func (c *chart) at(second int64) *point {
	p := &c.points[second%chartSeconds]
	if p.second != second {
		*p = point{second: second}
		for i := range p.values {
			p.values[i] = math.NaN()
		}
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
	c.last = mark{*r.WindowEnd, r.Total.TxBytes, r.Total.Drops}
	p.values[residency] = float64(r.ResidencyUs.Mean)
	p.values[pending] = float64(r.Pending.AirtimeUs)
	if be, ok := r.AQL.Limits["BE"]; ok {
		p.values[limits] = float64(be.HighUs)
	}
	// What one window sent says less than what was sent since the last second.
	p.values[throughput] = float64(r.ThroughputKbps)
	if us := c.since(); us > 0 && c.last.bytes >= c.base.bytes {
		p.values[throughput] = float64(c.last.bytes-c.base.bytes) * 8000 / us
	}
}

// since is the time that base and last are apart, in microseconds; 0 if one is
// not known.
func (c *chart) since() float64 {
	if c.base.at.IsZero() {
		return 0
	}
	return float64(c.last.at.Sub(c.base.at).Microseconds())
}

// dropsPerS is how many packets were dropped lately, by second.
func (c *chart) dropsPerS() float64 {
	us := c.since()
	if us <= 0 || c.last.drops < c.base.drops {
		return 0
	}
	return float64(c.last.drops-c.base.drops) / us * 1e6
}

// fill takes in what the daemon remembers.
func (c *chart) fill(past tuner.Past, now time.Time) {
	column := map[string]int{}
	for i, name := range past.Columns {
		column[name] = i
	}
	for _, w := range past.Windows {
		get := func(name string) float64 {
			i, ok := column[name]
			if !ok || i >= len(w) {
				return math.NaN()
			}
			return float64(w[i])
		}
		ago, window := get("ms_ago"), get("window_ms")
		if !(ago >= 0 && ago < 1000*(chartSeconds-1) && window > 0) {
			continue
		}
		p := c.at(now.Add(-time.Duration(ago) * time.Millisecond).Unix())
		p.values[pending], p.values[limits] = get("pending_us"), get("high_us")
		p.values[throughput] = get("tx_bytes") * 8 / window
		// By Little's law, as the daemon does; without frames, pending airtime.
		switch packets, frames := get("tx_packets"), get("frames"); {
		case packets > 0 && frames > 0:
			p.values[residency] = frames * window * 1000 / packets
		case packets > 0:
			p.values[residency] = p.values[pending]
		}
	}
	c.base, c.last = mark{}, mark{}
}

// values are the latest n seconds of a series; NaN where nothing is known.
func (c *chart) values(series, n int, now time.Time) []float64 {
	out := make([]float64, n)
	for i := range out {
		second := now.Unix() - int64(n-1-i)
		out[i] = math.NaN()
		if p := &c.points[second%chartSeconds]; p.second == second && n <= chartSeconds {
			out[i] = p.values[series]
		}
	}
	return out
}
