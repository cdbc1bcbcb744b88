package tuner

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/nl80211"
	"airtuned/tree"
	"airtuned/wlan"
)

// lame is a tree in which some names cannot be listed.
type lame struct {
	tree.FS
	fail map[string]error
}

func (l *lame) List(name string) ([]string, error) {
	if err := l.fail[name]; err != nil {
		return nil, err
	}
	return l.FS.List(name)
}

// That /sys cannot be read for a moment (out of file descriptors) does not make
// a radio go, and takes no command back.
func TestSysUnreadableForAMoment(t *testing.T) {
	s := newScript(t)
	sys := &lame{s.sim.Sys(), map[string]error{}}
	s.tun.env.Sys = sys
	s.run(time.Second)
	s.tun.Hold("for a test")
	sys.fail["class/ieee80211"] = syscall.EMFILE
	s.sim.RenamePhy("radio0")
	s.run(5 * time.Second)
	s.want(Held)
	delete(sys.fail, "class/ieee80211")
	s.run(5 * time.Second)
	s.want(Held)
	if st := s.tun.Status(); st.Phy != "radio0" || st.Reason != "for a test" {
		t.Errorf("%s: %s", st.Phy, st.Reason)
	}
	s.tun.Resume(s.sim.Now())
	s.run(time.Second)
	s.want(Tuning)

	// Nor does a record go for that.
	sys.fail["class/ieee80211"] = syscall.EMFILE
	s.sim.FailFile("ieee80211/radio0/aql_txq_limit", syscall.EIO)
	if err := s.tun.Stop("end"); err == nil {
		t.Error("stop says nothing of originals that are not back")
	}
	delete(sys.fail, "class/ieee80211")
	s.sim.FailFile("ieee80211/radio0/aql_txq_limit", nil)
	if c, err := RestoreAll(s.tun.env, nil); err != nil || len(c) == 0 {
		t.Errorf("restored %v, %v", c, err)
	}
	s.wantFollowing(wlan.KernelDefault.AC)
}

// A command outlives the phy, a foreign write does not: its values are gone.
func TestCommandOutlivesPhy(t *testing.T) {
	for name, want := range map[string]State{"hold": Held, "restore": Restored, "foreign": Tuning, "tune": Tuning} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			s.run(time.Second)
			switch name {
			case "hold":
				s.tun.Hold("for a test")
			case "restore":
				if _, err := s.tun.Restore("for a test"); err != nil {
					t.Fatal(err)
				}
			case "foreign":
				s.sim.ForeignWrite(wlan.BE, wlan.Limit{LowUs: 1, HighUs: 2})
				s.run(time.Second)
				s.want(Held)
			case "tune":
				if _, err := s.tun.Tune("static", false, s.sim.Now()); err != nil {
					t.Fatal(err)
				}
				s.want(Held)
			}
			s.sim.RemoveRadio()
			s.run(3 * time.Second)
			s.want(Gone)
			s.sim.ReturnRadio()
			s.run(5 * time.Second)
			s.want(want)
			if want != Tuning {
				s.wantFollowing(wlan.KernelDefault.AC) // nothing was written
			}
			if err := s.tun.Stop("end"); err != nil {
				t.Fatal(err)
			}
			s.wantFollowing(wlan.KernelDefault.AC)
			if left, err := filepath.Glob(s.tun.env.StateDir + "/originals/*"); err != nil || len(left) > 0 {
				t.Errorf("records left: %q, %v", left, err)
			}
		})
	}
}

// What cannot be read for a while says so and is forgotten when it can.
func TestReadFaultPasses(t *testing.T) {
	for _, file := range []string{"aql_pending", "aql_txq_limit"} {
		for _, told := range []State{Tuning, Observing, Held, Restored} {
			s := newScript(t)
			s.run(time.Second)
			switch told {
			case Held:
				s.tun.Hold("for a test")
			case Restored:
				s.tun.Restore("for a test")
			case Observing:
				s.p.d.Write = false
				s.run(time.Second)
			}
			during := told
			if told == Tuning || told == Observing {
				during = Held
			}
			s.sim.FailFile("ieee80211/phy0/"+file, syscall.EINVAL)
			s.run(3 * time.Second)
			s.want(during)
			s.sim.FailFile("ieee80211/phy0/"+file, nil)
			s.run(2 * time.Second)
			s.want(told)
			if st := s.tun.Status(); strings.Contains(st.Reason, file) {
				t.Errorf("%s, %s: still %q", file, told, st.Reason)
			}
		}
	}
}

