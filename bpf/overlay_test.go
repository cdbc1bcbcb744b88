package bpf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/debugfs"
	"airtuned/tree"
)

// machine is sysfs and debugfs in a folder: phy0 and phy1 are ath10k's, phy2 is
// not, and ath10k_core has BTF.
type machine struct {
	t          *testing.T
	sys, debug string
	probe      *fakeProbe // the latest
	attached   int
	refuse     error
	*Overlay
}

// fakeProbe counts what a test tells it to.
type fakeProbe struct {
	ids    map[int]uint64
	counts map[int]Counts
	closed bool
}

func (p *fakeProbe) Add(inode uint64) (int, error) {
	if len(p.ids) == maxRadios {
		return 0, ErrRadios
	}
	slot := 0
	for p.ids[slot] != 0 {
		slot++
	}
	p.ids[slot] = inode
	return slot, nil
}
func (p *fakeProbe) Remove(slot int)        { delete(p.ids, slot); delete(p.counts, slot) }
func (p *fakeProbe) Counts(slot int) Counts { return p.counts[slot] }
func (p *fakeProbe) Close()                 { p.closed = true }

func newMachine(t *testing.T) *machine {
	dir := t.TempDir()
	m := &machine{t: t, sys: filepath.Join(dir, "sys"), debug: filepath.Join(dir, "debug")}
	for phy, driver := range map[string]string{"phy0": "ath10k_pci", "phy1": "ath10k_pci", "phy2": "iwlwifi"} {
		m.add(phy, driver)
	}
	m.mkdir(m.sys + "/kernel/btf/" + module)
	m.Overlay = NewOverlay(m.sys, tree.Dir(m.debug))
	m.attach = func() (counter, error) {
		m.attached++
		if m.refuse != nil {
			return nil, m.refuse
		}
		m.probe = &fakeProbe{map[int]uint64{}, map[int]Counts{}, false}
		return m.probe, nil
	}
	return m
}

func (m *machine) mkdir(path string) {
	m.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) add(phy, driver string) {
	m.t.Helper()
	m.mkdir(m.sys + "/class/ieee80211/" + phy + "/device")
	if err := os.Symlink("../drivers/"+driver, m.sys+"/class/ieee80211/"+phy+"/device/driver"); err != nil {
		m.t.Fatal(err)
	}
	m.mkdir(m.debug + "/ieee80211/" + phy + "/netdev:wlan0")
}

func (m *machine) remove(phy string) {
	for _, dir := range []string{m.sys + "/class/ieee80211/", m.debug + "/ieee80211/"} {
		if err := os.RemoveAll(dir + phy); err != nil {
			m.t.Fatal(err)
		}
	}
}

// count has the driver say something of a radio.
func (m *machine) count(phy string, c Counts) {
	m.t.Helper()
	id, err := inodeOf(m.sys + "/class/ieee80211/" + phy)
	if err != nil {
		m.t.Fatal(err)
	}
	for slot, of := range m.probe.ids {
		if of == id {
			m.probe.counts[slot] = c
			return
		}
	}
	m.t.Fatalf("nobody counts %s", phy)
}

