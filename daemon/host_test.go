//go:build !mips && !mipsle

package daemon

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"airtuned/host"
	"airtuned/tree"
	"airtuned/tuner"
)

// The machine's own loop: it puts back what an earlier run left, follows the
// configuration, and obeys the commands that name no radio.
func TestHost(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("sys/class/net/eth0/threaded", "1\n")
	put("sys/devices/system/cpu/online", "0-1\n")
	put("proc/stat", "cpu 1 0 1 8 0 0 0 0\ncpu0 1 0 1 8 0 0 0 0\ncpu1 1 0 1 8 0 0 0 0\nintr 0\n")
	put("proc/sys/kernel/random/boot_id", "boot\n")
	state := filepath.Join(root, "state")
	o := tuner.Originals{BootID: "boot", Path: tuner.HostRecord, Knobs: []tuner.Original{{Knob: "threaded/eth0", Value: "0"}}}
	if err := tuner.RecordOf(state, tuner.HostRecord).Save(&o); err != nil {
		t.Fatal(err)
	}
	env := tuner.Env{
		Sys: tree.Dir(root + "/sys"), Proc: tree.Dir(root + "/proc"), Debug: tree.Dir(root + "/debug"),
		StateDir: state, Log: slog.New(slog.DiscardHandler),
	}
	synctest.Test(t, func(t *testing.T) {
		s := start(t, env, "host: {interfaces: [eth0]}")
		want := func(state tuner.State, reason string) {
			t.Helper()
			time.Sleep(2 * host.StepEvery)
			r, err := call[struct{ Host host.Status }](s, "status", "")
			if err != nil {
				t.Fatal(err)
			}
			if r.Host.State != state || !strings.Contains(r.Host.Reason, reason) || r.Host.CPUs != 2 || len(r.Host.Changes) > 0 {
				t.Errorf("%+v, want %s, %q", r.Host, state, reason)
			}
		}
		do := func(method, params string) {
			t.Helper()
			if _, err := call[any](s, method, params); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
		want(tuner.Observing, "")
		if on, _ := os.ReadFile(root + "/sys/class/net/eth0/threaded"); !strings.HasPrefix(string(on), "0") {
			t.Errorf("threaded is %s", on)
		}
		do("hold", `{"reason":"measuring"}`)
		want(tuner.Held, "measuring")
		do("resume", "")
		want(tuner.Observing, "")
		do("restore", "")
		want(tuner.Restored, "by command")
		do("resume", "")
		want(tuner.Observing, "")
		if err := os.WriteFile(s.Config, []byte("host: {placement: off}"), 0o600); err != nil {
			t.Fatal(err)
		}
		do("reload", "")
		want(tuner.Observing, "placement: off")
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A loop that panics puts back what it has changed, and the daemon goes on.
func TestHostPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		s := start(t, tuner.Env{Sys: tree.Dir(root), Proc: tree.Dir(root), Debug: tree.Dir(root)}, "")
		if err := s.tellHost(t.Context(), func(*host.Host) { panic("a fault") }); err == nil {
			t.Error("no error of a command that panicked")
		}
		synctest.Wait()
		r, err := call[struct{ Host host.Status }](s, "status", "")
		if err != nil || r.Host.State != tuner.Held || !strings.Contains(r.Host.Reason, "failed") {
			t.Errorf("%+v, %v", r, err)
		}
		if err := s.stop(); err == nil {
			t.Error("the fault is not told at the end")
		}
	})
}
