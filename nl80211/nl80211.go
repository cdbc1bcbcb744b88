// Package nl80211 is the netlink view of the radios: which features a wiphy
// has, its interfaces, its stations, the statistics of mac80211's transmit
// queues (TXQs), and what changes among them. All of it is for reading and
// none of it needs privileges.
//
// It is not where AQL is tuned: nl80211 knows the AQL feature bit, but neither
// the limits nor the pending airtime. Those are files (package debugfs).
//
// Requests are made with mdlayher/genetlink, because most of what is needed
// here mdlayher/wifi does not read: features, TXQs, airtime, whether a dump is
// consistent, events. Its parsers serve the tests as a second opinion. They
// cannot serve the daemon: they do not tell absent from zero, and keep 64-bit
// counters in an int, which is 32 bits wide on most routers. Nor is wifi linked
// for its constants: it derives WPA keys, and with its cryptography come 200 kB
// of code and 32 MB of reserved memory.
//
// Statistics are explicit about what the kernel did not tell: a nil pointer, a
// bit that is not set in Has, or a zero that is documented to mean "unknown".
package nl80211

import (
	"errors"
	"strconv"
	"time"

	"airtuned/wlan"
)

// Timeout bounds every request of a Client, its wait for other requests
// included. On ath10k a firmware that does not answer holds a station dump for
// a second per station, inside the system call, where no socket deadline
// reaches. The caller gets os.ErrDeadlineExceeded all the same; until the
// kernel lets go, further requests end likewise.
const Timeout = 5 * time.Second

var (
	// ErrUnavailable means that there is no nl80211 to talk to: no netlink
	// (another operating system, a seccomp filter) or no cfg80211 in the kernel.
	ErrUnavailable = errors.New("nl80211 is not available")
	// ErrInterrupted means that wiphys, interfaces or stations kept coming and
	// going while they were listed. What was known before is the better truth.
	ErrInterrupted = errors.New("the list kept changing while it was read")
)

// Wiphy is one radio as cfg80211 knows it
// (net/wireless/nl80211.c, nl80211_send_wiphy).
type Wiphy struct {
	Index int    // phyN of a wiphy that was never renamed; never reused
	Name  string // e.g. "phy0"; can be renamed

	// AQL is set where the driver has mac80211 keep airtime queue limits
	// (NL80211_EXT_FEATURE_AQL). Without it the limits' files exist, too, but
	// do nothing.
	AQL bool
	// AirtimeFairness is set where stations are scheduled by airtime
	// (NL80211_EXT_FEATURE_AIRTIME_FAIRNESS).
	AirtimeFairness bool
	// TXQS is set where frames wait in mac80211's TXQs, under fq_codel
	// (NL80211_EXT_FEATURE_TXQS).
	TXQS bool

	// TXQ are the statistics of all TXQs of the wiphy, nil without TXQS. Here
	// the kernel tells BacklogPackets, BacklogBytes (the memory used, padding
	// and all), Overlimit, Overmemory, Collisions and MaxFlows.
	TXQ *TXQStats
	// The limits of all TXQs of the wiphy together, 0 without TXQS. They are
	// cfg80211's copy: what was written to debugfs' aqm is not seen here.
	TXQLimitPackets     uint32
	TXQMemoryLimitBytes uint32
	TXQQuantumBytes     uint32
}

// Interface is a network interface of a radio
// (net/wireless/nl80211.c, nl80211_send_iface).
type Interface struct {
	Index int
	Name  string
	Wiphy int    // Wiphy.Index
	WDEV  uint64 // wiphy index << 32 | a number within the wiphy
	// Type is named as iw names it: "AP", "managed", "mesh point", "monitor",
	// "IBSS", "AP/VLAN", ...
	Type string
	MAC  wlan.MAC
	// FrequencyMHz is the centre of the primary channel, 0 while there is none.
	FrequencyMHz int
	// SSID is the network's name, empty where there is none or it is not known.
	SSID string
	// FourAddr is set for an interface that bridges with 4-address frames.
	FourAddr bool
	// TXQ are the statistics of the interface's own TXQ, for multicast. Nil
	// where there is none.
	TXQ *TXQStats
}

