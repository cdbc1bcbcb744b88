package metrics

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/host"
	"airtuned/tuner"
	"airtuned/wlan"
)

var update = flag.Bool("update", false, "write testdata anew")

// status is a daemon with a radio of every kind: tuned, without debugfs, gone.
func status() *Status {
	limit := map[string]wlan.Limit{
		"VO": {LowUs: 5000, HighUs: 12000}, "VI": {LowUs: 5000, HighUs: 12000}, "BE": {LowUs: 1500, HighUs: 1500},
	}
	backlog, stopped, restarts, share := int64(42), 0.25, uint32(3), 0.5
	minRTT, cwnd := int64(1100), int64(37)
	machine := &host.Status{CPUs: 4, Saturated: []int{2}, Changes: make([]tuner.Change, 3)}
	return &Status{Version: `1.0 "quoted\` + "\n", UptimeS: 3725.5, Host: machine, Radios: []tuner.Status{
		{
			Radio: tuner.Radio{
				Path: "devices/pci0000:00/0000:00:00.0/0000:01:00.0", Phy: "phy0", Driver: "ath10k_pci", Bus: "pci",
				Chip: "QCA9984", Firmware: "10.4-3.9.0.2-00131", Policy: "delay",
				AQL: tuner.AQL{Limits: limit, ThresholdUs: 24000},
			},
			State:       tuner.Tuning,
			Pending:     tuner.PendingStatus{Frames: 12, MaxFrames: 1424, AirtimeUs: 1234},
			ResidencyUs: tuner.ResidencyStatus{Mean: 1100, P50: 1000, P95: 2500, P99: 4000},
			Stations: []tuner.StationStatus{{
				MAC: wlan.MAC{2, 0, 0, 0, 1, 7}, Interface: "wlan0", Limits: limit, PendingUs: 700, RateKbps: 866700,
				BacklogPackets: 20, AirtimeShare: &share,
				Total: tuner.Totals{TxBytes: 1 << 40, TxPackets: 1 << 30, Drops: 17, AirtimeUs: 987654321},
			}},
			ActiveStations: 1, Decisions: 99,
			LastChange:     &tuner.LastChange{At: time.UnixMilli(1796112000500)},
			Total:          tuner.Totals{TxBytes: 1 << 41, TxPackets: 1 << 31, Drops: 18, AirtimeUs: 1987654321},
			BacklogPackets: &backlog, Stopped: &stopped, FirmwareRestarts: &restarts,
			TCP: &tuner.TCPStatus{
				Flows: 5, Active: 2, RTTUs: &tuner.RTTStatus{P50: 4200, P95: 6000}, MinRTTUs: &minRTT, CwndSegments: &cwnd,
				Total: tuner.TCPTotals{AckedBytes: 1 << 33, RetransmittedSegments: 12},
			},
		},
		{
			Radio: tuner.Radio{Path: "devices/b", Phy: "phy1", Driver: "iwlwifi", Bus: "pci", Policy: "delay"},
			State: tuner.Observing, Total: tuner.Totals{TxBytes: 5}, TCP: &tuner.TCPStatus{Flows: 1},
		},
		{
			Radio: tuner.Radio{Path: "devices/c", Phy: "phy2", Driver: "ath10k_usb", Bus: "usb", Chip: "QCA9377", Policy: "delay",
				AQL: tuner.AQL{Limits: limit}},
			State: tuner.Gone, ResidencyUs: tuner.ResidencyStatus{P95: 1},
		},
	}}
}

func TestText(t *testing.T) {
	for name, tt := range map[string]struct {
		status  *Status
		options Options
	}{
		"radios":   {status(), Options{}},
		"stations": {status(), Options{Stations: true}},
		"away":     {nil, Options{Stations: true}},
		"empty":    {&Status{ConfigError: "a.yaml:1:1: bad"}, Options{Stations: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(Append(nil, tt.status, tt.options))
			file := "testdata/" + name + ".prom"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			promtool(t, got)
		})
	}
}

// A scrape in which a series stands twice is refused as a whole. The same station may
// be on two interfaces of a radio.
func TestNoSeriesTwice(t *testing.T) {
	s := status()
	again := s.Radios[0].Stations[0]
	again.Interface = "wlan0-1"
	s.Radios[0].Stations = append(s.Radios[0].Stations, again)
	seen := map[string]bool{}
	for _, line := range strings.Split(string(Append(nil, s, Options{Stations: true})), "\n") {
		series := line[:max(0, strings.LastIndexByte(line, ' '))]
		if seen[series] && !strings.HasPrefix(line, "#") && line != "" {
			t.Errorf("twice: %s", series)
		}
		seen[series] = true
	}
}

// promtool has Prometheus's own tool object to names and syntax.
func promtool(t *testing.T, text string) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is missing: apt-get install prometheus")
		return
	}
	cmd := exec.Command(tool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// Names are written at several places. These are the rules they keep.
func TestNames(t *testing.T) {
	name := regexp.MustCompile(`^airtuned_(radio|station)_[a-z0-9]+(_[a-z0-9]+)*$`)
	seen := map[string]bool{}
	check := func(n, kind, help string) {
		if !name.MatchString(n) || seen[n] {
			t.Errorf("%s: a bad name, or used twice", n)
		}
		seen[n] = true
		if (kind == "counter") != strings.HasSuffix(n, "_total") {
			t.Errorf("%s is a %s", n, kind)
		}
		if !strings.HasSuffix(help, ".") || strings.ContainsAny(help, "\n\\") {
			t.Errorf("%s: help %q", n, help)
		}
	}
	for _, f := range radioFamilies {
		check(f.name, f.kind, f.help)
	}
	for _, f := range stationFamilies {
		check(f.name, f.kind, f.help)
	}
}

// The documentation lists them all, and no other.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile("testdata/stations.prom")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`# TYPE (\S+) `).FindAllSubmatch(all, -1) {
		if !bytes.Contains(page, []byte("`"+string(m[1])+"`")) {
			t.Errorf("docs/monitoring.md says nothing of %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`(airtuned_[a-z0-9_]+)`").FindAllSubmatch(page, -1) {
		if !bytes.Contains(all, append(append([]byte("# TYPE "), m[1]...), ' ')) {
			t.Errorf("docs/monitoring.md knows %s", m[1])
		}
	}
}

// Whatever a label says, it stays within its quotes.
func FuzzLabel(f *testing.F) {
	for _, s := range []string{"", "phy0", `a"b`, `\`, "\n", "\\n\"", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := appendEscaped(nil, s)
		if bytes.ContainsRune(b, '\n') {
			t.Fatalf("%q has a line of its own", b)
		}
		var back []byte
		for i := 0; i < len(b); i++ {
			switch {
			case b[i] == '"':
				t.Fatalf("%q ends early", b)
			case b[i] != '\\':
				back = append(back, b[i])
				continue
			}
			if i++; i == len(b) {
				t.Fatalf("%q takes the quote with it", b)
			}
			if b[i] == 'n' {
				back = append(back, '\n')
			} else {
				back = append(back, b[i])
			}
		}
		if string(back) != s {
			t.Errorf("%q became %q", s, back)
		}
	})
}
