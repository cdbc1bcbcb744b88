package metrics

import (
	"airtuned/tuner"
	"airtuned/wlan"
)

// seconds are microseconds in Prometheus's base unit.
func seconds[N int64 | uint32 | uint64](us N) float64 { return float64(us) / 1e6 }

var states = []tuner.State{tuner.Tuning, tuner.Observing, tuner.Held, tuner.Restored, tuner.Gone}

// The names are part of what users build on: dashboards and alerts.
var radioFamilies = []family[tuner.Status]{
	{"airtuned_radio_info", "gauge", "The radio, as labels.",
		func(w *writer, r *tuner.Status) {
			w.sample(1, "driver", r.Driver, "bus", r.Bus, "firmware", r.Firmware, "policy", r.Policy)
		}},
	{"airtuned_radio_state", "gauge", "What the daemon does with the radio: 1 for the present state, 0 for the others.",
		func(w *writer, r *tuner.Status) {
			for _, s := range states {
				w.sample(truth(r.State == s), "state", string(s))
			}
		}},
	present("airtuned_radio_stations", "gauge", "Associated stations.",
		func(r *tuner.Status) float64 { return float64(len(r.Stations)) }),
	present("airtuned_radio_active_stations", "gauge", "Stations that had traffic or backlog in the last window.",
		func(r *tuner.Status) float64 { return float64(r.ActiveStations) }),
	{"airtuned_radio_pending_frames", "gauge", "Frames in driver and firmware, mean of the last window.",
		func(w *writer, r *tuner.Status) {
			if r.Pending.MaxFrames > 0 {
				w.sample(float64(r.Pending.Frames))
			}
		}},
	{"airtuned_radio_pending_frames_max", "gauge", "Frames that driver and firmware hold at most.",
		func(w *writer, r *tuner.Status) {
			if r.Pending.MaxFrames > 0 {
				w.sample(float64(r.Pending.MaxFrames))
			}
		}},
	tunable("airtuned_radio_pending_airtime_seconds", "gauge", "Airtime in driver and firmware as AQL counts it, mean of the last window.",
		func(r *tuner.Status) float64 { return seconds(r.Pending.AirtimeUs) }),
	residency("airtuned_radio_residency_mean_seconds", "Time frames spend in driver and firmware, mean of the last second.",
		func(r *tuner.ResidencyStatus) int64 { return r.Mean }),
	residency("airtuned_radio_residency_p50_seconds", "Median of the last minute's windows.",
		func(r *tuner.ResidencyStatus) int64 { return r.P50 }),
	residency("airtuned_radio_residency_p95_seconds", "95th percentile of the last minute's windows.",
		func(r *tuner.ResidencyStatus) int64 { return r.P95 }),
	residency("airtuned_radio_residency_p99_seconds", "99th percentile of the last minute's windows.",
		func(r *tuner.ResidencyStatus) int64 { return r.P99 }),
	{"airtuned_radio_backlog_packets", "gauge", "Packets that wait above the driver, mean of the last window.",
		func(w *writer, r *tuner.Status) {
			if r.BacklogPackets != nil {
				w.sample(float64(*r.BacklogPackets))
			}
		}},
	{"airtuned_radio_queue_stopped_ratio", "gauge", "Share of the last window in which the driver had stopped a queue.",
		func(w *writer, r *tuner.Status) {
			if r.Stopped != nil {
				w.sample(*r.Stopped)
			}
		}},
	{"airtuned_radio_limit_low_seconds", "gauge", "AQL's lower limit of a station, per access category.",
		func(w *writer, r *tuner.Status) { limits(w, r, func(l wlan.Limit) uint32 { return l.LowUs }) }},
	{"airtuned_radio_limit_high_seconds", "gauge", "AQL's higher limit of a station, per access category.",
		func(w *writer, r *tuner.Status) { limits(w, r, func(l wlan.Limit) uint32 { return l.HighUs }) }},
	tunable("airtuned_radio_limit_threshold_seconds", "gauge", "Airtime of the whole radio above which the lower limits hold.",
		func(r *tuner.Status) float64 { return seconds(r.AQL.ThresholdUs) }),
	present("airtuned_radio_transmit_bytes_total", "counter", "Bytes handed to the driver.",
		func(r *tuner.Status) float64 { return float64(r.Total.TxBytes) }),
	tunable("airtuned_radio_transmit_packets_total", "counter", "Packets handed to the driver.",
		func(r *tuner.Status) float64 { return float64(r.Total.TxPackets) }),
	tunable("airtuned_radio_transmit_drops_total", "counter", "Packets dropped above the driver, by fq and CoDel.",
		func(r *tuner.Status) float64 { return float64(r.Total.Drops) }),
	tunable("airtuned_radio_transmit_airtime_seconds_total", "counter", "Transmit airtime that mac80211 booked.",
		func(r *tuner.Status) float64 { return seconds(r.Total.AirtimeUs) }),
	present("airtuned_radio_decisions_total", "counter", "How often the daemon changed the radio's knobs.",
		func(r *tuner.Status) float64 { return float64(r.Decisions) }),
	{"airtuned_radio_last_change_timestamp_seconds", "gauge", "When the daemon last changed one of the radio's knobs.",
		func(w *writer, r *tuner.Status) {
			if r.LastChange != nil {
				w.sample(float64(r.LastChange.At.UnixMilli()) / 1e3)
			}
		}},
	ownTCP("airtuned_radio_tcp_connections", "gauge", "Established TCP connections of this host over the radio.",
		func(c *tuner.TCPStatus) (float64, bool) { return float64(c.Flows), true }),
	ownTCP("airtuned_radio_tcp_active_connections", "gauge", "Those that sent data in the last 5 s.",
		func(c *tuner.TCPStatus) (float64, bool) { return float64(c.Active), true }),
	ownTCP("airtuned_radio_tcp_rtt_p50_seconds", "gauge", "Median of the round trips of active connections.",
		func(c *tuner.TCPStatus) (float64, bool) {
			return rtt(c, func(r *tuner.RTTStatus) int64 { return r.P50 })
		}),
	ownTCP("airtuned_radio_tcp_rtt_p95_seconds", "gauge", "95th percentile of them.",
		func(c *tuner.TCPStatus) (float64, bool) {
			return rtt(c, func(r *tuner.RTTStatus) int64 { return r.P95 })
		}),
	ownTCP("airtuned_radio_tcp_rtt_min_seconds", "gauge", "The shortest round trip that one of them ever had.",
		func(c *tuner.TCPStatus) (float64, bool) {
			if c.MinRTTUs == nil {
				return 0, false
			}
			return seconds(*c.MinRTTUs), true
		}),
	ownTCP("airtuned_radio_tcp_cwnd_segments", "gauge", "Median of their congestion windows.",
		func(c *tuner.TCPStatus) (float64, bool) {
			if c.CwndSegments == nil {
				return 0, false
			}
			return float64(*c.CwndSegments), true
		}),
	ownTCP("airtuned_radio_tcp_acked_bytes_total", "counter", "Bytes that were acknowledged to this host's connections, as far as they were seen.",
		func(c *tuner.TCPStatus) (float64, bool) { return float64(c.Total.AckedBytes), true }),
	ownTCP("airtuned_radio_tcp_retransmitted_segments_total", "counter", "Segments that they sent again, as far as they were seen.",
		func(c *tuner.TCPStatus) (float64, bool) { return float64(c.Total.RetransmittedSegments), true }),
	{"airtuned_radio_firmware_restarts_total", "counter", "Restarts of the firmware since the driver was loaded.",
		func(w *writer, r *tuner.Status) {
			if r.FirmwareRestarts != nil {
				w.sample(float64(*r.FirmwareRestarts))
			}
		}},
}