// An unfit radio says why, whatever else happens to it, and its limits are the
// original ones.
func TestUnfitAfterAll(t *testing.T) {
	r := newRig(t, "static")
	before := r.limits()
	forced := testSettings("static")
	forced.Force = true
	r.k.files[phyDir+"aql_enable"] = "0\n"
	if err := r.tun.Reconfigure(forced, r.now); err != nil {
		t.Fatal(err)
	}
	r.tun.look, r.tun.retype = true, true
	r.run(2*time.Second, 3000, 10, true)
	r.want(Tuning, "")
	if err := r.tun.Reconfigure(testSettings("static"), r.now); err != nil {
		t.Fatal(err)
	}
	r.run(2*time.Second, 3000, 10, true)
	r.want(Observing, "AQL is switched off")
	if r.limits() != before {
		t.Error("limits that have no effect were left tuned")
	}
}

// After a one-shot tuning by command, a policy that only observes gives back
// what that wrote.
func TestResumeToObserve(t *testing.T) {
	r := newRig(t, "observe")
	before := r.limits()
	r.run(time.Second, 3000, 10, true)
	if _, err := r.tun.Tune("static", false, r.now); err != nil {
		t.Fatal(err)
	}
	r.run(time.Second, 3000, 10, true)
	r.want(Held, "static")
	if r.limits() == before {
		t.Fatal("was not tuned")
	}
	r.tun.Resume(r.now)
	r.run(time.Second, 3000, 10, true)
	r.want(Observing, "")
	if r.limits() != before {
		t.Error("observes with limits that are not the original ones")
	}
	// What took nothing holds nothing.
	if c, err := r.tun.Tune("observe", false, r.now); err != nil || len(c) > 0 {
		t.Fatal(c, err)
	}
	r.want(Observing, "")
}

// A record that cannot be used keeps the loop from writing, for as long as it
// is there.
func TestRecordTurnsBad(t *testing.T) {
	s := newScript(t)
	s.run(time.Second)
	file := newStore(s.tun.env.StateDir).file(s.tun.radio.Path)
	s.sim.RemoveRadio()
	s.run(3 * time.Second)
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sim.ReturnRadio()
	s.run(5 * time.Second)
	s.want(Observing)
	if st := s.tun.Status(); !strings.Contains(st.Reason, file) {
		t.Errorf("reason %q", st.Reason)
	}
	s.wantFollowing(wlan.KernelDefault.AC)
	if b, err := os.ReadFile(file); err != nil || string(b) != "{" {
		t.Errorf("the record is now %q, %v", b, err)
	}
}

func TestForeignThreshold(t *testing.T) {
	s := newScript(t)
	s.p.d.Limits.ThresholdUs = 30000
	s.run(time.Second)
	s.want(Tuning)
	if err := s.sim.Debug().Write("ieee80211/phy0/aql_threshold", []byte("12345\n")); err != nil {
		t.Fatal(err)
	}
	s.run(3 * time.Second)
	s.want(Held)
	if st := s.tun.Status(); !strings.Contains(st.Reason, "threshold 30000 -> 12345") || st.AQL.ThresholdUs != 12345 {
		t.Errorf("%+v", st)
	}
	if err := s.tun.Stop("end"); err != nil {
		t.Fatal(err)
	}
	s.wantFollowing(wlan.KernelDefault.AC)
	if got := read(t, s.sim.Debug(), "ieee80211/phy0/aql_threshold"); got != "12345\n" {
		t.Errorf("threshold %q", got)
	}
}

