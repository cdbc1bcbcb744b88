package main

import (
	"fmt"
	"time"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/host"
	"airtuned/sysfs"
	"airtuned/tuner"
)

// statusText is the daemon's status in plain words, for one screen.
func statusText(t term.Terminal, s daemonStatus, now time.Time) []string {
	lines := []string{fmt.Sprintf("airtuned %s, up %s", term.Safe(s.Version), ago(time.Duration(s.UptimeS)*time.Second))}
	if len(s.Radios) == 0 {
		lines = append(lines, "", "No Wi-Fi radio is there now; one that appears is taken up at once.")
	}
	for _, r := range s.Radios {
		lines = append(lines, "", radioTitle(t, r.Radio))
		row := func(label, text string) {
			lines = append(lines, cardRow(t, label, text)...)
		}
		row("interfaces", interfaces(r.Radio))
		row("state", stateText(t, r))
		if r.State == tuner.Gone {
			continue
		}
		row("queue", pendingText(r))
		row("throughput", fmt.Sprintf("%s; %d of %d stations active", mbps(r.ThroughputKbps), r.ActiveStations, len(r.Stations)))
		if len(r.AQL.Limits) > 0 {
			row("limits", limitsText(r.AQL.Limits)+" us")
		}
		row("decisions", fmt.Sprint(r.Decisions))
		if c := r.LastChange; c != nil {
			row("last change", fmt.Sprintf("%s ago: %s %s -> %s: %s", ago(now.Sub(c.At)), term.Safe(c.Knob), c.From, c.To, term.Safe(c.Reason)))
		}
		if len(r.Stations) > 0 {
			tb := term.Table{Head: []string{"  STATION", ">THROUGHPUT", ">PENDING", "LIMITS us"}}
			for _, st := range r.Stations {
				tb.Rows = append(tb.Rows, []string{"  " + st.MAC.String(), mbps(st.ThroughputKbps), ms(st.PendingUs), limitsText(st.Limits)})
			}
			lines = append(lines, tb.Lines(t)...)
		}
	}
	if s.Host != nil && (len(s.Host.Changes) > 0 || len(s.Host.Saturated) > 0 || s.Host.State != tuner.Observing) {
		lines = append(lines, "")
		lines = append(lines, hostText(t, *s.Host)...)
	}
	return lines
}

// hostText is a card of the machine itself.
func hostText(t term.Terminal, h host.Status) []string {
	lines := []string{t.Paint(term.Bold, "host") + "  " + count(h.CPUs, "CPU")}
	row := func(label, text string) {
		lines = append(lines, cardRow(t, label, text)...)
	}
	if len(h.Saturated) > 0 {
		row("saturated", "CPU "+sysfs.FormatCPUList(h.Saturated)+", by softirqs")
	}
	state := string(h.State)
	if h.State == tuner.Tuning {
		state = "the network's work was moved"
	}
	if h.Reason != "" {
		state += ": " + term.Safe(h.Reason)
	}
	row("placement", state)
	for _, c := range h.Changes {
		row("changed", term.Safe(c.Knob)+" "+c.From+" -> "+c.To)
	}
	return lines
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// stateText says what the daemon does with a radio and why.
func stateText(t term.Terminal, r tuner.Status) string {
	style, words := term.Yellow, string(r.State)
	switch r.State {
	case tuner.Tuning:
		style, words = term.Green, "tuning with the policy "+r.Policy
	case tuner.Observing:
		words = "observing, limits are not touched"
	case tuner.Held:
		words = "held, limits stay as they are"
	case tuner.Restored:
		words = "restored, the original limits are in force"
	case tuner.Gone:
		style, words = term.Red, "gone"
	}
	s := t.Paint(style, words)
	if r.Reason != "" {
		s += ": " + term.Safe(r.Reason)
	}
	return s
}

func pendingText(r tuner.Status) string {
	s := ""
	if r.Pending.MaxFrames > 0 {
		s = fmt.Sprintf("%d of %d frames, ", r.Pending.Frames, r.Pending.MaxFrames)
	}
	s += ms(r.Pending.AirtimeUs) + " of airtime"
	if r.ResidencyUs.Mean > 0 {
		s += fmt.Sprintf("; a frame waits %s there (95 %% of the time under %s)", ms(r.ResidencyUs.Mean), ms(r.ResidencyUs.P95))
	}
	return s
}

// ms prints microseconds as milliseconds.
func ms(us int64) string { return fmt.Sprintf("%.1f ms", float64(us)/1000) }

// mbps prints kilobits as megabits per second.
func mbps(kbps uint64) string { return fmt.Sprintf("%.1f Mb/s", float64(kbps)/1000) }

// ago prints a span of time with the precision a reader wants.
func ago(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}