var stationFamilies = []family[tuner.StationStatus]{
	{"airtuned_station_transmit_bytes_total", "counter", "Bytes handed to the driver for the station.",
		func(w *writer, st *tuner.StationStatus) { w.sample(float64(st.Total.TxBytes)) }},
	{"airtuned_station_transmit_drops_total", "counter", "The station's packets dropped above the driver.",
		func(w *writer, st *tuner.StationStatus) { w.sample(float64(st.Total.Drops)) }},
	{"airtuned_station_transmit_airtime_seconds_total", "counter", "Transmit airtime that mac80211 booked for the station.",
		func(w *writer, st *tuner.StationStatus) { w.sample(seconds(st.Total.AirtimeUs)) }},
	{"airtuned_station_pending_airtime_seconds", "gauge", "The station's airtime in driver and firmware.",
		func(w *writer, st *tuner.StationStatus) { w.sample(seconds(st.PendingUs)) }},
	{"airtuned_station_backlog_packets", "gauge", "The station's packets that wait above the driver.",
		func(w *writer, st *tuner.StationStatus) { w.sample(float64(st.BacklogPackets)) }},
	{"airtuned_station_limit_high_seconds", "gauge", "The station's higher AQL limit, per access category.",
		func(w *writer, st *tuner.StationStatus) {
			for _, ac := range wlan.ACs {
				if l, ok := st.Limits[ac.String()]; ok {
					w.sample(seconds(l.HighUs), "ac", ac.String())
				}
			}
		}},
	{"airtuned_station_phy_rate_bytes_per_second", "gauge", "The rate the station was last sent to at, of the medium, in bytes.",
		func(w *writer, st *tuner.StationStatus) {
			if st.RateKbps > 0 {
				w.sample(float64(st.RateKbps) * 125)
			}
		}},
}