// Limits that were found as wanted are the loop's, too: after a hold they are, and
// from the start if the kernel's own are what the policy wants.
func TestForeignWriteOfWhatWasNotWritten(t *testing.T) {
	for _, held := range []bool{true, false} {
		s := newScript(t)
		if !held {
			s.p.d.Limits = wlan.KernelDefault
		}
		s.run(time.Second)
		if held {
			s.tun.Hold("for a test")
			s.run(time.Second)
			s.tun.Resume(s.sim.Now())
			s.run(time.Second)
		}
		s.want(Tuning)
		s.sim.ForeignWrite(wlan.VI, wlan.Limit{LowUs: 1, HighUs: 2})
		s.run(2 * time.Second)
		s.want(Held)
		if err := s.tun.Stop("end"); err != nil {
			t.Fatal(err)
		}
		want := wlan.KernelDefault.AC
		want[wlan.VI] = wlan.Limit{LowUs: 1, HighUs: 2}
		s.wantFollowing(want)
	}
}

// A write by somebody else in the very last window is left to him, too.
func TestForeignWriteJustBeforeTheEnd(t *testing.T) {
	s := newScript(t)
	s.run(time.Second)
	s.sim.ForeignWrite(wlan.VI, wlan.Limit{LowUs: 1, HighUs: 2})
	if err := s.tun.Stop("end"); err != nil {
		t.Fatal(err)
	}
	want := wlan.KernelDefault.AC
	want[wlan.VI] = wlan.Limit{LowUs: 1, HighUs: 2}
	s.wantFollowing(want)
}

// A step that comes late, a clock that goes back and a window of no length say
// nothing, and cost nothing.
func TestOddTimes(t *testing.T) {
	r := newRig(t, "static")
	before := r.limits()
	r.run(2*time.Second, 3000, 10, true)
	tuned := r.limits()
	if tuned == before {
		t.Fatal("was not tuned")
	}
	for _, jump := range []time.Duration{5 * time.Minute, -time.Hour, 1000 * time.Hour, -2000 * time.Hour} {
		r.now = r.now.Add(jump)
		r.load(-100, 50, 0) // of one moment, and throttled
		r.tun.Step(r.now)
		r.want(Tuning, "")
		r.run(2*time.Second, 3000, 10, true)
		r.want(Tuning, "")
		if r.limits() != tuned {
			t.Errorf("after %v: limits changed", jump)
		}
	}
	s := testSettings("static")
	s.Window = 0
	if err := r.tun.Reconfigure(s, r.now); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r.tun.Step(r.now)
	}
	_ = r.tun.Status()
}

// The end of a scan ends the wait for it, not that after a failed write.
func TestScanDuringPause(t *testing.T) {
	r := newRig(t, "delay")
	r.k.fail["write "+limitFile] = unix.EINVAL
	r.run(5*time.Second, 3000, 10, true)
	r.want(Held, "aql_txq_limit")
	delete(r.k.fail, "write "+limitFile)
	r.tun.Note(nl80211.ScanStarted, r.now)
	r.run(time.Second, 3000, 10, true)
	r.tun.Note(nl80211.ScanDone, r.now)
	r.run(5*time.Second, 3000, 10, true)
	r.want(Held, "aql_txq_limit")
}

// Restarts of the firmware that follow each other may be the loop's fault.
func TestFirmwareRestartsAgainAndAgain(t *testing.T) {
	s := newScript(t)
	s.run(2 * time.Second)
	s.sim.Crash()
	s.run(15 * time.Second)
	s.want(Tuning)
	s.sim.Crash()
	s.run(12 * time.Second)
	s.want(Held)
	s.wantFollowing(wlan.KernelDefault.AC)
	s.run(15 * time.Second)
	s.want(Tuning)
	if st := s.tun.Status(); st.FirmwareRestarts == nil || *st.FirmwareRestarts != 2 {
		t.Errorf("restarts %v", st.FirmwareRestarts)
	}
	s.tun.Hold("for a test")
	s.sim.Crash()
	s.run(time.Second)
	s.want(Held)
	if r := s.tun.Status().Reason; r != "for a test" {
		t.Errorf("a restart changed what was told: %q", r)
	}
}

