// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// replayed is what airtuned replay says of a radio.
type replayed struct {
	Phy, Policy, Inexact string
	Windows              int
	LostWindows          int `json:"lost_windows"`
	Decisions, Identical int
	Agreed               int
	FirstOther           *float64 `json:"first_other_s"`
}

// recorded has a loop recorded in the middle of its work, while a station's rate
// falls and another one joins in: each decision is made again from the file.
func recorded(t *testing.T) {
	cell(t, 2, "")
	write(t, emulated+"radio1/kbps", "65000")
	flood(t, 40)
	start(t, "")
	time.Sleep(8 * time.Second)
	path := radios(t)[0].path
	follows(t, path, state("tuning", ""))

	fall := time.AfterFunc(6*time.Second, func() {
		write(t, emulated+"radio1/kbps", "13000")
		_, _, _ = command(t, "ping", "-q", "-c", "20", "-i", "0.1", "10.0.0.3")
	})
	defer fall.Stop()
	file := filepath.Join(t.TempDir(), "loop.rec")
	var made struct{ Bytes int }
	airtunedJSON(t, 0, &made, "record", file, "--duration", "20s", "--radio", "phy0")

	for _, policy := range []string{"delay", "dql", "kernel-default"} {
		var all struct {
			Radios []replayed
			Damage string
		}
		airtunedJSON(t, 0, &all, "replay", file, "--policy", policy)
		if len(all.Radios) != 1 || all.Damage != "" {
			t.Fatalf("%d radios, damage %q", len(all.Radios), all.Damage)
		}
		r := all.Radios[0]
		t.Logf("%d bytes, beside %s: %+v", made.Bytes, policy, r)
		if r.Phy != "phy0" || r.Policy != "delay" || r.Inexact != "" || r.Windows < 90 || r.LostWindows > 0 {
			t.Errorf("recorded: %+v", r)
		}
		if r.Decisions < 80 || r.Identical != r.Decisions {
			t.Errorf("%d of %d decisions are made again, the first that is not after %v s", r.Identical, r.Decisions, r.FirstOther)
		}
		if r.Agreed == r.Decisions {
			t.Errorf("%s would have decided the same each time", policy)
		}
	}
}

func TestEmulatedRecord(t *testing.T) { recorded(t) }
func TestStockRecord(t *testing.T)    { recorded(t) }

// TestEmulatedReport: a report of a real machine has neither its addresses nor its
// names.
func TestEmulatedReport(t *testing.T) {
	const host = "somebodys-router"
	if err := unix.Sethostname([]byte(host)); err != nil {
		t.Fatal(err)
	}
	cell(t, 2, "")
	start(t, "")
	reach(t, 1)
	time.Sleep(3 * time.Second)
	file := filepath.Join(t.TempDir(), "report.txt")
	must(t, airtuned+" report "+file)
	text := strings.ToLower(read(t, file))

	secrets := []string{host, "lab", "10.0.0.", "192.168."}
	macs := regexp.MustCompile(`([0-9a-f]{2}:){5}[0-9a-f]{2}`).FindAllString(must(t, "iw dev wlan0 station dump")+must(t, "ip link show wlan0"), -1)
	if len(macs) < 3 {
		t.Fatalf("addresses %q", macs)
	}
	for _, mac := range macs {
		if mac != "ff:ff:ff:ff:ff:ff" {
			secrets = append(secrets, mac, strings.ReplaceAll(mac, ":", ""))
		}
	}
	for _, s := range secrets {
		if i := strings.Index(text, s); i >= 0 {
			t.Errorf("%q is in the report: ...%q...", s, text[max(0, i-80):min(len(text), i+80)])
		}
	}
	for _, want := range []string{"qca9984", "stations/mac-", "\nms_ago window_ms", "num_pending_tx\n", "uptime_s"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in the report:\n%.4000s", want, text)
		}
	}
}
