// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tolerated is the part of the best static limit's delivery that the best
// setting has to keep.
const tolerated = 0.98

// delivery is what limits must not cost: air efficiency, or plain throughput
// where that is unknown.
func (t *table) delivery(r row) float64 {
	if t.efficiencyKnown() {
		return r.efficiency
	}
	return r.mbps
}

func (t *table) efficiencyKnown() bool {
	for _, r := range t.rows {
		if r.efficiency == 0 {
			return false
		}
	}
	return true
}

// best is the static limit of least latency among those that cost nothing, or
// -1 if there is no static limit.
func (t *table) best() int {
	most := 0.0
	for _, r := range t.rows {
		if r.static() {
			most = math.Max(most, t.delivery(r))
		}
	}
	best := -1
	for i, r := range t.rows {
		if r.static() && t.delivery(r) >= tolerated*most && (best < 0 || r.p95 < t.rows[best].p95) {
			best = i
		}
	}
	return best
}

// write makes the document and its pictures.
func write(dir string, tables []table) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "sweep.md"), []byte(document(tables)), 0o644); err != nil {
		return err
	}
	for i := range tables {
		file := filepath.Join(dir, tables[i].scenario.Name+".svg")
		if err := os.WriteFile(file, []byte(picture(&tables[i])), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func document(tables []table) string {
	var b strings.Builder
	b.WriteString(`<!-- Written by "make lab-sweep": do not edit. -->
# Airtime queue limits and what they cost

The ath10k driver over an emulated QCA9984, under each limit (low = high, in
microseconds), the kernel's default (5000/12000), and without AQL. Pings are
from the access point to stations with downloads ("busy") and without ("idle");
the TCP round trip has 20 ms of wide area network in it. Efficiency is the sum,
over the stations, of throughput divided by that of such a station alone. The
**best** static limit is the one of least busy p95 among those with 98 % of the
highest efficiency, or throughput where stations change.
`)
	for i := range tables {
		t := &tables[i]
		s := &t.scenario
		fmt.Fprintf(&b, "\n## %s\n\n%s. Linux %s, %v measured after %v, ", s.Name, sentence(s.Description), t.kernel,
			time.Duration(s.Duration), time.Duration(s.Warmup))
		if t.seeds == 1 {
			b.WriteString("one seed.")
		} else {
			fmt.Fprintf(&b, "mean of %d seeds.", t.seeds)
		}
		fmt.Fprintf(&b, "\n\n![latency against throughput](%s.svg)\n\n", s.Name)
		b.WriteString("| limit | Mb/s | efficiency | busy p50 ms | p95 | p99 | idle p95 | TCP ms | frames pending | ms in firmware | full % | airtime fairness |\n")
		b.WriteString("|---|" + strings.Repeat("---:|", 11) + "\n")
		best := t.best()
		for k, r := range t.rows {
			name := r.name()
			if k == best {
				name = "**" + name + "**"
			}
			efficiency := ""
			if r.efficiency > 0 {
				efficiency = strconv.FormatFloat(r.efficiency, 'f', 3, 64)
			}
			fmt.Fprintf(&b, "| %s | %.1f | %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.0f | %.1f | %.0f | %.2f |\n", name, r.mbps,
				efficiency, r.p50, r.p95, r.p99, r.idle95, r.rtt, r.frames, r.firmware, r.full, r.jain)
		}
	}
	return b.String()
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
