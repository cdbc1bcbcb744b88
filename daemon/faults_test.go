package daemon

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/radiosim"
	"airtuned/tree"
	"airtuned/tree/treetest"
	"airtuned/tuner"
	"airtuned/wlan"
)

var (
	allFaults  = flag.Bool("faults", false, "fail every operation at every point, not each distinct one once")
	onlyFaults = flag.String("fault", "", "only those whose name contains this")
)

// pairTree is two trees of radiosim as those of one system. The second radio's
// names are those of the first with another number.
type pairTree struct{ one, two tree.FS }

var second = [][2]string{{"0000:01:00.0", "0000:02:00.0"}, {"phy0", "phy1"}, {"wlan0", "wlan1"}}

// number renames the first radio's names to the second's, or back.
func number(s string, to int) string {
	for _, names := range second {
		s = strings.ReplaceAll(s, names[1-to], names[to])
	}
	return s
}

func isSecond(name string) bool {
	return strings.Contains(name, "phy1") || strings.Contains(name, "0:02:0") || strings.Contains(name, "wlan1")
}

func (p pairTree) of(name string) (tree.FS, string) {
	if isSecond(name) {
		return p.two, number(name, 0)
	}
	return p.one, name
}

type pairFile struct{ tree.File }

func (f pairFile) ReadFresh(p []byte) (int, error) {
	n, err := f.File.ReadFresh(p)
	copy(p, number(string(p[:n]), 1)) // names are of equal length
	return n, err
}

func (p pairTree) Open(name string) (tree.File, error) {
	t, name := p.of(name)
	f, err := t.Open(name)
	if err == nil && t == p.two {
		f = pairFile{f}
	}
	return f, err
}

func (p pairTree) Write(name string, b []byte) error {
	t, name := p.of(name)
	return t.Write(name, b)
}

