package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var inTmux = flag.Bool("tmux", false, "run the tests that need tmux")

// screen is a terminal in tmux with a shell in it.
type screen struct {
	t      *testing.T
	socket string
}

func newScreen(t *testing.T, width, height int, env ...string) *screen {
	t.Helper()
	s := &screen{t, filepath.Join(t.TempDir(), "tmux")}
	args := []string{"-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height)}
	for _, e := range env {
		args = append(args, "-e", e)
	}
	s.tmux(append(args, "sh")...)
	t.Cleanup(func() { exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	return s
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (s *screen) keys(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys"}, keys...)...)
}

// pane is what is on the screen, line by line.
func (s *screen) pane() []string {
	s.t.Helper()
	return strings.Split(strings.TrimSuffix(s.tmux("capture-pane", "-p"), "\n"), "\n")
}

// await waits until the screen is as wanted.
func (s *screen) await(what string, good func(lines []string) bool) []string {
	s.t.Helper()
	for range 1200 {
		if lines := s.pane(); good(lines) {
			return lines
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("%s: not seen\n%s", what, strings.Join(s.pane(), "\n"))
	return nil
}

func (s *screen) awaitText(text string) []string {
	s.t.Helper()
	return s.await(text, func(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), text) })
}

// ended checks that the shell has the terminal as it was.
func (s *screen) ended(how string) {
	s.t.Helper()
	s.awaitText(how)
	if got := strings.TrimSpace(s.tmux("display", "-p", "#{alternate_on} #{cursor_flag}")); got != "0 1" {
		s.t.Errorf("second screen and cursor: %s, want 0 1", got)
	}
	s.keys("stty -a | grep -o '[-]*\\(icanon\\|echo\\|isig\\)\\b' | tr '\\n' '.'; echo checked", "Enter")
	lines := strings.Join(s.awaitText(".checked"), "\n")
	if !strings.Contains(lines, "isig.icanon.echo.checked") {
		s.t.Errorf("the terminal is not what it was:\n%s", lines)
	}
	if strings.Contains(lines, "[0n") {
		s.t.Errorf("an answer of the terminal was typed into the shell:\n%s", lines)
	}
}

// A daemon on a simulated radio, which can be told things.
func simulate(t *testing.T, simd, socket string) (tell io.Writer, end func()) {
	t.Helper()
	cmd := exec.Command(simd, "-socket", socket, "-scenario", "four-fast", "-spare", "1")
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			cmd.Process.Signal(os.Interrupt)
			cmd.Wait()
		}
	}
	t.Cleanup(end)
	for range 3000 {
		if _, err := os.Lstat(socket); err == nil {
			return in, end
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no socket appears")
	return nil, nil
}

// top in a terminal as people have it, on a daemon in real time: everything is
// there at 80x24 and at 200x50, it follows what happens, and it ends cleanly.
func TestTopInTmux(t *testing.T) {
	if !*inTmux {
		t.Skip("needs -args -tmux")
	}
	bin := t.TempDir()
	for _, pkg := range []string{"../../lab/simd", "."} {
		if out, err := exec.Command("go", "build", "-o", bin+"/", pkg).CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", pkg, err, out)
		}
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	tell, end := simulate(t, filepath.Join(bin, "simd"), socket)
	top := filepath.Join(bin, "airtuned") + " top --socket " + socket

	s := newScreen(t, 80, 24, "LC_ALL=C.UTF-8", "PS1=$ ")
	s.keys(top+"; echo ended $?", "Enter")
	lines := s.await("a trial, and a chart", func(lines []string) bool {
		text := strings.Join(lines, "\n")
		return strings.Contains(text, "tuning with the policy delay") && strings.Contains(text, "p95") && strings.Contains(text, "-> ") && strings.ContainsAny(text, "▂▃▄▅▆▇█")
	})
	if len(lines) != 24 || !strings.HasPrefix(lines[0], "airtuned simulated, up") || !strings.HasPrefix(lines[23], "q quit") {
		t.Errorf("at 80x24:\n%s", strings.Join(lines, "\n"))
	}
	shown := strings.Join(lines, "\n")
	for _, want := range []string{
		"phy0  QCA9984", "limit ", "pending ", "in radio ", "4/4 active", "drops/s",
		"throughput ", "STATION ", "02:00:00:00:01:00", "866.7", "s sort (throughput)",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not there at 80x24:\n%s", want, shown)
		}
	}

	// A station joins; the terminal grows.
	fmt.Fprintln(tell, "join 4")
	s.awaitText("/5 active")
	s.awaitText("02:00:00:00:01:04")
	s.tmux("resize-window", "-x", "200", "-y", "50")
	lines = s.await("the larger frame", func(lines []string) bool {
		return len(lines) == 50 && strings.HasPrefix(lines[49], "q quit") && strings.Contains(strings.Join(lines, "\n"), "INTERFACE")
	})
	if last := []rune(lines[0]); len(last) < 180 {
		t.Errorf("at 200x50 the first line is %q", lines[0])
	}
	s.keys("d")
	s.awaitText("d stations and charts")
	s.keys("d", "s")
	s.awaitText("s sort (rate)")
	s.tmux("resize-window", "-x", "80", "-y", "24")
	s.await("the smaller frame", func(lines []string) bool {
		return len(lines) == 24 && strings.HasPrefix(lines[23], "q quit") && !strings.Contains(strings.Join(lines, "\n"), "INTERFACE")
	})

	// The daemon restarts.
	end()
	s.awaitText("daemon away, retrying")
	_, end = simulate(t, filepath.Join(bin, "simd"), socket)
	s.await("the daemon", func(lines []string) bool {
		text := strings.Join(lines, "\n")
		return !strings.Contains(text, "daemon away") && strings.Contains(text, "/4 active")
	})
	s.keys("q")
	s.ended("ended 0")

	// Ctrl-C, and a signal.
	s.keys("clear; "+top+"; echo ended again $?", "Enter")
	s.awaitText("STATION")
	s.keys("C-c")
	s.ended("ended again 0")
	pidFile := filepath.Join(dir, "pid")
	s.keys("clear; "+top+" & echo $! >"+pidFile+"; fg; echo ended at last $?", "Enter")
	s.awaitText("STATION")
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.ended("ended at last 0")

	// Stopped by Ctrl-Z, and brought back.
	s.keys("clear; "+top, "Enter")
	s.awaitText("STATION")
	s.keys("C-z")
	s.awaitText("topped") // Stopped, or stopped
	s.keys("clear; fg", "Enter")
	s.awaitText("STATION")
	s.keys("q")

	// A terminal of little wit gets lines.
	s = newScreen(t, 200, 24, "LC_ALL=C", "NO_COLOR=1")
	s.keys("TERM=dumb "+top, "Enter")
	s.awaitText(" phy0 tuning: limit ")
	s.keys("C-c")
	s.keys("TERM=screen "+top, "Enter")
	lines = s.awaitText("j k scroll")
	if text := strings.Join(lines, "\n"); strings.ContainsAny(text, "▁▂▃▄▅▆▇█") {
		t.Errorf("without UTF-8:\n%s", text)
	}
	end()
}