// present is a family of one sample from each radio that is there.
func present(name, kind, help string, value func(*tuner.Status) float64) family[tuner.Status] {
	return family[tuner.Status]{name, kind, help, func(w *writer, r *tuner.Status) {
		if r.State != tuner.Gone {
			w.sample(value(r))
		}
	}}
}

// tunable is present for what debugfs tells: without it there are no limits
// either.
func tunable(name, kind, help string, value func(*tuner.Status) float64) family[tuner.Status] {
	return family[tuner.Status]{name, kind, help, func(w *writer, r *tuner.Status) {
		if r.State != tuner.Gone && len(r.AQL.Limits) > 0 {
			w.sample(value(r))
		}
	}}
}

// residency is a gauge of radios that carried something.
func residency(name, help string, us func(*tuner.ResidencyStatus) int64) family[tuner.Status] {
	return family[tuner.Status]{name, "gauge", help, func(w *writer, r *tuner.Status) {
		if r.State != tuner.Gone && r.ResidencyUs.P95 > 0 {
			w.sample(seconds(us(&r.ResidencyUs)))
		}
	}}
}

// ownTCP is a family of radios whose host's connections are known.
func ownTCP(name, kind, help string, value func(*tuner.TCPStatus) (float64, bool)) family[tuner.Status] {
	return family[tuner.Status]{name, kind, help, func(w *writer, r *tuner.Status) {
		if r.TCP == nil {
			return
		}
		if v, known := value(r.TCP); known {
			w.sample(v)
		}
	}}
}

func rtt(c *tuner.TCPStatus, us func(*tuner.RTTStatus) int64) (float64, bool) {
	if c.RTTUs == nil {
		return 0, false
	}
	return seconds(us(c.RTTUs)), true
}

func limits(w *writer, r *tuner.Status, us func(wlan.Limit) uint32) {
	if r.State == tuner.Gone {
		return
	}
	for _, ac := range wlan.ACs {
		if l, ok := r.AQL.Limits[ac.String()]; ok {
			w.sample(seconds(us(l)), "ac", ac.String())
		}
	}
}
