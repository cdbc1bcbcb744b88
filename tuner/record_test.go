package tuner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"airtuned/tree"
	"airtuned/wlan"
)

// tuned is a radio that a process has tuned that is no more.
func tuned(t *testing.T) (*fakeKernel, Env, string) {
	t.Helper()
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	before := read(t, k, limitFile)
	if _, err := TuneOnce(env, detectOne(t, env, "static"), testSettings("static"), false, t0); err != nil {
		t.Fatal(err)
	}
	if read(t, k, limitFile) == before {
		t.Fatal("was not tuned")
	}
	return k, env, before
}

// Only what is certainly void is forgotten: not what cannot be looked at now.
func TestRecordIsNotLost(t *testing.T) {
	tests := map[string]func(*Env){
		"another folder for /sys": func(e *Env) { e.Sys = tree.Dir(t.TempDir()) },
		"no /sys":                 func(e *Env) { e.Sys = tree.Dir("/nowhere") },
		"no list of radios": func(e *Env) {
			const dev = "devices/platform/soc/1b500000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0"
			e.Sys = &lame{e.Sys, map[string]error{"class/ieee80211": syscall.EMFILE, dev + "/ieee80211": syscall.EMFILE}}
		},
		"an unreadable radio": func(e *Env) {
			root := t.TempDir()
			if err := os.CopyFS(root, os.DirFS(e.Sys.String())); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(root, "class/ieee80211/phy0")
			if err := errors.Join(os.Remove(link), os.Symlink("phy0", link)); err != nil {
				t.Fatal(err)
			}
			e.Sys = tree.Dir(root)
		},
		"no debugfs": func(e *Env) { e.Debug = tree.Dir("/nowhere") },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			k, env, before := tuned(t)
			spoilt := env
			spoil(&spoilt)
			if _, err := RestoreAll(spoilt, nil); err == nil {
				t.Error("no error")
			}
			if c, err := RestoreAll(env, nil); err != nil || len(c) == 0 {
				t.Errorf("afterwards: %v, %v", c, err)
			}
			if read(t, k, limitFile) != before {
				t.Error("the original values are lost")
			}
		})
	}
}

// Without /proc the boot is not known, which is no reason to forget.
func TestRecordWithoutProc(t *testing.T) {
	k, env, before := tuned(t)
	env.Proc = tree.Dir("/nowhere")
	if c, err := RestoreAll(env, nil); err != nil || len(c) == 0 || read(t, k, limitFile) != before {
		t.Errorf("%v, %v", c, err)
	}
}

// A record that cannot be used is no other radio's concern, and a dry run
// leaves even a void one alone.
func TestBadRecordOfAnother(t *testing.T) {
	k, env, before := tuned(t)
	s := newStore(env.StateDir)
	other := "devices/other"
	if err := os.WriteFile(s.file(other), []byte("\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := detectOne(t, env, "static")
	if c, err := RestoreAll(env, func(path, _ string) bool { return path == r.Path }); err != nil || len(c) == 0 {
		t.Errorf("%v, %v", c, err)
	}
	if read(t, k, limitFile) != before {
		t.Error("not restored")
	}
	if _, err := RestoreAll(env, nil); !errors.Is(err, ErrOriginals) || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("restore of all: %v", err)
	}
	// One that was put under another's name says nothing about that one.
	if err := s.save(&Originals{Version: originalsVersion, Path: other, Knobs: []Original{{limitKnob(wlan.BE), "1/1"}}}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.file(other), s.file(r.Path)); err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreAll(env, nil); !errors.Is(err, ErrOriginals) {
		t.Errorf("a record under another's name: %v", err)
	}
	void := &Originals{Version: originalsVersion, Path: r.Path, BootID: "another", Knobs: []Original{{limitKnob(wlan.BE), "1/1"}}}
	if err := s.save(void); err != nil {
		t.Fatal(err)
	}
	if _, err := TuneOnce(env, r, testSettings("static"), true, t0); err != nil {
		t.Error(err)
	}
	if o, err := s.load(r.Path); err != nil || o == nil {
		t.Errorf("a dry run removed the record: %v, %v", o, err)
	}
	if c, err := RestoreAll(env, nil); err != nil || len(c) > 0 || read(t, k, limitFile) != before {
		t.Errorf("a record of another boot: %v, %v", c, err)
	}
	if o, err := s.load(r.Path); err != nil || o != nil {
		t.Errorf("it is still there: %v, %v", o, err)
	}
}

// Who may write in the state directory cannot make us write elsewhere.
func TestLockFollowsNoLink(t *testing.T) {
	for name, plant := range map[string]func(path, victim string) error{
		"link":      func(p, v string) error { return os.Symlink(v, p) },
		"fifo":      func(p, _ string) error { return unix.Mkfifo(p, 0o666) },
		"directory": func(p, _ string) error { return os.Mkdir(p, 0o755) },
	} {
		dir := t.TempDir()
		victim := filepath.Join(dir, "victim")
		if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := plant(filepath.Join(dir, "lock"), victim); err != nil {
			t.Fatal(err)
		}
		release, err := Lock(dir)
		if err == nil {
			release()
			t.Errorf("%s: locked", name)
		}
		if b, _ := os.ReadFile(victim); string(b) != "precious" {
			t.Errorf("%s: the victim is now %q", name, b)
		}
	}
}