// The readers of package debugfs see what the driver counts.
func TestOverlayIsRead(t *testing.T) {
	m := newMachine(t)
	phy := debugfs.NewPhy(m, "phy0")
	if _, err := phy.MaxNumPendingTx(); !errors.Is(err, unix.ENODATA) {
		t.Errorf("before the first frame: error %v", err)
	}
	m.count("phy0", Counts{Pending: 12, Max: 1424, Stops: 3})
	if n, err := phy.MaxNumPendingTx(); n != 1424 || err != nil {
		t.Errorf("max: %d, error %v", n, err)
	}
	r := phy.NumPendingTxReader()
	for _, want := range []int{12, 0, -1, 1424} {
		m.count("phy0", Counts{Pending: want, Max: 1424, Stops: 3})
		var got int
		if err := r.Read(&got); got != want || err != nil {
			t.Errorf("got %d, error %v, want %d", got, err, want)
		}
	}
	if counting, stops, err := m.BPF("phy0"); !counting || stops != 3 || err != nil {
		t.Errorf("BPF: %v, %d stops, error %v", counting, stops, err)
	}
	if _, err := debugfs.NewPhy(m, "phy1").MaxNumPendingTx(); !errors.Is(err, unix.ENODATA) {
		t.Errorf("the other radio: error %v", err)
	}
	if m.attached != 1 {
		t.Errorf("attached %d times", m.attached)
	}
	// A renamed radio stays what it is.
	for _, dir := range []string{m.sys + "/class/ieee80211/", m.debug + "/ieee80211/"} {
		if err := os.Rename(dir+"phy0", dir+"attic"); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := debugfs.NewPhy(m, "attic").NumPendingTx(); n != 1424 || err != nil {
		t.Errorf("renamed: %d, error %v", n, err)
	}
}

func TestOverlayLeavesTheRest(t *testing.T) {
	m := newMachine(t)
	file := m.debug + "/ieee80211/phy0/ath10k/num_pending_tx"
	m.mkdir(filepath.Dir(file))
	if err := os.WriteFile(file, []byte("5\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	if n, err := debugfs.NewPhy(m, "phy0").NumPendingTx(); n != 5 || err != nil {
		t.Errorf("the kernel's own file: %d, error %v", n, err)
	}
	for _, phy := range []string{"phy2", "phy9"} {
		if _, err := debugfs.NewPhy(m, phy).NumPendingTx(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error %v", phy, err)
		}
	}
	for _, phy := range []string{"phy0", "phy2", "phy9"} {
		if counting, _, err := m.BPF(phy); counting || err != nil {
			t.Errorf("%s: %v, error %v", phy, counting, err)
		}
	}
	if _, err := m.Open("ieee80211/phy1/ath10k/chip_id"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another file: error %v", err)
	}
	if m.attached != 0 {
		t.Errorf("attached %d times", m.attached)
	}
	if err := m.CanWrite("ieee80211/phy0/nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("CanWrite: error %v", err)
	}
}

// A refusal is remembered until the driver is loaded anew.
func TestOverlayRefused(t *testing.T) {
	m := newMachine(t)
	m.refuse = ErrPermission
	for range 3 {
		if _, err := debugfs.NewPhy(m, "phy0").NumPendingTx(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
		if _, _, err := m.BPF("phy0"); !errors.Is(err, ErrPermission) {
			t.Errorf("BPF: error %v", err)
		}
	}
	if m.attached != 1 {
		t.Errorf("tried %d times", m.attached)
	}
	m.refuse = nil
	btf := m.sys + "/kernel/btf/" + module
	m.mkdir(btf + ".new") // while the old one is there, so that it has another inode
	if err := errors.Join(os.Remove(btf), os.Rename(btf+".new", btf)); err != nil {
		t.Fatal(err)
	}
	if counting, _, err := m.BPF("phy0"); !counting || err != nil {
		t.Errorf("with another driver: %v, error %v", counting, err)
	}
}

// The programs go with the last radio, and come back with the next.
func TestOverlayComesAndGoes(t *testing.T) {
	m := newMachine(t)
	max := func(phy string) error { _, err := debugfs.NewPhy(m, phy).MaxNumPendingTx(); return err }
	for _, phy := range []string{"phy0", "phy1"} {
		if err := max(phy); !errors.Is(err, unix.ENODATA) {
			t.Fatal(err)
		}
		m.count(phy, Counts{Max: 1424})
	}
	open, err := m.Open("ieee80211/phy0/ath10k/num_pending_tx")
	if err != nil {
		t.Fatal(err)
	}
	m.remove("phy0")
	debugfs.Phys(m)
	if _, err := open.ReadFresh(make([]byte, 64)); debugfs.CauseOf(err) != debugfs.Gone {
		t.Errorf("an open file of a radio that left: error %v", err)
	}
	if err := max("phy1"); err != nil || m.probe.closed {
		t.Errorf("the other: error %v, detached %v", err, m.probe.closed)
	}
	m.remove("phy1")
	names, err := debugfs.Phys(m)
	if diff := cmp.Diff([]string{"phy2"}, names); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if !m.probe.closed {
		t.Error("still attached after the last radio left")
	}
	m.add("phy0", "ath10k_pci")
	if err := max("phy0"); !errors.Is(err, unix.ENODATA) || m.attached != 2 || m.probe.closed {
		t.Errorf("back again: error %v, attached %d times", err, m.attached)
	}
	m.Close()
	if !m.probe.closed {
		t.Error("still attached after Close")
	}
}

func TestOverlaySampleDoesNotAllocate(t *testing.T) {
	m := newMachine(t)
	r := debugfs.NewPhy(m, "phy0").NumPendingTxReader()
	var n int
	r.Read(&n)
	m.count("phy0", Counts{Pending: 1, Max: 2})
	if allocs := testing.AllocsPerRun(100, func() {
		if err := r.Read(&n); err != nil {
			t.Fatal(err)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
