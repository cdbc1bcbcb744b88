package tuner

import (
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/debugfs"
	"airtuned/tree"
	"airtuned/wlan"
)

// fakeKernel is a fixture tree whose AQL knobs work as mac80211's do, with
// files that a test can set and operations that it can make fail.
type fakeKernel struct {
	tree.FS
	mu     sync.Mutex
	files  map[string]string
	fail   map[string]error // by "open NAME" or "write NAME"
	writes []string
}

func newFakeKernel(name string) *fakeKernel {
	return &fakeKernel{
		FS:    tree.Dir("../testdata/trees/" + name + "/debug"),
		files: map[string]string{}, fail: map[string]error{},
	}
}

func (k *fakeKernel) Open(name string) (tree.File, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.fail["open "+name]; err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if _, ok := k.files[name]; !ok {
		b, err := tree.Read(k.FS, name)
		if err != nil {
			return nil, err
		}
		k.files[name] = string(b)
	}
	return &fakeFile{k, name}, nil
}

type fakeFile struct {
	k    *fakeKernel
	name string
}

func (f *fakeFile) ReadFresh(p []byte) (int, error) {
	f.k.mu.Lock()
	defer f.k.mu.Unlock()
	return copy(p, f.k.files[f.name]), nil
}
func (f *fakeFile) Close() error { return nil }

func (k *fakeKernel) CanWrite(name string) error {
	if err := k.fail["write "+name]; err != nil {
		return &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return nil
}

func (k *fakeKernel) Write(name string, p []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.fail["write "+name]; err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	k.writes = append(k.writes, name+" "+strings.TrimSpace(string(p)))
	switch {
	case strings.HasSuffix(name, "/aql_txq_limit"):
		var ac int
		var l wlan.Limit
		if n, _ := fmt.Sscanf(string(p), "%d %d %d", &ac, &l.LowUs, &l.HighUs); n != 3 || ac >= wlan.NumAC {
			return &fs.PathError{Op: "write", Path: name, Err: unix.EINVAL}
		}
		k.setLimit(name, wlan.AC(ac), l)
	case strings.HasSuffix(name, "/aql_threshold"):
		k.files[name] = string(p)
	default:
		return &fs.PathError{Op: "write", Path: name, Err: unix.EINVAL}
	}
	return nil
}

// setLimit is what any program's write does. Callers hold the lock, or run alone.
func (k *fakeKernel) setLimit(name string, ac wlan.AC, l wlan.Limit) {
	text := k.files[name]
	if text == "" {
		b, _ := tree.Read(k.FS, name)
		text = string(b)
	}
	var old debugfs.AQLTxqLimit
	if err := debugfs.ParseAQLTxqLimit([]byte(text), &old); err != nil {
		panic(err)
	}
	row := func(l wlan.Limit) string { return fmt.Sprintf("%s\t%d\t\t%d\n", ac, l.LowUs, l.HighUs) }
	k.files[name] = strings.Replace(text, row(old.Limits[ac]), row(l), 1)
}

// testEnv is the system of a fixture tree around a fake kernel.
func testEnv(t *testing.T, k *fakeKernel, name string) Env {
	t.Helper()
	dir := "../testdata/trees/" + name
	return Env{
		Sys: tree.Dir(dir + "/sys"), Debug: k, Proc: tree.Dir(dir + "/proc"),
		StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	}
}

// testSettings are those of a policy, with the defaults of the contract.
func testSettings(policy string) Settings {
	return Settings{
		Policy: policy, Min: 300 * time.Microsecond, Max: 12 * time.Millisecond,
		ThreadedNAPI: ThreadedAuto, Sample: 20 * time.Millisecond, Window: 200 * time.Millisecond,
	}
}

func choose(policy string) Chooser { return func(Radio) Settings { return testSettings(policy) } }

// detectOne is the radio phy0 of a tree.
func detectOne(t *testing.T, env Env, policy string) Radio {
	t.Helper()
	d, err := Detect(env, choose(policy))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Select(d.Radios, "phy0")
	if err != nil {
		t.Fatal(err)
	}
	return got[0]
}

// phyOf is the radio phy0 of a system.
func phyOf(env Env) *debugfs.Phy { return debugfs.NewPhy(env.Debug, "phy0") }
