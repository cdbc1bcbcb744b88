// SPDX-License-Identifier: Apache-2.0

// Package result is the document that a run of the lab ends in, and the
// statistics in it.
package result

import (
	"encoding/json"
	"math"
	"slices"
)

// Document says what came out of one run. Times are of the virtual clock: the
// same inputs give the same document, byte for byte.
type Document struct {
	Scenario string `json:"scenario"`
	Radio    string `json:"radio"`
	Kernel   string `json:"kernel"`
	Seed     uint64 `json:"seed"`
	// Chip and QueueSource are what airtuned detects.
	Chip        string `json:"chip"`
	QueueSource string `json:"queue_source"`
	// AQL and Policy as in the scenario or on the command line.
	AQL    string `json:"aql"`
	Policy string `json:"policy,omitempty"`
	// Tuned is the station whose radio was measured, if not the access point's;
	// Knobs are what was written to it.
	Tuned     string         `json:"tuned,omitempty"`
	Knobs     map[string]int `json:"knobs,omitempty"`
	WarmupS   float64        `json:"warmup_s"`
	DurationS float64        `json:"duration_s"`

	// Throughputs are of TCP's payload as received, all stations together.
	DownloadMbps float64 `json:"download_mbps"`
	UploadMbps   float64 `json:"upload_mbps"`
	// AirEfficiency is the sum, over the stations, of throughput divided by
	// that of the station alone.
	AirEfficiency *float64 `json:"air_efficiency,omitempty"`
	// Jain is Jain's index of fairness among the stations with bulk flows, 1/n
	// to 1, of their throughputs and of their airtimes.
	JainThroughput *float64 `json:"jain_throughput,omitempty"`
	JainAirtime    *float64 `json:"jain_airtime,omitempty"`

	// PingMs is what pings from the access point to stations with and without
	// bulk flows met, VoIPMs the delay of calls, one way.
	PingMs struct {
		Busy *Latency `json:"busy,omitempty"`
		Idle *Latency `json:"idle,omitempty"`
	} `json:"ping_ms"`
	VoIPMs *Latency `json:"voip_ms,omitempty"`
	// PageMs is how long web pages took to load.
	PageMs *Latency `json:"page_ms,omitempty"`
	TCP    *TCP     `json:"tcp,omitempty"`

	// PendingFrames is what driver and firmware held, PendingUs the same as
	// the airtime that AQL accounts for.
	PendingFrames *Level `json:"pending_frames,omitempty"`
	PendingUs     *Level `json:"pending_us,omitempty"`
	// MaxPendingFrames is how many fit.
	MaxPendingFrames int `json:"max_pending_frames,omitempty"`
	// FirmwareMs is the mean time of a frame in driver and firmware: pending
	// frames / frames completed per second (Little's law).
	FirmwareMs *float64 `json:"firmware_ms,omitempty"`
	// FullPct is the part of the samples in which one more frame at most would
	// have fitted: ath10k never has the last place taken for long.
	FullPct *float64 `json:"full_pct,omitempty"`
	// StoppedPct is the part of the samples in which the driver had stopped
	// the access point's queue, Stops how often it went from open to stopped
	// between two samples.
	StoppedPct *float64 `json:"stopped_pct,omitempty"`
	Stops      int      `json:"stops"`
	// TaskletsPerS is how often the machine ran tasklets. mac80211's has txqs woken
	// when the driver wakes queues that it had stopped; there is hardly another.
	TaskletsPerS float64 `json:"tasklets_per_s,omitempty"`
	// AirBusyPct is how much of the time somebody sent.
	AirBusyPct *float64 `json:"air_busy_pct,omitempty"`
	// MPDUsPerPPDU is the mean aggregate of the access point.
	MPDUsPerPPDU *float64 `json:"mpdus_per_ppdu,omitempty"`

	Stations []Station `json:"stations"`
	// Limits are those of access category BE, at first and whenever they
	// changed.
	Limits []Limit `json:"limits"`
	// Seconds are the measured time and the warm-up, second by second.
	Seconds []Second `json:"seconds"`
}

