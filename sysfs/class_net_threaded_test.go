package sysfs

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"airtuned/tree"
)

// kernel answers writes in the place of a file system.
type kernel struct {
	tree.FS
	write func(name string, p []byte) error
}

func (k kernel) Write(name string, p []byte) error { return k.write(name, p) }

func TestThreaded(t *testing.T) {
	sys := build(t, map[string]string{
		"class/net/off/threaded":   "0\n",
		"class/net/on/threaded":    "1\n",
		"class/net/busy/threaded":  "2\n",
		"class/net/mad/threaded":   "yes\n",
		"class/net/empty/threaded": "",
		"class/net/old/type":       "1\n",
	})
	tests := []struct {
		iface string
		want  bool
		err   error // nil: any error for mad ones
		ok    bool
	}{
		{iface: "off", ok: true},
		{iface: "on", want: true, ok: true},
		{iface: "busy", want: true, ok: true},
		{iface: "mad"},
		{iface: "empty"},
		{iface: "old", err: fs.ErrNotExist},
		{iface: "gone", err: fs.ErrNotExist},
		{iface: "", err: fs.ErrInvalid},
		{iface: "..", err: fs.ErrInvalid},
		{iface: "../on", err: fs.ErrInvalid},
		{iface: "sixteen-is-more-", err: fs.ErrInvalid},
	}
	for _, tt := range tests {
		got, err := Threaded(sys, tt.iface)
		if got != tt.want || (err == nil) != tt.ok || tt.err != nil && !errors.Is(err, tt.err) {
			t.Errorf("Threaded(%q) = %v, %v", tt.iface, got, err)
		}
	}
}

func TestSetThreaded(t *testing.T) {
	refuse := func(errno error) func(tree.Dir) func(string, []byte) error {
		return func(d tree.Dir) func(string, []byte) error {
			return func(name string, p []byte) error {
				return &fs.PathError{Op: "write", Path: tree.Join(d, name), Err: errno}
			}
		}
	}
	accept := func(d tree.Dir) func(string, []byte) error { return d.Write }
	ignore := func(tree.Dir) func(string, []byte) error {
		return func(string, []byte) error { return nil }
	}
	tests := []struct {
		name    string
		on      bool
		before  string // text of the file
		kernel  func(tree.Dir) func(string, []byte) error
		threads []map[string]string
		want    error
		after   string
	}{
		{"on", true, "0", accept, []map[string]string{napiThread(64, "napi/wlan0-8193")}, nil, "1"},
		{"already on", true, "1", accept, []map[string]string{napiThread(64, "napi/wlan0-0")}, nil, "1"},
		{"off, threads stay", false, "1", accept, []map[string]string{napiThread(64, "napi/wlan0-8193")}, nil, "0"},
		{"off, threads go", false, "1", accept, nil, nil, "0"},
		{"on, no thread yet", true, "0", accept, nil, ErrThreadNotSeen, "1"},
		{"on, another's thread", true, "0", accept, []map[string]string{napiThread(64, "napi/wlan1-8193")}, ErrThreadNotSeen, "1"},
		{"on, a process", true, "0", accept, []map[string]string{pid(64, 1, process, "napi/wlan0-1")}, ErrThreadNotSeen, "1"},
		{"on, threads hidden", true, "0", accept, []map[string]string{pid(2, 1, process, "sh")}, ErrThreadNotSeen, "1"},
		{"not kept", true, "0", ignore, nil, ErrNotKept, "0"},
		{"hidden NAPI", true, "0", refuse(unix.EOPNOTSUPP), nil, ErrNoNAPI, "0"},
		{"hidden NAPI, off", false, "0", refuse(unix.EOPNOTSUPP), nil, ErrNoNAPI, "0"},
		{"no CAP_NET_ADMIN", true, "0", refuse(unix.EPERM), nil, unix.EPERM, "0"},
		{"read-only /sys", true, "0", refuse(unix.EROFS), nil, unix.EROFS, "0"},
		{"no file", true, "", accept, nil, fs.ErrNotExist, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"class/net/wlan0/type": "1\n"}
			if tt.before != "" {
				files["class/net/wlan0/threaded"] = tt.before
			}
			dir := build(t, files)
			err := SetThreaded(kernel{dir, tt.kernel(dir)}, procTree(t, tt.threads...), "wlan0", tt.on)
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("SetThreaded: %v, want %v", err, tt.want)
			}
			after, _ := os.ReadFile(string(dir) + "/class/net/wlan0/threaded")
			if string(after) != tt.after {
				t.Errorf("threaded is %q, want %q", after, tt.after)
			}
		})
	}
}

// The errno stays to be seen: callers tell permission from support by it.
func TestSetThreadedKeepsErrno(t *testing.T) {
	sys := kernel{build(t, nil), func(string, []byte) error { return unix.EOPNOTSUPP }}
	if err := SetThreaded(sys, procTree(t), "wlan0", true); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("SetThreaded: %v, want EOPNOTSUPP in it", err)
	}
	never := kernel{build(t, nil), func(name string, _ []byte) error {
		t.Errorf("wrote to %s", name)
		return nil
	}}
	if err := SetThreaded(never, procTree(t), "../../x", true); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("SetThreaded of a path: %v, want fs.ErrInvalid", err)
	}
}
