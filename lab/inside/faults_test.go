// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// These tests do to the real ath10k what happens to it in the field, under load and
// with the daemon at work.

// accessPointPath is the device of the first emulated radio.
const accessPointPath = "devices/pci0000:00/0000:00:00.0"

// tuned makes a cell with a flood of some seconds to its first station, and has the
// daemon tune it.
func tuned(t *testing.T, stations, seconds int, extra string) *daemon {
	t.Helper()
	cell(t, stations, extra)
	write(t, emulated+"radio1/kbps", "65000") // enough, and cheap
	flood(t, seconds)
	d := start(t, "radios: [{match: {driver: ath10k_pci}, policy: delay}]\n")
	atWork(t, "phy0")
	return d
}

// atWork waits until the daemon tunes the access point's radio, whose phy is called
// so, and much gets through.
func atWork(t *testing.T, phy string) {
	t.Helper()
	eventually(t, time.Minute, func() error {
		if err := changed(t, hwsim{phy: phy}); err != nil {
			return err
		}
		before := sent(t)
		time.Sleep(500 * time.Millisecond)
		if mbps := float64(sent(t)-before) * 16 / 1e6; mbps < 40 {
			return fmt.Errorf("%.0f Mb/s, want more than 40", mbps)
		}
		r := accessPointOf(t)
		if r.Phy != phy {
			return fmt.Errorf("phy %q, want %s", r.Phy, phy)
		}
		return state("tuning", "")(r)
	})
}

// accessPointOf is what the daemon says of the access point's radio; the zero radio if
// nothing.
func accessPointOf(t *testing.T) radio {
	t.Helper()
	for _, r := range status(t) {
		if r.Path == accessPointPath {
			return r
		}
	}
	return radio{}
}

