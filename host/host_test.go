//go:build !mips && !mipsle

package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/sysfs"
	"airtuned/tree"
	"airtuned/tuner"
)

// machine is /sys, /proc and /etc of one with four CPUs and eth0, in files that
// answer writes as the kernel's do.
type machine struct {
	t     *testing.T
	env   Env
	now   time.Time
	stats [4]sysfs.CPUTimes
	// seconds since the start, which all counters grow with.
	seconds int
	// softirq is what CPU 0 spends in softirqs, of 100 ticks a second; mbytes
	// what eth0 passes.
	softirq, mbytes uint64
	// refuse is asked before each write.
	refuse func(name string) error
	writes []string
}

// kernelTree answers writes to one of a machine's trees.
type kernelTree struct {
	tree.Dir
	m *machine
}

func (k kernelTree) Write(name string, p []byte) error {
	if k.m.refuse != nil {
		if err := k.m.refuse(name); err != nil {
			return err
		}
	}
	k.m.writes = append(k.m.writes, name)
	value := string(p)
	switch {
	case strings.HasSuffix(name, "/napi_threaded"):
		if value = strings.TrimSpace(value); value == "1" {
			k.m.thread(66, "napi/phy0-8")
		} else {
			os.RemoveAll(k.m.env.Proc.String() + "/66")
		}
	case strings.HasSuffix(name, "/threaded"):
		if value == "1" {
			k.m.thread(65, "napi/eth0-8193")
		} else {
			os.RemoveAll(k.m.env.Proc.String() + "/65")
		}
	case strings.HasSuffix(name, "/rps_cpus"):
		value = "00000000,0000000" + value // four CPUs fit into a digit
	}
	if _, err := os.Stat(k.String() + "/" + name); err != nil {
		return err
	}
	return os.WriteFile(k.String()+"/"+name, []byte(value+"\n"), 0o644)
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, now: time.Unix(1_000_000, 0), softirq: 95, mbytes: 100}
	root := t.TempDir()
	m.env = Env{
		Env: tuner.Env{
			Sys: kernelTree{tree.Dir(root + "/sys"), m}, Debug: kernelTree{tree.Dir(root + "/debug"), m}, Proc: kernelTree{tree.Dir(root + "/proc"), m},
			StateDir: root + "/state", Log: slog.New(slog.DiscardHandler),
		},
		Etc: tree.Dir(root + "/etc"),
		Place: func(pid int, cpus []int) error {
			m.writes = append(m.writes, fmt.Sprint(pid))
			m.allow(pid, sysfs.FormatCPUList(cpus))
			return nil
		},
	}
	m.put("/sys/devices/system/cpu/online", "0-3\n")
	m.put("/sys/class/net/eth0/threaded", "0\n")
	m.put("/sys/class/net/eth0/queues/rx-0/rps_cpus", "00000000,00000000\n")
	m.put("/proc/2/comm", "kthreadd\n")
	m.put("/proc/sys/kernel/random/boot_id", "this-boot\n")
	m.put("/proc/sys/net/ipv4/tcp_limit_output_bytes", "1048576\n")
	for i := range m.stats {
		m.stats[i].CPU = i
	}
	m.advance()
	return m
}

