package tuner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/tree/treetest"
)

// lastingKernel is a fakeKernel that outlives the processes that write to it:
// what it took is in a file, each write in one write.
type lastingKernel struct {
	*fakeKernel
	took *os.File
}

func newLastingKernel(t *testing.T, file string) *lastingKernel {
	t.Helper()
	k := &lastingKernel{fakeKernel: newFakeKernel(twoRadios)}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(old) {
		name, text, _ := strings.Cut(string(line), " ")
		if err := k.fakeKernel.Write(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if k.took, err = os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.took.Close() })
	return k
}

func (k *lastingKernel) Write(name string, p []byte) error {
	if _, err := k.took.Write([]byte(name + " " + strings.TrimSpace(string(p)) + "\n")); err != nil {
		return err
	}
	return k.fakeKernel.Write(name, p)
}

// crashEnv is the system that a crashed process has left in dir.
func crashEnv(t *testing.T, dir string) (*lastingKernel, Env) {
	k := newLastingKernel(t, filepath.Join(dir, "kernel"))
	env := testEnv(t, k.fakeKernel, twoRadios)
	env.Debug, env.StateDir = k, filepath.Join(dir, "state")
	return k, env
}

const crashDir = "AIRTUNED_TEST_CRASH"

// TestCrashee is not a test but what TestSweepCrashes kills: it restores what
// another one left, tunes twice, so that a record grows and does not, and
// restores.
func TestCrashee(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("not a test by itself")
	}
	_, env := crashEnv(t, dir)
	unlock, err := Lock(env.StateDir)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := RestoreAll(env, nil); err != nil {
		t.Fatal(err)
	}
	r := detectOne(t, env, "static")
	first, second := testSettings("static"), testSettings("static")
	second.Min = 4 * time.Millisecond
	for _, s := range []Settings{first, second} {
		if _, err := TuneOnce(env, r, s, false, t0); err != nil {
			t.Fatal(err)
		}
	}
	j, err := newJournal(env, phyOf(env), r.Path, r.Index)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range j.apply([]setting{thresholdSetting(10000)}, "more to record", false) {
		if c.Result != Applied {
			t.Fatalf("%+v", c)
		}
	}
	if _, err := RestoreAll(env, nil); err != nil {
		t.Fatal(err)
	}
}

// boundaries are the calls before each of which the world is different from
// before the last one.
var boundaries = []uint64{
	unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_FSYNC, unix.SYS_FTRUNCATE, unix.SYS_FLOCK,
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT,
}

