package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/daemon/control"
	"airtuned/debugfs"
	"airtuned/nl80211"
	"airtuned/radiosim"
	"airtuned/tree"
	"airtuned/tuner"
	"airtuned/wlan"
)

// system is a daemon on a system of a test's making.
type system struct {
	*daemon
	t       *testing.T
	methods map[string]control.Method
	cancel  context.CancelFunc
	ended   chan error
}

// writeConfig writes a configuration file and returns its name.
func writeConfig(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "airtuned.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// start runs a daemon without sockets, signals and watches, which have no
// place in a bubble. It is stopped at the end of the test at the latest.
func start(t *testing.T, env tuner.Env, config string) *system {
	t.Helper()
	return startWith(t, env, config, func(*Options) {})
}

// startWith is start with other options.
func startWith(t *testing.T, env tuner.Env, config string, change func(*Options)) *system {
	t.Helper()
	if env.StateDir == "" {
		env.StateDir = t.TempDir()
	}
	env.Log = slog.New(slog.DiscardHandler)
	o := Options{Env: env, Config: writeConfig(t, config), Version: "test"}
	change(&o)
	d, err := newDaemon(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &system{d, t, d.methods(), cancel, make(chan error, 1)}
	go func() { s.ended <- d.run(ctx) }()
	synctest.Wait()
	return s
}

func (s *system) stop() error {
	s.cancel()
	return <-s.ended
}

// call calls a method as root and decodes its result into T.
func call[T any](s *system, method, params string) (T, error) {
	var out T
	result, err := s.methods[method].Call(s.t.Context(), control.Call{Params: json.RawMessage(params), MayChange: true})
	if err != nil {
		return out, err
	}
	b, err := json.Marshal(result)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		s.t.Fatal(err)
	}
	return out, nil
}

type statusResult struct {
	Version string
	UptimeS float64 `json:"uptime_s"`

	ConfigError string `json:"config_error"`
	Radios      []tuner.Status
}

func (s *system) status() statusResult {
	s.t.Helper()
	r, err := call[statusResult](s, "status", "")
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// wantState checks the state of the only radio.
func (s *system) wantState(want tuner.State) {
	s.t.Helper()
	r := s.status().Radios
	if len(r) != 1 || r[0].State != want {
		s.t.Fatalf("got %+v, want one radio, %s", r, want)
	}
}

// simulate returns a system with a simulated radio that follows the bubble's
// clock.
func simulate(t *testing.T) (*radiosim.Sim, tuner.Env) {
	t.Helper()
	sc, err := radiosim.Lookup("one-fast")
	if err != nil {
		t.Fatal(err)
	}
	sim := radiosim.New(sc, radiosim.Options{Seed: 1})
	started := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				sim.Advance(radiosim.Epoch.Add(time.Since(started)))
			}
		}
	}()
	return sim, tuner.Env{Sys: sim.Sys(), Debug: sim.Debug(), Proc: sim.Proc()}
}

// limits reads the limits that a radio has.
func limits(t *testing.T, debug tree.FS, phy string) wlan.Limits {
	t.Helper()
	l, err := debugfs.NewPhy(debug, phy).AQLTxqLimit()
	if err != nil {
		t.Fatal(err)
	}
	return wlan.Limits{AC: l.Limits}
}

const static = "radios: [{policy: static}]"