// threadedTree is a radio whose netdev can be threaded, on two CPUs.
func threadedTree(t *testing.T) Env {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("../testdata/trees/"+twoRadios)); err != nil {
		t.Fatal(err)
	}
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	env.Sys = tree.Dir(root + "/sys")
	return env
}

func (r *rig) threaded() string {
	r.t.Helper()
	return strings.TrimSpace(read(r.t, r.env.Sys, "class/net/wlan0/threaded"))
}

// Threaded NAPI is configured, not a limit: guards leave it alone, commands do
// not, and a held radio is not touched.
func TestThreadedAndStates(t *testing.T) {
	r := newRig(t, "static")
	r.env = threadedTree(t)
	file := filepath.Join(r.env.Sys.String(), "class/net/wlan0/threaded")
	if err := os.WriteFile(file, []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.k = r.env.Debug.(*fakeKernel)
	r.load(0, 0, 0)
	off := testSettings("static")
	off.ThreadedNAPI = ThreadedOff
	r.tun = New(r.env, detectOne(t, r.env, "static"), off, r.now)
	before := r.limits()
	if r.threaded() != "0" {
		t.Fatalf("threaded %s", r.threaded())
	}
	r.run(2*time.Second, 3000, 10, true)
	r.run(3*time.Second, -100, 10, true)
	r.want(Observing, "below zero")
	if r.limits() != before || r.threaded() != "0" {
		t.Errorf("after the guard: limits back %v, threaded %s", r.limits() == before, r.threaded())
	}
	if _, err := r.tun.Restore("for a test"); err != nil {
		t.Fatal(err)
	}
	if r.threaded() != "1" {
		t.Error("restore left threaded as it was set")
	}
	if err := r.tun.Reconfigure(off, r.now); err != nil {
		t.Fatal(err)
	}
	if r.threaded() != "1" {
		t.Error("new settings were applied to a radio that has its originals back")
	}
	r.tun.Resume(r.now)
	if r.threaded() != "0" {
		t.Error("resume did not bring threaded back to what is configured")
	}
	if err := r.tun.Stop("end"); err != nil || r.threaded() != "1" {
		t.Errorf("after the end: threaded %s, %v", r.threaded(), err)
	}
}

// counting counts how often a folder is listed.
type counting struct {
	tree.FS
	lists int
}

func (c *counting) List(name string) ([]string, error) {
	c.lists++
	return c.FS.List(name)
}

// A radio that can only be observed costs next to nothing.
func TestNoDebugfsIsCheap(t *testing.T) {
	const name = "no-mac80211-debugfs"
	env := testEnv(t, newFakeKernel(name), name)
	proc := &counting{FS: env.Proc}
	env.Proc = proc
	tun := New(env, detectOne(t, env, "observe"), testSettings("observe"), t0)
	before := proc.lists
	for now := t0; now.Before(t0.Add(time.Minute)); now = now.Add(20 * time.Millisecond) {
		tun.Step(now)
	}
	if n := proc.lists - before; n > 10 {
		t.Errorf("/proc was listed %d times in a minute", n)
	}
	if s := tun.Status(); s.State != Observing || !strings.Contains(s.Reason, "CONFIG_MAC80211_DEBUGFS") {
		t.Errorf("state %s (%s)", s.State, s.Reason)
	}
}

// That the limits could not be written for a moment when the radio was detected
// makes it no observer for ever.
func TestUnfitForAMoment(t *testing.T) {
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	r := detectOne(t, env, "static")
	k.fail["write "+limitFile] = unix.EINVAL
	tun := New(env, r, testSettings("static"), t0)
	k.mu.Lock()
	delete(k.fail, "write "+limitFile)
	k.mu.Unlock()
	now := t0
	step := func(d time.Duration) {
		for end := now.Add(d); now.Before(end); now = now.Add(200 * time.Millisecond) {
			tun.Step(now)
		}
	}
	step(5 * time.Second)
	if tun.unfit == "" {
		t.Fatal("the radio is fit though its limits cannot be written")
	}
	step(retryPause)
	if tun.unfit != "" {
		t.Errorf("still unfit: %s", tun.unfit)
	}
	if err := tun.Stop("end"); err != nil {
		t.Error(err)
	}
}
