package status

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/tuner"
	"airtuned/wlan"
)

// textStations is how many stations of a radio Text shows: one screen is for what
// matters.
const textStations = 6

// Text is the daemon's status in plain words, for one screen.
func Text(t term.Terminal, s Daemon, now time.Time) []string {
	lines := []string{fmt.Sprintf("airtuned %s, up %s", term.Safe(s.Version), ago(time.Duration(s.UptimeS*float64(time.Second))))}
	if s.ConfigError != "" {
		lines = append(lines, CardRow(t, "config", t.Paint(term.Red, "not in force: ")+term.Safe(s.ConfigError))...)
	}
	if len(s.Radios) == 0 {
		lines = append(lines, "", "No Wi-Fi radio is there now; one that appears is taken up at once.")
	}
	for i := range s.Radios {
		lines = append(lines, "")
		lines = append(lines, radioText(t, &s.Radios[i], now)...)
	}
	if s.Host != nil && (len(s.Host.Changes) > 0 || len(s.Host.Saturated) > 0 || s.Host.State != tuner.Observing) {
		lines = append(lines, "")
		lines = append(lines, HostText(t, *s.Host)...)
	}
	return lines
}

// radioText is a card of one radio: what is done, why, and what comes of it.
func radioText(t term.Terminal, r *tuner.Status, now time.Time) []string {
	lines := []string{RadioTitle(t, r.Radio)}
	row := func(label, text string) {
		lines = append(lines, CardRow(t, label, text)...)
	}
	row("interfaces", Interfaces(r.Radio))
	style, state := stateWords(r)
	row("state", t.Paint(style, state))
	if r.Reason != "" {
		row("why", term.Safe(r.Reason))
	}
	if r.State == tuner.Gone {
		return lines
	}
	if text := limitText(r); text != "" {
		row("limit", text)
	}
	if text := changeText(r, now); text != "" {
		row("last change", text)
	}
	if text := latencyText(r); text != "" {
		row("latency", text)
	}
	if r.Queue.Source != tuner.SourceNone && r.WindowEnd != nil {
		row("queue", pendingText(r))
	}
	row("traffic", trafficText(r))
	stations := busiest(r.Stations, byThroughput)
	more := max(len(stations)-textStations, 0)
	if len(stations) > 0 {
		tb := term.Table{Head: []string{"  STATION", ">THROUGHPUT", ">RATE", ">AIR", ">IN RADIO", "LIMIT ms"}}
		for _, st := range stations[:len(stations)-more] {
			tb.Rows = append(tb.Rows, []string{
				"  " + st.MAC.String(), mbps(st.ThroughputKbps), rate(&st), air(&st), ms(st.PendingUs), stationLimit(&st),
			})
		}
		lines = append(lines, tb.Lines(t)...)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more: airtuned top shows all", more))
	}
	return lines
}

// limitText says how much may wait in the radio, and whose limit that is.
func limitText(r *tuner.Status) string {
	if n, ok := r.Features[tuner.FeatureQueue]; ok && n > 0 && r.State == tuner.Tuning {
		return fmt.Sprintf("%d frames in the radio in all (tx_queue_limit)", n)
	}
	be, ok := r.AQL.Limits[wlan.BE.String()]
	if !ok {
		return ""
	}
	prose := func(l wlan.Limit) string { return strings.Replace(limit(l), "/", " to ", 1) + " ms" }
	found := wlan.KernelDefault.AC[wlan.BE]
	s := "frames may wait in the radio for " + prose(be) + " of airtime per station"
	switch {
	case r.AQL.Reason != "" || r.Blind():
		return prose(be) + " of airtime per station, which has no effect here"
	case be == found:
		s += ", the kernel's default"
	default:
		s += "; the kernel's default is " + prose(found)
	}
	for _, ac := range wlan.ACs {
		if l, ok := r.AQL.Limits[ac.String()]; ok && l != be {
			return s + " (others: " + LimitsText(r.AQL.Limits) + " us)"
		}
	}
	return s
}

// changeText is the latest change. An event stands for all that changed at once.
func changeText(r *tuner.Status, now time.Time) string {
	c := r.LastChange
	for i := range r.Events {
		if e := &r.Events[i]; e.Knob != "" {
			c = &tuner.LastChange{At: e.At, Knob: e.Knob, From: e.From, To: e.To, Reason: e.Reason}
		}
	}
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s ago, %s: %s", ago(now.Sub(c.At)), change(c.Knob, c.From, c.To), term.Safe(c.Reason))
}

func latencyText(r *tuner.Status) string {
	if r.ResidencyUs.P95 == 0 {
		return ""
	}
	return fmt.Sprintf("a frame is in the radio for %s; in the last minute of traffic 50 %% below %s, 95 %% below %s",
		ms(r.ResidencyUs.Mean), ms(r.ResidencyUs.P50), ms(r.ResidencyUs.P95))
}

func pendingText(r *tuner.Status) string {
	s := ""
	if r.Pending.MaxFrames > 0 {
		s = fmt.Sprintf("%d of %d frames, ", r.Pending.Frames, r.Pending.MaxFrames)
	}
	s += ms(r.Pending.AirtimeUs) + " of airtime in the radio"
	if b := r.BacklogPackets; b != nil {
		s += fmt.Sprintf("; %d packets wait above it, where flows are kept apart", *b)
	}
	return s
}

func trafficText(r *tuner.Status) string {
	return fmt.Sprintf("%s; %d of %s active", mbps(r.ThroughputKbps), r.ActiveStations, count(len(r.Stations), "station"))
}

// order says which of two stations comes first.
type order func(a, b *tuner.StationStatus) bool

func byThroughput(a, b *tuner.StationStatus) bool { return a.ThroughputKbps > b.ThroughputKbps }

// busiest is a sorted copy: a list that is the same keeps its order.
func busiest(stations []tuner.StationStatus, first order) []tuner.StationStatus {
	out := append([]tuner.StationStatus(nil), stations...)
	sort.SliceStable(out, func(i, j int) bool { return first(&out[i], &out[j]) })
	return out
}

func rate(st *tuner.StationStatus) string {
	if st.RateKbps == 0 {
		return "-"
	}
	return mbps(st.RateKbps)
}

func air(st *tuner.StationStatus) string {
	if st.AirtimeShare == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", *st.AirtimeShare*100)
}

func stationLimit(st *tuner.StationStatus) string {
	l, ok := st.Limits[wlan.BE.String()]
	if !ok {
		return "-"
	}
	return limit(l)
}
