// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These tests run the real ath10k driver on the emulated radios of lab/target.
// The access point is phy0, in our own network namespace.

const (
	emulated = "/sys/kernel/debug/ath10k_emu/"
	ath10k   = "/sys/kernel/debug/ieee80211/phy0/ath10k/"
)

const accessPointConf = `
interface=wlan0
driver=nl80211
ssid=lab
hw_mode=a
channel=36
ieee80211n=1
ieee80211ac=1
ht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]
vht_oper_chwidth=1
vht_oper_centr_freq_seg0_idx=42
wmm_enabled=1
`

const wpa = `
wpa=2
wpa_key_mgmt=WPA-PSK
rsn_pairwise=CCMP
wpa_passphrase=a secret of ours
`

// plug plugs in emulated radios until there are n.
func plug(t *testing.T, n int) {
	t.Helper()
	write(t, "/sys/module/ath10k_emu/parameters/radios", fmt.Sprint(n))
	if got := len(radios(t)); got != n {
		t.Fatalf("%d radios, want %d", got, n)
	}
}

// background starts a program that ends with the test.
func background(t *testing.T, words ...string) {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", words[0], &log)
		}
	})
}

// at is the beginning of a command line that runs in a station's or the
// server's network namespace.
func at(ns string) string { return "ip netns exec " + ns + " " }

// cell makes an access point on channel 36 with n stations in network
// namespaces sta1 (10.0.0.2) and on, and a wired server (10.1.0.2) behind it.
// The extra lines are for hostapd: "" or wpa.
func cell(t *testing.T, n int, extra string) {
	t.Helper()
	plug(t, n+1)
	conf := filepath.Join(t.TempDir(), "hostapd.conf")
	write(t, conf, accessPointConf+extra)
	background(t, "hostapd", conf)
	eventually(t, 10*time.Second, func() error {
		if info := must(t, "iw dev wlan0 info"); !strings.Contains(info, "width: 80 MHz") {
			return fmt.Errorf("no access point yet:\n%s", info)
		}
		return nil
	})
	must(t, "ip addr add 10.0.0.1/24 dev wlan0")
	write(t, "/proc/sys/net/ipv4/ip_forward", "1")

	must(t, "ip netns add server")
	must(t, "ip link add wan type veth peer name eth0 netns server")
	must(t, "ip addr add 10.1.0.1/24 dev wan")
	must(t, "ip link set wan up")
	must(t, "ip -n server addr add 10.1.0.2/24 dev eth0")
	must(t, "ip -n server link set eth0 up")
	must(t, "ip -n server route add default via 10.1.0.1")
	must(t, "ethtool -K wan gso off tso off gro off")
	must(t, at("server")+"ethtool -K eth0 gso off tso off gro off")

	for i := 1; i <= n; i++ {
		ns, dev := fmt.Sprint("sta", i), fmt.Sprint("wlan", i)
		must(t, "ip netns add "+ns)
		must(t, fmt.Sprintf("iw phy phy%d set netns name %s", i, ns))
		must(t, fmt.Sprintf("ip -n %s addr add 10.0.0.%d/24 dev %s", ns, 1+i, dev))
		must(t, fmt.Sprintf("ip -n %s link set %s up", ns, dev))
		must(t, fmt.Sprintf("ip -n %s route add default via 10.0.0.1", ns))
		if extra != wpa {
			must(t, at(ns)+"iw dev "+dev+" connect lab 5180")
		} else {
			conf := filepath.Join(t.TempDir(), dev)
			write(t, conf, "network={\nssid=\"lab\"\npsk=\"a secret of ours\"\nscan_freq=5180\n}\n")
			background(t, append(strings.Fields(at(ns)), "wpa_supplicant", "-i", dev, "-c", conf)...)
		}
	}
	// wpa_supplicant scans anew every 5 s. When 31 of them scan at the same
	// moment, some hear no beacon the first and the second time.
	eventually(t, 30*time.Second, func() error { return authorized(t, n) })
}