func TestTunesAndRestores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, env := simulate(t)
		before := limits(t, sim.Debug(), "phy0")
		s := start(t, env, static)
		time.Sleep(3 * time.Second)
		s.wantState(tuner.Tuning)
		if diff := cmp.Diff(before, limits(t, sim.Debug(), "phy0")); diff == "" {
			t.Error("no limit was changed")
		}
		got := s.status()
		if got.Version != "test" || got.UptimeS != 3 || got.Radios[0].ThroughputKbps == 0 {
			t.Errorf("got status %+v", got)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, limits(t, sim.Debug(), "phy0")); diff != "" {
			t.Errorf("not restored (-want +got):\n%s", diff)
		}
		s.wantState(tuner.Restored)
	})
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, env := simulate(t)
		before := limits(t, sim.Debug(), "phy0")
		s := start(t, env, static)
		time.Sleep(3 * time.Second)

		if _, err := call[struct{}](s, "hold", `{"radio":"phy0","reason":"because"}`); err != nil {
			t.Error(err)
		}
		s.wantState(tuner.Held)
		if got := s.status().Radios[0].Reason; got != "because" {
			t.Errorf("got reason %q", got)
		}
		got, err := call[changes](s, "restore", `{"radio":"wlan0"}`)
		if err != nil || len(got.Changes) == 0 {
			t.Errorf("restore: got %+v, %v", got, err)
		}
		s.wantState(tuner.Restored)
		if diff := cmp.Diff(before, limits(t, sim.Debug(), "phy0")); diff != "" {
			t.Errorf("not restored (-want +got):\n%s", diff)
		}
		if _, err := call[struct{}](s, "resume", ``); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		s.wantState(tuner.Tuning)

		got, err = call[changes](s, "tune", `{"policy":"kernel-default","dry_run":true}`)
		if err != nil || len(got.Changes) == 0 || got.Changes[0].Result != tuner.Planned {
			t.Errorf("tune: got %+v, %v", got, err)
		}
		s.wantState(tuner.Tuning)

		type policyResult struct {
			Radios []struct{ Phy, Policy string }
		}
		p, err := call[policyResult](s, "policy", `{"policy":"observe"}`)
		if err != nil || len(p.Radios) != 1 || p.Radios[0].Policy != "observe" || p.Radios[0].Phy != "phy0" {
			t.Errorf("policy: got %+v, %v", p, err)
		}
		time.Sleep(time.Second)
		s.wantState(tuner.Observing)
		if got := s.status().Radios[0].Policy; got != "observe" {
			t.Errorf("got policy %q in status", got)
		}
		if _, err := s.methods["policy"].Call(t.Context(), control.Call{Params: json.RawMessage(`{"policy":"static"}`)}); !errors.Is(err, control.ErrDenied) {
			t.Errorf("a change by somebody who may not: got %v", err)
		}
		if _, err := s.methods["policy"].Call(t.Context(), control.Call{}); err != nil {
			t.Errorf("reading the policy: got %v", err)
		}

		for method, want := range map[string]struct {
			params string
			code   int
		}{
			"hold":   {`{"radio":"phy7"}`, control.CodeNoRadio},
			"tune":   {`{"policy":"fast"}`, control.CodeParams},
			"resume": {`{"rdio":"phy0"}`, control.CodeParams},
			"status": {`{"radio":"phy0"}`, control.CodeParams},
		} {
			_, err := call[struct{}](s, method, want.params)
			var e *control.Error
			if !errors.As(err, &e) || e.Code != want.code {
				t.Errorf("%s %s: got %v, want code %d", method, want.params, err, want.code)
			}
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env := simulate(t)
		s := start(t, env, static)
		time.Sleep(3 * time.Second)
		s.wantState(tuner.Tuning)
		if _, err := call[struct{}](s, "policy", `{"policy":"dql"}`); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(s.Config, []byte("radios: [{policy: fast}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := call[struct{}](s, "reload", ``)
		var e *control.Error
		if !errors.As(err, &e) || e.Code != control.CodeConfiguration || !strings.HasPrefix(e.Message, s.Config+":1:19: unknown policy") {
			t.Errorf("a bad file: got %v", err)
		}
		time.Sleep(time.Second)
		if got := s.status().Radios[0].Policy; got != "dql" {
			t.Errorf("a bad file changed the policy to %s", got)
		}
		if got := s.status().ConfigError; got != e.Message {
			t.Errorf("status says %q of the bad file, want %q", got, e.Message)
		}

		if err := os.WriteFile(s.Config, []byte("loop: {sample: 50ms}\nradios: [{policy: observe}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := call[struct{}](s, "reload", ``); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if got := s.status().Radios[0].Policy; got != "observe" {
			t.Errorf("after a reload the policy is %s", got)
		}
		if got := s.status().ConfigError; got != "" {
			t.Errorf("status says %q of a good file", got)
		}
		s.wantState(tuner.Observing)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestComesAndGoes follows a radio through a life without any event: the
// searches alone must do.
func TestComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, env := simulate(t)
		sim.RemoveRadio()
		s := start(t, env, static)
		time.Sleep(time.Second)
		if got := s.status().Radios; len(got) != 0 {
			t.Fatalf("got %+v, want no radio", got)
		}
		if got := s.summary(t.Context()); got != "waiting for a radio" {
			t.Errorf("got summary %q", got)
		}
		sim.ReturnRadio()
		time.Sleep(10 * time.Second)
		s.wantState(tuner.Tuning)
		before := s.all()[0]

		phy := s.status().Radios[0].Phy
		sim.RenamePhy("radio0")
		time.Sleep(10 * time.Second)
		s.wantState(tuner.Tuning)
		if got := s.status().Radios[0].Phy; got != "radio0" {
			t.Errorf("%s is now called %s, want radio0", phy, got)
		}
		if s.all()[0] != before {
			t.Error("a new name got the radio a new loop")
		}

		sim.RemoveRadio()
		time.Sleep(10 * time.Second)
		s.wantState(tuner.Gone)
		sim.ReturnRadio()
		time.Sleep(10 * time.Second)
		s.wantState(tuner.Tuning)

		sim.RemoveRadio()
		time.Sleep(keepGone + 2*searchEvery)
		if got := s.status().Radios; len(got) != 0 {
			t.Errorf("got %+v, want the radio forgotten", got)
		}
		sim.ReturnRadio()
		time.Sleep(10 * time.Second)
		s.wantState(tuner.Tuning)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(wlan.KernelDefault.AC, limits(t, sim.Debug(), s.status().Radios[0].Phy).AC); diff != "" {
			t.Errorf("not restored (-want +got):\n%s", diff)
		}
	})
}

func TestCrashRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sim, env := simulate(t)
		before := limits(t, sim.Debug(), "phy0")
		env.StateDir = t.TempDir()
		env.Log = slog.New(slog.DiscardHandler)
		settings := tuner.Settings{
			Policy: "static", Min: time.Millisecond, Max: 12 * time.Millisecond,
			Sample: 20 * time.Millisecond, Window: 200 * time.Millisecond,
		}
		d, err := tuner.Detect(env, func(tuner.Radio) tuner.Settings { return settings })
		if err != nil {
			t.Fatal(err)
		}
		// What a daemon that was killed leaves: changed limits and the record.
		if _, err := tuner.TuneOnce(env, d.Radios[0], settings, false, time.Now()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, limits(t, sim.Debug(), "phy0")); diff == "" {
			t.Fatal("nothing was left to recover")
		}
		s := start(t, env, "radios: [{policy: observe}]")
		time.Sleep(time.Second)
		if diff := cmp.Diff(before, limits(t, sim.Debug(), "phy0")); diff != "" {
			t.Errorf("not restored (-want +got):\n%s", diff)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// moody is a tree some of whose files misbehave.
type moody struct {
	tree.FS
	mu   sync.Mutex
	mood map[string]func() // by prefix of names; called before each access
}

func (m *moody) set(prefix string, f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mood[prefix] = f
}

func (m *moody) do(name string) {
	m.mu.Lock()
	var f func()
	for prefix, g := range m.mood {
		if strings.HasPrefix(name, prefix) {
			f = g
		}
	}
	m.mu.Unlock()
	if f != nil {
		f()
	}
}

type moodyFile struct {
	tree.File
	do func()
}

func (f moodyFile) ReadFresh(p []byte) (int, error) {
	f.do()
	return f.File.ReadFresh(p)
}

func (m *moody) Open(name string) (tree.File, error) {
	m.do(name)
	f, err := m.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return moodyFile{f, func() { m.do(name) }}, nil
}

func (m *moody) Write(name string, p []byte) error {
	m.do(name)
	return m.FS.Write(name, p)
}

// twoRadios is a system of two radios, phy0 and phy1, that are only observed.
func twoRadios() (*moody, tuner.Env) {
	const dir = "../testdata/trees/qca9984-two-radios"
	m := &moody{FS: tree.Dir(dir + "/debug"), mood: map[string]func(){}}
	return m, tuner.Env{Sys: tree.Dir(dir + "/sys"), Debug: m, Proc: tree.Dir(dir + "/proc")}
}

const observe = "radios: [{policy: observe, threaded_napi: leave}]"

func byPhy(t *testing.T, r statusResult, phy string) tuner.Status {
	t.Helper()
	for _, s := range r.Radios {
		if s.Phy == phy {
			return s
		}
	}
	t.Fatalf("no %s in %+v", phy, r)
	panic("unreachable")
}

func TestBlockedRadio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, env := twoRadios()
		s := start(t, env, observe)
		time.Sleep(time.Second)
		if got := s.status(); len(got.Radios) != 2 {
			t.Fatalf("got %+v, want two radios", got)
		}

		release := make(chan struct{})
		m.set("ieee80211/phy0/", func() { <-release })
		time.Sleep(7 * time.Second)
		asked := time.Now()
		got := s.status()
		if d := time.Since(asked); d > askWithin {
			t.Errorf("a status took %v", d)
		}
		blocked, fine := byPhy(t, got, "phy0"), byPhy(t, got, "phy1")
		if blocked.State != tuner.Held || !strings.HasPrefix(blocked.Reason, "not answering for 7s") {
			t.Errorf("blocked radio: %s, %s", blocked.State, blocked.Reason)
		}
		if fine.State != tuner.Observing {
			t.Errorf("the other radio: %s, %s", fine.State, fine.Reason)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.methods["hold"].Call(ctx, control.Call{MayChange: true})
		var e *control.Error
		if !errors.As(err, &e) || e.Code != control.CodeBusy {
			t.Errorf("hold: got %v, want code %d", err, control.CodeBusy)
		}
		if got := byPhy(t, s.status(), "phy1"); got.State != tuner.Held {
			t.Errorf("the other radio was not held: %s", got.State)
		}

		time.Sleep(2 * hungAfter)
		if !s.alive() {
			t.Error("one hung radio was held against the whole daemon")
		}
		m.set("ieee80211/phy1/", func() { <-release })
		time.Sleep(hungAfter + 5*time.Second)
		if s.alive() {
			t.Error("all radios hang and the watchdog is fed")
		}
		m.set("ieee80211/phy1/", nil)
		m.set("ieee80211/phy0/", nil)
		close(release)
		time.Sleep(time.Second)
		if !s.alive() {
			t.Error("the radios came back and the watchdog is not fed")
		}
		if got := byPhy(t, s.status(), "phy0"); strings.HasPrefix(got.Reason, "not answering") {
			t.Errorf("after it came back: %s, %s", got.State, got.Reason)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestStopWithBlockedRadio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, env := twoRadios()
		s := start(t, env, observe)
		time.Sleep(time.Second)
		release := make(chan struct{})
		defer close(release)
		m.set("ieee80211/phy0/", func() { <-release })
		time.Sleep(time.Second)
		asked := time.Now()
		err := s.stop()
		if d := time.Since(asked); d > 2*stopWithin {
			t.Errorf("stopping took %v", d)
		}
		if err == nil || !strings.Contains(err.Error(), "is blocked") || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want one radio blocked", err)
		}
	})
}

