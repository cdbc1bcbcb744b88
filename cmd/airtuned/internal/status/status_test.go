package status

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/host"
	"airtuned/tuner"
	"airtuned/wlan"
)

var update = flag.Bool("update", false, "write testdata")

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// golden holds lines to a file in testdata.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	got := ""
	for _, l := range lines {
		got += strings.TrimRight(l, " ") + "\n"
	}
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s; go test -update renews it (-want +got):\n%s", file, diff)
	}
}

func limitsOf(low, high uint32) map[string]wlan.Limit {
	out := map[string]wlan.Limit{}
	for _, ac := range wlan.ACs {
		out[ac.String()] = wlan.Limit{LowUs: low, HighUs: high}
	}
	return out
}

// radio is one that tunes, with some stations.
func radio(stations int) tuner.Status {
	end := now.Add(-100 * time.Millisecond)
	backlog, stopped := int64(712), 0.02
	r := tuner.Status{
		Radio: tuner.Radio{
			Path: "devices/a", Phy: "phy0", Chip: "QCA9984", Driver: "ath10k_pci", Bus: "pci", Policy: "delay",
			Firmware:   "10.4-3.9.0.2-00131",
			Interfaces: []tuner.Interface{{Name: "wlan0\x1b[2J", Type: "AP"}},
			AQL:        tuner.AQL{Limits: limitsOf(1200, 1200), Writable: true},
			Queue:      tuner.Queue{Source: tuner.SourceFrames, Max: 1424},
		},
		State:   tuner.Tuning,
		Reason:  "found by measuring; less costs 0.9 % of the throughput (half as much: 4.1 %), more gains nothing (twice as much: 0.2 %)",
		Pending: tuner.PendingStatus{Frames: 247, MaxFrames: 1424, AirtimeUs: 2960}, WindowEnd: &end,
		ResidencyUs:    tuner.ResidencyStatus{Mean: 1500, P50: 1400, P95: 1800, P99: 2600},
		ThroughputKbps: 612345, ActiveStations: min(stations, 2), Decisions: 7, BacklogPackets: &backlog, Stopped: &stopped,
		LastChange: &tuner.LastChange{At: now.Add(-190 * time.Second), Knob: "aql_txq_limit/BK", From: "1460/1460", To: "1200/1200", Reason: "why"},
		Events: []tuner.Event{
			{Seq: 4, At: now.Add(-10 * time.Minute), State: tuner.Tuning, Reason: "searching for the least limit that costs no throughput", Knob: "aql_txq_limit/BE", From: "5000/12000", To: "2000/2000", More: 3},
			{Seq: 5, At: now.Add(-5 * time.Minute), State: tuner.Tuning, Reason: "trying twice 2000 us", Knob: "station/02:00:00:00:00:01/aql/BE", From: "2000/2000", To: "4000/4000"},
			{Seq: 6, At: now.Add(-4 * time.Minute), State: tuner.Held, Reason: "the firmware was restarted"},
			{Seq: 7, At: now.Add(-190 * time.Second), State: tuner.Tuning, Reason: "found by measuring; less costs 0.9 % of the throughput, more gains nothing", Knob: "aql_txq_limit/BE", From: "1460/1460", To: "1200/1200", More: 3},
		},
		Total: tuner.Totals{TxBytes: 1e9, Drops: 17},
	}
	for i := range stations {
		share := 1 / float64(i+2)
		r.Stations = append(r.Stations, tuner.StationStatus{
			MAC: wlan.MAC{2, 0, 0, 0, 0, byte(i)}, Interface: "wlan0", Limits: limitsOf(1200, 1200), PendingUs: int64(100 * i),
			ThroughputKbps: uint64(100000 * (i + 1) % 700001), RateKbps: 866700, AirtimeShare: &share,
			BacklogPackets: uint64(i), Active: i < 2, Asleep: i == 3, Total: tuner.Totals{Drops: uint64(i * i)},
		})
	}
	return r
}

// in is the radio in another state, under the limits it was found with.
func in(state tuner.State, reason string) tuner.Status {
	r := radio(1)
	r.State, r.Reason = state, reason
	r.AQL.Limits = limitsOf(5000, 12000)
	r.Events, r.LastChange = nil, nil
	for i := range r.Stations {
		r.Stations[i].Limits = r.AQL.Limits
	}
	return r
}

