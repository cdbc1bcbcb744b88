package bpf

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// TestKernel needs a kernel with ath10k_core, in which nothing else uses it:
// make bpf-test boots Debian's.
func TestKernel(t *testing.T) {
	if !inGuest {
		t.Skip("not in the virtual machine of make bpf-test")
	}
	var uname unix.Utsname
	unix.Uname(&uname)
	t.Logf("Linux %s", unix.ByteSliceToString(uname.Release[:]))
	if underLockdown() {
		// It forbids helpers that read the kernel's memory, and we use none.
		if p, err := Attach(); err != nil {
			t.Errorf("under lockdown: %v", err)
		} else {
			p.Close()
		}
		return
	}
	loadStandIn(t)
	id := [2]uint64{inode(t, "phy0"), inode(t, "phy1")}

	probe, err := Attach()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { probe.Close() }()
	for name, p := range probe.objects.Programs {
		if info, err := p.Info(); err == nil {
			insns, _ := info.VerifiedInstructions()
			t.Logf("%s: taken by the verifier, %d instructions", name, insns)
		}
	}
	a, b := add(t, probe, id[0]), add(t, probe, id[1])
	want := func(what string, slot int, c Counts) {
		t.Helper()
		if got := probe.Counts(slot); got != c {
			t.Errorf("%s: got %+v, want %+v", what, got, c)
		}
	}
	want("before the first frame", a, Counts{})

	op(t, "inc 0 7", nil)
	want("seven frames", a, Counts{7, 100, 0})
	want("the other radio", b, Counts{})
	op(t, "dec 0 3", nil)
	want("three done", a, Counts{4, 100, 0})
	op(t, "inc 1 1", nil)
	want("one frame of the other radio", b, Counts{1, 101, 0})
	want("the first", a, Counts{4, 100, 0})

	// The real functions call the real ath10k_mac_tx_lock at the maximum, and
	// refuse the next frame.
	op(t, "inc 0 96", nil)
	want("full", a, Counts{100, 100, 1})
	op(t, "inc 0 1", unix.EBUSY)
	want("refused", a, Counts{100, 100, 1})
	for range 3 {
		op(t, "dec 0 1", nil)
		op(t, "inc 0 1", nil)
	}
	want("full again, three times", a, Counts{100, 100, 4})
	op(t, "dec 0 101", nil)
	want("a count below zero, as it is", a, Counts{-1, 100, 4})
	op(t, "inc 0 1", nil)

	for range 1000 {
		op(t, "inc 1 50", nil)
		op(t, "dec 1 50", nil)
	}
	want("a hundred thousand events", b, Counts{1, 101, 0})

	probe.Remove(a)
	op(t, "inc 0 1", nil)
	want("a radio that is not asked for", a, Counts{})
	a = add(t, probe, id[0])
	want("asked for again", a, Counts{})
	op(t, "dec 0 1", nil)
	want("counted again", a, Counts{0, 100, 0})

	// The driver cannot go while programs are attached, and can after.
	if err := unloadModule(module); !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.EAGAIN) {
		t.Errorf("unload %s while attached: error %v", module, err)
	}
	probe.Close()
	op(t, "inc 0 1", nil) // the function is as it was
	if err := unloadModule(module); err != nil {
		t.Fatalf("unload %s: %v", module, err)
	}
	if _, err := Attach(); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("attach without the driver: error %v", err)
	}
	if err := loadModule("ath10k_core.ko", ""); err != nil {
		t.Fatal(err)
	}
	unloadModule("standin") // it has the old addresses
	loadStandIn(t)
	if probe, err = Attach(); err != nil {
		t.Fatal("the driver is back:", err)
	}
	a = add(t, probe, id[0])
	op(t, "inc 0 5", nil)
	want("after the driver was loaded again", a, Counts{5, 100, 0})

	const (
		sysAdmin = 1 << 21
		perfmon  = 1 << (38 - 32)
		bpf      = 1 << (39 - 32)
	)
	for _, tt := range []struct {
		name string
		caps [2]unix.CapUserData
		want error
	}{
		{"no capabilities", [2]unix.CapUserData{}, ErrPermission},
		// Only CAP_SYS_ADMIN can get at the types of a module
		// (kernel/bpf/syscall.c, bpf_btf_get_fd_by_id).
		{"CAP_BPF and CAP_PERFMON", [2]unix.CapUserData{1: {Effective: bpf | perfmon, Permitted: bpf | perfmon}}, ErrPermission},
		{"CAP_SYS_ADMIN", [2]unix.CapUserData{{Effective: sysAdmin, Permitted: sysAdmin}, {}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runtime.LockOSThread() // which ends with the test
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			if err := unix.Capset(&header, &tt.caps[0]); err != nil {
				t.Fatal(err)
			}
			p, err := Attach()
			if !errors.Is(err, tt.want) {
				t.Errorf("got error %v, want %v", err, tt.want)
			}
			if err == nil {
				p.Close()
			}
		})
	}
}

func underLockdown() bool {
	cmdline, _ := os.ReadFile("/proc/cmdline")
	return strings.Contains(string(cmdline), "lockdown=")
}

func add(t *testing.T, p *Probe, inode uint64) int {
	t.Helper()
	slot, err := p.Add(inode)
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

func inode(t *testing.T, phy string) uint64 {
	t.Helper()
	id, err := inodeOf("/sys/class/ieee80211/" + phy)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// op has the stand-in call the driver's functions.
func op(t *testing.T, command string, want error) {
	t.Helper()
	f, err := os.OpenFile("/sys/module/standin/parameters/op", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(command); !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %v", command, err, want)
	}
}

// loadStandIn tells the stand-in where the functions and the fields are.
func loadStandIn(t *testing.T) {
	t.Helper()
	types, err := loadTypes("/sys")
	if err != nil {
		t.Fatal(err)
	}
	o, err := findOffsets(types)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("offsets: %+v", o)
	var htt, ar *btf.Struct
	if err := errors.Join(types.TypeByName("ath10k_htt", &htt), types.TypeByName("ath10k", &ar)); err != nil {
		t.Fatal(err)
	}
	empty, _, err := fieldOf(htt, "empty_tx_wq")
	if err != nil {
		t.Fatal(err)
	}
	params := fmt.Sprintf("inc=%s dec=%s htt_size=%d htt_ar=%d htt_max=%d htt_empty=%d ar_size=%d ar_hw=%d",
		symbol(t, incPending), symbol(t, decPending), htt.Size, o.ar, o.max, empty, ar.Size, o.id[0])
	if err := loadModule("standin.ko", params); err != nil {
		t.Fatal(err, params)
	}
}

func symbol(t *testing.T, name string) string {
	t.Helper()
	all, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(all)) {
		if f := strings.Fields(line); len(f) == 4 && f[2] == name && f[3] == "["+module+"]" {
			return "0x" + f[0]
		}
	}
	t.Fatalf("%s is not in /proc/kallsyms", name)
	return ""
}
