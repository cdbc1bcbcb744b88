// Package report makes one text of what a bug report needs: versions, what was
// detected, the configuration, what the daemon does and did, and every file that
// finding and sensing radios reads. Addresses and names are replaced in it.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/sysfs"
	"airtuned/tree"
	"airtuned/tuner"
)

// Source is what a report is made of.
type Source struct {
	Env tuner.Env
	// Choose gives a radio's settings.
	Choose tuner.Chooser
	// Config is the configuration in force, as text.
	Config []byte
	// Etc is /etc, nil to leave the system's name out.
	Etc tree.FS
	// Versions are lines about this program.
	Versions string
	// Ask asks the daemon.
	Ask func(method string, result any) error
	// SSIDs are the networks that are known.
	SSIDs []string
	// Wait lets a time pass.
	Wait func(time.Duration)
}

const head = `airtuned report, version 1

For a bug report: read it before you attach it. Addresses are replaced by MAC-1,
IP-1, ..., names of hosts and networks by HOST-1, SSID-1, ...: the same one has
the same name throughout. An address that was made of MAC-1 is MAC-1-IP or
MAC-1-EUI. Names of interfaces and paths of devices stay.
`

// Make makes the report. What could not be had is said in its place.
func Make(s Source, now time.Time) string {
	var b strings.Builder
	b.WriteString(head)
	section := func(title string) { fmt.Fprintf(&b, "\n== %s\n\n", title) }
	object := func(v any, err error) {
		if err != nil {
			fmt.Fprintf(&b, "(%v)\n", err)
			return
		}
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			text = []byte(err.Error())
		}
		b.Write(append(text, '\n'))
	}

	section("versions")
	fmt.Fprintf(&b, "%sLinux %s, %d CPUs\n%s", s.Versions, sysfs.KernelRelease(s.Env.Proc), sysfs.CPUs(s.Env.Sys, s.Env.Proc), s.system())

	notes := &notes{files: map[string]string{}}
	env := s.Env
	env.Sys, env.Debug = notes.of(env.Sys), notes.of(env.Debug)
	section("detection")
	found, err := tuner.Detect(env, s.Choose)
	object(found, err)
	s.sense(env, found, now)

	section("configuration in force")
	b.Write(s.Config)

	section("the daemon's status")
	var status json.RawMessage
	if err := s.Ask("status", &status); err != nil {
		object(nil, err)
	} else {
		var pretty bytes.Buffer
		_ = json.Indent(&pretty, status, "", "  ")
		b.WriteString(pretty.String() + "\n")
	}

	section("the last minutes, window by window")
	var past struct {
		Radios []tuner.Past `json:"radios"`
	}
	if err := s.Ask("history", &past); err != nil {
		object(nil, err)
	}
	for _, p := range past.Radios {
		fmt.Fprintf(&b, "%s\n%s\n", p.Path, strings.Join(p.Columns, " "))
		for _, row := range p.Windows {
			fmt.Fprintln(&b, strings.Trim(fmt.Sprint(row), "[]"))
		}
	}

	section("files")
	for _, name := range slices.Sorted(maps.Keys(notes.files)) {
		fmt.Fprintf(&b, "--- %s\n%s", name, notes.files[name])
		if text := notes.files[name]; !strings.HasSuffix(text, "\n") {
			b.WriteString("\n")
		}
	}
	return s.names().replace(b.String())
}

// system is what the system calls itself.
func (s Source) system() string {
	if s.Etc == nil {
		return ""
	}
	text, _ := tree.ReadString(s.Etc, "os-release")
	for _, line := range strings.Split(text, "\n") {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(name, `"`) + "\n"
		}
	}
	return ""
}

// names are those known to be somebody's.
func (s Source) names() *names {
	n := &names{}
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		n.host(unix.ByteSliceToString(uts.Nodename[:]))
	}
	for _, file := range []string{"sys/kernel/hostname", "sys/kernel/domainname"} {
		if name, err := tree.ReadString(s.Env.Proc, file); err == nil {
			n.host(name)
		}
	}
	for _, ssid := range s.SSIDs {
		n.ssid(ssid)
	}
	return n
}

// sense lets a loop look at each radio for two windows, so that its files are
// noted. It has no place for originals and no way to write.
func (s Source) sense(env tuner.Env, found tuner.Detection, now time.Time) {
	env.StateDir = "/nonexistent"
	var loops []*tuner.Tuner
	var window time.Duration
	for _, r := range found.Radios {
		settings := s.Choose(r)
		settings.Policy, settings.ThreadedNAPI = "observe", tuner.ThreadedLeave
		window = max(window, settings.Window)
		loops = append(loops, tuner.New(env, r, settings, now))
	}
	for range 3 {
		for _, t := range loops {
			t.Step(now)
		}
		s.Wait(window)
		now = now.Add(window)
	}
}

// notes are what was read of files, by full path.
type notes struct {
	mu    sync.Mutex
	files map[string]string
}

func (n *notes) of(t tree.FS) tree.FS { return noted{t, n} }

func (n *notes) note(t tree.FS, name string, text []byte, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := string(text)
	if err != nil {
		s = "(" + err.Error() + ")"
	}
	n.files[tree.Join(t, name)] = s
}

// noted is a tree whose readings are noted and that takes no writes.
type noted struct {
	tree.FS
	n *notes
}

func (t noted) Open(name string) (tree.File, error) {
	f, err := t.FS.Open(name)
	if err != nil {
		t.n.note(t.FS, name, nil, err)
		return nil, err
	}
	return notedFile{f, t, name}, nil
}

func (t noted) CanWrite(name string) error { return tree.CanWrite(t.FS, name) }

func (t noted) Write(name string, _ []byte) error {
	return fmt.Errorf("write %s: %w", tree.Join(t.FS, name), unix.EROFS)
}

type notedFile struct {
	tree.File
	t    noted
	name string
}

func (f notedFile) ReadFresh(p []byte) (int, error) {
	n, err := f.File.ReadFresh(p)
	f.t.n.note(f.t.FS, f.name, p[:n], err)
	return n, err
}
