// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// These tests run on the kernel with all patches of packaging/kernel.

const phy0 = "/sys/kernel/debug/ieee80211/phy0/"

// flows complains unless the access point sends well over a second.
func flows(t *testing.T, when string) {
	t.Helper()
	before := sent(t)
	time.Sleep(time.Second)
	if mbps := float64(sent(t)-before) * 8 / 1e6; mbps < 500 {
		t.Errorf("%s: %.0f Mb/s, want more than 500", when, mbps)
	}
}

// TestPatchedThreaded: NAPI goes into a thread and back under load.
func TestPatchedThreaded(t *testing.T) {
	cell(t, 1, "")
	flood(t, 12)
	flows(t, "before")
	threads := func() int { return strings.Count(must(t, "ps -e -o comm="), "napi/phy0-") }
	if n := threads(); n != 0 || number(t, ath10k+"napi_threaded") != 0 {
		t.Fatalf("%d threads before any was asked for", n)
	}
	for range 2 {
		write(t, ath10k+"napi_threaded", "1")
		if n := threads(); n != 1 || number(t, ath10k+"napi_threaded") != 1 {
			t.Errorf("%d threads napi/phy0-N, want 1", n)
		}
		flows(t, "threaded")
		write(t, ath10k+"napi_threaded", "0")
		if got := number(t, ath10k+"napi_threaded"); got != 0 {
			t.Errorf("napi_threaded is %d, want 0", got)
		}
		flows(t, "not threaded any more")
	}
	reach(t, 1)
}

// client makes phy0 a station (10.0.0.1) of an access point (10.0.0.2) in the
// namespace ap: our own TCP goes through the station's queue.
func client(t *testing.T) {
	t.Helper()
	plug(t, 2)
	must(t, "ip netns add ap")
	must(t, "iw phy phy1 set netns name ap")
	conf := filepath.Join(t.TempDir(), "hostapd.conf")
	write(t, conf, strings.Replace(accessPointConf, "wlan0", "wlan1", 1))
	background(t, append(strings.Fields(at("ap")), "hostapd", conf)...)
	eventually(t, 10*time.Second, func() error {
		if info := must(t, at("ap")+"iw dev wlan1 info"); !strings.Contains(info, "width: 80 MHz") {
			return fmt.Errorf("no access point yet:\n%s", info)
		}
		return nil
	})
	must(t, "ip -n ap addr add 10.0.0.2/24 dev wlan1")
	must(t, "ip addr add 10.0.0.1/24 dev wlan0")
	must(t, "ip link set wlan0 up")
	must(t, "iw dev wlan0 connect -w lab 5180")
	eventually(t, 10*time.Second, func() error {
		if _, stderr, code := command(t, "ping", "-q", "-c", "1", "-W", "1", "10.0.0.2"); code != 0 {
			return fmt.Errorf("no answer: %s", stderr)
		}
		return nil
	})
}

// TestPatchedPacing: the daemon has a station's own TCP queue as much as the
// configuration says, and gives back what it found.
func TestPatchedPacing(t *testing.T) {
	client(t)
	// Completions come late, so that what may be queued decides.
	write(t, emulated+"radio0/svc_us", "3000")
	background(t, strings.Fields(at("ap")+"iperf -s")...)
	time.Sleep(100 * time.Millisecond)
	background(t, "iperf", "-c", "10.0.0.2", "-t", "30")
	pending := func() (mean float64) {
		time.Sleep(2 * time.Second)
		for range 200 {
			mean += float64(number(t, ath10k+"num_pending_tx")) / 200
			time.Sleep(5 * time.Millisecond)
		}
		return mean
	}
	before := pending()

	d := start(t, "radios: [{match: {phy: phy0}, policy: observe, pacing_shift: 10}]\n")
	eventually(t, 5*time.Second, func() error {
		if got := number(t, phy0+"tx_sk_pacing_shift"); got != 10 {
			return fmt.Errorf("the shift is %d, want 10", got)
		}
		return nil
	})
	during := pending()
	if err := d.stop(t, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	if got := number(t, phy0+"tx_sk_pacing_shift"); got != 7 {
		t.Errorf("the shift is %d at the end, want 7", got)
	}
	after := pending()
	t.Logf("%.0f frames are pending before, %.0f with shift 10, %.0f after", before, during, after)
	if during > before/2 || after < .9*before {
		t.Errorf("%.0f frames are pending before, %.0f with shift 10, %.0f after: want at most half with it, and as many after", before, during, after)
	}
}