// What status says in every state.
func TestText(t *testing.T) {
	many := radio(9)
	noDebugfs := in(tuner.Observing, "")
	noDebugfs.AQL = tuner.AQL{Reason: "ieee80211/phy0/aql_txq_limit: no such file: this kernel was built without CONFIG_MAC80211_DEBUGFS"}
	noDebugfs.Reason, noDebugfs.Queue.Source, noDebugfs.WindowEnd, noDebugfs.ResidencyUs = noDebugfs.AQL.Reason, tuner.SourceNone, nil, tuner.ResidencyStatus{}
	noAQL := in(tuner.Observing, "the ath9k driver does not use AQL: limits have no effect")
	noAQL.AQL.Reason = noAQL.Reason
	frames := in(tuner.Tuning, "AQL is blind, so frames are limited: holding")
	frames.Features = tuner.Features{tuner.FeatureQueue: 64}
	gone := in(tuner.Gone, "the device has gone")
	slow := radio(1)
	slow.Stations[0].Limits = limitsOf(2400, 2400)
	slow.Stations[0].AirtimeShare, slow.Stations[0].RateKbps = nil, 0
	for name, r := range map[string]tuner.Status{
		"tuning":     many,
		"slow":       slow,
		"frames":     frames,
		"blind":      in(tuner.Observing, tuner.ReasonBlind),
		"no-aql":     noAQL,
		"no-debugfs": noDebugfs,
		"waiting":    in(tuner.Observing, "waiting for traffic: no airtime was counted yet"),
		"held":       in(tuner.Held, "another program changed the limits (BE 1200/1200 -> 5000/12000); they are left to it"),
		"restored":   in(tuner.Restored, "asked to"),
		"gone":       gone,
	} {
		s := Daemon{Version: "1.0", UptimeS: 3725, Radios: []tuner.Status{r}}
		golden(t, "text-"+name, Text(term.Terminal{TTY: true, Width: 80, Height: 24}, s, now))
	}
	s := Daemon{Version: "1.0", ConfigError: "line 3: unknown key", Host: &host.Status{
		State: tuner.Tuning, Reason: "helped", CPUs: 4, Saturated: []int{0, 1},
		Changes: []tuner.Change{{Phy: "host", Knob: "threaded/eth0", From: "0", To: "1"}},
	}}
	golden(t, "text-no-radio", Text(term.Terminal{}, s, now))
}

// fed is a view that has seen a minute and a half.
func fed(radios ...tuner.Status) *Top {
	var m Top
	past := tuner.Past{Path: "devices/a", Columns: []string{"ms_ago", "window_ms", "high_us", "pending_us", "tx_bytes", "tx_packets", "frames", "later"}}
	for i := range 300 {
		past.Windows = append(past.Windows, []int64{int64(90000 - 200*i), 200, int64(2000 - i), int64(1000 + 5*i), 15000000, 10000, int64(60 + i%50), 1})
	}
	m.Fill(past, now)
	for i := range 61 {
		at := now.Add(time.Duration(i-60) * 500 * time.Millisecond)
		s := Daemon{Version: "1.0", UptimeS: 3725, Radios: append([]tuner.Status(nil), radios...)}
		for k := range s.Radios {
			r := &s.Radios[k]
			if r.WindowEnd == nil {
				continue
			}
			end := at.Add(-100 * time.Millisecond)
			r.WindowEnd = &end
			r.Total.TxBytes += uint64(i) * 38000000
			r.Total.Drops += uint64(i)
			r.ResidencyUs.Mean += int64(10 * i)
		}
		m.Take(s, at)
	}
	return &m
}

