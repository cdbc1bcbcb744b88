// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtuned/nl80211"
)

const hostapdConf = `
interface=wlan0
driver=nl80211
ssid=lab
hw_mode=g
channel=1
ieee80211n=1
wmm_enabled=1
`

// accessPoint makes wlan0 an open access point until the test ends.
func accessPoint(t *testing.T) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "hostapd.conf")
	write(t, conf, hostapdConf)
	var log bytes.Buffer
	cmd := exec.Command("hostapd", conf)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		must(t, "ip link set wlan0 down")
		must(t, "iw dev wlan0 set type managed")
		if t.Failed() {
			t.Logf("hostapd said:\n%s", &log)
		}
	})
	eventually(t, 10*time.Second, func() error {
		if info := must(t, "iw dev wlan0 info"); !strings.Contains(info, "type AP") || !strings.Contains(info, "channel 1 ") {
			return fmt.Errorf("wlan0 is no access point yet:\n%s", info)
		}
		return nil
	})
}

// join connects wlan1 to it and returns its address.
func join(t *testing.T) string {
	t.Helper()
	must(t, "ip link set wlan1 up")
	t.Cleanup(func() { must(t, "ip link set wlan1 down") })
	must(t, "iw dev wlan1 connect -w lab")
	eventually(t, 10*time.Second, func() error {
		if link := must(t, "iw dev wlan1 link"); !strings.Contains(link, "SSID: lab") {
			return fmt.Errorf("wlan1 is not connected: %s", link)
		}
		return nil
	})
	return strings.TrimSpace(read(t, "/sys/class/net/wlan1/address"))
}

func TestKernelStation(t *testing.T) {
	accessPoint(t)
	mac := join(t)
	if dump := must(t, "iw dev wlan0 station dump"); !strings.Contains(dump, mac) {
		t.Errorf("no station %s:\n%s", mac, dump)
	}
	read(t, radios(t)[0].debugfs("netdev:wlan0/stations/"+mac+"/rc_stats"))
}

// TestKernelStartAP: a kernel that does not tell of an access point's start
// tells of the change of type before it.
func TestKernelStartAP(t *testing.T) {
	client, err := nl80211.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	events, err := client.Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	accessPoint(t)
	seen := map[nl80211.EventKind]bool{}
	for timeout := time.After(time.Second); ; {
		select {
		case e := <-events:
			seen[e.Kind] = true
			continue
		case <-timeout:
		}
		break
	}
	if !seen[nl80211.InterfaceChanged] || seen[nl80211.StartAP] != since(t, 6, 12) {
		t.Errorf("saw %v, want a change of the interface, and a start of the access point: %v", seen, since(t, 6, 12))
	}
}

// TestAirtunedStation lets a station come and go under the daemon's eyes.
func TestAirtunedStation(t *testing.T) {
	start(t, forced)
	ap := radios(t)[0]
	accessPoint(t)
	follows(t, ap.path, func(r radio) error {
		if len(r.Interfaces) != 1 || r.Interfaces[0].Type != "AP" {
			return fmt.Errorf("interfaces %+v, want one of type AP", r.Interfaces)
		}
		return nil
	})

	mac := join(t)
	stations := func(n int) func(radio) error {
		return func(r radio) error {
			if len(r.Stations) != n || n == 1 && r.Stations[0].MAC != mac {
				return fmt.Errorf("stations %+v, want %d of %s", r.Stations, n, mac)
			}
			return nil
		}
	}
	follows(t, ap.path, stations(1))
	must(t, "iw dev wlan1 disconnect")
	follows(t, ap.path, stations(0))
	follows(t, ap.path, state("tuning", ""))
}
