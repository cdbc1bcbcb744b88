// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/tree"
)

// What airtuned takes for granted of a real kernel, without airtuned.

// TestKernelTime checks that a sleep costs nothing and that a ticker at the
// loop's rate ticks on time, each time.
func TestKernelTime(t *testing.T) {
	start := time.Now()
	time.Sleep(time.Hour)
	if d := time.Since(start); d < time.Hour || d > time.Hour+time.Second {
		t.Errorf("slept %v, want 1h", d)
	}

	const ticks = 100
	period := 20 * time.Millisecond
	tick := time.NewTicker(period)
	defer tick.Stop()
	start = time.Now()
	for range ticks {
		<-tick.C
	}
	if d := time.Since(start); d < ticks*period || d > ticks*period+period {
		t.Errorf("%d ticks took %v, want %v", ticks, d, ticks*period)
	}
}

func TestKernelRadios(t *testing.T) {
	want := []hwsim{
		{"phy0", "devices/virtual/mac80211_hwsim/hwsim0"},
		{"phy1", "devices/virtual/mac80211_hwsim/hwsim1"},
	}
	if diff := cmp.Diff(want, radios(t), cmp.AllowUnexported(hwsim{})); diff != "" {
		t.Fatalf("radios (-want +got):\n%s", diff)
	}
}

func TestKernelLimits(t *testing.T) {
	r := radios(t)[0]
	text := func(be string) string {
		return "AC\tAQL limit low\tAQL limit high\n" +
			"VO\t5000\t\t12000\nVI\t5000\t\t12000\nBE\t" + be + "\nBK\t5000\t\t12000\n"
	}
	if diff := cmp.Diff(text("5000\t\t12000"), r.limits(t)); diff != "" {
		t.Errorf("default limits (-want +got):\n%s", diff)
	}

	write(t, r.debugfs("aql_txq_limit"), "2 1500 2500")
	if diff := cmp.Diff(text("1500\t\t2500"), r.limits(t)); diff != "" {
		t.Errorf("changed limits (-want +got):\n%s", diff)
	}
	write(t, r.debugfs("aql_txq_limit"), "2 5000 12000")

	if got := strings.TrimSpace(read(t, r.debugfs("aql_threshold"))); got != "24000" {
		t.Errorf("aql_threshold is %q, want 24000", got)
	}
	// This file refuses pread; an open one has to be fresh all the same.
	f, err := tree.Dir("/sys/kernel/debug").Open("ieee80211/" + r.phy + "/aql_threshold")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, want := range []string{"20000\n", "24000\n"} {
		write(t, r.debugfs("aql_threshold"), want)
		b := make([]byte, 64)
		if n, err := f.ReadFresh(b); err != nil || string(b[:n]) != want {
			t.Errorf("aql_threshold after a write of %q: %q, %v", want, b[:n], err)
		}
	}
}

// TestKernelTxqs: before 6.2 a driver need not have txqs, and hwsim has none.
func TestKernelTxqs(t *testing.T) {
	r := radios(t)[0]
	want := since(t, 6, 2)
	for _, name := range []string{"aqm", "netdev:wlan0/aqm"} {
		switch _, err := os.Stat(r.debugfs(name)); {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			t.Error(err)
		case (err == nil) != want:
			t.Errorf("%s: %v, want that it exists: %v", name, err, want)
		}
	}
	if got := strings.Contains(must(t, "iw phy "+r.phy+" info"), "[ TXQS ]"); got != want {
		t.Errorf("feature TXQS is %v, want %v", got, want)
	}
}

// TestKernelNotifies checks that debugfs tells watchers of interfaces and phys
// that come, go and are renamed, and of other people's writes.
func TestKernelNotifies(t *testing.T) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	phys := "/sys/kernel/debug/ieee80211"
	for _, dir := range []string{phys, phys + "/phy0"} {
		if err := w.Add(dir); err != nil {
			t.Fatal(err)
		}
	}

	for _, step := range []struct {
		command string
		want    []string
	}{
		{"iw phy phy0 interface add mon0 type monitor", []string{"CREATE phy0/netdev:mon0"}},
		{"iw dev mon0 del", []string{"REMOVE phy0/netdev:mon0"}},
		{"iw phy phy0 set name radio0", []string{"RENAME phy0", "CREATE radio0"}},
		{"iw phy radio0 set name phy0", []string{"RENAME radio0", "CREATE phy0"}},
	} {
		must(t, step.command)
		events(t, w, phys+"/", step.want)
	}

	if err := w.Add(phys + "/phy0"); err != nil {
		t.Fatal(err)
	}
	write(t, phys+"/phy0/aql_txq_limit", "0 5000 12000")
	events(t, w, phys+"/", []string{"WRITE phy0/aql_txq_limit"})
}

// TestKernelInterfaceFolder: what an open file or a watch in an interface's
// folder survives. A change of type makes the folder anew, and from some kernel
// between 6.1 and 6.12 on, so does taking the interface down.
func TestKernelInterfaceFolder(t *testing.T) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	phy := filepath.Dir(radios(t)[0].debugfs("netdev:wlan0"))
	if err := w.Add(phy); err != nil {
		t.Fatal(err)
	}
	// Folders are told apart by their inodes, of which no two are the same.
	inode := func() uint64 {
		var st unix.Stat_t
		if err := unix.Stat(phy+"/netdev:wlan0", &st); err != nil {
			t.Fatal(err)
		}
		return st.Ino
	}
	for _, step := range []struct {
		command string
		anew    bool
	}{
		{"ip link set wlan0 up", false},
		{"ip link set wlan0 down", since(t, 6, 12)},
		{"iw dev wlan0 set type __ap", true},
	} {
		before := inode()
		must(t, step.command)
		if anew := inode() != before; anew != step.anew {
			t.Errorf("after %q, the folder is another one: %v, want %v", step.command, anew, step.anew)
		}
		if step.anew {
			events(t, w, phy+"/", []string{"REMOVE netdev:wlan0", "CREATE netdev:wlan0"})
		}
	}
}

// events waits for all of the wanted events; others may come between them.
func events(t *testing.T, w *fsnotify.Watcher, prefix string, want []string) {
	t.Helper()
	missing := map[string]bool{}
	for _, e := range want {
		missing[e] = true
	}
	var seen []string
	for timeout := time.After(time.Second); len(missing) > 0; {
		select {
		case e := <-w.Events:
			got := fmt.Sprint(e.Op, " ", strings.TrimPrefix(e.Name, prefix))
			seen = append(seen, got)
			delete(missing, got)
		case err := <-w.Errors:
			t.Fatal(err)
		case <-timeout:
			t.Fatalf("waited for events %q, saw %q", want, seen)
		}
	}
}

// TestKernelIsPrivate checks that no test can harm the host.
func TestKernelIsPrivate(t *testing.T) {
	err := os.WriteFile("/airtuned-lab", nil, 0o644)
	if !errors.Is(err, unix.EROFS) {
		t.Errorf("write to the host's root: %v, want %v", err, unix.EROFS)
	}
}