// Station is one station's part.
type Station struct {
	Name         string  `json:"name"`
	RateKbps     int     `json:"rate_kbps,omitempty"` // at the end of the warm-up
	DownloadMbps float64 `json:"download_mbps"`
	UploadMbps   float64 `json:"upload_mbps"`
	// AirtimePct is its part of the airtime of all that the access point sent.
	AirtimePct *float64 `json:"airtime_pct,omitempty"`
	PingMs     *Latency `json:"ping_ms,omitempty"`
	VoIPMs     *Latency `json:"voip_ms,omitempty"`
	PageMs     *Latency `json:"page_ms,omitempty"`
	TCP        *TCP     `json:"tcp,omitempty"`
}

// Latency sums up latencies in milliseconds.
type Latency struct {
	Sent int     `json:"sent"`
	Lost int     `json:"lost"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// TCP is what senders know: the mean of their smoothed round trip times, with
// the wide area's, and how many segments they sent again.
type TCP struct {
	RTTMs       float64 `json:"rtt_ms"`
	Retransmits int     `json:"retransmits"`
}

// Level sums up samples of a level.
type Level struct {
	Mean float64 `json:"mean"`
	Max  float64 `json:"max"`
}

// Limit is the limits from a time on.
type Limit struct {
	AtS    float64 `json:"at_s"`
	LowUs  uint32  `json:"low_us"`
	HighUs uint32  `json:"high_us"`
	// Frames is tx_queue_limit, 0 without any.
	Frames int `json:"frames,omitempty"`
}

// Second is one second of the run.
type Second struct {
	AtS          float64  `json:"at_s"` // its start
	DownloadMbps float64  `json:"download_mbps"`
	UploadMbps   float64  `json:"upload_mbps"`
	PingP50Ms    *float64 `json:"ping_p50_ms"` // of busy stations
	PingP95Ms    *float64 `json:"ping_p95_ms"`
	PingMaxMs    *float64 `json:"ping_max_ms"`
	Pending      *float64 `json:"pending_frames,omitempty"`
}

// Encode is the document as text.
func (d *Document) Encode() ([]byte, error) {
	b, err := json.MarshalIndent(d, "", "  ")
	return append(b, '\n'), err
}

// Round rounds to a number of decimals, so that documents are short and say no
// more than was measured.
func Round(x float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Round(x*p) / p
}

// Rounded is Round for a value that may be absent, which it is if it is no
// number.
func Rounded(x float64, decimals int) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	x = Round(x, decimals)
	return &x
}

// Summarize sums up latencies in milliseconds of which sent were attempted. It
// sorts them. Without any attempt there is nothing to say.
func Summarize(ms []float64, sent int) *Latency {
	if sent == 0 {
		return nil
	}
	slices.Sort(ms)
	l := &Latency{Sent: sent, Lost: sent - len(ms)}
	if len(ms) > 0 {
		l.P50 = Round(Percentile(ms, 50), 3)
		l.P95 = Round(Percentile(ms, 95), 3)
		l.P99 = Round(Percentile(ms, 99), 3)
		l.Max = Round(ms[len(ms)-1], 3)
	}
	return l
}

// Percentile is the smallest of the sorted values that p percent of them do
// not exceed (nearest rank). There must be a value.
func Percentile(sorted []float64, p float64) float64 {
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Jain is Jain's index of fairness: 1 if all are equal, 1/n if one has all.
// It is NaN without values, or if nobody has anything.
func Jain(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(x)) * squares)
}

// Mean is NaN without values.
func Mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// LevelOf sums up samples, if there are any.
func LevelOf(x []float64) *Level {
	if len(x) == 0 {
		return nil
	}
	return &Level{Round(Mean(x), 1), slices.Max(x)}
}
