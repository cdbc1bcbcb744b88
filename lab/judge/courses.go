// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"airtuned/lab/cells"
	"airtuned/lab/result"
	"airtuned/lab/scenario"
)

// The kinds of runs.
const (
	runStatic    = "static"    // the kernel's default and static limits
	runPolicy    = "policy"    // policies on the kernel with the pending counter
	runTransient = "transient" // the judged policy where something changes or the air is not the limit
	runStock     = "stock"     // the judged policy on the stock kernel
)

var kinds = []string{runStatic, runPolicy, runTransient, runStock}

// course is all that was measured of a scenario.
type course struct {
	trial
	scenario scenario.Scenario
	static   cells.Rows // what there is of it, the kernel's default first
	docs     map[cells.Setting][]*result.Document
	// stock are the judged policy's on the stock kernel.
	stock []*result.Document
}

// field is all that was measured. Documents are in the order of seeds; those
// that are missing are left out.
type field struct {
	policies []string // the first one is judged
	seeds    uint64
	// otherSeeds are those of policies that are not judged, and of the judged one
	// on the stock kernel.
	otherSeeds uint64
	courses    []*course
	changing   []*course
	limited    *course
	// missing are cells that were not to be run and are not in the cache.
	missing []string
}

func judgedSetting(f *field) cells.Setting { return policy(f.policies[0]) }

func policy(name string) cells.Setting {
	return cells.Setting{AQL: scenario.AQLDefault, Policy: name}
}

var kernelDefault = cells.Setting{AQL: scenario.AQLDefault}

// label is the setting's name, with the unit of a limit.
func label(s cells.Setting) string {
	if s.Static() {
		return s.Name() + " us"
	}
	return s.Name()
}

// limits of a list with commas.
func limits(list string) (all []cells.Setting) {
	for us := range strings.SplitSeq(list, ",") {
		all = append(all, cells.Setting{AQL: us})
	}
	return all
}

// wanted is a setting to be measured.
type wanted struct {
	course  *course
	setting cells.Setting
	seeds   uint64
}

// measure has a runner measure what is wanted, and returns the documents of
// each. Note is added to what is said of cells that are missing.
func (f *field) measure(ctx context.Context, r *cells.Runner, list []wanted, note string) ([][]*result.Document, error) {
	var all []scenario.Scenario
	for _, w := range list {
		s := w.course.scenario
		if w.setting.Policy != "" && w.course.must != (bar{}) {
			s.Warmup, s.Duration = scenario.Duration(settling), scenario.Duration(measured)
		}
		for seed := uint64(1); seed <= w.seeds; seed++ {
			all = append(all, w.setting.Of(s, seed))
		}
	}
	docs, err := r.All(ctx, all)
	if err != nil {
		return nil, err
	}
	found := make([][]*result.Document, len(list))
	for i, w := range list {
		for seed := range w.seeds {
			if docs[seed] == nil {
				f.missing = append(f.missing, fmt.Sprintf("%s, %s%s, seed %d", w.course.scenario.Name, w.setting.Name(), note, seed+1))
				continue
			}
			found[i] = append(found[i], docs[seed])
		}
		docs = docs[w.seeds:]
	}
	return found, nil
}

// measureAll fills the field. Only cells of these kinds are run if need be.
func (f *field) measureAll(ctx context.Context, counted, stock *cells.Runner, run []string) error {
	keep := func(list []wanted, docs [][]*result.Document) {
		for i, w := range list {
			if len(docs[i]) == 0 {
				continue
			}
			if w.course.docs == nil {
				w.course.docs = map[cells.Setting][]*result.Document{}
			}
			w.course.docs[w.setting] = docs[i]
			if w.setting.Policy == "" {
				w.course.static = append(w.course.static, cells.Mean(w.setting, docs[i]))
			}
		}
	}
	mine := judgedSetting(f)
	for _, kind := range kinds {
		var list []wanted
		for _, c := range f.changing {
			switch kind {
			case runStatic:
				list = append(list, wanted{c, kernelDefault, f.seeds})
			case runTransient:
				list = append(list, wanted{c, mine, f.seeds})
			}
		}
		if kind == runTransient && f.limited != nil {
			list = append(list, wanted{f.limited, mine, f.seeds})
		}
		for _, c := range f.courses {
			switch kind {
			case runStatic:
				list = append(list, wanted{c, kernelDefault, f.seeds})
				for _, s := range limits(c.fine) {
					list = append(list, wanted{c, s, f.seeds})
				}
				for _, s := range limits(c.coarse) {
					list = append(list, wanted{c, s, 1})
				}
			case runPolicy:
				list = append(list, wanted{c, mine, f.seeds})
				for _, p := range f.policies[1:] {
					list = append(list, wanted{c, policy(p), f.otherSeeds})
				}
			case runStock:
				list = append(list, wanted{c, mine, f.otherSeeds})
			}
		}
		r, note := counted, ""
		if kind == runStock {
			r, note = stock, " on the stock kernel"
		}
		r.NoRun = !slices.Contains(run, kind)
		docs, err := f.measure(ctx, r, list, note)
		if err != nil {
			return err
		}
		if kind != runStock {
			keep(list, docs)
			continue
		}
		for i, w := range list {
			w.course.stock = docs[i]
		}
	}
	return nil
}

// below is the next limit of the grid below the best one, if there is one: the
// grid is fine enough if it costs too much.
func (c *course) below(best cells.Row) (next cells.Row, ok bool) {
	us := func(r cells.Row) int { v, _ := strconv.Atoi(r.AQL); return v }
	for _, r := range c.static {
		if r.Static() && us(r) < us(best) && (!ok || us(r) > us(next)) {
			next, ok = r, true
		}
	}
	return next, ok
}

// row is the mean of a setting, if any of it was measured.
func (c *course) row(s cells.Setting) (cells.Row, bool) {
	docs := c.docs[s]
	if len(docs) == 0 {
		return cells.Row{}, false
	}
	return cells.Mean(s, docs), true
}

// best is the best static limit, if any was measured.
func (c *course) best() (cells.Row, bool) {
	i := c.static.Best()
	if i < 0 {
		return cells.Row{}, false
	}
	return c.static[i], true
}
