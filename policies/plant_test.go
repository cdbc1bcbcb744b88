package policies

import (
	"math"
	"math/rand/v2"
	"time"

	"airtuned/wlan"
)

// plant is a toy radio: a curve of delivered airtime over the limit with a
// knee, noise, and optionally a plateau and a dip. It has no dynamics but that
// a change of the limit takes a window to act.
type plant struct {
	kneeUs    float64 // where the curve is at 1 - 1/e^4, about 98 %
	plateauUs float64 // above it a larger limit changes nothing; 0: none
	dipUs     float64 // around it 4 % are lost; 0: none
	corner    bool    // the curve is straight up to the knee, and flat above
	noise     float64 // of ln E over 200 ms
	frameUs   float64 // airtime of a 1500-byte frame
	stations  int
	first     int  // the last octet of the first station's address
	idle      bool // no backlog
	noFrames  bool // no num_pending_tx
	noAirtime bool // the driver books no airtime
	noRates   bool // nor is there netlink
	windowMs  int  // 0: 200

	rng    *rand.Rand
	now    time.Time
	limits wlan.Limits
	obs    Observation
	fresh  bool
}

func newPlant(kneeUs float64) *plant { return newSeededPlant(kneeUs, 1) }

func newSeededPlant(kneeUs float64, seed uint64) *plant {
	p := &plant{
		kneeUs: kneeUs, noise: 0.01, frameUs: 17, stations: 1,
		rng: rand.New(rand.NewPCG(seed, 2)), now: time.Unix(1000, 0),
		limits: wlan.KernelDefault, fresh: true,
	}
	return p
}

// share is the delivered part of the air at a limit.
func (p *plant) share(us float64) float64 {
	if p.plateauUs > 0 {
		us = min(us, p.plateauUs)
	}
	s := 1 - math.Exp(-4*us/p.kneeUs)
	if p.corner {
		s = min(us/p.kneeUs, 1)
	}
	if p.dipUs > 0 && math.Abs(math.Log(us/p.dipUs)) < 0.15 {
		s *= 0.96
	}
	return s
}

func (p *plant) limitUs() float64 { return float64(p.limits.AC[wlan.BE].LowUs) }

func (p *plant) windowLength() time.Duration {
	if p.windowMs == 0 {
		return 200 * time.Millisecond
	}
	return time.Duration(p.windowMs) * time.Millisecond
}

// window lets a window pass and returns what was seen.
func (p *plant) window() *Observation {
	window := p.windowLength()
	p.now = p.now.Add(window)
	o := &p.obs
	stations := o.Stations[:0]
	*o = Observation{Now: p.now, Window: window, Limits: p.limits, Fresh: p.fresh, FramesMax: 1424}
	p.fresh = false
	us := float64(window.Microseconds())
	air := us * p.share(p.limitUs()) * math.Exp(p.noise*math.Sqrt(200000/us)*p.rng.NormFloat64())
	pending := min(max(p.limitUs(), p.frameUs)*float64(p.stations), 1424*p.frameUs)
	if p.idle {
		air, pending = air*0.2, 0
	}
	for i := range p.stations {
		s := Station{MAC: wlan.MAC{2, 0, 0, 0, 0, byte(p.first + i)}, Active: true, RateKbps: uint64(1538 * 8000 / p.frameUs)}
		if !p.idle {
			s.BacklogPackets = 20
		}
		if !p.noAirtime {
			s.AirtimeUs = uint64(air) / uint64(p.stations)
		}
		if p.noRates {
			s.RateKbps = 0
		}
		s.TxPackets = uint64(air / float64(p.stations) / p.frameUs)
		s.TxBytes = s.TxPackets * 1538
		o.TxBytes += s.TxBytes
		o.TxPackets += s.TxPackets
		stations = append(stations, s)
	}
	o.Stations = stations
	o.Pending = Gauge{N: 10, Mean: pending, Min: pending * 0.8, Max: pending, NonZero: 1}
	if !p.noFrames {
		frames := pending / p.frameUs
		if frames > 0.99*float64(o.FramesMax) {
			o.Stopped = 1
		}
		o.Frames = Gauge{N: 10, Mean: frames, Max: frames, NonZero: 1}
	}
	o.StoppedN = 10
	o.Backlog = Gauge{N: 10, Mean: 50, Min: 5, Max: 100, NonZero: 1}
	if p.idle {
		o.Backlog = Gauge{N: 10, Mean: 1, Max: 5, NonZero: 0.2}
	}
	return o
}

// run closes the loop over a time and returns the mean limit (geometric) and
// the share of the air delivered.
func (p *plant) run(pol Policy, d time.Duration) (limitUs, share float64) {
	n := int(d / p.windowLength())
	var logs float64
	for range n {
		share += p.share(p.limitUs()) / float64(n)
		logs += math.Log(p.limitUs()) / float64(n)
		if dec := pol.Decide(p.window()); dec.Write {
			p.limits = dec.Limits
		}
	}
	return math.Exp(logs), share
}
