package policies

import (
	"bytes"
	"math"
	"time"

	"airtuned/wlan"
)

const (
	// costMemory is the time over which a station's airtime per byte is
	// averaged. It must be long against a trial of a limit, so that a limit
	// that wastes air by small aggregates is seen to deliver less.
	costMemory = 10 * time.Second
	// costStep is a change of the airtime per byte, in ln, beyond what worse
	// aggregation does. It is only looked for where a station had stepShare of
	// the window, because what is booked is not quite what was sent in it.
	costStep  = 0.7
	stepShare = 0.02
	// rateStep is a change of the rate, in ln, that is more than one MCS index
	// of the upper half.
	rateStep = 0.2
)

// What a byte costs in full aggregates: those of 802.11n and 802.11ac have up to
// 64 frames, drivers and regulation end them at 4 ms or so, and between two of
// them the medium is idle, contended for, and takes preambles and a block ack.
const (
	aggregateFrames = 64
	aggregateUs     = 4000
	accessUs        = 250
)

// byteUs is the airtime of a byte in full aggregates, in microseconds.
func byteUs(kbps uint64) float64 {
	perByte := 8000 / float64(kbps)
	return perByte * (1 + accessUs/min(aggregateUs, aggregateFrames*mtuBytes*perByte))
}

// meter weighs what was sent to each station with that station's airtime per
// byte. Bytes alone would measure who gets the air, booked airtime would count
// waste as delivery: this is the airtime the bytes would have taken in full
// aggregates, so that it does not matter who gets the air, only how it is used.
//
// Booked airtime would do for that only if drivers measured it: ath10k adds 16 us
// to each frame (ath10k_mac_update_airtime), which makes a fast station's bytes
// twice as dear. Where the rate is known it decides; booked airtime then only
// tells that the rate has changed since, and stands in where there is none.
type meter struct {
	// shift is by how much, in ln, the last window is more than it would have
	// been in the weights of the window before. What was measured earlier is
	// brought up to date by adding it.
	shift float64
	// stepped is set when a station's rate changed: the past cannot be brought
	// up to date then.
	stepped bool
	// resourced is set when a weight comes from elsewhere than before, which says
	// nothing about the link.
	resourced bool

	// strange is the part of the airtime, 0 to 1, that went to stations not
	// acquainted.
	strange float64

	costs, spare []cost // sorted by address, as Observation.Stations
}

// cost is what one station's bytes cost.
type cost struct {
	mac wlan.MAC
	// airtimeUs over txBytes are sums that forget with costMemory.
	airtimeUs, txBytes float64
	// usPerByte is the weight in use, 0 when nothing is known.
	usPerByte float64
	// rateKbps is the rate the weight is of, bookedThen what a byte was booked at
	// when that rate was new; 0 if unknown.
	rateKbps   uint64
	bookedThen float64
	// acquainted is set for those that had traffic when L was found.
	acquainted bool
	// busy counts down the windows since packets last waited for it.
	busy int
	// ownUs is the limit that holds leastFrames of its frames.
	ownUs float64
	// odd counts windows in a row whose bytes cost something else altogether:
	// two of them are a new rate.
	odd int
	// pendingUs is its airtime in the hardware when the last window ended.
	pendingUs  float64
	hasPending bool
}

// acquaint remembers which stations have traffic.
func (m *meter) acquaint(stations []Station) {
	for i := range stations {
		m.costs[i].acquainted = stations[i].Active
	}
}

// reset forgets all weights.
func (m *meter) reset() {
	for i := range m.costs {
		m.costs[i] = cost{mac: m.costs[i].mac}
	}
}

// delivered returns the airtime delivered in a window, in microseconds (in
// bytes, if nothing is known about any station): what was sent to the hardware
// less what the hardware queue grew by. It may be negative.
func (m *meter) delivered(o *Observation) float64 {
	sent := m.sent(o)
	if !m.known() {
		return sent
	}
	return sent - m.grown(o)
}

// grown is by how much pending airtime is more than at the end of the window
// before, in the meter's weights.
func (m *meter) grown(o *Observation) float64 {
	grown := 0.0
	for i := range o.Stations {
		pending := 0.0
		for _, us := range o.Stations[i].PendingUs {
			pending += max(float64(us), 0)
		}
		if c := &m.costs[i]; c.hasPending {
			grown += (pending - c.pendingUs) * c.overhead()
		}
		m.costs[i].pendingUs, m.costs[i].hasPending = pending, true
	}
	return grown
}

