// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"airtuned/lab/pid1"
	"airtuned/lab/scenario"
	"airtuned/wlan"
)

// network is what a scenario happens on:
//
//	server --(wan)-- access point ~~(air)~~ stations
//
// The access point is the machine's own namespace and routes. Every other has
// a namespace for itself.
type network struct {
	scenario *scenario.Scenario
	server   namespace
	stations []*station
	ap       radio
	tuned    radio // the access point's or a station's
	hostapd  *exec.Cmd
	airtuned *exec.Cmd
	begin    time.Time // time 0
	// failed takes what went wrong in the background.
	failed chan error
}

// station is one station.
type station struct {
	scenario.Station
	namespace
	radio radio
	addr  string // its IP address
	sink  *sink
}

// radio is a phy and the interface on it.
type radio struct {
	index int
	phy   string
	iface string
	mac   wlan.MAC
}

const (
	apAddr     = "10.0.0.1"
	serverAddr = "10.1.0.2"
	emulated   = "/sys/kernel/debug/ath10k_emu"
	ieee80211  = "/sys/kernel/debug/ieee80211"
)

var hostapdConf = map[string]string{
	scenario.Ath10k: `hw_mode=a
channel=36
ieee80211n=1
ieee80211ac=1
ht_capab=[HT40+][SHORT-GI-20][SHORT-GI-40]
vht_capab=[SHORT-GI-80]
vht_oper_chwidth=1
vht_oper_centr_freq_seg0_idx=42
`,
	scenario.Hwsim: `hw_mode=g
channel=1
ieee80211n=1
`,
}

var frequency = map[string]int{scenario.Ath10k: 5180, scenario.Hwsim: 2412}

