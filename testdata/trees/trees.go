// Package trees writes fixture trees: what /sys, /sys/kernel/debug and /proc
// show of a machine with certain radios, cut down to the files that airtuned
// reads. The layout, the links and the formats are the kernel's; addresses and
// numbers are invented.
//
// The trees are committed beside this file, one folder per machine with sys/,
// debug/ and proc/. Change them here, never by hand, and run
//
//	go run ./testdata/trees/gen
//
// git keeps no empty folders: where the kernel has one, .keep stands in it.
package trees

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Names lists the trees.
func Names() []string {
	names := make([]string, len(machines))
	for i, m := range machines {
		names[i] = m.name
	}
	return names
}

// WriteAll writes all trees below dir, each in a folder of its name, in the
// place of what was there.
func WriteAll(dir string) error {
	for _, m := range machines {
		root := filepath.Join(dir, m.name)
		if err := os.RemoveAll(root); err != nil {
			return err
		}
		w := writer{root: root}
		m.write(&w)
		if w.err != nil {
			return fmt.Errorf("write tree %s: %w", m.name, w.err)
		}
	}
	return nil
}

// writer makes files and links below root and keeps the first error.
type writer struct {
	root string
	err  error
}

func (w *writer) file(name, text string) {
	w.make(name, func(full string) error { return os.WriteFile(full, []byte(text), 0o644) })
}

// link makes name a symbolic link to another path below the root, relative as
// in sysfs.
func (w *writer) link(name, target string) {
	rel, err := filepath.Rel(path.Dir(name), target)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.make(name, func(full string) error { return os.Symlink(rel, full) })
}

func (w *writer) make(name string, create func(full string) error) {
	if w.err != nil {
		return
	}
	full := filepath.Join(w.root, filepath.FromSlash(name))
	if w.err = os.MkdirAll(filepath.Dir(full), 0o755); w.err == nil {
		w.err = create(full)
	}
}

// machine is a computer with its radios.
type machine struct {
	name    string
	release string // of the kernel
	cpus    int
	radios  []radio
	// napiThreads are names of kernel threads.
	napiThreads []string
}

// radio is a wiphy and the device it sits on.
type radio struct {
	phy    string
	index  int
	device string // path below /sys
	bus    string // folder of /sys/bus
	driver string
	uevent []string // beside DRIVER
	attrs  map[string]string
	// parentAttrs are those of the device above, on USB.
	parentAttrs map[string]string
	netdevs     []netdev
	debug       *debug // nil on a kernel without MAC80211_DEBUGFS
}

type netdev struct {
	name     string
	index    int
	kind     kind
	queue    int    // on ath10k, where all access categories share one
	stations []byte // last bytes of the addresses of its stations
}

type kind int

const (
	accessPoint kind = iota
	vlan             // of an access point
	client
	monitor
)

// debug is what a radio has in debugfs.
type debug struct {
	queues    int               // hardware queues
	aql       bool              // AQL is in use: stations have the file aql
	pendingUs int               // airtime in flight, all of it best effort to the first station
	multicast string            // label of the row for multicast, "" if the kernel has none
	ath10k    map[string]string // files in ath10k/
}

func (m machine) write(w *writer) {
	w.file("proc/sys/kernel/osrelease", m.release+"\n")
	w.file("proc/sys/kernel/random/boot_id", bootID+"\n")
	var cpuinfo strings.Builder
	for i := range m.cpus {
		fmt.Fprintf(&cpuinfo, "processor\t: %d\n\n", i)
	}
	w.file("proc/cpuinfo", cpuinfo.String())
	w.process(1, 0, "init", 0x00400100)
	w.process(2, 0, "kthreadd", 0x00208040)
	for i, name := range m.napiThreads {
		w.process(64+i, 2, name, 0x00208040)
	}

	online := "0"
	if m.cpus > 1 {
		online = fmt.Sprintf("0-%d", m.cpus-1)
	}
	w.file("sys/devices/system/cpu/online", online+"\n")
	m.net(w, "devices/virtual/net/lo", "lo", 1, "", "772", "00:00:00:00:00:00")

	w.file("debug/fault_around_bytes", "65536\n")
	for _, r := range m.radios {
		m.radio(w, r)
	}
}