// overhead is what the meter counts for AQL's estimate, which leaves contention
// out.
func (c *cost) overhead() float64 {
	if c.rateKbps == 0 {
		return 1
	}
	return byteUs(c.rateKbps) * float64(c.rateKbps) / 8000
}

// sent is the airtime sent to the hardware in a window.
func (m *meter) sent(o *Observation) float64 {
	m.follow(o.Stations)
	forget := math.Exp(-o.Window.Seconds() / costMemory.Seconds())
	before := m.weigh(o.Stations)
	m.stepped, m.resourced = false, false
	for i := range o.Stations {
		c := &m.costs[i]
		kbps, known := c.rateKbps, c.usPerByte > 0
		if c.learn(&o.Stations[i], forget, o.Window) {
			m.stepped = true
		}
		if known && (kbps == 0) != (c.rateKbps == 0) {
			m.resourced = true
		}
	}
	airtime := m.weigh(o.Stations)
	m.strange = 0
	for i := range o.Stations {
		if c := &m.costs[i]; airtime > 0 && !c.acquainted {
			m.strange += float64(o.Stations[i].TxBytes) * c.usPerByte / airtime
		}
	}
	m.shift = 0
	if airtime > 0 && before > 0 {
		m.shift = math.Log(airtime / before)
	}
	return airtime
}

// weigh sums up what was sent in the present weights.
func (m *meter) weigh(stations []Station) float64 {
	sum, mean := 0.0, m.meanCost()
	for i := range stations {
		w := m.costs[i].usPerByte
		if w == 0 {
			w = mean
		}
		sum += float64(stations[i].TxBytes) * w
	}
	return sum
}

// follow makes costs run parallel to the stations of this window.
func (m *meter) follow(stations []Station) {
	next := m.spare[:0]
	old := m.costs
	for i := range stations {
		mac := stations[i].MAC
		for len(old) > 0 && bytes.Compare(old[0].mac[:], mac[:]) < 0 {
			old = old[1:]
		}
		if len(old) > 0 && old[0].mac == mac {
			next = append(next, old[0])
		} else {
			next = append(next, cost{mac: mac})
		}
	}
	m.costs, m.spare = next, m.costs
}

// learn takes in one window, booked airtime where the driver reports it, else
// the rate, and reports whether the station's rate changed.
func (c *cost) learn(s *Station, forget float64, window time.Duration) (stepped bool) {
	switch c.odd = c.oddNext(s, window); c.odd {
	case 0:
		c.airtimeUs *= forget
		c.txBytes *= forget
	case 1:
		return false // noise, or a new rate: the next window tells
	default:
		c.airtimeUs, c.txBytes, c.odd = 0, 0, 0
		stepped = true
	}
	c.airtimeUs += float64(s.AirtimeUs)
	c.txBytes += float64(s.TxBytes)
	booked := 0.0
	if c.airtimeUs > 0 && c.txBytes > 0 {
		booked = c.airtimeUs / c.txBytes
	}
	us := c.atRate(s.RateKbps, booked)
	if us == 0 {
		us = booked
	}
	if us == 0 {
		return stepped
	}
	if c.rateKbps > 0 && c.usPerByte > 0 && math.Abs(math.Log(us/c.usPerByte)) > rateStep {
		stepped = true
	}
	c.usPerByte = us
	return stepped
}

// Booked airtime is never much less than a byte's own time at the rate, and
// never more than rateDoubt times that and dearestUs: else the rate is that of a
// management frame, or of a probe, or old.
const (
	rateDoubt = 4
	dearestUs = 0.03
)

// atRate is the weight at a rate, which may be seconds old, or 0 if there is
// none to be believed. Where bytes have become cheaper or dearer since it was
// new, the rate has changed by as much.
func (c *cost) atRate(kbps uint64, booked float64) float64 {
	if kbps == 0 {
		c.rateKbps = 0
		return 0
	}
	perByte := 8000 / float64(kbps)
	if booked > 0 && (booked < perByte/2 || booked > rateDoubt*perByte+dearestUs) {
		if c.rateKbps == 0 || kbps == c.rateKbps && c.bookedThen == 0 {
			c.rateKbps = 0
			return 0
		}
		kbps = c.rateKbps // what it was before
	}
	if kbps != c.rateKbps || c.bookedThen == 0 {
		c.rateKbps, c.bookedThen = kbps, booked
	}
	us := byteUs(kbps)
	if booked > 0 && c.bookedThen > 0 {
		if since := math.Log(booked / c.bookedThen); math.Abs(since) > costStep/2 {
			us *= math.Exp(since)
		}
	}
	return us
}

