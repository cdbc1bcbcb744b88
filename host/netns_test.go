//go:build netns

package host_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/host"
	"airtuned/sysfs"
	"airtuned/tree"
	"airtuned/tuner"
)

// The real daemon on this machine's own kernel: a CPU is drowned in softirqs
// through a pair of veth, of which one end is named in the configuration.

const (
	port = 5001
	// patience is how long a busy machine may take to show what is waited for.
	patience = time.Minute
)

// TestMain is the sender or receiver, too, each in its namespace.
func TestMain(m *testing.M) {
	switch os.Getenv("AIRTUNED_NETNS") {
	case "send":
		exitOn(send())
	case "receive":
		exitOn(receive())
	}
	os.Exit(m.Run())
}

func exitOn(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// send drowns CPU 0. It sends what the kernel cuts into datagrams only when it
// delivers them, so that nearly all work is the receiver's; and it does so
// before everything else on that CPU, whatever the machine is busy with.
func send() error {
	runtime.LockOSThread()
	var cpu unix.CPUSet
	cpu.Set(0)
	if err := unix.SchedSetaffinity(0, &cpu); err != nil {
		return err
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0); err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	const size, segments = 500, 60
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT, size); err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte(net.IPv4(10, 99, 0, 2).To4())}); err != nil {
		return err
	}
	b := make([]byte, size*segments)
	for {
		_, _ = unix.Write(fd, b) // a full queue is what it is for
	}
}

// receive has a socket that datagrams get to, where they are dropped.
func receive() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port}); err != nil {
		return err
	}
	select {}
}

// rig is two namespaces, joined, and the daemon's files.
type rig struct {
	t        *testing.T
	dir, bin string
	near     string // namespace of the sender
	far      string // and of the daemon
	dev      string // the far end
}