const bootID = "6f3f5d0e-3c1b-4f6e-9d57-2b8a5c1e7a40"

// process writes /proc/PID, as far as it tells kernel threads from others.
func (w *writer) process(pid, parent int, name string, flags uint32) {
	dir := fmt.Sprintf("proc/%d/", pid)
	w.file(dir+"comm", name+"\n")
	w.file(dir+"stat", fmt.Sprintf("%d (%s) S %d 0 0 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 0\n", pid, name, parent, flags))
}

// before reports whether the machine's kernel is older than major.minor.
func (m machine) before(major, minor int) bool {
	var a, b int
	fmt.Sscanf(m.release, "%d.%d", &a, &b)
	return a < major || a == major && b < minor
}

func (m machine) radio(w *writer, r radio) {
	dev := "sys/" + r.device
	driver := "sys/bus/" + r.bus + "/drivers/" + r.driver
	base := path.Base(r.device)
	phy := dev + "/ieee80211/" + r.phy
	w.link("sys/class/ieee80211/"+r.phy, phy)
	w.file(phy+"/index", fmt.Sprintf("%d\n", r.index))
	w.file(phy+"/name", r.phy+"\n")
	w.file(phy+"/macaddress", mac(r.index, 0)+"\n")
	w.link(phy+"/device", dev)
	for _, n := range r.netdevs {
		arphrd := "1" // ARPHRD_ETHER
		if n.kind == monitor {
			arphrd = "803" // ARPHRD_IEEE80211_RADIOTAP
		}
		net := r.device + "/net/" + n.name
		m.net(w, net, n.name, n.index, "DEVTYPE=wlan\n", arphrd, mac(r.index, byte(n.index)))
		w.link("sys/"+net+"/phy80211", phy)
		w.link("sys/"+net+"/device", dev)
	}
	m.debug(w, r)

	if _, err := os.Lstat(filepath.Join(w.root, dev, "uevent")); err == nil {
		return // a second wiphy on the same device
	}
	w.file(dev+"/uevent", strings.Join(append([]string{"DRIVER=" + r.driver}, r.uevent...), "\n")+"\n")
	for name, value := range r.attrs {
		w.file(dev+"/"+name, value+"\n")
	}
	for name, value := range r.parentAttrs {
		w.file(path.Dir(dev)+"/"+name, value+"\n")
	}
	w.link(dev+"/driver", driver)
	w.link(dev+"/subsystem", "sys/bus/"+r.bus)
	w.link("sys/bus/"+r.bus+"/devices/"+base, dev)
	w.link(driver+"/"+base, dev)
}

// net writes a netdev.
func (m machine) net(w *writer, dir, name string, index int, devtype, arphrd, address string) {
	w.link("sys/class/net/"+name, "sys/"+dir)
	w.file("sys/"+dir+"/uevent", fmt.Sprintf("%sINTERFACE=%s\nIFINDEX=%d\n", devtype, name, index))
	w.file("sys/"+dir+"/ifindex", fmt.Sprintf("%d\n", index))
	w.file("sys/"+dir+"/type", arphrd+"\n")
	w.file("sys/"+dir+"/address", address+"\n")
	if !m.before(5, 12) {
		w.file("sys/"+dir+"/threaded", "0\n")
	}
}

// mac is an invented address.
func mac(phy int, last byte) string { return fmt.Sprintf("02:00:00:00:%02x:%02x", phy, last) }

