package status

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"time"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/tuner"
	"airtuned/wlan"
)

// Top is what the live view shows: the latest status, what was before, and what
// the reader wants to see of it.
type Top struct {
	s      Daemon
	at     time.Time // of s; zero before the first
	away   bool
	charts map[string]*chart // by the radio's path

	radio  string // path; the first one's if there is none such
	scroll int
	sort   int
	log    bool // decisions in full instead of the rest
}

// orders are what stations can be sorted by.
var orders = []struct {
	name  string
	first order
}{
	{"throughput", byThroughput},
	{"rate", func(a, b *tuner.StationStatus) bool { return a.RateKbps > b.RateKbps }},
	{"airtime", func(a, b *tuner.StationStatus) bool { return share(a) > share(b) }},
	{"backlog", func(a, b *tuner.StationStatus) bool { return a.BacklogPackets > b.BacklogPackets }},
	{"drops", func(a, b *tuner.StationStatus) bool { return a.Total.Drops > b.Total.Drops }},
	{"address", func(a, b *tuner.StationStatus) bool { return bytes.Compare(a.MAC[:], b.MAC[:]) < 0 }},
}

func share(st *tuner.StationStatus) float64 {
	if st.AirtimeShare == nil {
		return -1
	}
	return *st.AirtimeShare
}

func (m *Top) chart(path string) *chart {
	if m.charts == nil {
		m.charts = map[string]*chart{}
	}
	c := m.charts[path]
	if c == nil {
		c = &chart{}
		m.charts[path] = c
	}
	return c
}

// Take takes in a status.
func (m *Top) Take(s Daemon, now time.Time) {
	m.s, m.at, m.away = s, now, false
	for i := range s.Radios {
		m.chart(s.Radios[i].Path).take(&s.Radios[i], now)
	}
}

// Fill takes in what the daemon remembers of a radio.
func (m *Top) Fill(past tuner.Past, now time.Time) { m.chart(past.Path).fill(past, now) }

// Away notes that the daemon does not answer.
func (m *Top) Away() { m.away = true }

// Key does what a key is for, and reports whether it ends the view.
func (m *Top) Key(k term.Key) (quit bool) {
	switch k {
	case 'q', 'Q', term.CtrlC:
		return true
	case '\t', term.Right:
		m.turn(1)
	case term.BackTab, term.Left:
		m.turn(-1)
	case 'j', term.Down:
		m.scroll++
	case 'k', term.Up:
		m.scroll--
	case ' ', term.PageDown:
		m.scroll += 10
	case 'b', term.PageUp:
		m.scroll -= 10
	case term.Home:
		m.scroll = 0
	case 's':
		m.sort, m.scroll = (m.sort+1)%len(orders), 0
	case 'd':
		m.log, m.scroll = !m.log, 0
	}
	m.scroll = max(m.scroll, 0)
	return false
}

// shown is the number of the radio that is shown.
func (m *Top) shown() int {
	for i := range m.s.Radios {
		if m.s.Radios[i].Path == m.radio {
			return i
		}
	}
	return 0
}

func (m *Top) turn(by int) {
	if n := len(m.s.Radios); n > 0 {
		m.radio, m.scroll = m.s.Radios[(m.shown()+by+n)%n].Path, 0
	}
}

// Lines is the whole terminal, no more lines than it has.
func (m *Top) Lines(t term.Terminal, now time.Time) []string {
	h := max(t.Height, 2)
	lines := m.head(t)
	if len(m.s.Radios) == 0 {
		if !m.at.IsZero() {
			lines = append(lines, "", "No Wi-Fi radio is there now; one that appears is taken up at once.")
		}
	} else {
		r := &m.s.Radios[m.shown()]
		lines = append(lines, m.top(t, r)...)
		if !m.log {
			lines = append(lines, m.graphs(t, r, now)...)
		}
		lines = m.rest(t, r, lines, h-1)
	}
	for len(lines) < h-1 {
		lines = append(lines, "")
	}
	return append(lines[:h-1], t.Paint(term.Dim, m.keys(t)))
}

