package tuner_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"airtuned/debugfs"
	"airtuned/radiosim"
	"airtuned/tree"
	"airtuned/tuner"
	"airtuned/wlan"
)

// life is a loop on the simulated radio, for what happens to radios.
type life struct {
	t   *testing.T
	sim *radiosim.Sim
	tun *tuner.Tuner
	env tuner.Env
}

func settings(policy string) tuner.Settings {
	return tuner.Settings{
		Policy: policy, Min: 300 * time.Microsecond, Max: 12 * time.Millisecond,
		ThreadedNAPI: tuner.ThreadedAuto, Sample: 20 * time.Millisecond, Window: 200 * time.Millisecond,
	}
}

func start(t *testing.T, scenario, policy string, o radiosim.Options) *life {
	t.Helper()
	sc, err := radiosim.Lookup(scenario)
	if err != nil {
		t.Fatal(err)
	}
	o.Seed = 1
	sim := radiosim.New(sc, o)
	env := tuner.Env{Sys: sim.Sys(), Debug: sim.Debug(), Proc: sim.Proc(), StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	d, err := tuner.Detect(env, func(tuner.Radio) tuner.Settings { return settings(policy) })
	if err != nil || len(d.Radios) != 1 {
		t.Fatalf("detect: %+v, %v", d, err)
	}
	if r := d.Radios[0]; r.Chip != "QCA9984" {
		t.Fatalf("radio %+v", r)
	}
	return &life{t, sim, tuner.New(env, d.Radios[0], settings(policy), sim.Now()), env}
}

func (l *life) run(d time.Duration) {
	for end := l.sim.Now().Add(d); l.sim.Now().Before(end); {
		l.sim.Advance(l.sim.Now().Add(20 * time.Millisecond))
		if l.sim.StationsChanged() {
			l.tun.Rescan()
		}
		l.tun.Step(l.sim.Now())
	}
}

func (l *life) want(state tuner.State, reason string) {
	l.t.Helper()
	s := l.tun.Status()
	if s.State != state || !strings.Contains(s.Reason, reason) {
		l.t.Errorf("state %s (%s), want %s (%s)", s.State, s.Reason, state, reason)
	}
}

// inKernel are the limits of the only radio, whatever it is called.
func (l *life) inKernel() [wlan.NumAC]wlan.Limit {
	l.t.Helper()
	phys, err := debugfs.Phys(l.sim.Debug())
	if err != nil || len(phys) != 1 {
		l.t.Fatalf("phys %v: %v", phys, err)
	}
	limits, err := debugfs.NewPhy(l.sim.Debug(), phys[0]).AQLTxqLimit()
	if err != nil {
		l.t.Fatal(err)
	}
	return limits.Limits
}

func (l *life) wantDefault() {
	l.t.Helper()
	if got := l.inKernel(); got != wlan.KernelDefault.AC {
		l.t.Errorf("limits %v, want the kernel's own", got)
	}
}

func TestStopRestores(t *testing.T) {
	for _, policy := range []string{"static", "dql", "delay"} {
		l := start(t, "crowd", policy, radiosim.Options{})
		l.run(5 * time.Second)
		l.want(tuner.Tuning, "")
		if l.inKernel() == wlan.KernelDefault.AC {
			t.Errorf("%s changed nothing", policy)
		}
		if err := l.tun.Stop("the test is over"); err != nil {
			t.Fatal(err)
		}
		l.wantDefault()
	}
}

func TestRename(t *testing.T) {
	l := start(t, "one-fast", "static", radiosim.Options{})
	l.run(2 * time.Second)
	path := l.tun.Status().Path
	l.sim.RenamePhy("radio0")
	l.run(3 * time.Second)
	l.want(tuner.Tuning, "")
	if s := l.tun.Status(); s.Phy != "radio0" || s.Path != path || s.ThroughputKbps == 0 {
		t.Errorf("after the rename: phy %s, path %s, %d kbit/s", s.Phy, s.Path, s.ThroughputKbps)
	}
	if err := l.tun.Stop("the test is over"); err != nil {
		t.Fatal(err)
	}
	l.wantDefault()
}

func TestRemovalAndReturn(t *testing.T) {
	l := start(t, "one-fast", "static", radiosim.Options{})
	l.run(2 * time.Second)
	l.sim.RemoveRadio()
	l.run(5 * time.Second)
	l.want(tuner.Gone, "")
	if _, err := l.tun.Restore("while it is gone"); err == nil {
		l.want(tuner.Gone, "")
	}
	l.sim.ReturnRadio()
	l.wantDefault() // as a new wiphy has them
	l.run(5 * time.Second)
	l.want(tuner.Tuning, "")
	if l.inKernel() == wlan.KernelDefault.AC {
		t.Error("was not tuned again")
	}
	if err := l.tun.Stop("the test is over"); err != nil {
		t.Fatal(err)
	}
	l.wantDefault()
}

func TestStopWhileGone(t *testing.T) {
	l := start(t, "one-fast", "static", radiosim.Options{})
	l.run(2 * time.Second)
	l.sim.RemoveRadio()
	l.run(5 * time.Second)
	l.want(tuner.Gone, "")
	if err := l.tun.Stop("the test is over"); err != nil {
		t.Errorf("stop: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(l.env.StateDir, "originals", "*")); err != nil || len(left) > 0 {
		t.Errorf("records left: %q, %v", left, err)
	}
}

func TestFirmwareCrash(t *testing.T) {
	l := start(t, "four-fast", "delay", radiosim.Options{})
	l.run(8 * time.Second)
	l.sim.Crash()
	decisions := l.tun.Status().Decisions
	l.run(9 * time.Second)
	if got := l.tun.Status().Decisions; got > decisions+1 {
		t.Errorf("%d decisions while the firmware was restarting", got-decisions)
	}
	l.run(10 * time.Second)
	l.want(tuner.Tuning, "")
	if l.tun.Status().Decisions <= decisions+1 {
		t.Error("does not go on after the restart")
	}
}

func TestBlindIsNotTouched(t *testing.T) {
	for _, policy := range []string{"dql", "delay"} {
		l := start(t, "four-fast", policy, radiosim.Options{Blind: true})
		l.run(5 * time.Second)
		l.want(tuner.Observing, "no tx rates")
		l.wantDefault()
	}
}

func TestNoAQLIsNotTouched(t *testing.T) {
	l := start(t, "one-fast", "delay", radiosim.Options{NoAQL: true})
	l.run(5 * time.Second)
	l.want(tuner.Observing, "AQL")
	l.wantDefault()
}

func TestLeakRestores(t *testing.T) {
	l := start(t, "one-fast", "static", radiosim.Options{})
	l.run(2 * time.Second)
	l.sim.LeakPending(-1_000_000)
	l.run(3 * time.Second)
	l.want(tuner.Observing, "below zero")
	l.wantDefault()
}

func TestStockKernelTunes(t *testing.T) {
	l := start(t, "four-fast", "delay", radiosim.Options{Stock: true})
	l.run(8 * time.Second)
	l.want(tuner.Tuning, "")
	if s := l.tun.Status(); s.Queue.Source != tuner.SourceAirtime || s.ResidencyUs.Mean == 0 {
		t.Errorf("queue %+v, residency %+v", s.Queue, s.ResidencyUs)
	}
}

// Whatever file fails, the loop lives, and what was tuned is put back once the
// file can be reached again.
func TestAnyFileFails(t *testing.T) {
	var names []string
	l := start(t, "one-slow", "static", radiosim.Options{})
	walk(t, l.sim.Debug(), "ieee80211/phy0", &names)
	if len(names) < 10 {
		t.Fatalf("files: %v", names)
	}
	for _, name := range names {
		for _, errno := range []syscall.Errno{syscall.ENOENT, syscall.EIO, syscall.EPERM, syscall.EINVAL, syscall.ENODEV} {
			l := start(t, "one-slow", "static", radiosim.Options{})
			l.run(time.Second)
			l.sim.FailFile(name, errno)
			l.run(3 * time.Second)
			_ = l.tun.Status()
			l.sim.FailFile(name, nil)
			if err := l.tun.Stop("the test is over"); err != nil {
				t.Errorf("%s failing with %v: stop: %v", name, errno, err)
			}
			if got := l.inKernel(); got != wlan.KernelDefault.AC {
				t.Errorf("%s failing with %v left %v", name, errno, got)
			}
		}
	}
}

func walk(t *testing.T, f tree.FS, dir string, names *[]string) {
	t.Helper()
	entries, err := f.List(dir)
	if err != nil {
		*names = append(*names, dir)
		return
	}
	for _, e := range entries {
		walk(t, f, dir+"/"+e, names)
	}
}
