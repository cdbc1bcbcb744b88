package tuner

import (
	"time"

	"airtuned/wlan"
)

// Detection is what `airtuned detect` found: every radio, what can be tuned on
// it and, where something cannot, why not. Its JSON form is a contract.
type Detection struct {
	Radios   []Radio   `json:"radios"`
	Warnings []Warning `json:"warnings"`
	// Unread are the phys that are there and of which nothing could be read.
	Unread []string `json:"-"`
}

// Warning is something a user should know about one radio, or about the whole
// system if Radio is empty. Code is stable and in kebab-case.
type Warning struct {
	Radio   string `json:"radio"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Radio is one wiphy as detected.
type Radio struct {
	// Path identifies the radio: its device path below /sys. Phy is only its
	// current name.
	Path       string      `json:"path"`
	Phy        string      `json:"phy"`
	Interfaces []Interface `json:"interfaces"`
	Driver     string      `json:"driver"`
	Bus        string      `json:"bus"`
	Chip       string      `json:"chip"`
	Firmware   string      `json:"firmware"`
	AQL        AQL         `json:"aql"`
	Queue      Queue       `json:"queue"`
	NAPI       NAPI        `json:"napi"`
	// Features are the files of a patched kernel that this radio has, with their
	// present values: docs/kernel-patches.md.
	Features Features `json:"features,omitempty"`
	Policy   string   `json:"policy"`
	// VirtualTime is set where a station was seen whose airtime is scheduled by
	// virtual time: Linux 5.14 to 5.19, and backports of it.
	VirtualTime bool `json:"virtual_time,omitempty"`
	// Index is the kernel's number of the wiphy, -1 when unknown.
	Index int `json:"-"`
}

// Interface is one network interface of a radio. Type is as iw prints it, or
// empty without netlink. FourAddr is set for one that bridges with 4-address
// frames (WDS).
type Interface struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	FourAddr bool   `json:"four_addr,omitempty"`
	// Index is the netdev's, 0 when unknown.
	Index int `json:"-"`
}

// AQL says whether airtime queue limits act on a radio and what they are.
type AQL struct {
	// Supported is the driver's AQL feature bit; nil when it cannot be known.
	Supported *bool `json:"supported"`
	// Writable says whether the limits can be written by this process. The
	// mode bits lie, so it is found out by opening the file for writing.
	Writable bool `json:"writable"`
	// Reason says why limits cannot be used, if so; empty otherwise.
	Reason      string                `json:"reason"`
	Limits      map[string]wlan.Limit `json:"limits"`
	ThresholdUs uint32                `json:"threshold_us"`
}

// Queue is the best source there is for what the hardware holds:
// num_pending_tx, aql_pending or none. Pending is in frames for the first, in
// microseconds of airtime for the second.
type Queue struct {
	Source  string `json:"source"`
	Pending int    `json:"pending"`
	Max     int    `json:"max"`
	// BPF tells of num_pending_tx without a file in debugfs: nil where the
	// kernel has it, for other drivers than ath10k, and in builds without BPF.
	BPF *QueueBPF `json:"bpf,omitempty"`
}

// QueueBPF says whether a BPF program counts the frames of a radio, and if not,
// why. Until it has seen one, Pending and Max are 0. Stops is how often the
// driver stopped all queues meanwhile, because Max was reached.
type QueueBPF struct {
	Counting bool   `json:"counting"`
	Reason   string `json:"reason"`
	Stops    uint64 `json:"stops"`
}

// Values of Queue.Source.
const (
	SourceFrames  = "num_pending_tx"
	SourceAirtime = "aql_pending"
	SourceNone    = "none"
)

// NAPI tells where a radio's receive processing runs.
type NAPI struct {
	Mode     string `json:"mode"`
	Settable bool   `json:"settable"`
	Reason   string `json:"reason"`
}

// Features are values by the name of a debugfs file. One that the kernel does not
// have is not in it.
type Features map[string]int

// Names of features.
const (
	FeaturePending  = "num_pending_tx"
	FeatureMax      = "max_num_pending_tx"
	FeatureQueue    = knobQueue
	FeaturePacing   = knobPacing
	FeatureThreaded = "napi_threaded"
	FeatureWake     = "tx_wake_percent"
)

// Has reports whether the radio has a feature.
func (f Features) Has(name string) bool { _, ok := f[name]; return ok }

// State is what the daemon does with a radio.
type State string

// The states of a radio.
const (
	Tuning    State = "tuning"    // the policy's limits are in force
	Observing State = "observing" // limits are not touched
	Held      State = "held"      // in doubt: limits stay as they are
	Restored  State = "restored"  // originals are back, until told to resume
	Gone      State = "gone"      // the radio is not there now
)

// Status is one radio as the running daemon sees it.
type Status struct {
	Radio
	State       State           `json:"state"`
	Reason      string          `json:"reason"`
	Pending     PendingStatus   `json:"pending"`
	ResidencyUs ResidencyStatus `json:"residency_us"`
	// WindowEnd is when the last window ended, of which most of this speaks, and up
	// to when Total counts; nil before the first.
	WindowEnd      *time.Time      `json:"window_end"`
	ThroughputKbps uint64          `json:"throughput_kbps"`
	ActiveStations int             `json:"active_stations"`
	Stations       []StationStatus `json:"stations"`
	Decisions      uint64          `json:"decisions"`
	LastChange     *LastChange     `json:"last_change"`
	// Events are the latest ones, the oldest first.
	Events []Event `json:"events"`
	// Total counts since the daemon took the radio up.
	Total Totals `json:"total"`
	// BacklogPackets wait in fq above the driver, on average over the last window;
	// nil where the kernel does not tell.
	BacklogPackets *int64 `json:"backlog_packets"`
	// Stopped is the share of the last window, 0 to 1, in which the driver had
	// stopped a queue; nil where the kernel does not tell.
	Stopped *float64 `json:"stopped"`
	// TCP is this host's own over the radio; nil where nobody has looked, or the kernel
	// does not tell.
	TCP *TCPStatus `json:"tcp"`
	// FirmwareRestarts counts them since the driver was loaded; nil where the
	// driver does not.
	FirmwareRestarts *uint32 `json:"firmware_restarts"`
}

// PendingStatus is the mean content of the hardware queue over the last window.
type PendingStatus struct {
	Frames    int   `json:"frames"`
	MaxFrames int   `json:"max_frames"`
	AirtimeUs int64 `json:"airtime_us"`
}

// ResidencyStatus is the time frames spent in the hardware queue, in
// microseconds, by Little's law: the mean over the last second of windows with
// traffic, the percentiles of the windows of the last minute of them.
type ResidencyStatus struct {
	Mean int64 `json:"mean"`
	P50  int64 `json:"p50"`
	P95  int64 `json:"p95"`
	P99  int64 `json:"p99"`
}

// Totals are counters of what went from fq to the driver. They start at 0 when
// the daemon takes a radio or a station up, or finds it again.
type Totals struct {
	TxBytes   uint64 `json:"tx_bytes"`
	TxPackets uint64 `json:"tx_packets"`
	Drops     uint64 `json:"drops"`      // by fq and CoDel
	AirtimeUs uint64 `json:"airtime_us"` // as mac80211 books it
}

func (t *Totals) add(u Totals) {
	t.TxBytes += u.TxBytes
	t.TxPackets += u.TxPackets
	t.Drops += u.Drops
	t.AirtimeUs += u.AirtimeUs
}

// StationStatus is one station over the last window.
type StationStatus struct {
	MAC            wlan.MAC              `json:"mac"`
	Interface      string                `json:"interface"`
	Limits         map[string]wlan.Limit `json:"limits"`
	PendingUs      int64                 `json:"pending_us"`
	ThroughputKbps uint64                `json:"throughput_kbps"`
	// RateKbps is the rate it was last sent to at, seconds old, 0: not known.
	RateKbps       uint64 `json:"rate_kbps"`
	BacklogPackets uint64 `json:"backlog_packets"`
	BacklogBytes   uint64 `json:"backlog_bytes"`
	// AirtimeShare is its part, 0 to 1, of the airtime that was booked for all
	// stations in the last second or two; nil where none was.
	AirtimeShare *float64 `json:"airtime_share"`
	Active       bool     `json:"active"`
	Asleep       bool     `json:"asleep"`
	Total        Totals   `json:"total"`
}

// LastChange is the latest change to one of the radio's knobs.
type LastChange struct {
	At     time.Time `json:"at"`
	Knob   string    `json:"knob"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	Reason string    `json:"reason"`
}

// Result is what became of a change.
type Result string

// The results a change can have.
const (
	Applied     Result = "applied"
	Planned     Result = "planned" // dry run
	Unchanged   Result = "unchanged"
	Unsupported Result = "unsupported"
	Failed      Result = "failed"
)

// Change is one knob's way from an old value to a new one.
type Change struct {
	Radio  string `json:"radio"` // device path
	Phy    string `json:"phy"`
	Knob   string `json:"knob"` // e.g. aql_txq_limit/BE, aql_threshold, threaded/wlan0
	From   string `json:"from"`
	To     string `json:"to"`
	Result Result `json:"result"`
	Reason string `json:"reason"`
}
