package sysfs

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"airtuned/tree"
)

const (
	kthread = 0x00208040 // flags of a kernel thread as /proc shows them
	process = 0x00400100
)

// procTree is a /proc with these entries beside kthreadd.
func procTree(t *testing.T, files ...map[string]string) tree.Dir {
	t.Helper()
	all := pid(2, 0, kthread, "kthreadd")
	for _, f := range files {
		for name, text := range f {
			all[name] = text
		}
	}
	return build(t, all)
}

func pid(pid, parent, flags int, name string) map[string]string {
	return map[string]string{
		fmt.Sprintf("%d/comm", pid): name + "\n",
		fmt.Sprintf("%d/stat", pid): fmt.Sprintf("%d (%s) S %d 0 0 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1\n", pid, name, parent, flags),
	}
}

func napiThread(n int, name string) map[string]string { return pid(n, 2, kthread, name) }

func TestNAPIThreads(t *testing.T) {
	proc := procTree(t,
		napiThread(164, "napi/eth0-5"),
		napiThread(65, "napi/-8193"),
		napiThread(66, "napi/dummy#-0"),
		napiThread(67, "napi/a) S 2 (-7"), // a netdev may be called anything
		napiThread(68, "kworker/0:1"),
		pid(300, 1, process, "napi/evil-1"),
		pid(301, 2, process, "napi/evil-2"), // PID 2 of a container
		pid(302, 300, kthread, "napi/evil-3"),
		map[string]string{
			"303/comm":       "napi/no-stat\n",
			"304/comm":       "napi/short-1\n",
			"304/stat":       "304 (napi/short-1) S 2\n",
			"305/stat":       "305 (napi/no-comm) S 2 0 0 0 -1 2129984\n",
			"self/comm":      "napi/self-1\n",
			"sys/kernel/pid": "",
		})
	got, err := NAPIThreads(proc)
	if err != nil {
		t.Fatal(err)
	}
	want := []Thread{{65, "napi/-8193"}, {66, "napi/dummy#-0"}, {67, "napi/a) S 2 (-7"}, {164, "napi/eth0-5"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("NAPIThreads (-want +got):\n%s", diff)
	}
}

func TestNAPIThreadsHidden(t *testing.T) {
	for name, proc := range map[string]tree.FS{
		"hidepid":       build(t, pid(300, 1, process, "airtuned")),
		"PID namespace": build(t, pid(2, 1, process, "sh")),
		"nothing there": tree.Dir("/nonexistent/proc"),
	} {
		if got, err := NAPIThreads(proc); !errors.Is(err, ErrKernelThreadsHidden) {
			t.Errorf("%s: NAPIThreads = %v, %v; want ErrKernelThreadsHidden", name, got, err)
		}
	}
}

func TestThreadPolls(t *testing.T) {
	tests := []struct {
		thread, netdev string
		want           bool
	}{
		{"napi/wlan0-8193", "wlan0", true},
		{"napi/wlan0-0", "wlan0", true},
		{"napi/wlan0-1-77", "wlan0", false},
		{"napi/wlan0-1-77", "wlan0-1", true},
		{"napi/wlan01-77", "wlan0", false},
		{"napi/wlan0", "wlan0", false},
		{"napi/wlan0-", "wlan0", false},
		{"napi/wlan0-x", "wlan0", false},
		{"napi/-8193", "", true},
		{"napi/wlan0-8193", "", false},
		{"napi/dummy#-0", "dummy#", true},
		{"napi/ath10k_phy0-9", "ath10k_phy0", true},
		{"irq/44-wlan0-1", "wlan0", false},
		// Cut at 15 characters before Linux 5.17.
		{"napi/phy1-ap0-8", "phy1-ap0", true},
		{"napi/wlx0200000", "wlx020000000003", true},
		{"napi/wlx0200000", "wlx0300000", false},
		{"napi/enp1s0f1-8", "enp1s0f1", true},
		{"napi/enp1s0f1n-", "enp1s0f1n", true},
	}
	for _, tt := range tests {
		if got := (Thread{1, tt.thread}).polls(tt.netdev); got != tt.want {
			t.Errorf("%s polls %q = %v, want %v", tt.thread, tt.netdev, got, tt.want)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add("58 (napi/eth0-0) S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1")
	f.Add("300 (a) S 2 (b) S 1 0 0 0 -1 4194560")
	f.Add(") S 2")
	f.Add("")
	f.Fuzz(func(t *testing.T, name string) {
		// Whatever a process calls itself, it stays what it is.
		if isKernelThread(fmt.Sprintf("300 (%s) S 1 0 0 0 -1 %d 0 0\n", name, process)) {
			t.Errorf("process %q is taken for a kernel thread", name)
		}
		if !isKernelThread(fmt.Sprintf("64 (%s) S 2 0 0 0 -1 %d 0 0\n", name, kthread)) {
			t.Errorf("kernel thread %q is not known", name)
		}
		isKernelThread(name)
	})
}