func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, env := twoRadios()
		s := start(t, env, observe)
		time.Sleep(time.Second)
		m.set("ieee80211/phy0/aql", func() { panic("boom") })
		time.Sleep(time.Second)
		got := s.status()
		broken, fine := byPhy(t, got, "phy0"), byPhy(t, got, "phy1")
		if broken.State != tuner.Held || broken.Reason != errFault.Error() {
			t.Errorf("the radio that failed: %s, %s", broken.State, broken.Reason)
		}
		if fine.State != tuner.Observing {
			t.Errorf("the other radio: %s, %s", fine.State, fine.Reason)
		}
		if _, err := call[struct{}](s, "hold", `{"radio":"phy0"}`); err == nil || !strings.Contains(err.Error(), errFault.Error()) {
			t.Errorf("hold: got %v", err)
		}
		m.set("ieee80211/phy0/aql", nil)
		if _, err := call[struct{}](s, "resume", ``); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if got := byPhy(t, s.status(), "phy0"); got.State != tuner.Observing {
			t.Errorf("after resume: %s, %s", got.State, got.Reason)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestEvents checks which radio an event reaches.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env := twoRadios()
		s := start(t, env, observe)
		time.Sleep(time.Second)
		s.cancel() // the loops would take the events out of the queues
		<-s.ended
		radios := s.all()
		radios[0].seen = place{"phy0", 0, map[int]string{3: "wlan0"}}
		radios[1].seen = place{"phy1", 1, map[int]string{4: "wlan1"}}
		tests := []struct {
			event nl80211.Event
			want  [2]int
		}{
			{nl80211.Event{Kind: nl80211.ScanStarted, Wiphy: 1, IfIndex: 4}, [2]int{0, 1}},
			{nl80211.Event{Kind: nl80211.StationAdded, Wiphy: -1, IfIndex: 3}, [2]int{1, 0}},
			{nl80211.Event{Kind: nl80211.ChannelSwitch, Wiphy: -1, IfIndex: 9}, [2]int{0, 0}},
			{nl80211.Event{Kind: nl80211.RegChanged, Wiphy: 0}, [2]int{0, 0}},
		}
		for _, tt := range tests {
			s.take(tt.event)
			got := [2]int{len(radios[0].events), len(radios[1].events)}
			if got != tt.want {
				t.Errorf("%+v: got %v, want %v", tt.event, got, tt.want)
			}
			for _, r := range radios {
				for len(r.events) > 0 {
					<-r.events
				}
				r.look.Store(false)
			}
		}
		// A flood never blocks, and is not lost without a trace.
		for range 100 {
			s.take(nl80211.Event{Kind: nl80211.StationAdded, Wiphy: -1, IfIndex: 3})
		}
		if !radios[0].look.Load() || radios[1].look.Load() {
			t.Errorf("after a flood: look %v, %v; want true, false", radios[0].look.Load(), radios[1].look.Load())
		}
		radios[0].look.Store(false)
		s.take(nl80211.Event{Kind: nl80211.Resync, Wiphy: -1})
		if !radios[0].look.Load() || !radios[1].look.Load() || len(s.search) != 1 {
			t.Error("a resync did not make everybody look")
		}
	})
}

func TestBadConfigAtStart(t *testing.T) {
	env := tuner.Env{Log: slog.New(slog.DiscardHandler), StateDir: t.TempDir()}
	if err := Run(t.Context(), Options{Env: env, Config: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: got %v", err)
	}
}

// TestTurnAllocatesNothing keeps what is around a sample as free of garbage as
// the sample itself.
func TestTurnAllocatesNothing(t *testing.T) {
	r := newRadio(tuner.Env{Log: slog.New(slog.DiscardHandler)}, tuner.Radio{}, tuner.Settings{})
	if n := testing.AllocsPerRun(100, func() { r.turn(r.step) }); n != 0 {
		t.Errorf("got %v allocations per turn, want 0", n)
	}
}
