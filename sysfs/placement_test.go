package sysfs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"airtuned/tree"
)

// truncating is a tree whose files hold what was written last, and no rest of what
// was there before.
type truncating struct{ tree.Dir }

func (k truncating) Write(name string, p []byte) error {
	if err := os.Truncate(k.String()+"/"+name, 0); err != nil {
		return err
	}
	return k.Dir.Write(name, p)
}

// The files that say and decide on which CPU work is done.
func TestPlacementFiles(t *testing.T) {
	sys := truncating{build(t, map[string]string{
		"class/net/eth0/queues/rx-0/rps_cpus":         "00000000,00000003\n",
		"class/net/eth0/queues/rx-1/rps_cpus":         "x\n",
		"class/net/eth0/queues/tx-0/xps_cpus":         "0\n",
		"class/net/eth0/statistics/rx_bytes":          "12345678901\n",
		"class/net/eth0/statistics/tx_bytes":          "7\n",
		"class/net/eth0/device":                       "->../../../devices/pci0/0000:00:03.0/virtio2",
		"devices/pci0/0000:00:03.0/virtio2/subsystem": "->../../../../bus/virtio",
		"devices/pci0/0000:00:03.0/msi_irqs/38":       "msix\n",
		"devices/pci0/0000:00:03.0/msi_irqs/37":       "msix\n",
		"devices/pci0/0000:00:03.0/irq":               "0\n",
		"class/net/eth1/device":                       "->../../../devices/pci0/0000:00:04.0",
		"devices/pci0/0000:00:04.0/irq":               "17\n",
		"class/net/veth0/statistics/rx_bytes":         "-1\n",
	})}
	proc := truncating{build(t, map[string]string{
		"irq/38/smp_affinity_list":            "0-1\n",
		"irq/38/effective_affinity_list":      "1\n",
		"irq/39/effective_affinity_list":      "\n",
		"65/status":                           "Name:\tnapi/eth0-8193\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n",
		"66/status":                           "Name:\tx\n",
		"300/comm":                            "irqbalance\n",
		"sys/net/ipv4/tcp_limit_output_bytes": "1048576\n",
	})}
	check := func(what string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	queues, err := ReceiveQueues(sys, "eth0")
	check("queues", []string{"rx-0", "rx-1"}, queues, err)
	cpus, err := RPS(sys, "eth0", "rx-0")
	check("RPS", []int{0, 1}, cpus, err)
	check("set RPS", nil, nil, SetRPS(sys, "eth0", "rx-0", []int{1, 33}))
	s, err := tree.ReadString(sys, "class/net/eth0/queues/rx-0/rps_cpus")
	check("set RPS", "2,00000002", s, err)
	traffic, err := ReadTraffic(sys, "eth0")
	check("traffic", Traffic{12345678901, 7}, traffic, err)
	check("interrupts", []int{37, 38}, NetdevIRQs(sys, "eth0"), nil)
	check("interrupts", []int{17}, NetdevIRQs(sys, "eth1"), nil)
	check("interrupts", []int(nil), NetdevIRQs(sys, "veth0"), nil)
	cpus, err = IRQAffinity(proc, 38)
	check("affinity", []int{0, 1}, cpus, err)
	cpus, err = EffectiveIRQAffinity(proc, 38)
	check("effective affinity", []int{1}, cpus, err)
	cpus, err = EffectiveIRQAffinity(proc, 39)
	check("effective affinity", []int(nil), cpus, err)
	check("set affinity", nil, nil, SetIRQAffinity(proc, 38, []int{0}))
	cpus, err = IRQAffinity(proc, 38)
	check("affinity", []int{0}, cpus, err)
	cpus, err = ThreadAffinity(proc, 65)
	check("thread", []int{0, 1}, cpus, err)
	check("running", true, Running(proc, "irqbalance"), nil)
	check("running", false, Running(proc, "tuned"), nil)
	n, err := TCPLimitOutputBytes(proc)
	check("limit", int64(1048576), n, err)
	check("set limit", nil, nil, SetTCPLimitOutputBytes(proc, 131072))
	n, err = TCPLimitOutputBytes(proc)
	check("limit", int64(131072), n, err)

	for what, err := range map[string]error{
		"garbage in rps_cpus": func() error { _, err := RPS(sys, "eth0", "rx-1"); return err }(),
		"bad queue":           SetRPS(sys, "eth0", "rx-0/..", nil),
		"bad netdev":          SetRPS(sys, "..", "rx-0", nil),
		"bad counter":         func() error { _, err := ReadTraffic(sys, "veth0"); return err }(),
		"no interrupt":        SetIRQAffinity(proc, 99, []int{0}),
		"no affinity":         func() error { _, err := ThreadAffinity(proc, 66); return err }(),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := ThreadAffinity(proc, 67); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a thread that has gone: %v", err)
	}
}

// SetThreadAffinity is a system call, and /proc shows what it did.
func TestSetThreadAffinity(t *testing.T) {
	proc := tree.Dir("/proc")
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	have, err := ThreadAffinity(proc, cmd.Process.Pid)
	if err != nil || len(have) == 0 {
		t.Skipf("%v: %v", have, err)
	}
	last := have[len(have)-1:]
	if err := SetThreadAffinity(cmd.Process.Pid, last); err != nil {
		t.Fatal(err)
	}
	got, err := ThreadAffinity(proc, cmd.Process.Pid)
	if diff := cmp.Diff(last, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(1<<30)); err == nil {
		t.Skip("a PID beyond all bounds")
	}
	if err := SetThreadAffinity(1<<30, last); err == nil {
		t.Error("placed a thread that is not there")
	}
}

func FuzzCPUsAllowed(f *testing.F) {
	f.Add("Name:\tnapi/eth0-8193\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n")
	f.Fuzz(func(t *testing.T, s string) {
		if cpus, err := parseCPUsAllowed(s); err != nil && cpus != nil {
			t.Errorf("%v, error %v", cpus, err)
		}
	})
}