func newRig(t *testing.T) *rig {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: this takes root")
	}
	if sysfs.CPUs(tree.Dir("/sys"), tree.Dir("/proc")) < 2 {
		t.Skip("SKIPPED: this takes two CPUs")
	}
	for _, tool := range []string{"ip", "ethtool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
	}
	id := strconv.Itoa(os.Getpid())
	r := &rig{t: t, dir: t.TempDir(), near: "airtuned-a" + id, far: "airtuned-b" + id, dev: "vb" + id}
	r.bin = filepath.Join(r.dir, "airtuned")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", r.bin, "airtuned/cmd/airtuned")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	for _, ns := range []string{r.near, r.far} {
		if out, err := exec.Command("ip", "netns", "add", ns).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: no network namespaces: %s", out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
	}
	peer := "va" + id
	if out, err := exec.Command("ip", "link", "add", peer, "netns", r.near, "type", "veth", "peer", "name", r.dev, "netns", r.far).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no veth: %s", out)
	}
	for _, side := range []struct{ ns, dev, addr string }{{r.near, peer, "10.99.0.1/24"}, {r.far, r.dev, "10.99.0.2/24"}} {
		r.ip("-n", side.ns, "addr", "add", side.addr, "dev", side.dev)
		r.ip("-n", side.ns, "link", "set", side.dev, "up")
		// With GRO the far end has NAPI, and without TSO the near end uses it
		// (drivers/net/veth.c, veth_skb_is_eligible_for_gro).
		if out, err := r.in(side.ns, "ethtool", "-K", side.dev, "gro", "on", "tso", "off").CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: no GRO on veth: %s", out)
		}
	}
	if r.threaded() == "" {
		t.Skip("SKIPPED: this kernel does not thread NAPI (Linux 5.12 does)")
	}
	config := "host: {interfaces: [" + r.dev + "]}\n"
	if err := os.WriteFile(r.path("config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start(r.far, "receive")
	return r
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) ip(args ...string) {
	r.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		r.t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (r *rig) in(ns string, command ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", ns}, command...)...)
}

// start runs this program as a sender or receiver, until the test ends or stop
// is called.
func (r *rig) start(ns, role string) (stop func()) {
	r.t.Helper()
	cmd := r.in(ns, os.Args[0])
	cmd.Env = append(os.Environ(), "AIRTUNED_NETNS="+role)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	r.t.Cleanup(stop)
	return stop
}

// daemon starts airtuned; end ends it with a signal and returns what it said.
func (r *rig) daemon() (end func(os.Signal) (log string, err error)) {
	r.t.Helper()
	cmd := r.in(r.far, r.bin, "run", "--config", r.path("config.yaml"), "--state", r.path("state"), "--socket", r.path("socket"))
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := false
	end = func(s os.Signal) (string, error) {
		ended = true
		_ = cmd.Process.Signal(s)
		err := cmd.Wait()
		return log.String(), err
	}
	r.t.Cleanup(func() {
		if !ended {
			said, _ := end(unix.SIGTERM)
			r.t.Log(said)
		}
	})
	return end
}

// status asks the daemon; it is empty before that answers.
func (r *rig) status() (s host.Status) {
	out, _ := exec.Command(r.bin, "status", "--json", "--socket", r.path("socket")).Output()
	var doc struct{ Host host.Status }
	_ = json.Unmarshal(out, &doc)
	return doc.Host
}

// threaded is what the kernel says of the far end.
func (r *rig) threaded() string {
	out, _ := r.in(r.far, "cat", "/sys/class/net/"+r.dev+"/threaded").Output()
	return strings.TrimSpace(string(out))
}

// thread finds the far end's NAPI thread and where it may run.
func (r *rig) thread() (name string, cpus []int) {
	threads, _ := sysfs.ThreadsOf(tree.Dir("/proc"), r.dev)
	if len(threads) == 0 {
		return "", nil
	}
	cpus, _ = sysfs.ThreadAffinity(tree.Dir("/proc"), threads[0].PID)
	return threads[0].Name, cpus
}

func (r *rig) received() (bytes float64, at time.Time) {
	out, _ := r.in(r.far, "cat", "/sys/class/net/"+r.dev+"/statistics/rx_bytes").Output()
	n, _ := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return n, time.Now()
}

// until waits for a condition, and says how much passed per second meanwhile.
func (r *rig) until(what string, holds func() bool) (bytesPerS float64) {
	r.t.Helper()
	times, _ := cpuTimes()
	before, start := r.received()
	for time.Since(start) < patience {
		if holds() {
			after, now := r.received()
			return (after - before) / now.Sub(start).Seconds()
		}
		time.Sleep(200 * time.Millisecond)
	}
	now, err := cpuTimes()
	if err != nil {
		r.t.Fatal(err)
	}
	spare := ""
	for i, c := range now[1:] {
		b := times[i+1]
		idle := float64(c.Idle+c.IOWait+c.Nice-b.Idle-b.IOWait-b.Nice) / float64(c.Total()-b.Total())
		spare += fmt.Sprintf(" %.0f %%", 100*idle)
	}
	r.t.Fatalf("%s: not within %v; the CPUs beside the first had to spare:%s (it takes 25 %%); the daemon says %+v", what, patience, spare, r.status())
	return 0
}

func cpuTimes() ([]sysfs.CPUTimes, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, err
	}
	return sysfs.ParseStat(nil, b)
}

// moves waits until the daemon has moved the far end's NAPI to a thread, and
// that to another CPU.
func (r *rig) moves() (bytesPerS float64) {
	r.t.Helper()
	bytesPerS = r.until("threaded NAPI", func() bool { return r.threaded() == "1" })
	r.until("a thread on another CPU", func() bool {
		name, cpus := r.thread()
		return strings.HasPrefix(name, "napi/"+r.dev+"-") && len(cpus) > 0 && cpus[0] != 0
	})
	s := r.status()
	want := tuner.Change{Phy: "host", Knob: "threaded/" + r.dev, From: "0", To: "1", Result: tuner.Applied}
	if s.State != tuner.Tuning || len(s.Changes) < 2 {
		r.t.Errorf("status: %+v", s)
	} else if got := s.Changes[0]; got.Knob != want.Knob || got.From != want.From || got.To != want.To || !strings.Contains(got.Reason, "CPU 0 is saturated by softirqs") {
		r.t.Errorf("status: %+v, want %+v", got, want)
	}
	if _, err := os.Stat(r.path("state/originals/host.json")); err != nil {
		r.t.Errorf("no record of what was found: %v", err)
	}
	return bytesPerS
}

// asFound checks that all is as it was before.
func (r *rig) asFound() {
	r.t.Helper()
	if got := r.threaded(); got != "0" {
		r.t.Errorf("threaded is %s", got)
	}
	// Older kernels keep the thread, idle.
	if name, cpus := r.thread(); name != "" && cpus[0] != 0 {
		r.t.Errorf("%s is left on %v", name, cpus)
	}
	if _, err := os.Stat(r.path("state/originals/host.json")); err == nil {
		r.t.Error("a record is left")
	}
}

func TestSaturatedCPU(t *testing.T) {
	r := newRig(t)

	t.Run("threaded and undone on exit", func(t *testing.T) {
		r.t = t
		stop := r.start(r.near, "send")
		end := r.daemon()
		off := r.moves()
		on := r.until("a verdict", func() bool {
			s := r.status()
			return s.State == tuner.Observing || strings.HasPrefix(s.Reason, "helped")
		})
		s := r.status()
		t.Logf("throughput threaded/not threaded: %.2f (%.0f and %.0f Mb/s)", on/off, on*8e-6, off*8e-6)
		t.Logf("the daemon's verdict: %s", s.Reason)
		if kept := s.State == tuner.Tuning; kept != (r.threaded() == "1") {
			t.Errorf("threaded is %s after %q", r.threaded(), s.Reason)
		}
		log, err := end(unix.SIGTERM)
		if err != nil {
			t.Errorf("the daemon ended with %v\n%s", err, log)
		}
		r.asFound()
		stop()
	})

	t.Run("undone when the load ends before it can be told", func(t *testing.T) {
		r.t = t
		stop := r.start(r.near, "send")
		end := r.daemon()
		r.moves()
		stop()
		r.until("it is undone", func() bool { return r.threaded() == "0" && r.status().State == tuner.Observing })
		r.asFound()
		if log, err := end(unix.SIGTERM); err != nil {
			t.Errorf("the daemon ended with %v\n%s", err, log)
		}
	})

	t.Run("restored after a crash", func(t *testing.T) {
		r.t = t
		stop := r.start(r.near, "send")
		end := r.daemon()
		r.moves()
		_, _ = end(unix.SIGKILL)
		stop()
		if got := r.threaded(); got != "1" {
			t.Errorf("threaded is %s after a crash", got)
		}
		out, err := r.in(r.far, r.bin, "restore", "--json", "--state", r.path("state"), "--socket", r.path("socket")).Output()
		var doc struct{ Changes []tuner.Change }
		if jsonErr := json.Unmarshal(out, &doc); err != nil || jsonErr != nil || len(doc.Changes) != 2 {
			t.Errorf("restore: %v, %v: %s", err, jsonErr, out)
		}
		r.asFound()
	})
}