// quits has the daemon end, with nothing left changed.
func (d *daemon) quits(t *testing.T) {
	t.Helper()
	if err := d.stop(t, unix.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	untouched(t)
}

func TestEmulatedAirtunedCrash(t *testing.T) {
	d := tuned(t, 1, 200, wpa)
	for _, kind := range []string{"soft", "hard", "hw-restart"} {
		write(t, ath10k+"simulate_fw_crash", kind)
		time.Sleep(3 * time.Second)
		if err := authorized(t, 1); err != nil {
			t.Errorf("after %s: %v", kind, err)
		}
		if kind != "hw-restart" { // which ath10k does not count
			follows(t, accessPointPath, state("held", "the firmware was restarted"))
		}
		atWork(t, "phy0") // it waits before it goes on
	}
	d.quits(t)
}

func TestEmulatedAirtunedUnplug(t *testing.T) {
	d := tuned(t, 1, 10, "")
	for range 2 {
		write(t, "/sys/bus/pci/devices/0000:00:00.0/remove", "1")
		follows(t, accessPointPath, func(r radio) error {
			if r.State != "" && r.State != "gone" {
				return fmt.Errorf("state %q after the radio was pulled", r.State)
			}
			return nil
		})
		write(t, "/sys/bus/pci/rescan", "1")
		// No station, no interface that is up: nothing to do, but it is there.
		follows(t, accessPointPath, func(r radio) error {
			if r.State == "" || r.State == "gone" || r.State == "failed" {
				return fmt.Errorf("state %q (%s) after it was plugged in again", r.State, r.Reason)
			}
			return nil
		})
		time.Sleep(5 * time.Second)
	}
	d.quits(t)
}

// TestEmulatedAirtunedMeddling: another name for the phy changes nothing, another
// program's limits are respected.
func TestEmulatedAirtunedMeddling(t *testing.T) {
	d := tuned(t, 1, 60, "")
	must(t, "iw phy phy0 set name radio0")
	atWork(t, "radio0")
	limits := "/sys/kernel/debug/ieee80211/radio0/aql_txq_limit"
	write(t, limits, "2 3333 4444")
	follows(t, accessPointPath, state("held", "another program"))
	time.Sleep(10 * time.Second)
	if text := read(t, limits); !strings.Contains(text, "BE\t3333\t\t4444\n") {
		t.Errorf("the daemon overwrote another's limits:\n%s", text)
	}
	must(t, airtuned+" resume")
	atWork(t, "radio0")
	d.quits(t)
}

// TestEmulatedAirtunedChannelSwitch: as after radar.
func TestEmulatedAirtunedChannelSwitch(t *testing.T) {
	d := tuned(t, 1, 60, "ctrl_interface=/run/hostapd\n")
	for _, mhz := range []int{5745, 5180} {
		out := must(t, fmt.Sprintf("hostapd_cli -p /run/hostapd -i wlan0 chan_switch 5 %d center_freq1=%d sec_channel_offset=1 bandwidth=80 ht vht", mhz, mhz+30))
		if !strings.Contains(out, "OK") {
			t.Fatalf("hostapd does not switch: %s", out)
		}
		eventually(t, 5*time.Second, func() error {
			if info := must(t, "iw dev wlan0 info"); !strings.Contains(info, fmt.Sprintf("(%d MHz)", mhz)) {
				return fmt.Errorf("not on %d MHz:\n%s", mhz, info)
			}
			return nil
		})
		time.Sleep(time.Second)
		atWork(t, "phy0")
	}
	d.quits(t)
}

// TestEmulatedAirtunedStalled: frames for a station that has fallen asleep fill the
// firmware's queue for it; when it wakes, all is as before.
func TestEmulatedAirtunedStalled(t *testing.T) {
	d := tuned(t, 2, 60, "")
	write(t, emulated+"radio1/stalled", "1")
	follows(t, accessPointPath, state("tuning", ""))
	eventually(t, 20*time.Second, func() error { return state("observing", "makes no progress")(accessPointOf(t)) })
	for range 10 {
		reach(t, 2)
		time.Sleep(time.Second)
		if err := state("observing", "makes no progress")(accessPointOf(t)); err != nil {
			t.Error(err)
		}
	}
	write(t, emulated+"radio1/stalled", "0")
	time.Sleep(5 * time.Second)
	reach(t, 1)
	atWork(t, "phy0")
	d.quits(t)
}

// TestEmulatedAirtunedLeak: completions that never come leave airtime pending for
// ever, until the firmware is started anew.
func TestEmulatedAirtunedLeak(t *testing.T) {
	d := tuned(t, 1, 8, "")
	time.Sleep(8 * time.Second) // to its end
	follows(t, accessPointPath, state("tuning", ""))
	write(t, emulated+"radio0/leak", "20")
	_, _, _ = command(t, "ping", "-q", "-c", "20", "-i", "0.05", "-W", "1", "10.0.0.2")
	if number(t, ath10k+"num_pending_tx") == 0 {
		t.Fatal("no frame is pending")
	}
	eventually(t, 20*time.Second, func() error {
		return state("observing", "does not go back to zero when idle")(accessPointOf(t))
	})
	untouched(t)
	time.Sleep(20 * time.Second)
	if n := strings.Count(d.log.String(), "does not go back to zero"); n > 8 { // limits, then the state
		t.Errorf("said %d times", n)
	}
	write(t, ath10k+"simulate_fw_crash", "soft")
	eventually(t, 30*time.Second, func() error { return state("tuning", "")(accessPointOf(t)) })
	d.quits(t)
}

// TestEmulatedAirtunedCrashLoop: the firmware crashes again and again, and then the
// interface goes down for good, as when the driver gives the radio up.
func TestEmulatedAirtunedCrashLoop(t *testing.T) {
	d := tuned(t, 1, 20, "")
	for range 10 {
		write(t, ath10k+"simulate_fw_crash", "soft")
		time.Sleep(15 * time.Second)
	}
	follows(t, accessPointPath, state("held", "again and again"))
	untouched(t)
	// It waits for 10, 20, 40 s and so on, and says so each time.
	if n := strings.Count(d.log.String(), "the firmware was restarted; leaving"); n > 5 {
		t.Errorf("said %d times in two minutes of crashes", n)
	}
	must(t, "ip link set wlan0 down")
	before := strings.Count(d.log.String(), "\n")
	time.Sleep(5 * time.Minute)
	if n := strings.Count(d.log.String(), "\n") - before; n > 10 {
		t.Errorf("%d lines in five minutes of nothing", n)
	}
	d.quits(t)
}
