// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"airtuned/lab/cells"
	"airtuned/lab/scenario"
)

// table is all that was measured of one scenario.
type table struct {
	scenario scenario.Scenario
	kernel   string
	seeds    uint64
	rows     cells.Rows
}

// sweep runs each scenario with each setting and seed.
func sweep(ctx context.Context, r *cells.Runner, scenarios []scenario.Scenario, settings []cells.Setting, seeds uint64) ([]table, error) {
	var all []scenario.Scenario
	for _, s := range scenarios {
		for _, set := range settings {
			for seed := uint64(1); seed <= seeds; seed++ {
				all = append(all, set.Of(s, seed))
			}
		}
	}
	docs, err := r.All(ctx, all)
	if err != nil {
		return nil, err
	}
	var tables []table
	for _, s := range scenarios {
		t := table{scenario: s, seeds: seeds}
		for _, set := range settings {
			t.kernel = docs[0].Kernel
			t.rows = append(t.rows, cells.Mean(set, docs[:seeds]))
			docs = docs[seeds:]
		}
		tables = append(tables, t)
	}
	return tables, nil
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
		best := t.rows.Best()
		for k, r := range t.rows {
			name := r.Name()
			if k == best {
				name = "**" + name + "**"
			}
			efficiency := ""
			if r.Efficiency > 0 {
				efficiency = strconv.FormatFloat(r.Efficiency, 'f', 3, 64)
			}
			fmt.Fprintf(&b, "| %s | %.1f | %s | %.1f | %.1f | %.1f | %.1f | %.1f | %.0f | %.1f | %.0f | %.2f |\n", name, r.Mbps,
				efficiency, r.P50, r.P95, r.P99, r.Idle95, r.RTT, r.Frames, r.Firmware, r.Full, r.Jain)
		}
	}
	return b.String()
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
