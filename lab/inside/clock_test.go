// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// setClock moves the wall clock.
func setClock(t *testing.T, by time.Duration) {
	t.Helper()
	ts := unix.NsecToTimespec(time.Now().Add(by).UnixNano())
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &ts); err != nil {
		t.Fatal(err)
	}
}

// states is how often the daemon said that the access point's radio is in a state.
func (d *daemon) states(state string) int {
	return strings.Count(d.log.String(), "msg="+state+" radio=phy0")
}

// TestEmulatedAirtunedClock: that the wall clock is set, by an hour or by years,
// forwards and backwards, is nothing to the loop.
func TestEmulatedAirtunedClock(t *testing.T) {
	d := tuned(t, 1, 60, "")
	before := d.states("")
	for _, by := range []time.Duration{time.Hour, -2 * time.Hour, 20 * 365 * 24 * time.Hour, -20 * 365 * 24 * time.Hour, time.Hour} {
		setClock(t, by)
		time.Sleep(2 * time.Second)
		if err := state("tuning", "")(accessPointOf(t)); err != nil {
			t.Errorf("clock set by %v: %v", by, err)
		}
	}
	flood(t, 20) // iperf goes by the clock
	atWork(t, "phy0")
	if n := d.states("held") + d.states("observing"); n > before {
		t.Errorf("the daemon paused %d times", n-before)
	}
	d.quits(t)
}

// TestEmulatedAirtunedFrozen: a process that stands still for long, as in a
// suspended system, goes on, also if the radio has another name then, other limits,
// or is another one.
func TestEmulatedAirtunedFrozen(t *testing.T) {
	d := tuned(t, 1, 60, "")
	frozen := func(do func()) {
		d.signal(t, unix.SIGSTOP)
		do()
		d.signal(t, unix.SIGCONT)
	}
	frozen(func() { time.Sleep(10 * time.Second) })
	atWork(t, "phy0")
	frozen(func() { must(t, "iw phy phy0 set name radio0") })
	atWork(t, "radio0")
	frozen(func() { time.Sleep(3 * time.Minute) })
	follows(t, accessPointPath, state("tuning", ""))
	frozen(func() { write(t, hwsim{phy: "radio0"}.debugfs("aql_txq_limit"), "2 3333 4444") })
	follows(t, accessPointPath, state("held", "another program"))
	must(t, airtuned+" resume")
	follows(t, accessPointPath, state("tuning", ""))
	frozen(func() {
		write(t, "/sys/bus/pci/devices/0000:00:00.0/remove", "1")
		write(t, "/sys/bus/pci/rescan", "1")
	})
	// No station, no interface that is up: there is nothing to do.
	follows(t, accessPointPath, state("observing", "no airtime was counted yet"))
	d.quits(t)
}
