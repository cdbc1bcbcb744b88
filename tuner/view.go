package tuner

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"airtuned/nl80211"
	"airtuned/policies"
	"airtuned/wlan"
)

// residencyWindows is how many windows the p95 of the residency looks back:
// a minute of the default window.
const residencyWindows = 300

// view is what the last windows looked like, kept for status.
type view struct {
	seen      bool
	window    time.Duration
	at        time.Time // its end
	pending   policies.Gauge
	frames    policies.Gauge
	framesMax int
	txBytes   uint64
	active    int
	backlog   policies.Gauge
	stopped   float64
	stoppedN  int
	total     Totals // without what senses has counted
	stations  []policies.Station

	residency  [residencyWindows]int64  // us, a ring
	packets    [residencyWindows]uint64 // sent in the same windows
	residencyN int

	// Where there is no debugfs, from netlink station dumps.
	dumps map[string]dump
}

// dump is what one interface's stations had sent at a time.
type dump struct {
	at       time.Time
	bytes    map[wlan.MAC]uint64
	stations []StationStatus
}

// note takes in an observation. It does not allocate in the long run.
func (v *view) note(o *policies.Observation) {
	v.seen, v.window, v.at = true, o.Window, o.Now
	v.pending, v.frames, v.framesMax = o.Pending, o.Frames, o.FramesMax
	v.txBytes, v.active = o.TxBytes, o.Active()
	v.backlog, v.stopped, v.stoppedN = o.Backlog, o.Stopped, o.StoppedN
	v.stations = append(v.stations[:0], o.Stations...)
	if us := residencyUs(o); us > 0 {
		v.residency[v.residencyN%residencyWindows] = us
		v.packets[v.residencyN%residencyWindows] = o.TxPackets
		v.residencyN++
	}
}

// residencyUs is how long frames stayed in the hardware queue, in microseconds:
// by Little's law their mean number over their rate, which needs no estimate
// of airtime; else the airtime that AQL counts.
func residencyUs(o *policies.Observation) int64 {
	if o.TxPackets == 0 {
		return 0
	}
	if o.Frames.N > 0 {
		return int64(o.Frames.Mean * float64(o.Window.Microseconds()) / float64(o.TxPackets))
	}
	return int64(o.Pending.Mean)
}

// noteStations takes in a station dump of an interface.
func (v *view) noteStations(ifname string, stations []nl80211.Station, now time.Time) {
	if v.dumps == nil {
		v.dumps = map[string]dump{}
	}
	before := v.dumps[ifname]
	d := dump{at: now, bytes: map[wlan.MAC]uint64{}}
	us := now.Sub(before.at).Microseconds()
	for i := range stations {
		st := &stations[i]
		d.bytes[st.MAC] = st.TxBytes
		s := StationStatus{
			MAC: st.MAC, Interface: ifname, Limits: map[string]wlan.Limit{}, RateKbps: st.TxRateKbps,
			Total: Totals{TxBytes: st.TxBytes},
		}
		if was, ok := before.bytes[st.MAC]; ok && us > 0 && st.TxBytes >= was {
			v.total.TxBytes += st.TxBytes - was
			s.ThroughputKbps = (st.TxBytes - was) * 8000 / uint64(us)
			s.Active = st.TxBytes > was
		}
		d.stations = append(d.stations, s)
	}
	sort.Slice(d.stations, func(i, j int) bool { return bytes.Compare(d.stations[i].MAC[:], d.stations[j].MAC[:]) < 0 })
	v.dumps[ifname] = d
}

