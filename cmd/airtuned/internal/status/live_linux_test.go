package status

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/daemon/control"
	"airtuned/tuner"
)

// pty is a terminal with the program's end and ours.
type pty struct {
	program, ours *os.File
	mu            sync.Mutex
	text          strings.Builder
}

func openPTY(t *testing.T) *pty {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	fd := int(ours.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	program, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	p := &pty{program: program, ours: ours}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := ours.Read(b)
			p.mu.Lock()
			p.text.Write(b[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { program.Close(); ours.Close() })
	return p
}

func (p *pty) seen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// await waits until what was drawn has so many of a text.
func (p *pty) await(t *testing.T, text string, n int) {
	t.Helper()
	for range 3000 {
		if strings.Count(p.seen(), text) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%q is not there %d times:\n%q", text, n, p.seen())
}

func (p *pty) termios(t *testing.T) unix.Termios {
	t.Helper()
	got, err := unix.IoctlGetTermios(int(p.program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *got
}

// daemon answers at a socket until it is ended; served counts the statuses.
func daemon(t *testing.T, socket string) (served *atomic.Int64, end func()) {
	t.Helper()
	served = new(atomic.Int64)
	quiet := slog.New(slog.DiscardHandler)
	l, err := control.Listen(socket, "", quiet)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	s := control.Server{Log: quiet, Methods: map[string]control.Method{
		"history": {Call: func(context.Context, control.Call) (any, error) {
			return map[string]any{"radios": []tuner.Past{{Path: "devices/a"}}}, nil
		}},
		"status": {Call: func(context.Context, control.Call) (any, error) {
			return Daemon{Version: "1.0", UptimeS: float64(served.Add(1)), Radios: []tuner.Status{radio(2)}}, nil
		}},
	}}
	go func() { done <- s.Serve(ctx, l) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return served, end
}

// start runs the view on a terminal.
func start(t *testing.T, p *pty, socket string) (end context.CancelFunc, ended chan error) {
	t.Helper()
	t.Setenv("TERM", "xterm")
	t.Setenv("LC_ALL", "C.UTF-8")
	ctx, cancel := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	l := Live{Follower: Follower{Socket: socket, Interval: 100 * time.Millisecond, Past: true}, Out: p.program, In: p.program}
	go func() { ended <- l.Run(ctx) }()
	return cancel, ended
}

const (
	answer = "\x1b[0n"
	left   = "\x1b[?1049l\x1b[?25h"
)

// The next frame waits until the terminal has got to the end of the last one,
// however many statuses come meanwhile; a daemon that restarts is waited for; and
// in the end the terminal is what it was.
func TestLive(t *testing.T) {
	p := openPTY(t)
	before := p.termios(t)
	socket := filepath.Join(t.TempDir(), "s")
	served, stop := daemon(t, socket)
	_, ended := start(t, p, socket)
	p.await(t, term.Ask, 1)
	if raw := p.termios(t); raw.Lflag&(unix.ICANON|unix.ECHO) != 0 {
		t.Error("keys are shown, or wait for the end of a line")
	}
	p.ours.WriteString(answer)
	p.await(t, term.Ask, 2)
	for n := served.Load() + 5; served.Load() < n; {
		time.Sleep(10 * time.Millisecond)
	}
	if n := strings.Count(p.seen(), term.Ask); n != 2 {
		t.Errorf("%d frames, the second of which has not arrived", n)
	}
	p.ours.WriteString(answer)
	p.await(t, term.Ask, 3)
	frames := strings.Split(p.seen(), term.Ask)
	if first, third := len(frames[0]), len(frames[2]); third*2 > first {
		t.Errorf("%d bytes for a frame in which little changed, %d for all of it", third, first)
	}

	stop()
	p.ours.WriteString(answer)
	p.await(t, "daemon away, retrying", 1)
	n := strings.Count(p.seen(), term.Ask)
	daemon(t, socket)
	p.ours.WriteString(answer)
	p.await(t, term.Ask, n+1)

	p.ours.WriteString(answer + "d")
	p.await(t, "d stations and charts", 1)
	p.ours.WriteString(answer + "q")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p.await(t, left, 1)
	if diff := cmp.Diff(before, p.termios(t)); diff != "" {
		t.Errorf("the terminal is another (-before +after):\n%s", diff)
	}
}

// A terminal that never answers is drawn on all the same.
func TestLiveSilent(t *testing.T) {
	p := openPTY(t)
	before := p.termios(t)
	socket := filepath.Join(t.TempDir(), "s")
	served, _ := daemon(t, socket)
	end, ended := start(t, p, socket)
	p.await(t, "q quit", 1)
	for n := served.Load() + 15; served.Load() < n; {
		time.Sleep(10 * time.Millisecond)
	}
	p.await(t, "\x1b[1H", 3)
	end() // as a signal does
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p.await(t, left, 1)
	if diff := cmp.Diff(before, p.termios(t)); diff != "" {
		t.Errorf("the terminal is another (-before +after):\n%s", diff)
	}
}

// A panic leaves the terminal as it was, too.
func TestLivePanic(t *testing.T) {
	p := openPTY(t)
	before := p.termios(t)
	l := Live{tm: term.Terminal{TTY: true, Width: 80, Height: 24}, Out: p.program, input: term.NewInput(p.program)}
	l.pace.silent = true
	func() {
		defer func() { _ = recover() }()
		if err := l.enter(); err != nil {
			t.Fatal(err)
		}
		defer l.leave()
		panic("a fault")
	}()
	p.await(t, left, 1)
	if diff := cmp.Diff(before, p.termios(t)); diff != "" {
		t.Errorf("the terminal is another (-before +after):\n%s", diff)
	}
}

func TestLiveNoDaemon(t *testing.T) {
	p := openPTY(t)
	_, ended := start(t, p, filepath.Join(t.TempDir(), "none"))
	if err := <-ended; !errors.Is(err, control.ErrUnreachable) {
		t.Errorf("got %v, want %v", err, control.ErrUnreachable)
	}
	if got := p.seen(); got != "" {
		t.Errorf("draws %q", got)
	}
}
