package compare

import (
	"encoding/json"
	"math"
	"time"
)

// Flent is one side of an experiment in the format of flent's data files, version
// 3 (flent/resultset.py). Its series are those of flent's test tcp_download, so
// that flent plots it as one, beside others. Time is what was measured of that
// side, one interval after the other.
func (r *Report) Flent(side, host string) ([]byte, error) {
	type value struct {
		T   float64 `json:"t"`
		Val float64 `json:"val"`
		Seq *int    `json:"seq,omitempty"`
	}
	const step = 0.5 // s
	var t0 time.Time
	x := []float64{}
	rate, ping := []*float64{}, []*float64{}
	rawRate, rawPing := []value{}, []value{}
	policy, before := "", 0.0
	for _, l := range r.Legs {
		if l.Side != side {
			continue
		}
		policy = l.Policy
		if t0.IsZero() {
			t0 = l.Start
		}
		unix := float64(t0.UnixMicro())/1e6 + before
		length := l.End.Sub(l.Start).Seconds()
		first := len(x)
		for s := 0.0; s < length-step/2; s += step {
			x, rate, ping = append(x, before+s), append(rate, nil), append(ping, nil)
		}
		count := make([]int, len(x)-first)
		for _, p := range l.points {
			at := p.at.Sub(l.Start).Seconds()
			rawRate = append(rawRate, value{T: unix + at, Val: float64(p.throughputKbps) / 1e3})
			if i := int(at / step); i < len(count) {
				v := float64(p.throughputKbps) / 1e3
				rate[first+i] = &v
			}
		}
		for _, p := range l.pings {
			at := p.At.Sub(l.Start).Seconds()
			ms := float64(p.RTT.Microseconds()) / 1e3
			seq := len(rawPing)
			rawPing = append(rawPing, value{T: unix + at, Val: ms, Seq: &seq})
			if i := int(math.Max(0, at) / step); i < len(count) {
				v := ms
				if ping[first+i] != nil { // the mean of a step's
					v = (*ping[first+i]*float64(count[i]) + ms) / float64(count[i]+1)
				}
				count[i]++
				ping[first+i] = &v
			}
		}
		before += length
	}
	results := map[string]any{"TCP download": rate}
	raw := map[string]any{"TCP download": rawRate}
	series := map[string]any{"TCP download": map[string]string{"UNITS": "Mbits/s"}}
	if len(rawPing) > 0 {
		results["Ping (ms) ICMP"], raw["Ping (ms) ICMP"] = ping, rawPing
		series["Ping (ms) ICMP"] = map[string]string{"UNITS": "ms"}
	}
	const stamp = "2006-01-02T15:04:05.000000Z"
	return json.MarshalIndent(map[string]any{
		"version": 3,
		"metadata": map[string]any{
			"NAME": "tcp_download", "TITLE": side + " " + policy, "NOTE": "airtuned compare: " + r.Verdict,
			"TIME": t0.UTC().Format(stamp), "T0": t0.UTC().Format(stamp),
			"HOST": host, "HOSTS": []string{host}, "LOCAL_HOST": host, "IP_VERSION": 4,
			"LENGTH": before, "TOTAL_LENGTH": before, "STEP_SIZE": step,
			"TEST_PARAMETERS": map[string]string{}, "DATA_FILENAME": nil, "BATCH_NAME": nil, "BATCH_TIME": nil,
			"BATCH_TITLE": nil, "BATCH_UUID": nil, "SERIES_META": series,
		},
		"x_values": x, "results": results, "raw_values": raw,
	}, "", " ")
}
