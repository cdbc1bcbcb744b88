// SPDX-License-Identifier: Apache-2.0

//go:build lab

// Package inside holds the tests that run inside the lab: their test binary is
// process 1 of a User Mode Linux kernel with two mac80211_hwsim radios.
//
// Time is virtual and infinitely fast (time-travel=inf-cpu): work takes no
// time and a sleep is over as soon as every process sleeps. So a test may wait
// for minutes at no cost, and a process that spins stops the clock and fails
// by the host's watchdog.
package inside

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"airtuned/lab/pid1"
)

// shared is where the host's folder for this run appears.
const shared = pid1.Shared

func TestMain(m *testing.M) {
	if os.Getpid() != 1 {
		flag.Parse()
		if flag.Lookup("test.list").Value.String() != "" {
			m.Run() // for the host, to know what there is
			return
		}
		fmt.Println("these tests run inside the lab's kernel, see lab/README.md")
		return
	}
	if err := pid1.Boot(); err != nil {
		// The host sees no result and shows the console instead.
		fmt.Println("lab: boot:", err)
	} else {
		m.Run()
	}
	if err := pid1.PowerOff(); err != nil {
		fmt.Println("lab:", err)
	}
}