func (p pairTree) List(name string) ([]string, error) {
	t, own := p.of(name)
	names, err := t.List(own)
	if err != nil {
		return nil, err
	}
	for i := range names {
		if t == p.two {
			names[i] = number(names[i], 1)
		} else if other := number(names[i], 1); other != names[i] && own == strings.ReplaceAll(own, second[0][0], "") {
			names = append(names, other)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (p pairTree) Readlink(name string) (string, error) {
	t, own := p.of(name)
	s, err := t.Readlink(own)
	if t == p.two {
		s = number(s, 1)
	}
	return s, err
}

func (p pairTree) String() string { return p.one.String() }

// logged remembers what a daemon logged, without the time.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.TrimSpace(string(p)))
	return len(p), nil
}

func (l *logged) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// The phases of a daemon's life, each with how long it lasts.
const (
	starting = iota
	steady
	reloading
	stopping
	dead // what a process that is no more does has no effect
)

var phases = [...]string{"start", "steady", "reload", "stop"}

const phaseLasts = 1900 * time.Millisecond

const (
	sweepConfig  = "loop: {sample: 100ms, window: 200ms}\nradios: [{policy: static}]\n"
	sweepConfig2 = "loop: {sample: 100ms, window: 200ms}\nradios: [{policy: delay, limits: {min: 4ms}}]\n"
)

// point is an operation of a life: the nth of its kind in its phase.
type point struct {
	phase int
	op    treetest.Op
	nth   int
}

// How long a fault lasts.
const (
	once    = "once"
	lasting = "lasting" // the file fails from then on
	radio0  = "radio"   // so does everything of the first radio
	world   = "world"   // and this is everything
)

// sweepFault is one fault at one point.
type sweepFault struct {
	point
	kind, lasts string
}

func (f sweepFault) String() string {
	return fmt.Sprintf("%s: %s %s (%d): %s, %s", phases[f.phase], f.op.Kind, f.op.Path, f.nth, f.kind, f.lasts)
}

// life is one run of a daemon on two radios.
type life struct {
	fault *sweepFault
	dir   string

	mu      sync.Mutex
	phase   int
	hit     bool
	counts  map[point]int // of operations that are nobody's or the first radio's, nth unset
	order   []point
	reads   []time.Duration // of the second radio's pending airtime
	began   time.Time
	release chan struct{}
	log     logged
	wrong   []string
}

func (l *life) violation(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

func (l *life) enter(phase int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase = phase
}

// judge decides about an operation.
func (l *life) judge(op treetest.Op) treetest.Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == dead {
		return treetest.Fault{Err: unix.EIO}
	}
	if isSecond(op.Path) {
		switch {
		case op.Kind == treetest.Read && strings.HasSuffix(op.Path, "/phy1/aql_pending"):
			l.reads = append(l.reads, time.Since(l.began))
		}
		if l.fault != nil && l.fault.lasts == world && l.hit {
			return treetest.Fault{Wait: func() { <-l.release }, Err: unix.EIO}
		}
		return treetest.Fault{}
	}
	p := point{phase: l.phase, op: op}
	l.counts[p]++
	p.nth = l.counts[p]
	l.order = append(l.order, p)
	f := l.fault
	if f == nil {
		return treetest.Fault{}
	}
	now := p == f.point
	l.hit = l.hit || now
	switch {
	case now, f.lasts == world && l.hit,
		f.lasts == lasting && l.hit && op.Path == f.op.Path,
		f.lasts == radio0 && l.hit && number(op.Path, 1) != op.Path:
		return l.spoil(f.kind)
	}
	return treetest.Fault{}
}

// spoil is what a kind of fault does.
func (l *life) spoil(kind string) treetest.Fault {
	if errno, ok := errnos[kind]; ok {
		return treetest.Fault{Err: errno}
	}
	switch kind {
	case "short":
		return treetest.Fault{Text: func(b []byte) []byte { return b[:len(b)/2] }, Names: func(s []string) []string { return s[:len(s)/2] }}
	case "last line missing":
		return treetest.Fault{Text: func(b []byte) []byte {
			return b[:1+bytes.LastIndexByte(bytes.TrimSuffix(b, []byte("\n")), '\n')]
		}, Names: func(s []string) []string { return s[:max(0, len(s)-1)] }}
	case "empty", "lost":
		return treetest.Fault{Text: func([]byte) []byte { return nil }, Names: func([]string) []string { return nil }}
	case "garbage":
		return treetest.Fault{
			Text:  func([]byte) []byte { return []byte("\x00\xff\x1b[31m\n%s -1 99999999999999999999\n") },
			Names: func([]string) []string { return []string{"\x00\xff", "..", "phy-1", "%s"} },
		}
	case "done":
		return treetest.Fault{Err: unix.EIO, Done: true}
	case "blocks 5 s":
		return treetest.Fault{Wait: func() { time.Sleep(5 * time.Second) }}
	case "blocks for ever":
		// When it lets go, the process has gone.
		return treetest.Fault{Wait: func() { <-l.release }, Err: unix.EIO}
	}
	panic(kind)
}

var errnos = map[string]unix.Errno{
	"ENOENT": unix.ENOENT, "ENODEV": unix.ENODEV, "EIO": unix.EIO, "EPERM": unix.EPERM,
	"EACCES": unix.EACCES, "EINVAL": unix.EINVAL, "ENETDOWN": unix.ENETDOWN, "EBUSY": unix.EBUSY,
}

// alike are the kinds that are left to -faults, as they have always done what
// another one does.
var alike = map[string][]string{
	lasting: {"EPERM", "EBUSY", "ENETDOWN"},
	radio0:  {"EPERM", "EBUSY", "ENETDOWN", "ENOENT", "EINVAL", "EACCES", "blocks 5 s"},
}

// kindsFor are the kinds of faults that an operation can have.
func kindsFor(op string) []string {
	kinds := slices.Sorted(maps.Keys(errnos))
	switch op {
	case treetest.Read, treetest.List:
		kinds = append(kinds, "short", "last line missing", "empty", "garbage")
	case treetest.Readlink:
		kinds = append(kinds, "garbage")
	case treetest.Write:
		kinds = append(kinds, "lost", "done")
	}
	return append(kinds, "blocks 5 s", "blocks for ever")
}

// live runs a daemon from its start to its end and checks everything that must
// hold whatever fails.
func (l *life) live(t *testing.T, base *life) {
	l.counts = map[point]int{}
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if p := recover(); p != nil {
				l.violation("panic: %v", p)
				panic(p)
			}
		}()
		l.began = time.Now()
		l.release = make(chan struct{})
		faults := new(treetest.Faults)
		faults.Judge(l.judge)
		sc := radiosim.Scenario{ // always something to send, and few packets
			RTT: 20 * time.Millisecond, PingEvery: time.Second,
			Stations: []radiosim.Station{{RateKbps: 3000, Flows: 1}},
		}
		sims := [2]*radiosim.Sim{radiosim.New(sc, radiosim.Options{Seed: 1}), radiosim.New(sc, radiosim.Options{Seed: 2})}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var air sync.WaitGroup
		air.Go(func() {
			time.Sleep(7 * time.Millisecond) // never at the same moment as a sample
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					for _, sim := range sims {
						sim.Advance(radiosim.Epoch.Add(time.Since(l.began)))
					}
				}
			}
		})
		env := tuner.Env{
			Sys:      faults.Tree(pairTree{sims[0].Sys(), sims[1].Sys()}),
			Debug:    faults.Tree(pairTree{sims[0].Debug(), sims[1].Debug()}),
			Proc:     faults.Tree(pairTree{sims[0].Proc(), sims[1].Proc()}),
			StateDir: filepath.Join(l.dir, "state"),
			Log:      slog.New(slog.NewTextHandler(&l.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return dropTime(a) }})),
		}
		file := filepath.Join(l.dir, "airtuned.yaml")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(sweepConfig)
		d, err := newDaemon(Options{Env: env, Config: file})
		if err != nil {
			t.Fatal(err)
		}
		ctxRun, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.run(ctxRun) }()
		killed := func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.hit && l.fault.lasts == world
		}
		var seen []tuner.Status
		for phase := starting; phase <= reloading && !killed(); phase++ {
			l.enter(phase)
			if phase == reloading {
				write(sweepConfig2)
				if err := d.reload("the test"); err != nil {
					l.violation("reload: %v", err)
				}
			}
			time.Sleep(phaseLasts)
			if !killed() {
				seen = d.statuses(t.Context())
			}
		}
		var stopErr error
		stopped := !killed()
		if stopped {
			l.enter(stopping)
			from := time.Now()
			stop()
			stopErr = <-ended
			if took := time.Since(from); took > 2*stopWithin {
				l.violation("stopping took %v", took)
			}
		}
		// What is now is all that is left of the process.
		left := filepath.Join(l.dir, "left")
		if err := os.CopyFS(left, os.DirFS(env.StateDir)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		wasKilled := killed()
		l.enter(dead)
		stop()
		close(l.release)
		if !stopped {
			<-ended
		}
		cancel()
		air.Wait()
		time.Sleep(2 * stopWithin) // for what is blocked for 5 s
		l.checkLeft(t, sims, left, stopErr, wasKilled)
		if !wasKilled {
			l.checkOther(base)
			l.checkStates(seen)
			l.checkLog(seen, stopErr)
		}
	})
}

