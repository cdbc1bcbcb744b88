package status

import (
	"fmt"
	"sort"
	"strconv"
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
	row("now", strings.Join(figures(r), ", "))
	if r.TCP != nil && r.TCP.Flows > 0 {
		row("own TCP", tcpText(r.TCP))
	}
	table := stationTable(t, r, byThroughput)
	more := max(len(table)-1-textStations, 0)
	for _, l := range table[:len(table)-more] {
		lines = append(lines, "  "+l)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more: airtuned top shows all", more))
	}
	return lines
}

// tcpText says how this host's own connections over the radio fare.
func tcpText(c *tuner.TCPStatus) string {
	s := fmt.Sprintf("%d of %d connections active", c.Active, c.Flows)
	if c.RTTUs != nil {
		s += fmt.Sprintf("; round trip %s (95 %% under %s", ms(c.RTTUs.P50), ms(c.RTTUs.P95))
		if c.MinRTTUs != nil {
			s += ", at best " + ms(*c.MinRTTUs)
		}
		s += ")"
	}
	return s + fmt.Sprintf("; %d segments sent again", c.Total.RetransmittedSegments)
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
	return s
}

// changeText is the latest change. An event stands for all that changed at once.
func changeText(r *tuner.Status, now time.Time) string {
	for i := len(r.Events) - 1; i >= 0; i-- {
		if e := &r.Events[i]; e.Knob != "" {
			s := ago(now.Sub(e.At)) + " ago, " + change(e)
			if e.Reason != r.Reason { // it was said above
				s += ": " + term.Safe(e.Reason)
			}
			return s
		}
	}
	return ""
}

func latencyText(r *tuner.Status) string {
	if r.ResidencyUs.P95 == 0 {
		return ""
	}
	return fmt.Sprintf("a frame is in the radio for %s; in the last minute of traffic 50 %% below %s, 95 %% below %s",
		ms(r.ResidencyUs.Mean), ms(r.ResidencyUs.P50), ms(r.ResidencyUs.P95))
}

// figures are what is in the radio, above it, and on the air.
func figures(r *tuner.Status) (out []string) {
	add := func(s string) { out = append(out, s) }
	if n := r.Pending.MaxFrames; n > 0 {
		add(fmt.Sprintf("pending %s ms (%d/%d frames)", fine(r.Pending.AirtimeUs), r.Pending.Frames, n))
	} else if r.WindowEnd != nil {
		add("pending " + fine(r.Pending.AirtimeUs) + " ms")
	}
	if b := r.BacklogPackets; b != nil {
		add(number(uint64(*b)) + " packets wait")
	}
	if s := r.Stopped; s != nil {
		add("queue stopped " + percent(*s))
	}
	add(mbps(r.ThroughputKbps))
	add(fmt.Sprintf("%d/%d active", r.ActiveStations, len(r.Stations)))
	return out
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func percent(share float64) string { return strconv.Itoa(int(share*100+0.5)) + " %" }

// order says which of two stations comes first.
type order func(a, b *tuner.StationStatus) bool

func byThroughput(a, b *tuner.StationStatus) bool { return a.ThroughputKbps > b.ThroughputKbps }

// busiest is a sorted copy: a list that is the same keeps its order.
func busiest(stations []tuner.StationStatus, first order) []tuner.StationStatus {
	out := append([]tuner.StationStatus(nil), stations...)
	sort.SliceStable(out, func(i, j int) bool { return first(&out[i], &out[j]) })
	return out
}

func air(st *tuner.StationStatus) string {
	if st.AirtimeShare == nil {
		return "-"
	}
	return percent(*st.AirtimeShare)
}

func stationLimit(st *tuner.StationStatus) string {
	l, ok := st.Limits[wlan.BE.String()]
	if !ok {
		return "-"
	}
	return limit(l)
}