func (m machine) debug(w *writer, r radio) {
	dir := "debug/ieee80211/" + r.phy + "/"
	d := r.debug
	if d == nil {
		w.file(dir+".keep", "")
		return
	}
	limits := "AC\tAQL limit low\tAQL limit high\n"
	for _, ac := range []string{"VO", "VI", "BE", "BK"} {
		limits += ac + "\t5000\t\t12000\n"
	}
	if d.multicast != "" {
		limits += d.multicast + "\t50000\n"
	}
	w.file(dir+"aql_txq_limit", limits)
	w.file(dir+"aql_threshold", "24000\n")
	if !m.before(5, 12) {
		w.file(dir+"aql_enable", "1\n")
	}
	if !m.before(6, 0) {
		w.file(dir+"aql_pending", d.aqlPending())
	}
	w.file(dir+"airtime_flags", "AIRTIME_TX\t(1)\nAIRTIME_RX\t(2)\n")
	w.file(dir+"aqm", `access name value
R fq_flows_cnt 4096
R fq_backlog 0
R fq_overlimit 0
R fq_overmemory 0
R fq_collisions 14
R fq_memory_usage 0
RW fq_memory_limit 16777216
RW fq_limit 8192
RW fq_quantum 300
`)
	var queues strings.Builder
	for q := range d.queues {
		fmt.Fprintf(&queues, "%02d: 0x%08x/0\n", q, 0)
	}
	w.file(dir+"queues", queues.String())
	for name, text := range d.ath10k {
		w.file(dir+"ath10k/"+name, text)
	}
	for _, n := range r.netdevs {
		m.debugNetdev(w, dir+"netdev:"+n.name+"/", r, n)
	}
}

func (d *debug) aqlPending() string {
	text := fmt.Sprintf("AC     AQL pending\nVO     0 us\nVI     0 us\nBE     %d us\nBK     0 us\n", d.pendingUs)
	if d.multicast != "" {
		text += fmt.Sprintf("%-6s 0 us\n", d.multicast)
	}
	return text + fmt.Sprintf("total  %d us\n", d.pendingUs)
}

func (m machine) debugNetdev(w *writer, dir string, r radio, n netdev) {
	if n.kind != monitor {
		// ath10k maps all queues of an interface to one (ath10k/mac.c,
		// ath10k_add_interface); other radios have one for each AC.
		hw, cab := "AC queues: VO:0 VI:1 BE:2 BK:3\n", 0
		if r.debug.ath10k != nil {
			hw, cab = fmt.Sprintf("AC queues: VO:%[1]d VI:%[1]d BE:%[1]d BK:%[1]d\n", n.queue), n.queue
		}
		if n.kind == accessPoint {
			hw += fmt.Sprintf("cab queue: %d\n", cab)
		}
		w.file(dir+"hw_queues", hw)
	}
	if len(n.stations) == 0 {
		w.file(dir+"stations/.keep", "")
	}
	for i, s := range n.stations {
		sta := dir + "stations/" + mac(0x80+r.index, s) + "/"
		if r.debug.aql {
			depthUs := 0
			if i == 0 {
				depthUs = r.debug.pendingUs
			}
			w.file(sta+"aql", fmt.Sprintf("Q depth: VO: 0 us VI: 0 us BE: %d us BK: 0 us\n"+
				"Q limit[low/high]: VO: 5000/12000 VI: 5000/12000 BE: 5000/12000 BK: 5000/12000\n", depthUs))
		}
		w.file(sta+"airtime", "RX: 0 us\nTX: 7654321 us\nWeight: 256\nDeficit: VO: 256 us VI: 256 us BE: -187 us BK: 256 us\n")
		w.file(sta+"aqm", m.stationAQM())
	}
}

func (m machine) stationAQM() string {
	var b strings.Builder
	if m.before(6, 16) {
		b.WriteString("target 19999us interval 99999us ecn yes\n")
	}
	b.WriteString("tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags\n")
	b.WriteString("0 2 0 0 812 14 3 0 2 198234112 130934 0x2(RUN AMPDU)\n")
	for tid, ac := range []int{2, 3, 3, 2, 1, 1, 0, 0, 2, 3, 3, 2, 1, 1, 0, 0} {
		if tid > 0 {
			fmt.Fprintf(&b, "%d %d 0 0 0 0 0 0 0 0 0 0x0(RUN)\n", tid, ac)
		}
	}
	return b.String()
}