func TestTop(t *testing.T) {
	small, large := term.Terminal{TTY: true, Unicode: true, Width: 80, Height: 24}, term.Terminal{TTY: true, Unicode: true, Width: 200, Height: 50}
	second := in(tuner.Observing, tuner.ReasonBlind)
	second.Path, second.Phy, second.Interfaces = "devices/b", "phy1", nil
	press := func(m *Top, keys ...term.Key) *Top {
		for _, k := range keys {
			if m.Key(k) {
				t.Errorf("key %d ends it", k)
			}
		}
		return m
	}
	away := fed(radio(3))
	away.Away()
	poor := small
	poor.Unicode = false
	for name, tt := range map[string]struct {
		m  *Top
		tm term.Terminal
	}{
		"80x24":          {fed(radio(4)), small},
		"200x50":         {fed(radio(4)), large},
		"80x24-crowd":    {press(fed(radio(30)), term.PageDown, 's', term.Down), small},
		"200x50-crowd":   {fed(radio(30)), large},
		"80x24-two":      {press(fed(radio(2), second), '\t'), small},
		"80x24-log":      {press(fed(radio(2)), 'd', 'j'), small},
		"80x24-ascii":    {fed(radio(4)), poor},
		"80x24-away":     {away, small},
		"80x24-gone":     {fed(in(tuner.Gone, "the device has gone")), small},
		"80x24-none":     {fed(), small},
		"80x24-starting": {&Top{}, small},
		"30x10":          {fed(radio(4)), term.Terminal{TTY: true, Width: 30, Height: 10}},
	} {
		lines := tt.m.Lines(tt.tm, now)
		if len(lines) != tt.tm.Height {
			t.Errorf("%s: %d lines", name, len(lines))
		}
		for i, l := range lines {
			lines[i] = term.Clip(l, tt.tm.Width-1)
		}
		golden(t, "top-"+name, lines)
	}
}

// No size of terminal and no key makes it fail, or draw more than fits.
func TestTopEverySize(t *testing.T) {
	keys := []term.Key{'s', 'd', term.PageDown, '\t', term.Up, 'd', term.BackTab, 'x', 0, term.Home}
	m := fed(radio(20), in(tuner.Held, strings.Repeat("why ", 60)))
	for h := range 60 {
		for _, w := range []int{0, 1, 10, 40, 80, 131, 400} {
			m.Key(keys[(h+w)%len(keys)])
			if got := len(m.Lines(term.Terminal{TTY: true, Colour: true, Width: w, Height: h}, now)); got != max(h, 2) {
				t.Fatalf("%d lines for %dx%d", got, w, h)
			}
		}
	}
	for _, k := range []term.Key{'q', term.CtrlC} {
		if !m.Key(k) {
			t.Errorf("key %d does not end it", k)
		}
	}
}

// The radio that is shown stays when others come and go, and tab goes round.
func TestTopRadios(t *testing.T) {
	a, b, c := radio(0), radio(0), radio(0)
	b.Path, c.Path = "devices/b", "devices/c"
	var m Top
	m.Take(Daemon{Radios: []tuner.Status{a, b}}, now)
	want := func(what, path string) {
		t.Helper()
		if got := m.s.Radios[m.shown()].Path; got != path {
			t.Errorf("%s: %s, want %s", what, got, path)
		}
	}
	want("at first", a.Path)
	m.Key('\t')
	want("tab", b.Path)
	m.Take(Daemon{Radios: []tuner.Status{c, a, b}}, now)
	want("one more", b.Path)
	m.Key('\t')
	want("tab at the end", c.Path)
	m.Key(term.BackTab)
	want("back", b.Path)
	m.Take(Daemon{Radios: []tuner.Status{c}}, now)
	want("it left", c.Path)
	m.Take(Daemon{}, now)
	m.Key('\t')
}

func TestPlain(t *testing.T) {
	bare := tuner.Status{Radio: tuner.Radio{Phy: "phy1"}, State: tuner.Gone, Reason: "the device has \"gone\""}
	frames := in(tuner.Tuning, "AQL is blind")
	frames.Features = tuner.Features{tuner.FeatureQueue: 64}
	lines := Plain(Daemon{Radios: []tuner.Status{radio(4), bare, frames}}, now)
	golden(t, "plain", append(lines, Plain(Daemon{}, now)...))
}