// killAt runs TestCrashee and kills it as it makes the nth call that is a
// boundary, and tells whether it came to that.
func killAt(t *testing.T, dir string, n int) (killed bool) {
	t.Helper()
	runtime.LockOSThread() // who traces is a thread
	defer runtime.UnlockOSThread()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashee$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		t.Skipf("processes cannot be traced here: %v", err)
	}
	pid := cmd.Process.Pid
	defer cmd.Process.Release()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != nil || !ws.Stopped() {
		t.Skipf("processes cannot be traced here: %v, %v", ws, err)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(pid, options); err != nil {
		t.Fatal(err)
	}
	at := pid
	deliver := 0
	for count := 0; ; {
		// A thread that is gone by now is no error.
		if err := unix.PtraceSyscall(at, deliver); err != nil && err != unix.ESRCH {
			t.Fatal(err)
		}
		var err error
		at, err = unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
		if err != nil {
			t.Fatal(err)
		}
		deliver = 0
		switch {
		case at == pid && ws.Signaled():
			return true
		case at == pid && ws.Exited():
			if ws.ExitStatus() != 0 {
				t.Fatalf("it failed by itself: exit status %d", ws.ExitStatus())
			}
			return false
		case !ws.Stopped():
		case ws.StopSignal() == unix.SIGTRAP|0x80:
			if nr, entry := syscallOf(t, at); entry && slices.Contains(boundaries, nr) {
				if count++; count == n {
					if err := unix.Kill(pid, unix.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
			}
		case ws.StopSignal() != unix.SIGTRAP && ws.StopSignal() != unix.SIGSTOP:
			deliver = int(ws.StopSignal())
		}
	}
}

// syscallOf is the number of the call that a thread is in, and whether it has
// just begun.
func syscallOf(t *testing.T, tid int) (nr uint64, entry bool) {
	// struct ptrace_syscall_info (include/uapi/linux/ptrace.h)
	var info struct {
		op   uint8
		_    [3]uint8
		arch uint32
		_    [2]uint64
		nr   uint64
		_    [8]uint64
	}
	const getSyscallInfo, opEntry = 0x420e, 1
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 && errno != unix.ESRCH {
		t.Skipf("this kernel does not tell system calls: %v", errno)
	}
	return info.nr, errno == 0 && info.op == opEntry
}

// TestSweepCrashes kills a process, really, before every single call that
// changes something. Afterwards a restore, and the next start, give back what
// was there to the letter.
func TestSweepCrashes(t *testing.T) {
	if testing.Short() || treetest.UnderRace() {
		t.Skip("stops at every system call of some dozen processes")
	}
	root := t.TempDir()
	before := read(t, newFakeKernel(twoRadios), limitFile)
	threshold := read(t, newFakeKernel(twoRadios), strings.Replace(limitFile, "aql_txq_limit", "aql_threshold", 1))
	check := func(dir, when string) bool {
		k, env := crashEnv(t, dir)
		if when != "" {
			if _, err := RestoreAll(env, nil); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		ok := cmp.Diff(before, read(t, k, limitFile)) == "" &&
			threshold == read(t, k, strings.Replace(limitFile, "aql_txq_limit", "aql_threshold", 1))
		left, _ := filepath.Glob(filepath.Join(env.StateDir, "originals", "*.json"))
		return ok && len(left) == 0
	}
	n, tuned, violations := 0, 0, 0
	for killed := true; killed; {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		killed = killAt(t, dir, n)
		if !check(dir, "") {
			tuned++ // or it has left a record
		}
		again := dir + "again"
		if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if !check(dir, fmt.Sprintf("restore after a kill at call %d", n)) {
			violations++
			t.Errorf("killed at call %d: restore did not give everything back", n)
		}
		next := exec.Command(os.Args[0], "-test.run=^TestCrashee$")
		if next.Env = append(os.Environ(), crashDir+"="+again); next.Run() != nil {
			t.Errorf("killed at call %d: the next run failed", n)
		}
		if !check(again, "") {
			violations++
			t.Errorf("killed at call %d: the next run did not give everything back", n)
		}
		// A killed one's unfinished record goes with the next one.
		if tmp, _ := filepath.Glob(filepath.Join(again, "state/originals/*")); len(tmp) > 0 {
			violations++
			t.Errorf("killed at call %d: %v is left over", n, tmp)
		}
	}
	if n--; n < 20 || tuned < 10 {
		t.Errorf("%d calls, %d of them with something to restore: that is too few to mean anything", n, tuned)
	}
	t.Logf("killed at each of %d calls, %d with something to restore: %d violations", n, tuned, violations)
}

// TestSweepRecords spoils the record of a radio that is tuned in every way:
// what can be put back is, what cannot is told, and nothing is tuned anew.
func TestSweepRecords(t *testing.T) {
	_, env, _ := tuned(t)
	r := detectOne(t, env, "static")
	whole, err := os.ReadFile(newStore(env.StateDir).file(r.Path))
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(o *Originals)) []byte {
		var o Originals
		if err := json.Unmarshal(whole, &o); err != nil {
			t.Fatal(err)
		}
		f(&o)
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	spoilt := map[string][]byte{
		"zeros":              make([]byte, len(whole)),
		"another version":    change(func(o *Originals) { o.Version++ }),
		"another radio":      change(func(o *Originals) { o.Path = "devices/other" }),
		"another kind":       []byte(`[]`),
		"a text for a value": bytes.Replace(whole, []byte(`"value": "`), []byte(`"value": "x`), 1),
		"no such knob":       change(func(o *Originals) { o.Knobs[0].Knob = "aql_txq_limit/XX" }),
		"two records":        append(slices.Clone(whole), whole...),
	}
	for n := range len(bytes.TrimSpace(whole)) {
		spoilt[fmt.Sprintf("the first %d bytes", n)] = whole[:n]
	}
	void := map[string][]byte{
		"another boot":    change(func(o *Originals) { o.BootID = "another" }),
		"another machine": change(func(o *Originals) { o.BootID, o.PhyIndex = "another", 7 }),
		"another phy":     change(func(o *Originals) { o.PhyIndex = 7 }),
	}
	n := 0
	for name, text := range spoilt {
		n++
		k, env, _ := tuned(t)
		file := newStore(env.StateDir).file(r.Path)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		k.writes = nil
		if _, err := RestoreAll(env, nil); err == nil {
			t.Errorf("%s: restore said nothing", name)
		}
		if left, err := os.ReadFile(file); err != nil || len(left) == 0 && len(text) > 0 {
			t.Errorf("%s: the record is gone: %v", name, err)
		}
		wrote := len(k.writes)
		changes, _ := TuneOnce(env, r, testSettings("static"), false, t0)
		usable := name == "a text for a value" || name == "no such knob"
		if !usable && (wrote > 0 || len(k.writes) > 0) {
			t.Errorf("%s: wrote %q (%+v)", name, k.writes, changes)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(void)) {
		n++
		k, env, _ := tuned(t)
		// The kernel came up anew: it has its own values again.
		clear(k.files)
		k.writes = nil
		if err := os.WriteFile(newStore(env.StateDir).file(r.Path), void[name], 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := RestoreAll(env, nil); err != nil || len(c) > 0 || len(k.writes) > 0 {
			t.Errorf("%s: %v, %v, wrote %q", name, c, err, k.writes)
		}
	}
	t.Logf("%d records", n)
}

// TestNoRoomNoWrite has the state directory full or read-only at the first
// record, and at one that must grow: a knob is not touched whose original cannot
// be recorded, and those that are recorded are put back.
func TestNoRoomNoWrite(t *testing.T) {
	for name, mount := range map[string]func(dir string) error{
		"full": func(dir string) error {
			if err := unix.Mount("none", dir, "tmpfs", 0, "size=4k,nr_inodes=8"); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 4096), 0o600)
		},
		"read-only": func(dir string) error { return unix.Mount("none", dir, "tmpfs", unix.MS_RDONLY, "") },
	} {
		t.Run(name, func(t *testing.T) {
			k := newFakeKernel(twoRadios)
			env := testEnv(t, k, twoRadios)
			if err := mount(env.StateDir); err != nil {
				t.Skipf("cannot mount: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(env.StateDir, unix.MNT_DETACH) })
			r := detectOne(t, env, "static")
			changes, err := TuneOnce(env, r, testSettings("static"), false, t0)
			if len(k.writes) > 0 || len(changes) == 0 {
				t.Errorf("wrote %q; %+v, %v", k.writes, changes, err)
			}
			for _, c := range changes {
				if c.Result == Unchanged {
					continue
				}
				if c.Result != Failed || !strings.Contains(c.Reason, "nothing was written") || !strings.Contains(c.Reason, env.StateDir) {
					t.Errorf("%+v", c)
				}
			}
			if name != "full" {
				return
			}
			// With room for the first record only.
			if err := os.Remove(filepath.Join(env.StateDir, "filler")); err != nil {
				t.Fatal(err)
			}
			before := read(t, k, limitFile)
			if _, err := TuneOnce(env, r, testSettings("static"), false, t0); err != nil || len(k.writes) == 0 {
				t.Fatalf("%v, wrote %q", err, k.writes)
			}
			j, err := newJournal(env, phyOf(env), r.Path, r.Index)
			if err != nil {
				t.Fatal(err)
			}
			k.writes = nil
			c := j.apply([]setting{thresholdSetting(10000)}, "one more", false)
			if len(c) != 1 || c[0].Result != Failed || len(k.writes) > 0 {
				t.Errorf("%+v, wrote %q", c, k.writes)
			}
			if _, err := RestoreAll(env, nil); err != nil || read(t, k, limitFile) != before {
				t.Errorf("restore with a full disk: %v", err)
			}
		})
	}
}