// setUp builds the network, up to the stations that are there from the start.
func setUp(s *scenario.Scenario) (*network, error) {
	n := &network{scenario: s, failed: make(chan error, 1)}
	expanded := s.Expand()
	radios, err := plugRadios(s, 1+len(expanded))
	if err != nil {
		return nil, err
	}
	n.ap, n.tuned = radios[0], radios[0]
	for _, e := range expanded {
		if e.Name == s.Tuned {
			n.tuned = radios[e.Radio]
		}
	}
	if s.Blind {
		n.set(n.tuned, "blind", 1)
	}
	if err := n.wire(); err != nil {
		return nil, err
	}
	if err := n.accessPoint(); err != nil {
		return nil, err
	}
	if s.FlowControl == scenario.Pull {
		n.set(n.ap, "pull", 1) // the interface is up by now
	}
	for i, e := range expanded {
		st := &station{Station: e, radio: radios[e.Radio], addr: fmt.Sprintf("10.0.1.%d", i+1)}
		n.stations = append(n.stations, st)
		if err := st.setUp(n.ap); err != nil {
			return nil, err
		}
		n.set(st.radio, "kbps", e.Group.RateKbps.At(0))
		n.set(st.radio, "loss", e.Group.LossPPM.At(0))
		if e.Join == 0 {
			if err := st.join(frequency[s.Radio]); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

func (n *network) close() {
	for _, cmd := range []*exec.Cmd{n.airtuned, n.hostapd} {
		if cmd != nil {
			cmd.Process.Kill()
		}
	}
}

// fail has the run end with an error.
func (n *network) fail(err error) {
	select {
	case n.failed <- err:
	default:
	}
}

// plugRadios waits for n radios, which the kernel numbers in the order of their
// appearance.
func plugRadios(s *scenario.Scenario, n int) ([]radio, error) {
	if s.Radio == scenario.Ath10k {
		// Not on the kernel's command line, as the folder of the firmware is
		// not mounted before us.
		path := "/sys/module/firmware_class/parameters/path"
		firmware := pid1.Shared + "/firmware/plain"
		if s.FlowControl != "" {
			firmware = pid1.Shared + "/firmware/flow-control"
		}
		if err := os.WriteFile(path, []byte(firmware), 0); err != nil {
			return nil, err
		}
		err := os.WriteFile("/sys/module/ath10k_emu/parameters/radios", []byte(strconv.Itoa(n)), 0)
		if errors.Is(err, os.ErrNotExist) {
			return nil, errors.New("this kernel has no emulated ath10k radios")
		}
		if err != nil {
			return nil, fmt.Errorf("plug in %d radios: %w", n, err)
		}
	}
	var radios []radio
	err := eventually(10*time.Second, func() error {
		radios = nil
		for i := range n {
			r := radio{index: i, phy: fmt.Sprint("phy", i)}
			dir := "/sys/class/ieee80211/" + r.phy
			mac, err := os.ReadFile(dir + "/macaddress")
			if err != nil {
				return err
			}
			if r.mac, err = wlan.ParseMAC(strings.TrimSpace(string(mac))); err != nil {
				return err
			}
			ifaces, _ := filepath.Glob(dir + "/device/net/*")
			if len(ifaces) != 1 {
				return fmt.Errorf("%s: %d interfaces", r.phy, len(ifaces))
			}
			r.iface = filepath.Base(ifaces[0])
			radios = append(radios, r)
		}
		return nil
	})
	return radios, err
}

// set turns a knob of an emulated radio. hwsim has none.
func (n *network) set(r radio, knob string, value int) {
	if n.scenario.Radio != scenario.Ath10k || knob == "kbps" && value == 0 {
		return
	}
	file := fmt.Sprintf("%s/radio%d/%s", emulated, r.index, knob)
	if err := os.WriteFile(file, []byte(strconv.Itoa(value)), 0); err != nil {
		n.fail(err)
	}
}

// emulated is a file of the emulated radio that is measured.
func (n *network) emulated(name string) string {
	return fmt.Sprintf("%s/radio%d/%s", emulated, n.tuned.index, name)
}

// wire makes the server and the way to it.
func (n *network) wire() error {
	var err error
	if n.server, err = newNamespace("server"); err != nil {
		return err
	}
	if err := root.batch("ip", `
link add wan0 type veth peer name eth0 netns server
addr add 10.1.0.1/24 dev wan0
link set wan0 up
`); err != nil {
		return err
	}
	if err := n.server.batch("ip", `
link set lo up
addr add `+serverAddr+`/24 dev eth0
link set eth0 up
route add default via 10.1.0.1
`); err != nil {
		return err
	}
	// Frames on the wire are those that go on the air.
	for _, end := range []struct {
		namespace
		iface string
	}{{root, "wan0"}, {n.server, "eth0"}} {
		if _, err := end.command("ethtool -K " + end.iface + " tso off gso off gro off"); err != nil {
			return err
		}
		netem := fmt.Sprintf("qdisc add dev %s root netem limit 100000 delay %dus",
			end.iface, time.Duration(n.scenario.WAN.Delay).Microseconds())
		if kbps := n.scenario.WAN.RateKbps; kbps > 0 {
			netem += fmt.Sprintf(" rate %dkbit", kbps)
		}
		if err := end.batch("tc", netem+"\n"); err != nil {
			return err
		}
	}
	if err := root.sysctl([][2]string{{"ipv4/ip_forward", "1"}}); err != nil {
		return err
	}
	return n.server.sysctl(tcp)
}

// tcp lets windows grow to what a fast station needs, whatever memory the
// machine has, and lets no flow learn from one before.
var tcp = [][2]string{
	{"ipv4/tcp_rmem", "4096 131072 6291456"},
	{"ipv4/tcp_wmem", "4096 16384 6291456"},
	{"ipv4/tcp_no_metrics_save", "1"},
}

func (n *network) accessPoint() error {
	const file = "/run/hostapd.conf"
	conf := "interface=" + n.ap.iface + "\ndriver=nl80211\nssid=lab\nwmm_enabled=1\n" + hostapdConf[n.scenario.Radio]
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		return err
	}
	log, err := os.Create(pid1.Shared + "/hostapd.log")
	if err != nil {
		return err
	}
	defer log.Close()
	n.hostapd = exec.Command("hostapd", file)
	n.hostapd.Stdout, n.hostapd.Stderr = log, log
	if err := n.hostapd.Start(); err != nil {
		return err
	}
	go func() {
		n.fail(fmt.Errorf("hostapd ended: %v", n.hostapd.Wait()))
	}()
	err = eventually(10*time.Second, func() error {
		info, err := root.command("iw dev " + n.ap.iface + " info")
		if err == nil && !(strings.Contains(info, "type AP") && strings.Contains(info, "channel ")) {
			err = fmt.Errorf("no access point: %s", info)
		}
		return err
	})
	if err != nil {
		return err
	}
	return root.batch("ip", "addr add "+apAddr+"/16 dev "+n.ap.iface+"\n")
}

// setUp gives the station a namespace.
func (st *station) setUp(ap radio) error {
	var err error
	if st.namespace, err = newNamespace(st.Name); err != nil {
		return err
	}
	if _, err := root.command("iw phy " + st.radio.phy + " set netns name " + st.Name); err != nil {
		return err
	}
	if err := st.batch("ip", fmt.Sprintf(`
link set lo up
addr add %s/16 dev %s
link set %[2]s up
route add default via %s
neigh add %[3]s lladdr %s dev %[2]s nud permanent
`, st.addr, st.radio.iface, apAddr, ap.mac)); err != nil {
		return err
	}
	// Neither side has to ask for the other by broadcasts, which may get lost.
	neigh := fmt.Sprintf("neigh add %s lladdr %s dev %s nud permanent\n", st.addr, st.radio.mac, ap.iface)
	if err := root.batch("ip", neigh); err != nil {
		return err
	}
	// It may fail, where there is none.
	st.command("iw dev " + st.radio.iface + " set power_save off")
	if err := st.sysctl(tcp); err != nil {
		return err
	}
	st.sink, err = newSink(st.namespace, st.addr)
	return err
}

// join associates the station. It tries again, as any supplicant does: at a
// crowded access point answers get lost.
func (st *station) join(mhz int) error {
	var said string
	for range 5 {
		// iw tells the outcome only in words.
		out, err := st.command(fmt.Sprintf("iw dev %s connect -w lab %d", st.radio.iface, mhz))
		if err == nil && strings.Contains(out, "connected to") && !strings.Contains(out, "failed") {
			return nil
		}
		said = strings.TrimSpace(out)
		if err != nil {
			said = err.Error()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("station %s does not get in: %s", st.Name, said)
}

// eventually tries ten times a second until check has no more to complain of.
func eventually(within time.Duration, check func() error) error {
	for deadline := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// labelled reads a file of lines that are a label and a number.
func labelled(file string) (map[string]float64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	values := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 2 {
			return nil, fmt.Errorf("%s: unexpected line %q", file, line)
		}
		if values[f[0]], err = strconv.ParseFloat(f[1], 64); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return values, nil
}

// column reads one column of a file whose first line has the columns' names and
// whose rows begin with an address.
func column(file, name string) (map[wlan.MAC]float64, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	header, rows, _ := strings.Cut(string(b), "\n")
	at := slices.Index(strings.Fields(header), name)
	if at < 0 {
		return nil, fmt.Errorf("%s: no column %s", file, name)
	}
	values := map[wlan.MAC]float64{}
	for line := range strings.Lines(rows) {
		f := strings.Fields(line)
		if len(f) <= at {
			return nil, fmt.Errorf("%s: short line %q", file, line)
		}
		mac, err := wlan.ParseMAC(f[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		v, err := strconv.ParseFloat(f[at], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		values[mac] += v
	}
	return values, nil
}