func dropTime(a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// checkLeft checks that nothing is left tuned, or that it is recorded how it was.
func (l *life) checkLeft(t *testing.T, sims [2]*radiosim.Sim, left string, stopErr error, killed bool) {
	env := tuner.Env{
		Sys: pairTree{sims[0].Sys(), sims[1].Sys()}, Debug: pairTree{sims[0].Debug(), sims[1].Debug()},
		Proc: sims[0].Proc(), StateDir: left, Log: slog.New(slog.DiscardHandler),
	}
	tuned := ""
	for _, phy := range []string{"phy0", "phy1"} {
		if got := limits(t, env.Debug, phy); got.AC != wlan.KernelDefault.AC {
			tuned += " " + phy
		}
	}
	if !killed {
		switch {
		case strings.Contains(tuned, "phy1"):
			l.violation("the other radio is left tuned")
		case tuned != "" && stopErr == nil:
			l.violation("left tuned without an error")
		case tuned != "" && l.fault.lasts == once && !strings.HasPrefix(l.fault.kind, "blocks"):
			l.violation("left tuned after a fault that had passed")
		}
	}
	if _, err := tuner.RestoreAll(env, nil); err != nil {
		l.violation("restore: %v", err)
	}
	for _, phy := range []string{"phy0", "phy1"} {
		if got := limits(t, env.Debug, phy); got.AC != wlan.KernelDefault.AC {
			l.violation("%s has %v after restore", phy, got.AC)
		}
	}
	if records, _ := filepath.Glob(filepath.Join(left, "originals", "*")); len(records) > 0 {
		l.violation("restore left %v", records)
	}
}

// checkOther checks that the other radio was none the worse.
func (l *life) checkOther(base *life) {
	if base == nil {
		return
	}
	own := number(l.fault.op.Path, 1) != l.fault.op.Path
	if len(l.reads) == 0 {
		if own || !strings.HasPrefix(l.fault.kind, "blocks") && l.fault.lasts == once {
			l.violation("the other radio was never looked at")
		}
		return
	}
	if late := l.reads[0] - base.reads[0]; late > time.Second && own {
		l.violation("the other radio was looked at %v late", late)
	}
	for i := 1; i < len(l.reads); i++ {
		if gap := l.reads[i] - l.reads[i-1]; gap > 250*time.Millisecond {
			l.violation("the other radio was not looked at for %v at %v", gap, l.reads[i-1])
		}
	}
}

// checkStates checks that the other radio is tuned, and so is the first one again
// if its fault has passed. One whose limits could not be written, or read back, or
// could not be used as it seemed, is looked at again after a minute only.
func (l *life) checkStates(seen []tuner.Status) {
	if l.fault == nil || number(l.fault.op.Path, 1) == l.fault.op.Path {
		return
	}
	passed := l.fault.lasts == once && l.fault.phase < reloading && !strings.HasSuffix(l.fault.op.Path, "/aql_txq_limit") && !strings.HasSuffix(l.fault.op.Path, "/phy0") && !strings.HasPrefix(l.fault.kind, "blocks")
	tuned := map[string]bool{}
	for _, s := range seen {
		tuned[s.Phy] = tuned[s.Phy] || s.State == tuner.Tuning
	}
	if !tuned["phy1"] || passed && !tuned["phy0"] {
		l.violation("not tuned: %v", states(seen))
	}
	if len(seen) != 2 && len(seen) != 1 {
		l.violation("two radios have become %d: %v", len(seen), states(seen))
	}
}

// checkLog checks what the user was told.
func (l *life) checkLog(seen []tuner.Status, stopErr error) {
	lines := map[string]int{}
	all := l.log.all()
	for _, line := range all {
		lines[line]++
		if strings.Contains(line, "panic") {
			l.violation("%s", line)
		}
	}
	for line, n := range lines {
		if n > 2 {
			l.violation("%d times: %s", n, line)
		}
	}
	if l.fault == nil {
		return
	}
	text := strings.Join(all, "\n")
	worse := stopErr != nil
	for _, s := range seen {
		worse = worse || s.Phy == "phy0" && s.State != tuner.Tuning
		text += "\n" + s.Reason
	}
	if stopErr != nil {
		text += stopErr.Error()
	}
	// A file that is not there is not in trouble: what it means is told instead.
	errno, ok := errnos[l.fault.kind]
	if worse && ok && errno != unix.ENOENT && l.fault.phase != stopping {
		base := filepath.Base(l.fault.op.Path)
		if l.fault.lasts == radio0 {
			base = "/sys/" // whatever of its files came first
		}
		// So readlink says that a file is no link, and that is told instead.
		noLink := errno == unix.EINVAL && (l.fault.lasts == radio0 || l.fault.op.Kind == treetest.Readlink)
		if !strings.Contains(text, base) || !strings.Contains(text, errno.Error()) && !noLink {
			l.violation("nothing names %s and %q; state %v, stop %v", base, errno.Error(), states(seen), stopErr)
		}
	}
}

func states(seen []tuner.Status) (s []string) {
	for _, r := range seen {
		s = append(s, r.Phy+" "+string(r.State)+" ("+r.Reason+")")
	}
	return s
}

// stateDir is a folder for the records of many lives, in memory if possible.
func stateDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "airtuned-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestSweepFaults has every operation of a daemon on two radios fail in every
// way: each distinct one, in each phase of its life, or with -faults each at
// all.
func TestSweepFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("some thousand lives")
	}
	root := stateDir(t)
	n := 0
	run := func(f *sweepFault, base *life) *life {
		n++
		l := &life{fault: f, dir: filepath.Join(root, fmt.Sprint(n))}
		if err := os.Mkdir(l.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		l.live(t, base)
		os.RemoveAll(l.dir)
		return l
	}
	base := run(nil, nil)
	if len(base.wrong) > 0 || len(base.reads) < 50 {
		t.Fatalf("without any fault: %d samples, %q", len(base.reads), base.wrong)
	}
	every := 1
	if treetest.UnderRace() {
		every = 20
	}
	nth := 0
	points := slices.DeleteFunc(slices.Clone(base.order), func(p point) bool {
		return !*allFaults && p.nth > 1
	})
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.phase, b.phase) })
	kinds := map[string]bool{}
	violations := 0
	for _, p := range points {
		var faults []sweepFault
		for _, kind := range kindsFor(p.op.Kind) {
			kinds[kind] = true
			for _, lasts := range []string{once, lasting, radio0} {
				if lasts == radio0 && (number(p.op.Path, 1) == p.op.Path || errnos[kind] == 0 && !strings.HasPrefix(kind, "blocks")) {
					continue
				}
				if !*allFaults && slices.Contains(alike[lasts], kind) {
					continue
				}
				faults = append(faults, sweepFault{p, kind, lasts})
			}
		}
		kinds["killed"] = true
		faults = append(faults, sweepFault{p, "blocks for ever", world})
		for _, f := range faults {
			if nth++; nth%every != 0 || !strings.Contains(f.String(), *onlyFaults) {
				continue
			}
			l := run(&f, base)
			if !l.hit && p.nth == 1 {
				l.violation("never came to that")
			}
			if len(l.wrong) > 0 {
				violations++
				t.Errorf("%s:\n\t%s", f, strings.Join(l.wrong, "\n\t"))
			}
		}
	}
	t.Logf("%d operations x %d kinds = %d runs, %d violations", len(points), len(kinds), n-1, violations)
}
