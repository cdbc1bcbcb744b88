package compare

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/tree"
	"airtuned/tuner"
	"airtuned/wlan"
)

const arp = `IP address       HW type     Flags       HW address            Mask     Device
192.168.1.20     0x1         0x2         02:00:00:00:01:00     *        br-lan
192.168.1.21     0x1         0x0         00:00:00:00:00:00     *        br-lan
192.168.1.22     0x1         0x6         02:00:00:00:02:00     *        br-lan
`

func TestNeighbours(t *testing.T) {
	want := map[wlan.MAC][4]byte{{2, 0, 0, 0, 1, 0}: {192, 168, 1, 20}, {2, 0, 0, 0, 2, 0}: {192, 168, 1, 22}}
	if diff := cmp.Diff(want, Neighbours(arp)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzNeighbours(f *testing.F) {
	f.Add(arp)
	f.Add("1.2.3 0x1 0x2 02:00:00:00:01:00 * x\n1.2.3.4.5 0x1 0x2 02:00:00:00:01:00 * x\n1.2.3.456 0x1 0x2 02:00:00:00:01:00 * x\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n := len(Neighbours(text)); n > len(text)/12 {
			t.Errorf("%d addresses in %d bytes", n, len(text))
		}
	})
}

func FuzzReply(f *testing.F) {
	f.Add(append(append([]byte{0x45}, make([]byte, 19)...), 0, 0, 0, 0, 1, 2, 3, 4))
	f.Add([]byte{0x4f, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, ok := parseReply(b); ok && len(b) < 28 {
			t.Errorf("a reply in %d bytes", len(b))
		}
	})
}

// TestEcho holds an echo request against the checksum's rule: with it the sum is
// all ones.
func TestEcho(t *testing.T) {
	b := newEcho(0xfffe, 0xabcd)
	sum := 0
	for i := 0; i < len(b); i += 2 {
		sum += int(b[i])<<8 | int(b[i+1])
	}
	if sum = sum>>16 + sum&0xffff; sum != 0xffff {
		t.Errorf("sum %#x", sum)
	}
}

// TestPinger pings this machine in place of a station.
func TestPinger(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "net"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "heading\n127.0.0.1 0x1 0x2 02:00:00:00:01:00 * lo\n"
	if err := os.WriteFile(filepath.Join(dir, "net", "arp"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := NewPinger(tree.Dir(dir))
	if err != nil {
		t.Skip("needs the right to send pings:", err)
	}
	defer p.Close()
	s := &tuner.Status{Stations: []tuner.StationStatus{{MAC: wlan.MAC{2, 0, 0, 0, 1, 0}}, {MAC: wlan.MAC{2, 0, 0, 0, 9, 0}}}}
	p.Aim(s)
	if pinged, stations := p.Reach(); pinged != 1 || stations != 2 {
		t.Errorf("%d of %d are pinged", pinged, stations)
	}
	for { // the test's timeout is the bound
		if pings, _ := p.Take(); len(pings) > 0 {
			if pings[0].RTT <= 0 {
				t.Errorf("got %+v", pings[0])
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSignedRank holds p-values against tables of the exact distribution.
func TestSignedRank(t *testing.T) {
	for _, tt := range []struct {
		d    []int64
		want float64
	}{
		{[]int64{1, 2, 3, 4, 5, 6, 7, 8}, 2.0 / 256},
		{[]int64{-1, 2, 3, 4, 5, 6, 7, 8}, 4.0 / 256},
		{[]int64{1, -1, 2, -2}, 1},
		{[]int64{0, 0, 0}, 1},
		{nil, 1},
		{[]int64{5, 5, 5, 5, 0}, 2.0 / 16}, // ties, and a zero
	} {
		if got := signedRank(tt.d); got != tt.want {
			t.Errorf("%v: got %v, want %v", tt.d, got, tt.want)
		}
	}
}

func TestHodgesLehmann(t *testing.T) {
	d := []int64{10, 20, 30, 40, 50, 60, 70, 80}
	// The tabulated critical value for n = 8 at 5 % is 3: four are cut off each side.
	shift, low, high, ok := hodgesLehmann(d, 0.05)
	if shift != 45 || low != 20 || high != 70 || !ok {
		t.Errorf("got %d (%d to %d), %v", shift, low, high, ok)
	}
	if _, _, _, ok := hodgesLehmann(d[:4], 0.05); ok {
		t.Error("an interval of four differences at 5 %")
	}
}

func TestFlent(t *testing.T) {
	start := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	leg := func(from time.Duration, side string) Leg {
		at := start.Add(from)
		return Leg{
			Side: side, Policy: "delay", Start: at, End: at.Add(time.Second),
			points: []point{{at.Add(600 * time.Millisecond), 5000}},
			pings:  []Ping{{at.Add(100 * time.Millisecond), 2 * time.Millisecond}, {at.Add(200 * time.Millisecond), 4 * time.Millisecond}},
		}
	}
	r := &Report{Legs: []Leg{leg(0, "A"), leg(time.Minute, "B"), leg(2*time.Minute, "A")}}
	text, err := r.Flent("A", "phy0")
	if err != nil {
		t.Fatal(err)
	}
	type value struct{ T, Val float64 }
	var got struct {
		Version  int
		Metadata map[string]any
		X        []float64             `json:"x_values"`
		Results  map[string][]*float64 `json:"results"`
		Raw      map[string][]value    `json:"raw_values"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	five, three := 5.0, 3.0
	want := map[string][]*float64{"TCP download": {nil, &five, nil, &five}, "Ping (ms) ICMP": {&three, nil, &three, nil}}
	if diff := cmp.Diff(want, got.Results); diff != "" || got.Version != 3 {
		t.Errorf("version %d, results (-want +got):\n%s", got.Version, diff)
	}
	if diff := cmp.Diff([]float64{0, 0.5, 1, 1.5}, got.X); diff != "" {
		t.Errorf("x (-want +got):\n%s", diff)
	}
	if n := len(got.Raw["Ping (ms) ICMP"]); n != 4 || got.Metadata["NAME"] != "tcp_download" || got.Metadata["TITLE"] != "A delay" {
		t.Errorf("%d raw pings, metadata %v", n, got.Metadata)
	}
}
