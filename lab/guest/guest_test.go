// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/wlan"
)

// What iperf 2.1.8 said of two flows.
const iperfOutput = `------------------------------------------------------------
Client connecting to 10.0.1.1, TCP port 5001 with pid 58 (2 flows)
------------------------------------------------------------
[  1] local 10.1.0.2%eth0 port 41854 connected with 10.0.1.1 port 5001 (sock=3) (icwnd/mss/irtt=14/1448/40095) (ct=40.11 ms) on 2023-11-14 22:13:20 (UTC)
[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr
[  2] 0.0000-1.0000 sec  1280 KBytes  10486 Kbits/sec  10/0          7      107K/97657(854) us  13.42
[  1] 0.0000-1.0000 sec  1536 KBytes  12583 Kbits/sec  12/0          0      134K/100537(4392) us  15.65
[SUM] 0.0000-1.0000 sec  2816 KBytes  23070 Kbits/sec  22/0         7
[  2] 1.0000-2.0000 sec  1152 KBytes  9437 Kbits/sec  9/0          1      159K/143000(559) us  8.217222
[  1] 1.0000-2.0000 sec  1408 KBytes  11534 Kbits/sec  11/0         2      197K/147000(1000) us  9.798377
[SUM] 1.0000-2.0000 sec  2560 KBytes  20972 Kbits/sec  20/0         3
[  1] 2.0000-3.0000 sec  1280 KBytes  10486 Kbits/sec  10/0         40     260K/190329(525) us  6.886602
[  1] 0.0000-3.0602 sec  1768 KBytes  5935 Kbits/sec  6/0           42     1023K/3790(6151) us  196
[ CT] final connect times (min/avg/max/stdev) = 0.019/0.080/0.141/86.267 ms (tot/err) = 2/0
`

func TestIperf(t *testing.T) {
	f := flows{start: 2 * time.Second}
	f.output.WriteString(iperfOutput)
	var rtts []float64
	var retransmits int
	f.tcp(3*time.Second, 4*time.Second, &rtts, &retransmits)
	if diff := cmp.Diff([]float64{143, 147}, rtts); diff != "" || retransmits != 3 {
		t.Errorf("%d retransmits, want 3; round trips in ms (-want +got):\n%s", retransmits, diff)
	}
}

func TestMeter(t *testing.T) {
	m := meter{bins: []int{1, 1_000_000, 500_000, 1}}
	if got := m.mbps(100*time.Millisecond, 300*time.Millisecond); got != 60 {
		t.Errorf("%v Mb/s, want 60", got)
	}
	if got := m.mbps(time.Second, 2*time.Second); got != 0 {
		t.Errorf("%v Mb/s after the end, want 0", got)
	}
}

func TestProbe(t *testing.T) {
	p := probe{
		sent:  []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second},
		delay: []time.Duration{1, 2 * time.Millisecond, -1, 3},
	}
	ms, sent := p.between(time.Second, 3*time.Second)
	if diff := cmp.Diff([]float64{2}, ms); diff != "" || sent != 2 {
		t.Errorf("%d sent, want 2; (-want +got):\n%s", sent, diff)
	}
	p.arrived(17) // of nobody
}

func TestChecksum(t *testing.T) {
	// RFC 1071, section 3.
	if got := checksum([]byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}); got != ^uint16(0xddf2) {
		t.Errorf("%#x", got)
	}
}

func TestColumn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stations")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("address kbps airtime_us\n02:03:7f:00:01:00 866700 12\n02:03:7f:00:02:00 6500 34\n")
	got, err := column(file, "airtime_us")
	if err != nil {
		t.Fatal(err)
	}
	want := map[wlan.MAC]float64{{2, 3, 0x7f, 0, 1, 0}: 12, {2, 3, 0x7f, 0, 2, 0}: 34}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "address kbps\n", "address airtime_us\n02:03:7f:00:01:00\n", "address airtime_us\nx 1\n"} {
		write(bad)
		if got, err := column(file, "airtime_us"); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestLabelled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "airtime")
	for _, tt := range []struct {
		text string
		want map[string]float64
	}{
		{"busy_us 1\nppdus 2\n", map[string]float64{"busy_us": 1, "ppdus": 2}},
		{"busy_us\n", nil},
		{"busy_us x\n", nil},
	} {
		if err := os.WriteFile(file, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := labelled(file)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want != nil) {
			t.Errorf("%q: error %v, (-want +got):\n%s", tt.text, err, diff)
		}
	}
}