// authorized complains unless so many stations may send.
func authorized(t *testing.T, n int) error {
	dump := must(t, "iw dev wlan0 station dump")
	if got := len(regexp.MustCompile(`authorized:\s+yes`).FindAllString(dump, -1)); got != n {
		return fmt.Errorf("%d stations are authorized, want %d:\n%s", got, n, dump)
	}
	return nil
}

// reach pings a station from the server, and the server from it.
func reach(t *testing.T, i int) {
	t.Helper()
	must(t, fmt.Sprintf("%sping -q -c 2 -i 0.1 -W 2 10.0.0.%d", at("server"), 1+i))
	must(t, fmt.Sprintf("%sping -q -c 2 -i 0.1 -W 2 10.1.0.2", at(fmt.Sprint("sta", i))))
}

// flood has the server send over four TCP connections to the first station for
// some seconds.
func flood(t *testing.T, seconds int) {
	t.Helper()
	background(t, strings.Fields(at("sta1")+"iperf -s")...)
	time.Sleep(100 * time.Millisecond)
	background(t, strings.Fields(fmt.Sprintf("%siperf -c 10.0.0.2 -P 4 -t %d", at("server"), seconds))...)
	time.Sleep(1500 * time.Millisecond)
}

// load is what a station sees in two seconds of a flood, one after a change.
type load struct {
	Mbps float64
	P95  time.Duration // of pings
}

func measure(t *testing.T) load {
	t.Helper()
	time.Sleep(time.Second)
	before, start := sent(t), time.Now()
	out := must(t, at("server")+"ping -i 0.03 -w 2 10.0.0.2")
	l := load{Mbps: float64(sent(t)-before) * 8 / 1e6 / time.Since(start).Seconds()}
	var rtts []time.Duration
	for _, m := range regexp.MustCompile(`time=(\S+) ms`).FindAllStringSubmatch(out, -1) {
		ms, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		rtts = append(rtts, time.Duration(ms*1e6))
	}
	if len(rtts) < 20 {
		t.Fatalf("%d answers:\n%s", len(rtts), out)
	}
	slices.Sort(rtts)
	l.P95 = rtts[len(rtts)*95/100]
	return l
}

