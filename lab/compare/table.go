// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// What is asked of radiosim.
const (
	kneeFactor = 1.5  // its knee is at most so many times the lab's, or the other way round
	p95Within  = 0.30 // its p95 latency differs by at most this part of the lab's
)

// tolerated is the part of the best efficiency that is had at the knee.
const tolerated = 0.98

// figures are what is compared.
type figures struct {
	mbps       float64 // TCP payload, of all stations
	efficiency float64 // sum over stations of throughput by that of the station alone
	p95Ms      float64 // of pings to stations with downloads
}

// point is one setting in both.
type point struct {
	us       uint32 // low and high limit, or kernelDefault
	seeds    int    // of the lab
	lab, sim figures
}

// comparison is one scenario.
type comparison struct {
	scenario         string // its name in the lab
	kernel           string
	warmup, duration time.Duration
	points           []point // the kernel's default first, then limits, ascending
}

// of chooses one side of a point.
type of func(point) figures

func ofLab(p point) figures { return p.lab }
func ofSim(p point) figures { return p.sim }

// knee is the smallest limit, in microseconds, that has 98 % of the best
// efficiency of all limits; 0 if there are none. The points are ascending.
func knee(points []point, side of) uint32 {
	var best float64
	for _, p := range points {
		if p.us != kernelDefault {
			best = max(best, side(p).efficiency)
		}
	}
	for _, p := range points {
		if p.us != kernelDefault && side(p).efficiency >= tolerated*best {
			return p.us
		}
	}
	return 0
}

// mean of at least one.
func mean(all []figures) figures {
	var sum figures
	for _, f := range all {
		sum.mbps += f.mbps
		sum.efficiency += f.efficiency
		sum.p95Ms += f.p95Ms
	}
	n := float64(len(all))
	return figures{sum.mbps / n, sum.efficiency / n, sum.p95Ms / n}
}

// kneeHolds and p95Holds say whether a ratio, radiosim's by the lab's, is good
// enough.
func kneeHolds(ratio float64) bool { return ratio <= kneeFactor && ratio >= 1/kneeFactor }
func p95Holds(ratio float64) bool  { return ratio <= 1+p95Within && ratio >= 1-p95Within }

func document(all []comparison, seeds uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<!-- Written by "make lab-compare" down to the marker: do not edit. -->
# The simulated radio against the lab

radiosim, which "airtuned demo" and the tests of policies run on, is a model of
mac80211, ath10k and the air in one. Here it is held against the lab, which has
the first two for real: the same scenarios, the same static limits (low = high),
as long a warm-up and measurement. radiosim's figures are means of %d seeds. A
ratio is radiosim's figure divided by the lab's.

The knee is the smallest limit of the grid that has 98 %% of the best air
efficiency; it should be within a factor of %.1f. The p95 latency of pings to
stations with downloads, at the kernel's default limits, should be within %.0f %%.

| scenario | knee lab us | radiosim us | ratio | within %.1f x | p95 lab ms | radiosim ms | ratio | within %.0f %% | Mb/s lab | radiosim | ratio |
|---|---:|---:|---:|---|---:|---:|---:|---|---:|---:|---:|
`, seeds, kneeFactor, 100*p95Within, kneeFactor, 100*p95Within)
	for _, c := range all {
		lab, sim := knee(c.points, ofLab), knee(c.points, ofSim)
		ratio := float64(sim) / float64(lab)
		def := c.points[0]
		p95 := def.sim.p95Ms / def.lab.p95Ms
		fmt.Fprintf(&b, "| %s | %d | %d | %.2f | %s | %.1f | %.1f | %.2f | %s | %.1f | %.1f | %.2f |\n", c.scenario,
			lab, sim, ratio, verdict(kneeHolds(ratio)),
			def.lab.p95Ms, def.sim.p95Ms, p95, verdict(p95Holds(p95)),
			def.lab.mbps, def.sim.mbps, def.sim.mbps/def.lab.mbps)
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n## %s\n\nLinux %s, %v measured after %v.\n\n", c.scenario, c.kernel, c.duration, c.warmup)
		b.WriteString("| limit us | lab's seeds | Mb/s lab | radiosim | efficiency lab | radiosim | p95 lab ms | radiosim ms |\n")
		b.WriteString("|---|" + strings.Repeat("---:|", 7) + "\n")
		for _, p := range c.points {
			name := "kernel default"
			if p.us != kernelDefault {
				name = strconv.FormatUint(uint64(p.us), 10)
			}
			fmt.Fprintf(&b, "| %s | %d | %.1f | %.1f | %.3f | %.3f | %.1f | %.1f |\n", name, p.seeds,
				p.lab.mbps, p.sim.mbps, p.lab.efficiency, p.sim.efficiency, p.lab.p95Ms, p.sim.p95Ms)
		}
	}
	return b.String()
}

func verdict(holds bool) string {
	if holds {
		return "yes"
	}
	return "**no**"
}

// marker is above what people wrote.
const marker = "\n<!-- By hand from here on. -->\n"

// write replaces what is above the marker.
func write(file, generated string) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, byHand, _ := strings.Cut(string(old), marker)
	return os.WriteFile(file, []byte(generated+marker+byHand), 0o644)
}