// keys says which there are.
func (m *Top) keys(t term.Terminal) string {
	s := "q quit"
	if len(m.s.Radios) > 1 {
		s += "  tab next radio"
	}
	if t.Unicode {
		s += "  ↑↓ scroll"
	} else {
		s += "  j k scroll"
	}
	if m.log {
		return s + "  d stations and charts"
	}
	return s + "  s sort (" + orders[m.sort].name + ")  d decisions"
}

// head tells of the daemon, and of all radios where there are several.
func (m *Top) head(t term.Terminal) []string {
	s := "airtuned"
	if !m.at.IsZero() {
		s += " " + term.Safe(m.s.Version) + ", up " + ago(time.Duration(m.s.UptimeS*float64(time.Second)))
	}
	right := ""
	switch {
	case m.away:
		right = t.Paint(term.Red, "daemon away, retrying")
	case m.at.IsZero():
		right = "waiting for the daemon"
	case m.s.ConfigError != "":
		right = t.Paint(term.Red, "the configuration file is not in force")
	default:
		right = t.Paint(term.Dim, m.at.Format("15:04:05"))
	}
	lines := []string{term.Pad(s, t.Width-2-term.Width(right)) + " " + right}
	if len(m.s.Radios) < 2 {
		return lines
	}
	tabs := ""
	for i := range m.s.Radios {
		r := &m.s.Radios[i]
		tab := term.Safe(r.Phy) + " " + string(r.State) + " " + mbps(r.ThroughputKbps)
		if i == m.shown() {
			tab = t.Paint(term.Bold, "["+tab+"]")
		} else {
			tab = " " + tab + " "
		}
		tabs += tab + " "
	}
	return append(lines, tabs)
}

// top is the radio: what is done, why, and the figures.
func (m *Top) top(t term.Terminal, r *tuner.Status) []string {
	lines := []string{RadioTitle(t, r.Radio) + ", " + Interfaces(r.Radio)}
	style, state := stateWords(r)
	if r.Reason != "" {
		state += ": " + term.Safe(r.Reason)
	}
	why := term.Wrap(state, t.Width-1)
	if most := 2 + t.Height/40; len(why) > most {
		why = why[:most]
	}
	for _, l := range why {
		lines = append(lines, t.Paint(style, l))
	}
	if r.State == tuner.Gone {
		return lines
	}
	parts := append(limitAndTime(r), figures(r)...)
	lines = append(lines, flow(append(parts, number(uint64(m.chart(r.Path).dropsPerS()))+" drops/s"), t.Width-1)...)
	if r.TCP != nil && r.TCP.Flows > 0 {
		lines = append(lines, "own TCP: "+tcpText(r.TCP))
	}
	return lines
}

// limitAndTime are the limit, and how long frames are in the radio under it.
func limitAndTime(r *tuner.Status) (out []string) {
	if n := r.Features[tuner.FeatureQueue]; n > 0 {
		out = append(out, "limit "+strconv.Itoa(n)+" frames")
	} else if be, ok := r.AQL.Limits[wlan.BE.String()]; ok {
		out = append(out, "limit "+limit(be)+" ms")
	}
	if q := r.ResidencyUs; q.P95 > 0 {
		out = append(out, "in radio "+ms(q.Mean)+", p95 "+ms(q.P95))
	}
	return out
}

// flow sets parts side by side, in as many lines of at most w columns as it takes.
func flow(parts []string, w int) (lines []string) {
	for _, p := range parts {
		if n := len(lines); n > 0 && term.Width(lines[n-1])+2+term.Width(p) <= w {
			lines[n-1] += "  " + p
		} else {
			lines = append(lines, p)
		}
	}
	return lines
}

// Where the graphs are between.
const (
	graphLabel = 11
	graphScale = 12
)

