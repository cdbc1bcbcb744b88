package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/daemon/control"
	"airtuned/tree"
	"airtuned/tuner"
)

// eventually waits for something to become true. Its patience is for a loaded
// machine and no measure of anything.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain: %s", what)
}

// journal is a log that a test can read.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) has(text string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Contains(j.b.String(), text)
}

// manager is the service manager's end of sd_notify.
type manager struct {
	conn *net.UnixConn
}

func newManager(t *testing.T) manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "200000")
	return manager{conn}
}

// waitFor returns the next message that starts with text.
func (m manager) waitFor(t *testing.T, text string) string {
	t.Helper()
	_ = m.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	b := make([]byte, 4096)
	for {
		n, err := m.conn.Read(b)
		if err != nil {
			t.Fatalf("no %s: %v", text, err)
		}
		if s := string(b[:n]); strings.HasPrefix(s, text) {
			return s
		}
	}
}

// TestRun is the daemon as a service: with its socket, signals, the service
// manager, and a configuration that changes.
func TestRun(t *testing.T) {
	m := newManager(t)
	const dir = "../testdata/trees/qca9984-two-radios"
	// No sandbox: the other tests could not leave it.
	log := &journal{}
	o := Options{
		Env: tuner.Env{
			Sys: tree.Dir(dir + "/sys"), Debug: tree.Dir(dir + "/debug"), Proc: tree.Dir(dir + "/proc"),
			StateDir: t.TempDir(), Log: slog.New(slog.NewTextHandler(log, nil)),
		},
		Config:  writeConfig(t, "socket: {group: no-such-group}\nsandbox: false\n"+observe),
		Socket:  filepath.Join(t.TempDir(), "run", "a.sock"),
		Version: "1.2.3",
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()

	ready := m.waitFor(t, "READY=1")
	if !strings.Contains(ready, "STATUS=phy0 observing") {
		t.Errorf("got %q", ready)
	}
	c, err := control.Dial(o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var status statusResult
	if err := c.Call(t.Context(), "status", nil, &status); err != nil || len(status.Radios) != 2 || status.Version != "1.2.3" {
		t.Errorf("got status %+v, %v", status, err)
	}
	m.waitFor(t, "WATCHDOG=1")

	if err := Run(t.Context(), o); !errors.Is(err, ErrRunning) {
		t.Errorf("a second daemon: got %v, want %v", err, ErrRunning)
	}

	if err := unix.Kill(os.Getpid(), unix.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if got := m.waitFor(t, "RELOADING=1"); !strings.Contains(got, "\nMONOTONIC_USEC=") {
		t.Errorf("got %q", got)
	}
	m.waitFor(t, "READY=1")

	// An editor writes a new file and renames it over the old one.
	replace := func(text string) {
		t.Helper()
		if err := os.WriteFile(o.Config+"~", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(o.Config+"~", o.Config); err != nil {
			t.Fatal(err)
		}
	}
	replace("socket: {group: no-such-group}\nsandbox: false\nradios: [{policy: obsrve}]")
	eventually(t, "the bad file is refused", func() bool { return log.has(`unknown policy \"obsrve\"`) })
	replace("socket: {group: no-such-group}\nsandbox: false\nloop: {sample: 50ms}\n" + observe)
	eventually(t, "the good file is taken over", func() bool { return log.has(`why="the file changed"`) })

	cancel()
	m.waitFor(t, "STOPPING=1")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(o.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	var later json.RawMessage
	if err := c.Call(t.Context(), "status", nil, &later); !errors.Is(err, control.ErrUnreachable) {
		t.Errorf("a call after the end: got %v", err)
	}
}

// TestPutWatches goes through what the kernel does to directories in debugfs.
func TestPutWatches(t *testing.T) {
	root := t.TempDir()
	mkdir := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w, err := fsnotify.NewBufferedWatcher(256)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	// seen waits for an event about a path below root.
	seen := func(name string) {
		t.Helper()
		timeout := time.After(20 * time.Second)
		for {
			select {
			case e := <-w.Events:
				if e.Name == filepath.Join(root, name) {
					return
				}
			case <-timeout:
				t.Fatalf("no event about %s; watched: %q", name, w.WatchList())
			}
		}
	}
	put := func(want ...string) {
		t.Helper()
		if err := putWatches(w, root); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, path := range w.WatchList() {
			rel, _ := filepath.Rel(root, path)
			got = append(got, rel)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("watches (-want +got):\n%s", diff)
		}
	}

	mkdir("phy0/netdev:wlan0/stations")
	mkdir("phy0/ath10k")
	put(".", "phy0", "phy0/netdev:wlan0", "phy0/netdev:wlan0/stations")
	mkdir("phy0/netdev:wlan0/stations/02:00:00:00:00:01")
	seen("phy0/netdev:wlan0/stations/02:00:00:00:00:01")

	// hostapd starts: the interface's directory is made anew.
	if err := os.RemoveAll(filepath.Join(root, "phy0/netdev:wlan0")); err != nil {
		t.Fatal(err)
	}
	mkdir("phy0/netdev:wlan0/stations")
	seen("phy0/netdev:wlan0")
	eventually(t, "the old watch is gone", func() bool {
		for len(w.Events) > 0 {
			<-w.Events
		}
		return !slices.Contains(w.WatchList(), filepath.Join(root, "phy0/netdev:wlan0/stations"))
	})
	put(".", "phy0", "phy0/netdev:wlan0", "phy0/netdev:wlan0/stations")
	mkdir("phy0/netdev:wlan0/stations/02:00:00:00:00:02")
	seen("phy0/netdev:wlan0/stations/02:00:00:00:00:02")

	// The wiphy and the interface are renamed.
	for _, names := range [][2]string{{"phy0/netdev:wlan0", "phy0/netdev:ap0"}, {"phy0", "wl0"}} {
		if err := os.Rename(filepath.Join(root, names[0]), filepath.Join(root, names[1])); err != nil {
			t.Fatal(err)
		}
		seen(names[1])
	}
	put(".", "wl0", "wl0/netdev:ap0", "wl0/netdev:ap0/stations")
	mkdir("wl0/netdev:ap0/stations/02:00:00:00:00:03")
	seen("wl0/netdev:ap0/stations/02:00:00:00:00:03")

	for path, want := range map[string]struct {
		phy   string
		depth int
	}{
		"":                                 {"", 0},
		"phy0":                             {"phy0", 1},
		"wl0/netdev:ap0/stations/02:00:00": {"wl0", stationDepth},
	} {
		if phy, depth := phyOf(root, filepath.Join(root, path)); phy != want.phy || depth != want.depth {
			t.Errorf("phyOf(%q): got %q, %d; want %+v", path, phy, depth, want)
		}
	}
}
