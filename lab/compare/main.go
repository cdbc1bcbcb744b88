// SPDX-License-Identifier: Apache-2.0

// Compare holds the simulated radio of "airtuned demo" and of the tests against
// the lab: the scenarios that both have, at the same static limits. It takes
// the lab's figures from what lab/sweep has kept, runs radiosim, and writes
// docs/lab/radiosim.md. From the top of the source tree, after a sweep:
//
//	go run ./lab/compare
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"airtuned/lab/scenario"
	"airtuned/lab/uml"
)

// pairs are the scenarios that both have, by their names in the lab and in
// radiosim.
var pairs = []struct{ lab, sim string }{
	{"one-fast", "one-fast"},
	{"one-fast-slow-host", "slow-host"},
	{"four-fast", "four-fast"},
	{"one-slow", "one-slow"},
	{"fast-and-slow", "fast-and-slow"},
	{"crowd", "crowd"},
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := uml.Root()
	if err != nil {
		return err
	}
	cache, err := sweepCache()
	if err != nil {
		return err
	}
	var (
		cells  = flag.String("cells", cache, "`folder` of the sweep's documents; of each setting and seed the newest counts")
		limits = flag.String("limits", "300,450,600,800,1000,1500,2000,3000,5000,8000,12000,24000", "AQL limits in `us`, low and high, with commas: all must have been swept")
		seeds  = flag.Uint64("seeds", 3, "how many seeds to run radiosim with")
		out    = flag.String("out", filepath.Join(root, "docs/lab/radiosim.md"), "`file` to write; what is below its marker stays")
	)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if *seeds == 0 {
		return fmt.Errorf("-seeds: there must be one")
	}
	grid, err := parseLimits(*limits)
	if err != nil {
		return fmt.Errorf("-limits: %w", err)
	}

	lab, err := readCells(*cells)
	if err != nil {
		return err
	}
	var all []comparison
	for _, p := range pairs {
		c := comparison{scenario: p.lab}
		for _, us := range append([]uint32{kernelDefault}, grid...) {
			aql := scenario.AQLDefault
			if us != kernelDefault {
				aql = strconv.FormatUint(uint64(us), 10)
			}
			measured, err := lab.find(p.lab, aql)
			if err != nil {
				return err
			}
			if n := len(c.points); n > 0 && (measured.warmup != c.warmup || measured.duration != c.duration) {
				return fmt.Errorf("%s was swept for different times with different limits: sweep it again", p.lab)
			}
			simulated, err := simulate(p.sim, us, measured.warmup, measured.duration, *seeds)
			if err != nil {
				return err
			}
			c.kernel, c.warmup, c.duration = measured.kernel, measured.warmup, measured.duration
			c.points = append(c.points, point{us, measured.seeds, measured.figures, simulated})
		}
		all = append(all, c)
	}
	return write(*out, document(all, *seeds))
}

// parseLimits reads numbers with commas between them, ascending.
func parseLimits(list string) ([]uint32, error) {
	var grid []uint32
	for field := range strings.SplitSeq(list, ",") {
		us, err := strconv.ParseUint(field, 10, 32)
		if err != nil || us == 0 {
			return nil, fmt.Errorf("%q is no limit", field)
		}
		if n := len(grid); n > 0 && uint32(us) <= grid[n-1] {
			return nil, fmt.Errorf("%d is not above %d", us, grid[n-1])
		}
		grid = append(grid, uint32(us))
	}
	return grid, nil
}

// sweepCache is where lab/sweep keeps its documents.
func sweepCache() (string, error) {
	if c := os.Getenv("AIRTUNED_LAB_CACHE"); c != "" {
		return filepath.Join(c, "sweep"), nil
	}
	c, err := os.UserCacheDir()
	return filepath.Join(c, "airtuned/lab/sweep"), err
}