// oddNext is odd with one window more.
func (c *cost) oddNext(s *Station, window time.Duration) int {
	if c.txBytes == 0 || c.airtimeUs == 0 || s.TxBytes == 0 || float64(s.AirtimeUs) < stepShare*float64(window.Microseconds()) {
		return 0
	}
	now := float64(s.AirtimeUs) / float64(s.TxBytes)
	if math.Abs(math.Log(now*c.txBytes/c.airtimeUs)) < costStep {
		return 0
	}
	return c.odd + 1
}

// known reports whether the weights are airtime.
func (m *meter) known() bool {
	for i := range m.costs {
		if m.costs[i].usPerByte > 0 {
			return true
		}
	}
	return false
}

// meanCost stands in for stations nothing is known about: the mean over the
// others, or 1 (equal weights) where there are none.
func (m *meter) meanCost() float64 {
	sum, n := 0.0, 0
	for i := range m.costs {
		if c := m.costs[i].usPerByte; c > 0 {
			sum, n = sum+c, n+1
		}
	}
	if n == 0 {
		return 1
	}
	return sum / float64(n)
}

// demandShare is the share of a window's samples that must find packets waiting
// above the driver before the window says anything about a limit: else the
// applications, not the limit, decided what was sent.
const demandShare = 0.7

// demand reports whether the hardware was offered more than it took for
// (almost) all of the window.
func (o *Observation) demand() bool {
	if o.Backlog.N > 0 {
		return o.Backlog.NonZero >= demandShare
	}
	for i := range o.Stations {
		if o.Stations[i].BacklogPackets > 0 {
			return true
		}
	}
	return false
}

// residency is the time a frame spent in driver and firmware, in microseconds:
// Little's law on frames where the driver counts them, else the pending
// airtime, which a frame that comes in last has to wait for; 0 if unknown.
func (o *Observation) residency() float64 {
	switch {
	case o.Frames.N > 0 && o.TxPackets > 0:
		return o.Frames.Mean / float64(o.TxPackets) * float64(o.Window.Microseconds())
	case o.Pending.N > 0:
		return max(o.Pending.Mean, 0)
	}
	return 0
}

// mtuBytes is a full frame on the air: an Ethernet payload of 1500 and the 38
// bytes that mac80211 adds for its estimate (ieee80211_tx_dequeue).
const mtuBytes = 1538

// frameAirtime is the airtime of a full frame, in microseconds, to those stations
// for which packets wait that most is sent to; 0 if unknown. What the driver
// counts, pending airtime by pending frames, is less the more small frames are
// among them.
func (m *meter) frameAirtime(o *Observation) float64 {
	us, bytes := 0.0, 0.0
	for i := range o.Stations {
		if s, w := &o.Stations[i], m.costs[i].usPerByte; s.BacklogPackets > 0 && w > 0 {
			us += float64(s.TxBytes) * w
			bytes += float64(s.TxBytes)
		}
	}
	if bytes == 0 {
		return 0
	}
	return mtuBytes * us / bytes
}

const (
	// fullShare of samples with a stopped queue, or fullFrames of its frames,
	// make a driver queue full.
	fullShare  = 0.1
	fullFrames = 0.95
)

// full reports a full driver queue. Above that a limit does nothing but harm:
// every station waits for slots, and the queue thrashes between stop and wake.
func (o *Observation) full() bool {
	return o.StoppedN > 0 && o.Stopped > fullShare ||
		o.Frames.N > 0 && o.FramesMax > 0 && o.Frames.Mean > fullFrames*float64(o.FramesMax)
}

// threshold keeps the radio's threshold as found: low = high makes it
// irrelevant. It never is below a limit.
func threshold(o *Observation, limitUs uint32) uint32 {
	return max(o.Limits.ThresholdUs, limitUs)
}

// sameLimit is a relative difference of limits not worth a write.
const sameLimit = 0.02

// inForce tells whether the window was under that limit, or close enough: the
// tuner does not write what hardly differs.
func inForce(o *Observation, limitUs uint32) bool {
	be := o.Limits.AC[wlan.BE]
	low, high, limit := float64(be.LowUs), float64(be.HighUs), float64(limitUs)
	return low == high && math.Abs(low-limit) <= sameLimit*limit
}