// Station is a peer of an interface: a client of an access point, or the
// access point of a client (net/wireless/nl80211.c, nl80211_send_station).
// Directions are this host's: Tx went to the station. Counters start when the
// station associates.
type Station struct {
	MAC     wlan.MAC
	IfIndex int

	// Has tells which of the fields below the kernel filled in.
	Has StationFields

	InactiveMs   uint32 // since the last frame from it
	ConnectedS   uint32
	Authorized   bool
	SignalDBm    int8 // of the last frame from it
	SignalAvgDBm int8

	// Rates of the last frames, 0 if unknown. On ath10k a transmit rate that
	// stays unknown means that AQL is blind.
	TxRateKbps, RxRateKbps uint64
	// ExpectedKbps is the throughput that rate control expects, 0 if unknown.
	ExpectedKbps uint32

	TxBytes, RxBytes     uint64 // wrap at 2^32 if the driver has no 64-bit counter
	TxPackets, RxPackets uint32
	TxRetries, TxFailed  uint32

	// Airtime the driver accounted for. RxDurationUs is always 0 on ath10k
	// without ATH10K_DEBUGFS.
	TxDurationUs, RxDurationUs uint64
	AirtimeWeight              uint16

	// TXQ is the sum over the station's TXQs, nil where there are none. Every
	// counter wraps at 2^32, as those of the single TXQs do.
	TXQ *TXQStats
	// TIDs are the TXQs one by one, by TID.
	TIDs []TIDStats
}

// StationFields is a set of Station's fields.
type StationFields uint32

// The fields of a Station that a driver may leave out.
const (
	HasInactive StationFields = 1 << iota
	HasConnected
	HasAuthorized
	HasSignal
	HasSignalAvg
	HasTxBytes
	HasRxBytes
	HasTxPackets
	HasRxPackets
	HasTxRetries
	HasTxFailed
	HasTxDuration
	HasRxDuration
	HasAirtimeWeight
)

// TIDStats are the statistics of a station's TXQ for one traffic identifier.
type TIDStats struct {
	TID uint8 // 0 to 15; wlan.TIDToAC has its access category
	TXQStats
}

// TXQStats are statistics of one TXQ, or of several together
// (include/uapi/linux/nl80211.h, enum nl80211_txq_stats). Counters wrap at
// 2^32.
type TXQStats struct {
	// Has tells which of the fields below the kernel filled in.
	Has TXQFields

	BacklogBytes   uint32 // waiting now
	BacklogPackets uint32 // waiting now
	Flows          uint32 // flows seen, a counter
	Drops          uint32 // by CoDel
	Marks          uint32 // ECN marks by CoDel
	Overlimit      uint32 // dropped over the packet limit
	Overmemory     uint32 // dropped over the memory limit
	Collisions     uint32 // flows that met another in their hash bucket
	TxBytes        uint32 // handed to the driver
	TxPackets      uint32 // handed to the driver
	MaxFlows       uint32 // hash buckets
}

// TXQFields is a set of TXQStats' fields.
type TXQFields uint16

// The fields of TXQStats. Bit n is attribute n of enum nl80211_txq_stats.
const (
	HasTXQBacklogBytes TXQFields = 1 << (iota + 1)
	HasTXQBacklogPackets
	HasTXQFlows
	HasTXQDrops
	HasTXQMarks
	HasTXQOverlimit
	HasTXQOvermemory
	HasTXQCollisions
	HasTXQTxBytes
	HasTXQTxPackets
	HasTXQMaxFlows
)

// field returns where the attribute with the given number is kept, or nil for
// one that is newer than us.
func (s *TXQStats) field(attr uint16) *uint32 {
	fields := [...]*uint32{
		nil, &s.BacklogBytes, &s.BacklogPackets, &s.Flows, &s.Drops, &s.Marks, &s.Overlimit,
		&s.Overmemory, &s.Collisions, &s.TxBytes, &s.TxPackets, &s.MaxFlows,
	}
	if int(attr) >= len(fields) {
		return nil
	}
	return fields[attr]
}

// add adds the statistics of another TXQ.
func (s *TXQStats) add(t *TXQStats) {
	s.Has |= t.Has
	for attr := uint16(1); s.field(attr) != nil; attr++ {
		*s.field(attr) += *t.field(attr)
	}
}

// EventKind says what happened.
type EventKind uint8

// The kinds of events, as far as the kernel tells them apart.
const (
	// Resync means that events were lost: look at everything anew.
	Resync     EventKind = iota
	WiphyAdded           // or renamed
	WiphyRemoved
	InterfaceAdded
	InterfaceRemoved
	InterfaceChanged // its type; debugfs files may follow a little later
	StationAdded     // debugfs files may follow a little later
	StationRemoved
	ScanStarted
	ScanDone      // or aborted
	ChannelSwitch // announced, or done
	StartAP       // told by 6.12, not yet by 6.1
	RegChanged
)

var eventNames = [...]string{
	"resync", "wiphy added", "wiphy removed", "interface added", "interface removed", "interface changed",
	"station added", "station removed", "scan started", "scan done", "channel switch", "start ap", "reg changed",
}

// String names the kind for logs.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "event " + strconv.Itoa(int(k))
}

// Event is a change among wiphys, interfaces and stations. It is a hint where
// to look, not a state to keep.
type Event struct {
	Kind    EventKind
	Wiphy   int      // Wiphy.Index; -1 where the kernel does not tell, as for stations
	IfIndex int      // 0 where there is none
	MAC     wlan.MAC // of the station or the interface; zero where there is none
}
