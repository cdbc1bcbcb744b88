// SPDX-License-Identifier: Apache-2.0

// Command cost tells what the loop costs, beside what others would cost who want
// the same numbers: a C program that makes the same preads, and a shell loop. All
// run in turns, on the same files in memory, so that what else the machine does
// meanwhile meets them alike. What is compared is CPU time, user and system.
//
//	cost -airtuned ./airtuned >bench.txt; benchstat bench.txt
//
// Files in memory are cheaper to read than the kernel's, which are rendered for
// each reading. With -guest, as the first process of a kernel under QEMU (see
// real.sh), it reads those of mac80211, and counts instructions.
package main

import (
	"bufio"
	"cmp"
	"embed"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/tree"
	"airtuned/tuner"
)

//go:embed contenders
var contenders embed.FS

type options struct {
	airtuned, tree, profile, policy string
	stations                        string
	rounds                          int
	idle, guest                     bool
}

func main() {
	var o options
	flag.StringVar(&o.airtuned, "airtuned", "", "the `binary`, for its memory and its start; none if empty")
	flag.StringVar(&o.tree, "tree", "testdata/trees/qca9888", "`folder` of a machine to copy")
	flag.StringVar(&o.stations, "stations", "1,8,32,128,512", "numbers of stations")
	flag.StringVar(&o.policy, "policy", "static", "policy of the loop")
	flag.IntVar(&o.rounds, "rounds", 15, "rounds in which each has its turn")
	flag.BoolVar(&o.idle, "idle", false, "no more than 8 stations are sent anything; else all are")
	flag.StringVar(&o.profile, "cpuprofile", "", "run nothing but the loop, and write its profile to `FILE`")
	flag.BoolVar(&o.guest, "guest", false, "be process 1 of a kernel with mac80211_hwsim, and read its files")
	flag.Parse()
	if o.guest {
		defer unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART) // QEMU ends, by -no-reboot
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		if !o.guest { // whose end is that of the machine
			os.Exit(1)
		}
	}
}

// samplesPerWindow is that of the default configuration: 20 ms and 200 ms.
const samplesPerWindow = 10

var settings = tuner.Settings{
	Min: 300 * time.Microsecond, Max: 12 * time.Millisecond,
	ThreadedNAPI: tuner.ThreadedLeave, PacingShift: tuner.PacingLeave,
	Sample: 20 * time.Millisecond, Window: samplesPerWindow * 20 * time.Millisecond,
}

