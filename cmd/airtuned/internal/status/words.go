// Package status puts what the daemon says of its radios into words: one screen
// that tells why a limit is what it is (Text), a live view (Top) and lines for a
// log (Plain). All three are functions of a status and of the time; only Watch
// talks to the daemon and the terminal.
package status

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/host"
	"airtuned/metrics"
	"airtuned/sysfs"
	"airtuned/tuner"
	"airtuned/wlan"
)

// Daemon is the daemon's status.
type Daemon = metrics.Status

const labelWidth = 12

// CardRow is one row of a card: the text is wrapped where a person looks.
func CardRow(t term.Terminal, label, text string) []string {
	parts := []string{text}
	if t.TTY {
		parts = term.Wrap(text, max(t.Width-labelWidth-4, 30))
	}
	for i, part := range parts {
		parts[i] = "  " + t.Paint(term.Dim, term.Pad(label, labelWidth)) + " " + part
		label = ""
	}
	return parts
}

// RadioTitle names a radio and its hardware.
func RadioTitle(t term.Terminal, r tuner.Radio) string {
	var what []string
	switch {
	case r.Chip != "":
		what = append(what, r.Chip)
	case r.Driver == "" || strings.HasPrefix(r.Driver, "ath10k"):
		// Of other drivers no chip is known by name, and none need be.
		what = append(what, "unknown chip")
	}
	if r.Driver != "" {
		what = append(what, term.Safe(r.Driver)+" on "+r.Bus)
	}
	s := t.Paint(term.Bold, term.Safe(r.Phy)) + "  " + strings.Join(what, ", ")
	if r.Firmware != "" {
		s += ", firmware " + term.Safe(r.Firmware)
	}
	return s
}

// Interfaces lists a radio's network interfaces.
func Interfaces(r tuner.Radio) string {
	var names []string
	for _, i := range r.Interfaces {
		name := term.Safe(i.Name)
		if i.Type != "" {
			name += " (" + i.Type + ")"
		}
		names = append(names, name)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

// LimitsText prints limits as low/high, once where every category has the same.
func LimitsText(limits map[string]wlan.Limit) string {
	var parts []string
	same := true
	var first *wlan.Limit
	for _, ac := range wlan.ACs {
		l, ok := limits[ac.String()]
		if !ok {
			continue
		}
		if first == nil {
			first = &l
		}
		same = same && l == *first
		parts = append(parts, ac.String()+" "+l.String())
	}
	if same && first != nil {
		return first.String()
	}
	return strings.Join(parts, ", ")
}

// HostText is a card of the machine itself.
func HostText(t term.Terminal, h host.Status) []string {
	lines := []string{t.Paint(term.Bold, "host") + "  " + count(h.CPUs, "CPU")}
	row := func(label, text string) {
		lines = append(lines, CardRow(t, label, text)...)
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

// stateWords is what a state means, and how it looks.
func stateWords(r *tuner.Status) (style term.Style, words string) {
	style = term.Yellow
	switch r.State {
	case tuner.Tuning:
		style, words = term.Green, " with the policy "+r.Policy
	case tuner.Observing:
		words = ", limits are not touched"
	case tuner.Held:
		words = ", limits stay as they are"
	case tuner.Restored:
		words = ", the original limits are in force"
	case tuner.Gone:
		style = term.Red
	}
	return style, string(r.State) + words
}

// change says what an event did to a knob, shortly where it is a limit.
func change(e *tuner.Event) string {
	from, to := limitMs(e.From), limitMs(e.To)
	s := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(e.Knob, limitKnob), "station/"), "/aql/BE") + " "
	if s == "BE " {
		s = ""
	}
	s += from + " -> " + to
	if to != e.To {
		s += " ms"
	}
	return term.Safe(s)
}

const limitKnob = "aql_txq_limit/"

// limitMs turns a limit as the kernel prints it, us/us, into milliseconds, one
// number where both are the same. Anything else is left as it is.
func limitMs(value string) string {
	low, high, ok := strings.Cut(value, "/")
	a, err := strconv.ParseUint(low, 10, 32)
	b, err2 := strconv.ParseUint(high, 10, 32)
	if !ok || err != nil || err2 != nil {
		return value
	}
	return limit(wlan.Limit{LowUs: uint32(a), HighUs: uint32(b)})
}

// limit prints a limit in milliseconds, one number where both are the same.
func limit(l wlan.Limit) string {
	low, high := fine(int64(l.LowUs)), fine(int64(l.HighUs))
	if l.LowUs == l.HighUs {
		return low
	}
	return low + "/" + high
}

// decimal prints thousandths with some digits behind the point, 1 or 2.
func decimal(n int64, digits int) string {
	sign, unit := "", int64(100)
	if n < 0 {
		sign, n = "-", -n
	}
	if digits == 2 {
		unit = 10
	}
	n = (n + unit/2) / unit
	text := strconv.FormatInt(n, 10)
	for len(text) <= digits {
		text = "0" + text
	}
	return sign + text[:len(text)-digits] + "." + text[len(text)-digits:]
}

// fine prints microseconds as milliseconds with three digits.
func fine(us int64) string {
	if us >= 9995 {
		return decimal(us, 1)
	}
	return decimal(us, 2)
}

// ms prints microseconds as milliseconds.
func ms(us int64) string { return decimal(us, 1) + " ms" }

// mbps prints kilobits as megabits per second.
func mbps(kbps uint64) string { return decimal(int64(kbps), 1) + " Mb/s" }

// ago prints a span of time with the precision a reader wants.
func ago(d time.Duration) string {
	n := max(int(d/time.Second), 0)
	switch two := func(unit, rest int, a, b string) string {
		return strconv.Itoa(n/unit) + a + strconv.Itoa(n%unit/rest) + b
	}; {
	case n < 60:
		return strconv.Itoa(n) + " s"
	case n < 3600:
		return two(60, 1, " min ", " s")
	case n < 48*3600:
		return two(3600, 60, " h ", " min")
	}
	return strconv.Itoa(n/86400) + " days"
}
