package tuner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/tree"
	"airtuned/wlan"
)

const (
	twoRadios = "qca9984-two-radios"
	limitFile = "ieee80211/phy0/aql_txq_limit"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func read(t *testing.T, f tree.FS, name string) string {
	t.Helper()
	b, err := tree.Read(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTuneOnceAndRestore(t *testing.T) {
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	before := read(t, k, limitFile)
	r := detectOne(t, env, "static")

	dry, err := TuneOnce(env, r, testSettings("static"), true, t0)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, k, limitFile); got != before || len(k.writes) > 0 {
		t.Fatalf("a dry run wrote: %v", k.writes)
	}
	for _, c := range dry {
		if strings.HasPrefix(c.Knob, knobLimit) && c.Result != Planned {
			t.Errorf("dry run: %+v", c)
		}
	}

	first, err := TuneOnce(env, r, testSettings("static"), false, t0)
	if err != nil {
		t.Fatal(err)
	}
	applied := 0
	for _, c := range first {
		if c.Result == Applied {
			applied++
		}
	}
	if applied < wlan.NumAC || read(t, k, limitFile) == before {
		t.Fatalf("changes: %+v", first)
	}
	again, err := TuneOnce(env, r, testSettings("static"), false, t0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range again {
		if c.Result != Unchanged {
			t.Errorf("second time: %+v", c)
		}
	}

	changes, err := RestoreAll(env, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) < applied {
		t.Errorf("restored %d of %d", len(changes), applied)
	}
	if diff := cmp.Diff(before, read(t, k, limitFile)); diff != "" {
		t.Errorf("after restore (-want +got):\n%s", diff)
	}
	if changes, err := RestoreAll(env, nil); err != nil || len(changes) > 0 {
		t.Errorf("restored twice: %v, %v", changes, err)
	}
}

// Values that no sane program would set are given back like any others.
func TestRestoreOddOriginals(t *testing.T) {
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	k.setLimit(limitFile, wlan.BE, wlan.Limit{LowUs: 9000, HighUs: 100})
	k.setLimit(limitFile, wlan.BK, wlan.Limit{LowUs: 0, HighUs: 0})
	before := read(t, k, limitFile)
	if _, err := TuneOnce(env, detectOne(t, env, "static"), testSettings("static"), false, t0); err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreAll(env, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read(t, k, limitFile)); diff != "" {
		t.Errorf("after restore (-want +got):\n%s", diff)
	}
}

// Nothing is written unless its original is on disk.
func TestNoRecordNoWrite(t *testing.T) {
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	if err := os.WriteFile(filepath.Join(env.StateDir, "originals"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := detectOne(t, env, "static")
	changes, err := TuneOnce(env, r, testSettings("static"), false, t0)
	if err == nil {
		for _, c := range changes {
			if c.Result == Applied {
				t.Errorf("applied without a record: %+v", c)
			}
		}
	}
	if len(k.writes) > 0 {
		t.Errorf("wrote %v", k.writes)
	}
}

func TestRecordOfAnotherBootIsVoid(t *testing.T) {
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	r := detectOne(t, env, "static")
	s := newStore(env.StateDir)
	if err := s.save(&Originals{Version: originalsVersion, BootID: "another", Path: r.Path, Phy: "phy0",
		Knobs: []Original{{limitKnob(wlan.BE), "1/1"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreAll(env, nil); err != nil {
		t.Fatal(err)
	}
	if len(k.writes) > 0 {
		t.Errorf("wrote values of another boot: %v", k.writes)
	}
	if o, err := s.load(r.Path); o != nil || err != nil {
		t.Errorf("the record is still there: %v, %v", o, err)
	}
}

// While debugfs cannot be reached, the record stays for a later try.
func TestRestoreKeepsRecordOnFailure(t *testing.T) {
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	r := detectOne(t, env, "static")
	before := read(t, k, limitFile)
	if _, err := TuneOnce(env, r, testSettings("static"), false, t0); err != nil {
		t.Fatal(err)
	}
	k.fail["write "+limitFile] = unix.EPERM
	changes, err := RestoreAll(env, nil)
	if !errors.Is(err, unix.EPERM) {
		t.Errorf("error: %v", err)
	}
	for _, c := range changes {
		if strings.HasPrefix(c.Knob, knobLimit) && c.Result != Failed && c.From != c.To {
			t.Errorf("change: %+v", c)
		}
	}
	delete(k.fail, "write "+limitFile)
	if _, err := RestoreAll(env, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read(t, k, limitFile)); diff != "" {
		t.Errorf("after the second restore (-want +got):\n%s", diff)
	}
}

func TestGarbledRecord(t *testing.T) {
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	r := detectOne(t, env, "static")
	s := newStore(env.StateDir)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file(r.Path), []byte("{\"version\":1,"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreAll(env, nil); !errors.Is(err, ErrOriginals) {
		t.Errorf("error: %v", err)
	}
	if _, err := TuneOnce(env, r, testSettings("static"), false, t0); !errors.Is(err, ErrOriginals) {
		t.Errorf("error: %v", err)
	}
	if len(k.writes) > 0 {
		t.Errorf("wrote %v", k.writes)
	}
}

func TestTuneOnceUnsupported(t *testing.T) {
	for name, why := range map[string]string{
		"ath9k":               "AQL",
		"unknown-driver":      "AQL",
		"no-mac80211-debugfs": "CONFIG_MAC80211_DEBUGFS",
	} {
		t.Run(name, func(t *testing.T) {
			k := newFakeKernel(name)
			env := testEnv(t, k, name)
			changes, err := TuneOnce(env, detectOne(t, env, "static"), testSettings("static"), false, t0)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, c := range changes {
				if c.Result == Unsupported && strings.Contains(c.Reason, why) {
					n++
				}
			}
			if n == 0 || len(k.writes) > 0 {
				t.Errorf("changes %+v, writes %v", changes, k.writes)
			}
		})
	}
}

func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("second lock: %v", err)
	}
	release()
	release, err = Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
}

func TestSelect(t *testing.T) {
	radios := []Radio{
		{Path: "devices/a", Phy: "phy0", Chip: "QCA9984", Interfaces: []Interface{{Name: "wlan0"}}},
		{Path: "devices/b", Phy: "phy1", Chip: "QCA9984"},
	}
	for sel, want := range map[string]int{"": 2, "devices/a": 1, "/sys/devices/b": 1, "phy1": 1, "wlan0": 1, "qca9984": 2} {
		got, err := Select(radios, sel)
		if err != nil || len(got) != want {
			t.Errorf("Select(%q) = %d radios, %v; want %d", sel, len(got), err, want)
		}
	}
	if _, err := Select(radios, "wlan7"); !errors.Is(err, ErrNoMatch) || !strings.Contains(err.Error(), "phy1 (QCA9984)") {
		t.Errorf("error: %v", err)
	}
}

// That an old kernel cannot thread NAPI is an answer, not silence.
func TestThreadedOnOldKernel(t *testing.T) {
	env := threadedTree(t)
	r := detectOne(t, env, "observe")
	on := testSettings("observe")
	on.ThreadedNAPI = ThreadedOn
	file := filepath.Join(env.Sys.String(), "class/net/wlan0/threaded")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	changes, err := TuneOnce(env, r, on, false, t0)
	if err != nil || len(changes) != 1 || changes[0].Knob != "threaded/wlan0" || changes[0].Result != Unsupported {
		t.Errorf("%+v, %v", changes, err)
	}
}
