// Package policies holds the decisions: given what a radio did over a window
// of time, which limits should it have next. A policy does no I/O, has no
// clock and no randomness; whatever it remembers it learnt from earlier
// observations, so the same observations always give the same decisions. It
// neither bounds its writes nor checks them: the tuner does both.
package policies

import (
	"time"

	"airtuned/wlan"
)

// Policy turns one observation after the other into limits.
type Policy interface {
	// Name is what the configuration and the command line call it.
	Name() string
	// Decide is called once per window, in order of time.
	Decide(*Observation) Decision
}

// Observation is what a radio did over one window. Counters are differences
// over the window. A source the kernel does not offer is marked as absent
// (Gauge.N == 0, Station.RateKbps == 0, ...), never guessed.
type Observation struct {
	// Now is the end of the window. Only differences between observations
	// mean anything: it may be virtual time.
	Now time.Time
	// Window is how long it was.
	Window time.Duration

	// Limits were in force during the window.
	Limits wlan.Limits

	// Fresh marks the first window after a discontinuity: a start, a firmware
	// restart, a channel change, a foreign write, a hold that ended. Whatever
	// was learnt before is void; the differences in this window are not to be
	// trusted.
	Fresh bool
	// StationsChanged is set when a station came or went in the window.
	StationsChanged bool

	// Pending is the airtime in driver and firmware, in microseconds, that AQL
	// accounts for (aql_pending, total).
	Pending Gauge
	// Frames is the number of frames in driver and firmware (num_pending_tx)
	// and FramesMax what fits (max_num_pending_tx).
	Frames    Gauge
	FramesMax int
	// QueueLimit is the limit of frames in force at the window's end, 0 for none
	// (tx_queue_limit). HasQueueLimit is false where the kernel has no such file.
	QueueLimit    int
	HasQueueLimit bool
	// Backlog is the number of packets that wait in fq above the driver (aqm,
	// fq_backlog): the demand the hardware has not taken yet.
	Backlog Gauge
	// Stopped is the fraction of samples, 0 to 1, in which the driver had
	// stopped a queue in use (queues, bit 0), StoppedN the number of samples.
	Stopped  float64
	StoppedN int

	// TxBytes and TxPackets went from fq to the driver in the window, summed
	// over stations.
	TxBytes, TxPackets uint64

	// Stations are those associated at the window's end, sorted by address.
	// The slice is only valid during Decide.
	Stations []Station
}

// Active is the number of stations with traffic or backlog in the window.
func (o *Observation) Active() int {
	n := 0
	for i := range o.Stations {
		if o.Stations[i].Active {
			n++
		}
	}
	return n
}

// Gauge sums up the samples of a level over a window.
type Gauge struct {
	// N is the number of samples; 0 means the source does not exist and every
	// other field is void.
	N              int
	Mean, Min, Max float64
	// NonZero is the fraction of samples above zero, 0 to 1.
	NonZero float64
}

// Station is one station's share of an observation.
type Station struct {
	MAC wlan.MAC
	// Limit is what the kernel has in force for it (stations/MAC/aql). HasLimit
	// is false on drivers without AQL.
	Limit    [wlan.NumAC]wlan.Limit
	HasLimit bool
	// PendingUs is its airtime in driver and firmware at the window's end.
	PendingUs [wlan.NumAC]int32
	// TxBytes, TxPackets and Drops over the window (stations/MAC/aqm).
	TxBytes, TxPackets, Drops uint64
	// BacklogPackets and BacklogBytes at the window's end.
	BacklogPackets, BacklogBytes uint64
	// AirtimeUs is the transmit airtime mac80211 booked in the window
	// (stations/MAC/airtime, TX), 0 where the driver reports none.
	AirtimeUs uint64
	// RateKbps is the last known transmit rate, 0 when unknown. It may be
	// seconds old: it comes from netlink.
	RateKbps uint64
	// Active is set when the station had traffic or backlog in the window.
	Active bool
	// Asleep is set while the station is in power save, if that is known.
	Asleep bool
}

// Decision is what a policy wants next.
type Decision struct {
	// Write says whether Limits (and Stations) are wanted at all. A policy that
	// only watches leaves it false, and the tuner touches nothing.
	Write  bool
	Limits wlan.Limits
	// Stations overrides the radio's limits for single stations. A station that
	// was in the last decision and is in none now goes back to the radio's.
	// The slice must not be changed after it was returned.
	Stations []StationLimit
	// QueueFrames is a limit of frames in driver and firmware, 0: not wanted. It
	// is acted on only where the kernel has a tx_queue_limit file.
	QueueFrames int
	// Reason says in a few plain words why, for the log and for status.
	Reason string
}

// StationLimit is a station's own limits.
type StationLimit struct {
	MAC wlan.MAC
	AC  [wlan.NumAC]wlan.Limit
}
