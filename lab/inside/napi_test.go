// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"errors"
	"strings"
	"testing"
	"time"

	"airtuned/sysfs"
	"airtuned/tree"
)

// TestKernelThreaded checks package sysfs against a netdev that has NAPI, a
// veth with GRO, and one that has none, like every netdev of ath10k.
func TestKernelThreaded(t *testing.T) {
	sys, proc := tree.Dir("/sys"), tree.Dir("/proc")
	must(t, "ip link add v0 type veth peer name v1")
	t.Cleanup(func() { must(t, "ip link del v0") })
	must(t, "ethtool -K v0 gro on")
	must(t, "ip link set v0 up")

	if err := sysfs.SetThreaded(sys, proc, "v0", true); err != nil && !errors.Is(err, sysfs.ErrThreadNotSeen) {
		t.Fatal(err)
	}
	if got := read(t, "/sys/class/net/v0/threaded"); got != "1\n" {
		t.Errorf("threaded of v0 is %q", got)
	}
	eventually(t, time.Second, func() error {
		threads, err := sysfs.ThreadsOf(proc, "v0")
		if err == nil && len(threads) == 0 {
			err = sysfs.ErrThreadNotSeen
		}
		return err
	})
	if ps := must(t, "ps -e -o comm="); !strings.Contains(ps, "napi/v0-") {
		t.Errorf("no thread napi/v0-N among:\n%s", ps)
	}

	if err := sysfs.SetThreaded(sys, proc, "v0", false); err != nil {
		t.Error(err)
	}
	if on, err := sysfs.Threaded(sys, "v0"); on || err != nil {
		t.Errorf("threaded of v0: %v, %v, want false", on, err)
	}

	if err := sysfs.SetThreaded(sys, proc, "wlan0", true); !errors.Is(err, sysfs.ErrNoNAPI) {
		t.Errorf("threaded NAPI of wlan0: %v, want ErrNoNAPI", err)
	}
}