func (m *machine) put(name, text string) {
	m.t.Helper()
	file := filepath.Dir(m.env.StateDir) + name
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) get(name string) string {
	b, err := os.ReadFile(filepath.Dir(m.env.StateDir) + name)
	if errors.Is(err, os.ErrNotExist) {
		return "gone"
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// thread makes a kernel thread, which runs half of each second.
func (m *machine) thread(pid int, name string) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	m.put(dir+"comm", name+"\n")
	m.put(dir+"stat", fmt.Sprintf("%d (%s) S 2 0 0 0 -1 %d 0 0 0 0 0 %d 0 0 20 0 1\n", pid, name, 0x00208040, 50*m.seconds))
	m.allow(pid, "0-3")
}

func (m *machine) allow(pid int, cpus string) {
	m.put(fmt.Sprintf("/proc/%d/status", pid), "Name:\tx\nCpus_allowed_list:\t"+cpus+"\n")
}

// advance lets a second pass.
func (m *machine) advance() {
	m.now = m.now.Add(time.Second)
	m.seconds++
	n := uint64(m.seconds)
	var stat, softnet strings.Builder
	stat.WriteString("cpu  0 0 0 0 0 0 0 0 0 0\n")
	for i := range m.stats {
		s := &m.stats[i]
		busy := uint64(0)
		if i == 0 {
			busy = m.softirq
		}
		s.SoftIRQ += busy
		s.Idle += 100 - busy
		fmt.Fprintf(&stat, "cpu%d 0 0 0 %d 0 0 %d 0 0 0\n", s.CPU, s.Idle, s.SoftIRQ)
		packets := uint64(0)
		if i == 0 {
			packets = 0xfffff000 + 50000*n // wraps
		}
		fmt.Fprintf(&softnet, "%08x 0 0 0 0 0 0 0 0 0 0 0 %08x\n", uint32(packets), i)
	}
	stat.WriteString("intr 1 2 3\n")
	m.put("/proc/stat", stat.String())
	m.put("/proc/net/softnet_stat", softnet.String())
	m.put("/proc/softirqs", fmt.Sprintf("  CPU0 CPU1 CPU2 CPU3\n NET_RX: %d 0 0 0\n", 500*n))
	m.put("/proc/interrupts", fmt.Sprintf("  CPU0 CPU1 CPU2 CPU3\n 40: %d 0 0 0 PCI-MSI 1-edge eth0\n", 3000*n))
	m.put("/sys/class/net/eth0/statistics/rx_bytes", fmt.Sprintln(m.mbytes*1e6*n))
	m.put("/sys/class/net/eth0/statistics/tx_bytes", "0\n")
	if m.get("/proc/65/comm") != "gone" {
		allowed := m.get("/proc/65/status")
		m.thread(65, m.get("/proc/65/comm"))
		m.put("/proc/65/status", allowed+"\n")
	}
}

// run steps until a condition holds, for a minute at most.
func (m *machine) run(h *Host, until func() bool) {
	m.t.Helper()
	for range 60 {
		m.advance()
		h.Step(m.now)
		if until() {
			return
		}
	}
	m.t.Fatalf("it did not come: %+v", h.Status())
}

func (m *machine) host() *Host { return New(m.env, Settings{Interfaces: []string{"eth0", "eth9"}}) }

// placed lets a host thread eth0 and place the thread.
func (m *machine) placed() *Host {
	m.t.Helper()
	h := m.host()
	m.run(h, func() bool { return m.get("/proc/65/status") == "Name:\tx\nCpus_allowed_list:\t1-3" })
	if got := m.get("/sys/class/net/eth0/threaded"); got != "1" {
		m.t.Fatalf("threaded is %s", got)
	}
	return h
}

func (m *machine) record() string { return m.get("/state/originals/host.json") }

// untouched says whether all is as it was found.
func (m *machine) untouched() {
	m.t.Helper()
	for name, want := range map[string]string{
		"/sys/class/net/eth0/threaded":              "0",
		"/sys/class/net/eth0/queues/rx-0/rps_cpus":  "00000000,00000000",
		"/proc/sys/net/ipv4/tcp_limit_output_bytes": "1048576",
		"/proc/65/comm":              "gone",
		"/state/originals/host.json": "gone",
	} {
		if got := m.get(name); got != want {
			m.t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestThreadsAndRestores(t *testing.T) {
	m := newMachine(t)
	m.refuse = func(name string) error {
		// What is there is recorded before it is changed.
		var o tuner.Originals
		if err := json.Unmarshal([]byte(m.record()), &o); err != nil {
			t.Fatalf("write to %s with record %q", name, m.record())
		}
		if !slices.Contains(o.Knobs, tuner.Original{Knob: "threaded/eth0", Value: "0"}) || o.BootID != "this-boot" {
			t.Errorf("write to %s with %+v", name, o)
		}
		return nil
	}
	h := m.placed()
	const why = "CPU 0 is saturated by softirqs and 3 others are idle: eth0 is polled by threads there"
	want := Status{
		State: tuner.Tuning, Reason: why, CPUs: 4, Saturated: []int{0},
		Changes: []tuner.Change{
			{Phy: "host", Knob: "threaded/eth0", From: "0", To: "1", Result: tuner.Applied, Reason: why},
			{Phy: "host", Knob: "affinity/napi/eth0-8193", From: "0-3", To: "1-3", Result: tuner.Applied, Reason: why},
		},
	}
	if diff := cmp.Diff(want, h.Status()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.softirq = 0
	m.run(h, func() bool { return strings.HasPrefix(h.Status().Reason, "helped") })
	for range 100 {
		m.advance()
		h.Step(m.now)
	}
	if got := h.Status(); got.State != tuner.Tuning || len(got.Changes) != 2 || len(got.Saturated) != 0 {
		t.Errorf("after a while: %+v", got)
	}
	if err := h.Stop("stop"); err != nil {
		t.Error(err)
	}
	m.untouched()
	if last := m.writes[len(m.writes)-2:]; !slices.Equal(last, []string{"65", "class/net/eth0/threaded"}) {
		t.Errorf("restored in the order %q", last)
	}
}

// What did not help is undone by itself.
func TestUndo(t *testing.T) {
	m := newMachine(t)
	h := m.placed()
	m.run(h, func() bool { return m.get("/sys/class/net/eth0/threaded") == "0" })
	if got := m.get("/proc/65/comm"); got != "gone" {
		t.Errorf("thread %s is there", got)
	}
	// The next way is RPS, which does not help either.
	m.run(h, func() bool { return m.get("/sys/class/net/eth0/queues/rx-0/rps_cpus") == "00000000,0000000e" })
	m.run(h, func() bool { return m.get("/sys/class/net/eth0/queues/rx-0/rps_cpus") == "00000000,00000000" })
	m.untouched()
	if got := h.Status(); got.State != tuner.Observing || len(got.Changes) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAfterACrash(t *testing.T) {
	for name, next := range map[string]func(*machine){
		"the next start": func(m *machine) { m.host() },
		"restore": func(m *machine) {
			changes, err := Restore(m.env)
			if len(changes) != 2 || err != nil {
				t.Errorf("%+v, %v", changes, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.placed()
			next(m)
			m.untouched()
		})
	}
	m := newMachine(t)
	m.placed()
	m.put("/proc/sys/kernel/random/boot_id", "another\n")
	m.writes = nil
	h := m.host()
	if len(m.writes) > 0 {
		t.Errorf("wrote %q, which is of another boot", m.writes)
	}
	if got := h.Status(); len(got.Changes) > 0 {
		t.Errorf("%+v", got)
	}
}

// A record that cannot be read, or not be written, keeps it from writing.
func TestNoRecord(t *testing.T) {
	m := newMachine(t)
	m.put("/state/originals/host.json", "{")
	h := m.host()
	for range 20 {
		m.advance()
		h.Step(m.now)
	}
	if got := h.Status(); len(m.writes) > 0 || !strings.Contains(got.Reason, "unusable record") {
		t.Errorf("wrote %q: %+v", m.writes, got)
	}
	if err := h.Stop("stop"); err != nil {
		t.Error(err)
	}

	m = newMachine(t)
	m.put("/state/originals", "not a directory")
	h = m.host()
	for range 20 {
		m.advance()
		h.Step(m.now)
	}
	if len(m.writes) > 0 {
		t.Errorf("wrote %q without a record", m.writes)
	}
}

// Another program's change is not fought over, and stays.
func TestForeignWrite(t *testing.T) {
	m := newMachine(t)
	h := m.placed()
	m.allow(65, "2")
	m.run(h, func() bool { return h.Status().State == tuner.Held })
	if got := h.Status().Reason; !strings.Contains(got, "another program changed affinity/napi/eth0-8193 to 2") {
		t.Error(got)
	}
	n := len(m.writes)
	for range 60 {
		m.advance()
		h.Step(m.now)
	}
	if len(m.writes) > n {
		t.Errorf("wrote %q while held", m.writes[n:])
	}
	if err := h.Stop("stop"); err != nil {
		t.Error(err)
	}
	if slices.Contains(m.writes[n:], "65") {
		t.Error("placed a thread that another program has placed")
	}
	m.untouched()
}

func TestCommands(t *testing.T) {
	m := newMachine(t)
	h := m.placed()
	changes, err := h.Restore("told to")
	if len(changes) != 2 || err != nil || h.Status().State != tuner.Restored {
		t.Errorf("%+v, %v: %+v", changes, err, h.Status())
	}
	m.untouched()
	for range 20 {
		m.advance()
		h.Step(m.now)
	}
	m.untouched()
	h.Resume()
	m.run(h, func() bool { return m.get("/sys/class/net/eth0/threaded") == "1" })
	h.Hold("told to")
	for range 60 { // else it would be undone, as it does not help
		m.advance()
		h.Step(m.now)
	}
	if got := h.Status(); got.State != tuner.Held || m.get("/sys/class/net/eth0/threaded") != "1" {
		t.Errorf("%+v", got)
	}
	h.Resume()
	m.untouched()
}

func TestConfigure(t *testing.T) {
	for name, s := range map[string]Settings{
		"another interface": {Interfaces: []string{"eth1"}},
		"off":               {Off: true, Interfaces: []string{"eth0"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			h := m.placed()
			h.Configure(s, nil)
			m.untouched()
			for range 20 {
				m.advance()
				h.Step(m.now)
			}
			m.untouched()
		})
	}
}

// Where the kernel says no, the next way is tried.
func TestNoNAPI(t *testing.T) {
	m := newMachine(t)
	m.refuse = func(name string) error {
		if strings.HasSuffix(name, "/threaded") {
			return &os.PathError{Op: "write", Path: name, Err: unix.EOPNOTSUPP}
		}
		return nil
	}
	h := m.host()
	m.run(h, func() bool { return m.get("/sys/class/net/eth0/queues/rx-0/rps_cpus") == "00000000,0000000e" })
	if err := h.Stop("stop"); err != nil {
		t.Error(err)
	}
	m.untouched()
}

// Where a thread cannot be placed, it does not stay.
func TestCannotPlace(t *testing.T) {
	m := newMachine(t)
	m.env.Place = func(int, []int) error { return unix.EPERM }
	h := m.host()
	m.run(h, func() bool { return m.get("/sys/class/net/eth0/queues/rx-0/rps_cpus") == "00000000,0000000e" })
	if got := m.get("/sys/class/net/eth0/threaded"); got != "0" {
		t.Errorf("threaded is %s", got)
	}
	if got := h.Status(); len(got.Changes) != 1 {
		t.Errorf("%+v", got)
	}
	if err := h.Stop("stop"); err != nil {
		t.Error(err)
	}
	m.untouched()
}

// An interface that goes takes its values with it.
func TestInterfaceGoes(t *testing.T) {
	m := newMachine(t)
	h := m.placed()
	os.RemoveAll(m.env.Proc.String() + "/65")
	os.RemoveAll(m.env.Sys.String() + "/class/net/eth0")
	if err := h.Stop("stop"); err != nil {
		t.Error(err)
	}
	if got := m.record(); got != "gone" {
		t.Error(got)
	}
}

func TestOwners(t *testing.T) {
	m := newMachine(t)
	m.put("/etc/config/network", "config globals 'globals'\n\toption packet_steering '1'\n")
	m.put("/proc/300/comm", "irqbalance\n")
	h := m.host()
	for range 20 {
		m.advance()
		h.Step(m.now)
	}
	if got := h.Status(); !strings.Contains(got.Reason, "packet steering") || len(m.writes) > 0 {
		t.Errorf("wrote %q: %+v", m.writes, got)
	}
	if got := Look(m.env, Settings{}); !strings.Contains(got.Reason, "packet steering") || got.CPUs != 4 || got.Saturated != nil {
		t.Errorf("%+v", got)
	}
	if _, irqs := owners(m.env); irqs == "" {
		t.Error("irqbalance is not seen")
	}
	m.put("/etc/rc.d/S19firewall", "")
	if all, _ := owners(m.env); all != "" {
		t.Errorf("%s, though the service is not enabled", all)
	}
	m.put("/etc/rc.d/S25packet_steering", "")
	if all, _ := owners(m.env); all == "" {
		t.Error("the enabled service is not seen")
	}
}

const uciNetwork = `
config interface 'loopback'
	option device 'lo'

config globals 'globals'
	option ula_prefix 'fd00::/48'
	option packet_steering '%s'

config device
	option packet_steering '1'
`

func TestPacketSteering(t *testing.T) {
	for value, want := range map[string]bool{"0": false, "1": true, "2": true, "": false} {
		if got := packetSteering(fmt.Sprintf(uciNetwork, value)); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	if packetSteering("") || !packetSteering("config globals\n option packet_steering 1\n") || !packetSteering("config globals \"g\"\noption packet_steering \"2\"") {
		t.Error("other ways to write it")
	}
}

func FuzzPacketSteering(f *testing.F) {
	f.Add(uciNetwork)
	f.Fuzz(func(t *testing.T, s string) {
		if packetSteering(s) && !strings.Contains(s, "packet_steering") {
			t.Errorf("on by %q", s)
		}
	})
}

// radio adds phy0 with wlan0 to the machine.
func (m *machine) radio(state tuner.State, reason string) Radio {
	m.t.Helper()
	m.put("/sys/devices/pci0/0000:01:00.0/ieee80211/phy0/index", "0\n")
	m.put("/sys/devices/pci0/0000:01:00.0/irq", "40\n")
	m.put("/sys/class/net/wlan0/statistics/rx_bytes", "0\n")
	m.put("/sys/class/net/wlan0/queues/rx-0/rps_cpus", "0\n")
	link := func(target, name string) {
		m.t.Helper()
		if err := os.MkdirAll(filepath.Dir(m.env.Sys.String()+"/"+name), 0o755); err != nil {
			m.t.Fatal(err)
		}
		if err := os.Symlink(target, m.env.Sys.String()+"/"+name); err != nil {
			m.t.Fatal(err)
		}
	}
	link("../../devices/pci0/0000:01:00.0/ieee80211/phy0", "class/ieee80211/phy0")
	link("../../../0000:01:00.0", "devices/pci0/0000:01:00.0/ieee80211/phy0/device")
	link("../../../bus/pci/drivers/ath10k_pci", "devices/pci0/0000:01:00.0/driver")
	link("../../../devices/pci0/0000:01:00.0/ieee80211/phy0", "class/net/wlan0/phy80211")
	m.transmit()
	return Radio{
		Status: tuner.Status{
			Radio: tuner.Radio{Path: "devices/pci0/0000:01:00.0", Phy: "phy0", Interfaces: []tuner.Interface{{Name: "wlan0", Type: "station"}}},
			State: state, Reason: reason,
		},
		Settings: tuner.Settings{Target: 8 * time.Millisecond, ThreadedNAPI: tuner.ThreadedAuto},
	}
}

// transmit lets wlan0 send 200 Mb/s.
func (m *machine) transmit() {
	m.put("/sys/class/net/wlan0/statistics/tx_bytes", fmt.Sprintln(25_000_000*m.seconds))
}

// A client whose firmware reports no rates: its own TCP is bounded.
func TestClient(t *testing.T) {
	m := newMachine(t)
	m.softirq = 0
	r := m.radio(tuner.Observing, tuner.ReasonBlind)
	h := New(m.env, Settings{})
	h.Configure(Settings{}, []Radio{r})
	m.run(h, func() bool {
		m.transmit()
		return m.get("/proc/sys/net/ipv4/tcp_limit_output_bytes") == "200000"
	})
	h.Configure(Settings{}, nil) // it left
	m.run(h, func() bool { return m.get("/proc/sys/net/ipv4/tcp_limit_output_bytes") == "1048576" })
	m.untouched()
}

// An ath10k with the patch for it: the switch is in debugfs, and the thread is
// kept away from the interrupt. Settings that say on or off are the tuner's.
func TestPatchedRadio(t *testing.T) {
	m := newMachine(t)
	r := m.radio(tuner.Tuning, "")
	m.put("/debug/ieee80211/phy0/aql_pending", "")
	m.put("/debug/ieee80211/phy0/ath10k/napi_threaded", "0\n")
	h := New(m.env, Settings{})
	h.Configure(Settings{}, []Radio{r})
	m.run(h, func() bool {
		m.transmit()
		return m.get("/proc/66/status") == "Name:\tx\nCpus_allowed_list:\t1-3"
	})
	if got := m.get("/debug/ieee80211/phy0/ath10k/napi_threaded"); got != "1" {
		t.Errorf("napi_threaded is %s", got)
	}
	r.Settings.ThreadedNAPI = tuner.ThreadedOn
	h.Configure(Settings{}, []Radio{r})
	if got := m.get("/debug/ieee80211/phy0/ath10k/napi_threaded"); got != "0" {
		t.Errorf("napi_threaded is %s", got)
	}
	m.untouched()
}

// An interface of a radio is no wired one, even if it is named as one: what the radio's
// own settings forbid would be done to it.
func TestRadioNamedAsWired(t *testing.T) {
	m := newMachine(t)
	r := m.radio(tuner.Tuning, "")
	m.put("/sys/class/net/wlan0/threaded", "0\n")
	h := New(m.env, Settings{})
	var names []string
	for _, l := range h.senses.find(Settings{Interfaces: []string{"wlan0", "eth0"}}, []Radio{r}) {
		names = append(names, l.Name)
	}
	if diff := cmp.Diff([]string{"eth0", "phy0"}, names); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

// A stock ath10k hides its NAPI: packets are handed on after it.
func TestStockRadio(t *testing.T) {
	m := newMachine(t)
	r := m.radio(tuner.Tuning, "")
	h := New(m.env, Settings{})
	h.Configure(Settings{}, []Radio{r})
	m.run(h, func() bool {
		m.transmit()
		return m.get("/sys/class/net/wlan0/queues/rx-0/rps_cpus") == "00000000,0000000e"
	})
	if err := h.Stop("stop"); err != nil {
		t.Error(err)
	}
	if got := m.get("/sys/class/net/wlan0/queues/rx-0/rps_cpus"); got != "00000000,00000000" {
		t.Errorf("RPS is %s", got)
	}
	m.untouched()
}

func TestQuietStepAllocatesNothing(t *testing.T) {
	m := newMachine(t)
	m.softirq = 0
	h := m.host()
	for range 20 {
		m.advance()
		h.Step(m.now)
	}
	var o any
	n := testing.AllocsPerRun(50, func() {
		m.now = m.now.Add(time.Second)
		o, _ = h.senses.observe(m.now, h.settings, h.radios, &h.placement)
	})
	if n != 0 || o == nil {
		t.Errorf("%v allocations", n)
	}
}
