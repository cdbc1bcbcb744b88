// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"airtuned/lab/scenario"
)

// bar is how good a policy has to be.
type bar struct {
	efficiency float64 // at least this part of the most that any static limit has
	p95        float64 // at most so many times the best static limit's
}

// aim is the bar one would like everywhere.
var aim = bar{0.98, 1.15}

// trial is a scenario that policies are judged in.
type trial struct {
	name string
	must bar
	// fine are limits around the best, which have all seeds. coarse ones are
	// for the picture of it, and have one.
	fine, coarse string
	// aimP95Ms, if any, is a p95 that no limit for all stations reaches.
	aimP95Ms float64
}

var trials = []trial{
	{"one-fast", bar{0.98, 1.15}, "600,800,1000,1500", "500,2000,5000,12000", 0},
	{"one-fast-slow-host", bar{0.97, 1.25}, "2250,2500,3000,3500", "1500,5000,12000", 0},
	{"four-fast", bar{0.98, 1.15}, "600,700,800,1000", "500,1500,5000,12000", 0},
	{"four-fast-slow-host", bar{0.97, 1.25}, "600,700,800,1000", "500,1500,5000,12000", 0},
	{"one-slow", bar{0.98, 1.15}, "1500,2000,2500,3000,4000,5000", "8000,12000", 0},
	{"one-slow-slow-host", bar{0.97, 1.25}, "4000,5000,6500,8000", "1500,12000", 0},
	{"fast-and-slow", bar{0.98, 1.2}, "1500,2000,2500,3000", "600,1000,5000,12000", 20},
	{"fast-and-slow-slow-host", bar{0.97, 1.25}, "1500,2000,2500,3000", "600,1000,5000,12000", 0},
	{"crowd", bar{0.97, 1.3}, "2000,3000,4000,5000", "1500,8000,12000", 40},
	{"crowd-slow-host", bar{0.97, 1.3}, "2000,3000,4000,5000", "1500,8000,12000", 0},
}

// shown are the limits that people put into rc.local; all trials have them.
var shown = []string{"1500", "5000", "12000"}

// The times of policies. Limits that do not change need no more warm-up than
// their scenario says.
const (
	settling = 20 * time.Second
	measured = 20 * time.Second
)

// changing are the scenarios in which something happens.
var changing = []string{"rate-drop", "join-leave", "join-crowd"}

// limited is a scenario in which something else than the air is slow.
const limited = "slow-wan"

const (
	// third of the kernel default's p95 is what the policy has to be below where
	// the best static limit is.
	third = 1. / 3
	// stockLoss is what may be lost without ath10k's pending counter.
	stockLoss = 0.10
	// jainLoss is what fairness may differ by: it is told to two digits.
	jainLoss = 0.005

	// moves is the standard deviation of ln L in steady state, movesFew that of
	// limits of less than fewFrames frames of the slowest station, where one
	// frame more or less is a tenth at least.
	moves     = 0.05
	movesFew  = 0.15
	fewFrames = 10

	// A limit has settled when it stays within this part of its later mean, and
	// has answered when it has moved by as much.
	settled       = 0.25
	settledWithin = 15 * time.Second

	// After a change, no second may have a p95 this many times the steady one.
	unsteady        = 1.5
	answeredWithin  = time.Second
	rateWithin      = 5 * time.Second
	joinWithin      = 3 * time.Second
	collapsed       = 0.5  // of the throughput before or after, whichever is less
	drift           = 0.10 // of L, where TCP is limited by something else
	driftOver       = 5 * time.Second
	limitedDelivers = 0.9 // of what the wide area network carries
)

// few is whether a limit is only a few frames of the slowest busy station.
func few(s *scenario.Scenario, limitUs float64) bool {
	slowest := 0
	for _, g := range s.Stations {
		if kbps := g.RateKbps.At(0); g.Download.At(0) > 0 && kbps > 0 && (slowest == 0 || kbps < slowest) {
			slowest = kbps
		}
	}
	const bits = 1500 * 8
	return slowest > 0 && limitUs < fewFrames*bits*1000/float64(slowest)
}
