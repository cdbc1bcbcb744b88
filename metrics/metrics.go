// Package metrics writes the daemon's status as Prometheus text: names by its
// conventions, in base units. It knows no HTTP and no client library, so that
// routers need not carry them.
package metrics

import (
	"strconv"

	"airtuned/host"
	"airtuned/tuner"
)

// Status is the result of the daemon's method status.
type Status struct {
	Version     string         `json:"version"`
	UptimeS     float64        `json:"uptime_s"`
	ConfigError string         `json:"config_error"`
	Radios      []tuner.Status `json:"radios"`
	Host        *host.Status   `json:"host"` // nil of older daemons
}

// ContentType is what a scraper is told the text is.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Options say what to write.
type Options struct {
	// Stations adds metrics of single stations. Their addresses are labels, which
	// a place with many guests may not want to store.
	Stations bool
}

// Append appends the status as text. No status means that the daemon does not
// answer, which is all that is said then.
func Append(b []byte, s *Status, o Options) []byte {
	w := writer{b: b}
	w.family("airtuned_up", "gauge", "Whether the daemon answers.")
	w.sample(truth(s != nil))
	if s == nil {
		return w.b
	}
	w.family("airtuned_build_info", "gauge", "The daemon's version, as a label.")
	w.sample(1, "version", s.Version)
	w.family("airtuned_uptime_seconds", "gauge", "Since the daemon was started.")
	w.sample(s.UptimeS)
	w.family("airtuned_config_in_force", "gauge", "Whether the configuration file, as it is now, is in force.")
	w.sample(truth(s.ConfigError == ""))
	if h := s.Host; h != nil {
		w.family("airtuned_host_cpus", "gauge", "CPUs of the machine.")
		w.sample(float64(h.CPUs))
		if h.Saturated != nil {
			w.family("airtuned_host_saturated_cpus", "gauge", "CPUs that softirqs saturate.")
			w.sample(float64(len(h.Saturated)))
		}
		w.family("airtuned_host_changes", "gauge", "Changes in force of where the network's work is done.")
		w.sample(float64(len(h.Changes)))
	}
	for i := range radioFamilies {
		f := &radioFamilies[i]
		w.family(f.name, f.kind, f.help)
		for j := range s.Radios {
			r := &s.Radios[j]
			w.common = append(w.common[:0], "radio", r.Path, "phy", r.Phy, "chip", r.Chip)
			f.write(&w, r)
		}
	}
	if !o.Stations {
		return w.b
	}
	for i := range stationFamilies {
		f := &stationFamilies[i]
		w.family(f.name, f.kind, f.help)
		for j := range s.Radios {
			r := &s.Radios[j]
			for k := range r.Stations {
				st := &r.Stations[k]
				w.common = append(w.common[:0], "radio", r.Path, "phy", r.Phy, "chip", r.Chip, "station", st.MAC.String(), "interface", st.Interface)
				f.write(&w, st)
			}
		}
	}
	return w.b
}

// family is a metric and the samples that one thing gives to it.
type family[T any] struct {
	name, kind, help string
	write            func(*writer, *T)
}

// writer appends families and their samples. A family without samples is not
// written.
type writer struct {
	b                []byte
	name, kind, help string
	headed           bool
	common           []string // labels that each sample has, name and value in turn
}

func (w *writer) family(name, kind, help string) {
	w.name, w.kind, w.help, w.headed = name, kind, help, false
}

// sample adds one with these labels besides the common ones.
func (w *writer) sample(v float64, labels ...string) {
	if !w.headed {
		w.headed = true
		w.b = append(w.b, "# HELP "+w.name+" "+w.help+"\n# TYPE "+w.name+" "+w.kind+"\n"...)
	}
	w.b = append(w.b, w.name...)
	open := byte('{')
	for _, l := range [][]string{w.common, labels} {
		for i := 0; i+1 < len(l); i += 2 {
			w.b = append(append(append(w.b, open), l[i]...), `="`...)
			w.b = append(appendEscaped(w.b, l[i+1]), '"')
			open = ','
		}
	}
	if open == ',' {
		w.b = append(w.b, '}')
	}
	w.b = append(strconv.AppendFloat(append(w.b, ' '), v, 'g', -1, 64), '\n')
}

// appendEscaped appends the value of a label.
func appendEscaped(b []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\', '"':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		default:
			b = append(b, c)
		}
	}
	return b
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