// Traffic in a chart is what was sent since the second before, not what single
// windows happened to show.
func TestChartThroughput(t *testing.T) {
	var c chart
	r := radio(0)
	for i := range 30 { // 8 Mb/s
		at := now.Add(time.Duration(i) * 200 * time.Millisecond)
		r.WindowEnd, r.Total.TxBytes, r.Total.Drops, r.ThroughputKbps = &at, uint64(200000*i), uint64(i), 1
		c.take(&r, at)
	}
	last := now.Add(29 * 200 * time.Millisecond)
	got := c.values(throughput, 7, last)
	if got[0] != unknown || got[2] != 8000 || got[6] != 8000 {
		t.Errorf("throughput %v, want 8000", got)
	}
	if got := c.dropsPerS(); got != 5 {
		t.Errorf("%v drops/s, want 5", got)
	}
	at := last.Add(time.Second)
	r.WindowEnd, r.Total = &at, tuner.Totals{} // the daemon was restarted
	c.take(&r, at)
	if got := c.values(throughput, 1, at); got[0] != 1 {
		t.Errorf("after a restart: %v, want the window's", got)
	}
	if got := c.dropsPerS(); got != 0 {
		t.Errorf("after a restart: %v drops/s", got)
	}
}

func TestChange(t *testing.T) {
	for _, tt := range [][4]string{
		{"aql_txq_limit/BE", "5000/12000", "980/980", "5.00/12.0 -> 0.98 ms"},
		{"aql_txq_limit/VO", "1/1", "2/2", "VO 0.00 -> 0.00 ms"},
		{"station/02:00:00:00:00:01/aql/BE", "2000/2000", "4000/4000", "02:00:00:00:00:01 2.00 -> 4.00 ms"},
		{"aql_threshold", "24000", "2000", "aql_threshold 24000 -> 2000"},
		{"threaded/wlan0", "0", "1", "threaded/wlan0 0 -> 1"},
		{"aql_txq_limit/BE", "x", "\x1b[2J", "x -> ?[2J"},
	} {
		if got := change(&tuner.Event{Knob: tt[0], From: tt[1], To: tt[2]}); got != tt[3] {
			t.Errorf("%s: %q, want %q", tt[0], got, tt[3])
		}
	}
}

// One frame is on its way at a time, and a slow line stays free.
func TestPace(t *testing.T) {
	at := func(ms int) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	p := pace{interval: time.Second}
	want := func(ms int, ready bool, wait int) {
		t.Helper()
		ok, w := p.ready(at(ms))
		if ok != ready || w != time.Duration(wait)*time.Millisecond {
			t.Errorf("after %d ms: %v, %v; want %v, %d ms", ms, ok, w, ready, wait)
		}
	}
	want(0, true, 0)
	p.start(at(0))
	want(500, false, 0) // being written
	p.wrote(at(500))
	want(600, false, 400) // an answer is due
	p.answer(at(700))     // 0.7 s for a frame: the next after 2.8 s
	want(900, false, 1900)
	want(2800, true, 0)
	p.start(at(2800))
	p.wrote(at(2800))
	want(9000, false, 3800) // it is known to answer
	p.hurry(at(9000))
	want(9000, false, 3800)
	p.answer(at(9500)) // long ago: no more than 5 s of rest
	want(9500, false, 5000)
	p.hurry(at(9600)) // a key
	want(9600, true, 0)
	p.start(at(9600))
	p.wrote(at(9600))
	p.answer(at(9610))
	want(9610, false, 990) // fast: at the interval
	p.start(at(11000))
	p.wrote(at(11000))
	want(21000, true, 0) // lost
	if p.silent {
		t.Error("one lost answer makes it silent")
	}

	p = pace{interval: time.Second}
	p.start(at(0))
	p.wrote(at(0))
	want(1000, true, 0) // it does not answer
	if !p.silent {
		t.Error("not silent")
	}
	p.start(at(1000))
	p.wrote(at(1500)) // then what counts is that it takes what is written
	want(1500, false, 1500)
}

func TestDecode(t *testing.T) {
	if _, err := Decode([]byte(`{"version": 1}`)); err == nil || !strings.Contains(err.Error(), "not understood") {
		t.Errorf("got %v", err)
	}
	s, err := Decode([]byte(`{"version": "1", "new": {}, "radios": [{"phy": "phy7"}]}`))
	if err != nil || fmt.Sprint(s.Version, s.Radios[0].Phy) != "1phy7" {
		t.Errorf("got %+v, %v", s, err)
	}
}