// graphs are the last minutes, a column for each second.
func (m *Top) graphs(t term.Terminal, r *tuner.Status, now time.Time) []string {
	n := min(t.Width-1-graphLabel-graphScale, chartSeconds)
	if n < 8 || r.State == tuner.Gone {
		return nil
	}
	rows := 1
	switch {
	case t.Height >= 45:
		rows = 4
	case t.Height >= 32:
		rows = 2
	}
	c := m.chart(r.Path)
	var all [columns][]int64
	var top [columns]int64
	for i := residency; i < columns; i++ {
		all[i] = c.values(i, n, now)
		top[i] = slices.Max(all[i])
	}
	// One scale, to compare them.
	top[pending] = max(top[pending], top[limits])
	top[limits] = top[pending]
	var lines []string
	for i, name := range [...]string{residency: "in radio", throughput: "throughput", pending: "pending", limits: "limit"} {
		if name == "" {
			continue
		}
		scale := term.NiceTopInt(top[i])
		label := fine(scale) + " ms"
		if i == throughput {
			label = mbps(uint64(scale))
		}
		graph := t.Bars(all[i], rows, scale)
		for k, g := range graph {
			name, label := name, label
			if k > 0 {
				label = ""
			}
			if k < rows-1 {
				name = ""
			}
			lines = append(lines, term.Pad(name, graphLabel)+t.Paint(graphStyle[i], g)+term.PadLeft(label, graphScale))
		}
	}
	return lines
}

var graphStyle = [...]term.Style{residency: term.Cyan, throughput: term.Green, pending: term.Yellow, limits: term.Plain}

// rest fills what is left, up to h lines, with stations and decisions.
func (m *Top) rest(t term.Terminal, r *tuner.Status, lines []string, h int) []string {
	room := h - len(lines)
	if m.log {
		return append(lines, m.scrolled(decisions(t, r, true), room)...)
	}
	log := decisions(t, r, false)
	stations := stationTable(t, r, orders[m.sort].first)
	least := min(len(log), max(room/3, 2))
	if len(stations) > 0 {
		n := max(min(len(stations), room-least), min(room, 2))
		lines = append(lines, stations[0])
		lines = append(lines, m.scrolled(stations[1:], n-1)...)
		room -= n
	}
	return append(lines, log[:max(min(len(log), room), 0)]...)
}

// scrolled are the n lines the reader has scrolled to, with what there is more of.
func (m *Top) scrolled(all []string, n int) []string {
	n = max(n, 0)
	m.scroll = max(min(m.scroll, len(all)-n), 0)
	if len(all) <= n || n == 0 {
		return all[:min(n, len(all))]
	}
	out := append([]string(nil), all[m.scroll:m.scroll+n]...)
	if below := len(all) - m.scroll - n; below > 0 {
		out[n-1] = fmt.Sprintf("... %d more", below+1)
	}
	return out
}

// stationTable is a row for each station, the heading first; nothing without any.
func stationTable(t term.Terminal, r *tuner.Status, first order) []string {
	if len(r.Stations) == 0 {
		return nil
	}
	wide := t.Width >= 110
	tb := term.Table{Head: []string{"STATION", ">Mb/s", ">RATE", ">AIR", ">BACKLOG", ">DROPS", ">RADIO ms", ">LIMIT ms"}}
	if wide {
		tb.Head = append(tb.Head, "INTERFACE", "")
	}
	stations := busiest(r.Stations, first)
	for i := range stations {
		st := &stations[i]
		phy := "-"
		if st.RateKbps > 0 {
			phy = decimal(int64(st.RateKbps), 1)
		}
		row := []string{
			st.MAC.String(), decimal(int64(st.ThroughputKbps), 1), phy, air(st), number(st.BacklogPackets), number(st.Total.Drops),
			fine(st.PendingUs), stationLimit(st),
		}
		if wide {
			what := ""
			switch {
			case st.Asleep:
				what = "asleep"
			case st.Active:
				what = "active"
			}
			row = append(row, term.Safe(st.Interface), what)
		}
		tb.Rows = append(tb.Rows, row)
	}
	return tb.Lines(t)
}

// decisions are what the loop did, the latest first; in full, or a line for each.
func decisions(t term.Terminal, r *tuner.Status, full bool) []string {
	var lines []string
	for i := len(r.Events) - 1; i >= 0; i-- {
		e := &r.Events[i]
		what := string(e.State)
		if e.Knob != "" {
			if what = change(e); e.State != tuner.Tuning {
				what += ", " + string(e.State)
			}
		}
		line := t.Paint(term.Dim, e.At.Format("15:04:05")) + "  " + term.Safe(what)
		if !full {
			lines = append(lines, line+"  "+term.Safe(e.Reason))
			continue
		}
		lines = append(lines, line)
		for _, l := range term.Wrap(term.Safe(e.Reason), t.Width-11) {
			lines = append(lines, "          "+l)
		}
	}
	return lines
}
