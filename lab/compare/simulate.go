// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"airtuned/radiosim"
	"airtuned/wlan"
)

// kernelDefault in place of a limit leaves them as they are.
const kernelDefault = 0

// simulate runs a scenario of radiosim under one limit, as low and high, for as
// long as the lab did. The result is the mean over the seeds.
func simulate(name string, us uint32, warmup, duration time.Duration, seeds uint64) (figures, error) {
	sc, err := radiosim.Lookup(name)
	if err != nil {
		return figures{}, err
	}
	var all []figures
	for seed := uint64(1); seed <= seeds; seed++ {
		sim := radiosim.New(sc, radiosim.Options{Seed: seed})
		if us != kernelDefault {
			for ac := range wlan.NumAC {
				command := fmt.Sprintf("%d %d %d\n", ac, us, us)
				if err := sim.Debug().Write("ieee80211/phy0/aql_txq_limit", []byte(command)); err != nil {
					return figures{}, fmt.Errorf("set the limit of %s to %d us: %w", name, us, err)
				}
			}
		}
		sim.Advance(sim.Now().Add(warmup))
		sim.ResetStats()
		sim.Advance(sim.Now().Add(duration))
		s := sim.Stats()
		all = append(all, figures{s.ThroughputMbps, s.AirEfficiency, s.PingMs.P(95)})
	}
	return mean(all), nil
}