// Status is the radio as the loop sees it now.
func (t *Tuner) Status() Status {
	s := Status{
		Radio: t.radio, State: t.state, Reason: t.reason,
		Stations: []StationStatus{}, Decisions: t.decisions, LastChange: t.lastChange,
		Events: t.events.list(), Total: t.view.total,
	}
	if t.crashesN {
		n := t.crashes
		s.FirmwareRestarts = &n
	}
	if t.gone != "" {
		s.State, s.Reason = Gone, t.gone
		return s
	}
	if !t.tcp.at.IsZero() {
		tcp := t.tcp.status
		s.TCP = &tcp
	}
	v := &t.view
	if t.senses == nil {
		for _, name := range slices.Sorted(maps.Keys(v.dumps)) {
			for _, st := range v.dumps[name].stations {
				s.Stations = append(s.Stations, st)
				s.ThroughputKbps += st.ThroughputKbps
				if st.ThroughputKbps > 0 {
					s.ActiveStations++
				}
			}
		}
		if s.Queue.BPF != nil && t.phy != nil {
			s.Queue = detectQueue(t.env.Debug, t.phy, s.AQL.Supported)
		}
		return s
	}
	if s.Queue.BPF != nil {
		s.Queue.BPF = queueBPF(t.env.Debug, t.radio.Phy)
	}
	s.Total.add(t.senses.total)
	s.AQL.Limits = map[string]wlan.Limit{}
	for ac := range t.radio.AQL.Limits { // those there are
		ac, _ := wlan.ParseAC(ac)
		s.AQL.Limits[ac.String()] = t.inForce.AC[ac]
	}
	s.AQL.ThresholdUs = t.inForce.ThresholdUs
	if !v.seen {
		return s
	}
	s.Features = maps.Clone(s.Features) // the status is for others
	if s.Features.Has(FeaturePending) {
		s.Features[FeaturePending] = int(v.frames.Mean + 0.5)
	}
	if s.Features.Has(FeatureQueue) && t.frames.max > 0 {
		s.Features[FeatureQueue] = t.frames.limit
	}
	if shift, err := strconv.Atoi(t.pacing.wrote); err == nil {
		s.Features[FeaturePacing] = shift
	}
	end := v.at
	s.WindowEnd = &end
	s.Pending = PendingStatus{
		Frames: int(v.frames.Mean + 0.5), MaxFrames: v.framesMax, AirtimeUs: int64(v.pending.Mean + 0.5),
	}
	switch s.Queue.Source {
	case SourceFrames:
		s.Queue.Pending, s.Queue.Max = s.Pending.Frames, s.Pending.MaxFrames
	case SourceAirtime:
		s.Queue.Pending = int(s.Pending.AirtimeUs)
	}
	if v.backlog.N > 0 {
		n := int64(v.backlog.Mean + 0.5)
		s.BacklogPackets = &n
	}
	if v.stoppedN > 0 {
		share := v.stopped
		s.Stopped = &share
	}
	s.ResidencyUs = v.residencyStatus()
	s.ThroughputKbps = kbps(v.txBytes, v.window)
	s.ActiveStations = v.active
	airtime := 0.0
	for _, st := range t.senses.stations {
		airtime += st.airtimeMean
	}
	for i := range v.stations {
		st := &v.stations[i]
		out := StationStatus{
			MAC: st.MAC, Limits: map[string]wlan.Limit{}, ThroughputKbps: kbps(st.TxBytes, v.window),
			RateKbps: st.RateKbps, BacklogPackets: st.BacklogPackets, BacklogBytes: st.BacklogBytes,
			Active: st.Active, Asleep: st.Asleep,
		}
		if sensed := t.senses.station(st.MAC); sensed != nil { // it may have left since
			out.Interface, out.Total = sensed.netdev, sensed.total
			if airtime > 0 {
				share := math.Round(1000*sensed.airtimeMean/airtime) / 1000
				out.AirtimeShare = &share
			}
		}
		for _, ac := range wlan.ACs {
			if st.HasLimit {
				out.Limits[ac.String()] = st.Limit[ac]
			}
			out.PendingUs += int64(st.PendingUs[ac])
		}
		s.Stations = append(s.Stations, out)
	}
	return s
}

func (v *view) residencyStatus() ResidencyStatus {
	n := min(v.residencyN, residencyWindows)
	if n == 0 {
		return ResidencyStatus{}
	}
	sorted := slices.Sorted(slices.Values(v.residency[:n]))
	at := func(percent int) int64 { return sorted[(n*percent-1)/100] }
	// One window alone is much noise: packets come in bursts.
	var sum, packets float64
	for i := range min(n, max(1, int(time.Second/v.window))) {
		k := (v.residencyN - 1 - i) % residencyWindows
		sum += float64(v.residency[k]) * float64(v.packets[k])
		packets += float64(v.packets[k])
	}
	return ResidencyStatus{Mean: int64(sum/packets + 0.5), P50: at(50), P95: at(95), P99: at(99)}
}

func kbps(bytes uint64, window time.Duration) uint64 {
	us := window.Microseconds()
	if us <= 0 {
		return 0
	}
	return bytes * 8000 / uint64(us)
}
