package daemon

import (
	"log/slog"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtuned/tree"
	"airtuned/tuner"
)

// Where nothing can be watched, for want of files here, the searches and the
// loops' own looks must do. It is said once for each watch.
func TestNothingCanBeWatched(t *testing.T) {
	var log logged
	file := writeConfig(t, observe)
	d, err := newDaemon(Options{
		Env: tuner.Env{
			Debug: tree.Dir(t.TempDir()),
			Log:   slog.New(slog.NewTextHandler(&log, nil)),
		},
		Config: file,
	})
	if err != nil {
		t.Fatal(err)
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	debugErr, configErr := d.watchDebugfs(t.Context()), d.watchConfig(t.Context())
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if debugErr != nil || configErr != nil {
		t.Errorf("a watch ended the daemon: %v, %v", debugErr, configErr)
	}
	lines := log.all()
	if len(lines) != 2 || !strings.Contains(lines[0], "too many open files") || !strings.Contains(lines[1], "too many open files") {
		t.Errorf("log:\n%s", strings.Join(lines, "\n"))
	}
}