func run(o options) error {
	settings.Policy, settings.Force = o.policy, o.guest // hwsim has no AQL
	if o.guest {
		if err := boot(); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("/dev/shm", "airtuned-cost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, contenders); err != nil {
		return err
	}
	pread := filepath.Join(dir, "pread")
	if o.guest {
		pread = "/pread"
	} else if out, err := exec.Command("gcc", "-O2", "-o", pread, filepath.Join(dir, "contenders/pread.c")).CombinedOutput(); err != nil {
		return fmt.Errorf("gcc: %w: %s", err, out)
	}
	fmt.Printf("goos: %s\ngoarch: %s\npkg: airtuned/lab/cost\n", runtime.GOOS, runtime.GOARCH)
	var summary strings.Builder
	missed := 0
	var radio *realRadio
	if o.guest {
		if radio, err = newRealRadio(); err != nil {
			return err
		}
	}
	for n := range strings.SplitSeq(o.stations, ",") {
		stations, err := strconv.Atoi(n)
		if err != nil {
			return err
		}
		var m *machine
		if o.guest {
			if err := radio.grow(stations); err != nil {
				return err
			}
			m = radio.machine()
		} else if m, err = newMachine(filepath.Join(dir, n), o.tree, stations); err != nil {
			return err
		}
		r := race{o: o, m: m, radio: radio, pread: pread, script: filepath.Join(dir, "contenders/loop.sh"), state: filepath.Join(dir, n+"-state")}
		if err := r.run(os.Stdout); err != nil {
			return err
		}
		missed += r.judge(&summary)
	}
	if o.airtuned != "" && o.profile == "" {
		n, err := daemon(o, dir, os.Stdout, &summary)
		if err != nil {
			return err
		}
		missed += n
	}
	for line := range strings.Lines(summary.String()) {
		fmt.Print("# ", line)
	}
	if missed > 0 {
		return fmt.Errorf("%d bars missed", missed)
	}
	return nil
}

// race lets all contenders read the files of one machine.
type race struct {
	o                    options
	m                    *machine
	radio                *realRadio // nil if it is made of files
	pread, script, state string

	loop, preads, numbers, shell []float64 // ns per sample, by round
	dump, single                 []float64 // ns for all stations, by round
	allocs, rescan               float64
}

func (r *race) run(out io.Writer) error {
	l, err := newLoop(r.m, r.o, r.state)
	if err != nil {
		return err
	}
	stations := len(r.m.stations)
	windows := max(20, 1000/stations)
	l.step(30 * samplesPerWindow) // until it has settled, and its buffers have grown
	if r.o.profile != "" {
		f, err := os.Create(r.o.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		for range r.o.rounds {
			l.step(windows * samplesPerWindow)
		}
		return nil
	}
	r.allocs, r.rescan = l.allocations()
	preads, err := r.start()
	if err != nil {
		return err
	}
	defer preads.stop()
	numbers, err := r.start("-n")
	if err != nil {
		return err
	}
	defer numbers.stop()
	print := func(by string, samples int, ns float64, more string) {
		fmt.Fprintf(out, "BenchmarkSample/stations=%d/by=%s\t%d\t%.0f ns/op%s\n", stations, by, samples, ns, more)
	}
	samples := windows * samplesPerWindow
	for round := range r.o.rounds + 1 {
		from := cpu()
		l.step(samples)
		loop := float64(cpu()-from) / float64(samples)
		p, err := preads.read(windows)
		if err != nil {
			return err
		}
		n, err := numbers.read(windows)
		if err != nil {
			return err
		}
		if r.radio != nil {
			dump, single, err := r.radio.netlinkCost()
			if err != nil {
				return err
			}
			if round > 0 {
				r.dump, r.single = append(r.dump, dump), append(r.single, single)
				fmt.Fprintf(out, "BenchmarkStations/stations=%d/by=netlink-dump\t1\t%.0f ns/op\nBenchmarkStations/stations=%d/by=netlink-one-by-one\t1\t%.0f ns/op\n",
					stations, dump, stations, single)
			}
		}
		const shellSamples = 2 * samplesPerWindow
		s, err := r.runShell(shellSamples)
		if err != nil {
			return err
		}
		if round == 0 {
			continue // everything was cold
		}
		r.loop, r.preads, r.numbers, r.shell = append(r.loop, loop), append(r.preads, p), append(r.numbers, n), append(r.shell, s)
		print("airtuned", samples, loop, fmt.Sprintf("\t%.0f allocs/op", r.allocs))
		print("c-preads", samples, p, "")
		print("c-preads-and-numbers", samples, n, "")
		print("shell", shellSamples, s, "")
	}
	return nil
}

// cpu is what this process used so far, of all threads, in ns.
func cpu() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// loop is the loop of the machine's radio, on made-up time.
type loop struct {
	t   *tuner.Tuner
	now time.Time
}

func newLoop(m *machine, o options, state string) (*loop, error) {
	active := len(m.stations)
	if o.idle {
		active = min(active, 8)
	}
	env := tuner.Env{
		Sys: tree.Dir(m.dir + "/sys"), Proc: tree.Dir(m.dir + "/proc"),
		Debug:    kernel{tree.Dir(strings.TrimSuffix(m.phy, "/"+phyDir)), active, m.real},
		StateDir: state, Log: slog.New(slog.DiscardHandler),
	}
	d, err := tuner.Detect(env, func(tuner.Radio) tuner.Settings { return settings })
	if err != nil {
		return nil, err
	}
	l := &loop{now: time.Unix(1_700_000_000, 0)}
	l.t = tuner.New(env, d.Radios[0], settings, l.now)
	l.step(20 * samplesPerWindow)
	s := l.t.Status()
	if want := (tuner.State(tuner.Tuning)); s.State != want && o.policy != "observe" || len(s.Stations) != len(m.stations) {
		return nil, fmt.Errorf("the loop is %s (%s) with %d stations", s.State, s.Reason, len(s.Stations))
	}
	return l, nil
}

func (l *loop) step(n int) {
	for range n {
		l.now = l.now.Add(settings.Sample)
		l.t.Step(l.now)
	}
}

// allocations is how many there are in a sample, and in one that begins with a new
// look at who is there: that is one of every hundred (and a rest of two).
func (l *loop) allocations() (steady, rescan float64) {
	var counts []uint64
	var m runtime.MemStats
	for range 1000 {
		runtime.ReadMemStats(&m)
		before := m.Mallocs
		l.step(1)
		runtime.ReadMemStats(&m)
		counts = append(counts, m.Mallocs-before)
	}
	slices.Sort(counts)
	for _, n := range counts[:980] {
		steady += float64(n)
	}
	return steady / 980, float64(counts[995])
}

// preads is the C program at work.
type preads struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (r *race) start(flags ...string) (*preads, error) {
	args := append(flags, strconv.Itoa(samplesPerWindow))
	add := func(dir string, files []string) {
		for _, f := range files {
			if f = filepath.Join(dir, f); tree.Exists(tree.Dir(filepath.Dir(f)), filepath.Base(f)) {
				args = append(args, f)
			}
		}
	}
	add(r.m.phy, fast)
	args = append(args, "--")
	add(r.m.phy, slow)
	for _, dir := range r.m.stations {
		add(dir, perStation)
	}
	p := &preads{cmd: exec.Command(r.pread, args...)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// read has it read windows, and returns the ns of CPU that each sample took.
func (p *preads) read(windows int) (float64, error) {
	if _, err := fmt.Fprintln(p.in, windows); err != nil {
		return 0, err
	}
	var ns float64
	if _, err := fmt.Fscanln(p.out, &ns); err != nil {
		return 0, fmt.Errorf("pread: %w", err)
	}
	return ns / float64(windows*samplesPerWindow), nil
}

func (p *preads) stop() {
	p.in.Close()
	_ = p.cmd.Wait()
}

// runShell runs the shell loop, with all of its children.
func (r *race) runShell(samples int) (float64, error) {
	cmd := exec.Command("sh", r.script, r.m.phy, strconv.Itoa(samples), strconv.Itoa(samplesPerWindow))
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", r.script, err, out)
	}
	return float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / float64(samples), nil
}

// The bars. Those of CPU are for these numbers of stations. That of the preads is
// for the kernel's own files: a pread of a file in memory costs next to nothing. That
// of the shell is for files in memory: of the kernel's, both spend their time in the
// kernel.
const (
	maxPreads   = 1.5
	minShell    = 20
	maxRSSBytes = 12_000_000
)

var barsAt = []int{1, 128}

// judge says how the loop did, and returns how many bars it missed.
func (r *race) judge(out io.Writer) (missed int) {
	if r.o.profile != "" {
		return 0
	}
	stations := len(r.m.stations)
	preads, numbers, shell := ratio(r.loop, r.preads), ratio(r.loop, r.numbers), ratio(r.shell, r.loop)
	verdict := ""
	if slices.Contains(barsAt, stations) {
		held := r.allocs == 0
		verdict = "; no allocations"
		if r.radio != nil {
			verdict += fmt.Sprintf(", at most %g x the preads", maxPreads)
			held = held && preads <= maxPreads
		} else {
			verdict += fmt.Sprintf(", the shell at least %d x", minShell)
			held = held && shell >= minShell
		}
		if held {
			verdict += ": held"
		} else {
			verdict += ": MISSED"
			missed = 1
		}
	}
	fmt.Fprintf(out, "%3d stations: %.1f us a sample (%.2f %% of a CPU), %.2f x the preads in C, %.2f x with numbers; the shell is %.0f x; %g allocations, %.0f at a rescan%s\n",
		stations, median(r.loop)/1000, median(r.loop)/float64(settings.Sample)*100, preads, numbers, shell, r.allocs, r.rescan, verdict)
	if len(r.dump) > 0 {
		fmt.Fprintf(out, "%3d stations by netlink: %.0f us in one dump, %.1f x that one by one\n", stations, median(r.dump)/1000, ratio(r.single, r.dump))
	}
	return missed
}

// ratio is the median of the rounds' ratios.
func ratio(a, b []float64) float64 {
	q := make([]float64, len(a))
	for i := range a {
		q[i] = a[i] / b[i]
	}
	return median(q)
}

func median[T cmp.Ordered](s []T) T {
	s = slices.Sorted(slices.Values(s))
	return s[len(s)/2]
}