// sent is how many bytes the access point has sent.
func sent(t *testing.T) int {
	n, err := strconv.Atoi(strings.TrimSpace(read(t, "/sys/class/net/wlan0/statistics/tx_bytes")))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// limit sets the limits of best effort, in us.
func limit(t *testing.T, low, high int) {
	t.Helper()
	write(t, "/sys/kernel/debug/ieee80211/phy0/aql_txq_limit", fmt.Sprintf("2 %d %d", low, high))
}

// number reads a file with one number.
func number(t *testing.T, file string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(read(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// queueSource is what airtuned takes for the access point's queue.
func queueSource(t *testing.T) (source string, max int) {
	t.Helper()
	var found struct {
		Radios []struct {
			radio
			Queue struct {
				Source string
				Max    int
			}
		}
	}
	airtunedJSON(t, 0, &found, "detect")
	if len(found.Radios) != 1 {
		t.Fatalf("%d radios, want 1", len(found.Radios))
	}
	r := found.Radios[0]
	if r.Chip != "QCA9984" || r.Driver != "ath10k_pci" || r.Bus != "pci" || r.AQL.Supported == nil || !*r.AQL.Supported {
		t.Errorf("chip %q, driver %q, bus %q, AQL %+v, want a QCA9984 on PCI with AQL", r.Chip, r.Driver, r.Bus, r.AQL)
	}
	return r.Queue.Source, r.Queue.Max
}

func TestEmulatedDetect(t *testing.T) {
	plug(t, 1)
	must(t, "ip link set wlan0 up")
	if source, max := queueSource(t); source != "num_pending_tx" || max != 1424 {
		t.Errorf("queue from %q, at most %d frames, want num_pending_tx and 1424", source, max)
	}
}

func TestStockDetect(t *testing.T) {
	plug(t, 1)
	must(t, "ip link set wlan0 up")
	if source, _ := queueSource(t); source != "aql_pending" {
		t.Errorf("queue from %q, want aql_pending", source)
	}
}

// TestEmulatedBufferbloat: the emulated radio shows what people see in the
// field. The kernel's limits cost latency and gain nothing; where the host is
// slow, low ones cost throughput.
func TestEmulatedBufferbloat(t *testing.T) {
	cell(t, 1, "")
	flood(t, 20)
	byDefault := measure(t)
	limit(t, 1500, 1500)
	tuned := measure(t)
	write(t, emulated+"radio0/svc_us", "3000")
	limit(t, 600, 600)
	slow := measure(t)
	t.Logf("by default %+v, with 1500 us %+v, with 600 us on a slow host %+v", byDefault, tuned, slow)

	if byDefault.Mbps < 550 || byDefault.Mbps > 680 {
		t.Errorf("%.0f Mb/s over a link of 866.7, want about 620", byDefault.Mbps)
	}
	if tuned.Mbps < .98*byDefault.Mbps {
		t.Errorf("%.0f Mb/s with 1500 us, want no less than by default: %.0f", tuned.Mbps, byDefault.Mbps)
	}
	if byDefault.P95 < tuned.P95*5/2 {
		t.Errorf("ping p95 is %v by default and %v with 1500 us, want more than 2.5 times", byDefault.P95, tuned.P95)
	}
	if slow.Mbps > byDefault.Mbps/2 {
		t.Errorf("%.0f Mb/s with 600 us on a slow host, want less than half of %.0f", slow.Mbps, byDefault.Mbps)
	}
}

func TestEmulatedRates(t *testing.T) {
	cell(t, 1, "")
	for _, kbps := range []string{"6500", "866700"} {
		write(t, emulated+"radio1/kbps", kbps)
		reach(t, 1)
		dump := must(t, "iw dev wlan0 station dump")
		want := map[string]string{"6500": "6.5 MBit/s VHT-MCS 0 VHT-NSS 1", "866700": "866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2"}[kbps]
		if !strings.Contains(dump, want) {
			t.Errorf("rate is %s kb/s, but there is no %q in:\n%s", kbps, want, dump)
		}
	}
}

// TestEmulatedWPA: 31 stations, which is all that fit on the bus.
func TestEmulatedWPA(t *testing.T) {
	const n = 31
	cell(t, n, wpa)
	for _, i := range []int{1, n} {
		reach(t, i)
	}
	if got := strings.Count(read(t, ath10k+"fw_stats"), "Peer MAC address"); got != n {
		t.Errorf("fw_stats has %d stations, want %d", got, n)
	}
}

func TestEmulatedCrash(t *testing.T) {
	cell(t, 2, wpa)
	flood(t, 40)
	for i, kind := range []string{"soft", "hard", "assert"} {
		write(t, ath10k+"simulate_fw_crash", kind)
		time.Sleep(3 * time.Second)
		if err := authorized(t, 2); err != nil {
			t.Error(err)
		}
		reach(t, 1)
		reach(t, 2)
		if stats := read(t, ath10k+"fw_reset_stats"); !strings.Contains(stats, fmt.Sprintf("fw_crash_counter\t\t%d\n", 1+i)) {
			t.Errorf("after a %s crash, want %d crashes:\n%s", kind, 1+i, stats)
		}
	}
}

func TestEmulatedUnplug(t *testing.T) {
	plug(t, 2)
	write(t, "/sys/bus/pci/devices/0000:00:00.0/remove", "1")
	if left := radios(t); len(left) != 1 || left[0].phy != "phy1" {
		t.Errorf("left are %v, want phy1", left)
	}
	write(t, "/sys/bus/pci/rescan", "1")
	back := radios(t)
	if i := slices.IndexFunc(back, func(r hwsim) bool { return r.path == "devices/pci0000:00/0000:00:00.0" }); len(back) != 2 || i < 0 {
		t.Errorf("radios %v, want the first one back", back)
	}
}

func TestEmulatedMesh(t *testing.T) {
	plug(t, 2)
	for i := range 2 {
		ns, dev := fmt.Sprint("mesh", i), fmt.Sprint("wlan", i)
		must(t, "ip netns add "+ns)
		must(t, fmt.Sprintf("iw phy phy%d set netns name %s", i, ns))
		must(t, at(ns)+"iw dev "+dev+" set type mp")
		must(t, fmt.Sprintf("ip -n %s addr add 10.0.0.%d/24 dev %s", ns, 1+i, dev))
		must(t, fmt.Sprintf("ip -n %s link set %s up", ns, dev))
		must(t, at(ns)+"iw dev "+dev+" mesh join lab freq 5180 80 5210")
	}
	eventually(t, 10*time.Second, func() error {
		if dump := must(t, at("mesh0")+"iw dev wlan0 station dump"); !strings.Contains(dump, "ESTAB") {
			return fmt.Errorf("no link:\n%s", dump)
		}
		return nil
	})
	must(t, at("mesh0")+"ping -q -c 2 -i 0.1 -W 2 10.0.0.2")
}

// TestEmulatedFourAddress: a station that is a bridge has an interface of its
// own on the access point.
func TestEmulatedFourAddress(t *testing.T) {
	cell(t, 1, "wds_sta=1\n")
	must(t, at("sta1")+"iw dev wlan1 disconnect")
	must(t, "ip -n sta1 link set wlan1 down")
	must(t, at("sta1")+"iw dev wlan1 set 4addr on")
	must(t, "ip -n sta1 link set wlan1 up")
	must(t, at("sta1")+"iw dev wlan1 connect lab 5180")
	must(t, "ip addr flush dev wlan0")
	eventually(t, 10*time.Second, func() error {
		_, stderr, code := command(t, "ip", "addr", "add", "10.0.0.1/24", "dev", "wlan0.sta1")
		if code != 0 {
			return errors.New(stderr)
		}
		return nil
	})
	must(t, "ip link set wlan0.sta1 up")
	must(t, "ping -q -c 2 -i 0.1 -W 2 10.0.0.2")
}

// TestEmulatedFaults: frames for a station that sleeps, and completions that
// never come, stay pending; without rate reports AQL sees nothing.
func TestEmulatedFaults(t *testing.T) {
	cell(t, 2, "")
	pending := func(want int) {
		t.Helper()
		eventually(t, time.Second, func() error {
			if n := number(t, ath10k+"num_pending_tx"); n != want {
				return fmt.Errorf("%d frames are pending, want %d", n, want)
			}
			return nil
		})
	}
	write(t, emulated+"radio1/stalled", "1")
	command(t, "ping", "-q", "-c", "3", "-i", "0.1", "-W", "1", "10.0.0.2")
	pending(3)
	reach(t, 2)
	write(t, emulated+"radio1/stalled", "0")
	pending(0)

	write(t, emulated+"radio0/leak", "2")
	reach(t, 2)
	pending(2)

	write(t, emulated+"radio0/blind", "1")
	write(t, emulated+"radio1/kbps", "6500")
	reach(t, 1)
	if dump := must(t, "iw dev wlan0 station get 02:03:7f:00:01:00"); strings.Contains(dump, "tx bitrate:\t6.5 ") {
		t.Errorf("a rate was reported:\n%s", dump)
	}
}

// TestEmulatedSawtooth: with AQL "off" mac80211 still bounds the airtime that is
// pending in an access category of the phy (6.0 on), but no station's. So
// nothing is scheduled above that bound, and below it all that fits.
func TestEmulatedSawtooth(t *testing.T) {
	cell(t, 1, "")
	write(t, "/sys/kernel/debug/ieee80211/phy0/aql_enable", "0")
	background(t, strings.Fields(at("sta1")+"iperf -s -u")...)
	time.Sleep(100 * time.Millisecond)
	background(t, strings.Fields(at("server")+"iperf -u -c 10.0.0.2 -b 900M -t 4")...)
	time.Sleep(time.Second)
	least, most := 1<<30, 0
	for range 200 {
		n := number(t, ath10k+"num_pending_tx")
		least, most = min(least, n), max(most, n)
		time.Sleep(5 * time.Millisecond)
	}
	if least < 900 || least > 1100 || most < 1400 {
		t.Errorf("between %d and %d frames are pending, want about 1040 (12 ms) and 1423 (all but one)", least, most)
	}
}
