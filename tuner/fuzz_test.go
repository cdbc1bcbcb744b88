package tuner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/tree/treetest"
	"airtuned/wlan"
)

// FuzzOriginals reads anything as a record. What it takes for one stays the same
// when it is saved and loaded; all else is ErrOriginals.
func FuzzOriginals(f *testing.F) {
	for _, s := range []string{
		"", "{}", "null", "[]", `{"version":1,"path":"p","knobs":[{"knob":"aql_txq_limit/BE","value":"5000/12000"}]}`,
		`{"version":1,"boot_id":"b","path":"p","phy":"phy0","phy_index":-1,"knobs":null}`, `{"version":2,"path":"p"}`,
		`{"version":1,"path":"../p"}`, `{"version":1,"path":"p"}{}`, `{"version":1e0,"path":"p","knobs":[{}]}`,
	} {
		f.Add([]byte(s))
	}
	dir, err := os.MkdirTemp("/dev/shm", "airtuned-fuzz-") // a disk would have to sync
	if err != nil {
		dir = f.TempDir()
	}
	f.Cleanup(func() { os.RemoveAll(dir) })
	s := newStore(dir)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(s.file("p"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		first, err := s.load("p")
		if err != nil {
			if !errors.Is(err, ErrOriginals) {
				t.Fatalf("not an ErrOriginals: %v", err)
			}
			return
		}
		if first.Path != "p" {
			t.Fatalf("a record of %q was taken", first.Path)
		}
		if err := s.save(first); err != nil {
			t.Fatal(err)
		}
		second, err := s.load("p")
		if diff := cmp.Diff(first, second); diff != "" || err != nil {
			t.Fatalf("%q: %v (-first +second):\n%s", text, err, diff)
		}
		if names, _ := filepath.Glob(filepath.Join(s.dir, "*")); len(names) != 1 {
			t.Fatalf("files %q", names)
		}
	})
}

// FuzzKnob reads and writes knobs of any name and value, as a record may hold
// them: no file is touched that is not one of a knob.
func FuzzKnob(f *testing.F) {
	for _, k := range [][2]string{
		{limitKnob(wlan.BE), "1500/1500"}, {knobThreshold, "24000"}, {threadedKnob("wlan0"), "1"}, {threadedKnob("../.."), "1"},
		{stationKnob(wlan.MAC{2}, wlan.VO), "1/2"}, {"station/x/aql/BE", "1/2"}, {"aql_txq_limit/XX", "1/2"}, {"", ""},
		{limitKnob(wlan.BE), "-1/4294967296"}, {knobThreshold, "1e3"}, {"station//aql/", "/"},
	} {
		f.Add(k[0], k[1])
	}
	sealed := new(treetest.Faults) // the fixture's files are the repository's
	sealed.Judge(func(op treetest.Op) (f treetest.Fault) {
		if op.Kind == treetest.Write {
			f.Err = unix.EROFS
		}
		return f
	})
	f.Fuzz(func(t *testing.T, name, value string) {
		k := newFakeKernel(twoRadios)
		env := testEnv(t, k, twoRadios)
		env.Sys = sealed.Tree(env.Sys)
		j, err := newJournal(env, phyOf(env), "devices/p", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, restoring := range []bool{false, true} {
			j.knobs.restoring = restoring
			before, err := j.knobs.get(name)
			if err != nil {
				before = ""
			}
			if j.knobs.set(name, value) != nil {
				continue
			}
			if after, err := j.knobs.get(name); err != nil || after != value {
				t.Fatalf("%q was set to %q, was %q and is %q, %v", name, value, before, after, err)
			}
		}
	})
}
