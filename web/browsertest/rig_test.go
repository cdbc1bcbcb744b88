package browsertest

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds every wait. Nothing is expected to take that long.
const patience = 90 * time.Second

var screenshots = flag.String("screenshots", "", "take the pictures of the documentation, into this folder")

// bin is where the programs under test are, built by TestMain.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "browsertest-")
	if err != nil {
		panic(err)
	}
	bin = dir
	for _, what := range []string{"./lab/simd", "./cmd/airtuned-web"} {
		cmd := exec.Command("go", "build", "-C", "../..", "-o", filepath.Join(dir, filepath.Base(what)), what)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// process is a program that runs until the test ends, or is stopped.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
}

func start(t *testing.T, log io.Writer, name string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, name), args...)
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t, cmd, in}
	t.Cleanup(p.stop)
	return p
}

// stop ends it in order.
func (p *process) stop() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("%s: %v", p.cmd.Path, err)
	}
}

// tell writes a line to its standard input.
func (p *process) tell(line string) {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Error(err)
	}
}

// serve starts airtuned-web and returns its address.
func serve(t *testing.T, socket string) string {
	t.Helper()
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	start(t, w, "airtuned-web", "--listen", "127.0.0.1:0", "--socket", socket)
	lines := bufio.NewScanner(r)
	address := regexp.MustCompile(`url=(http://\S+)`)
	for lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, r)
			return m[1]
		}
	}
	t.Fatal("airtuned-web does not listen")
	return ""
}

// browser is a tab that keeps what went wrong in it, and what it asked for.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	wrong    []string
	requests []string
}

func open(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); name != "" && err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("there is no browser: apt-get install chromium, or set CHROMIUM")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 900),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for it to end
		cancel()
	})
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	for _, domain := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		if _, err := chromedp.Call(ctx, domain, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// hear takes in what the tab says.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			b.wrong = append(b.wrong, fmt.Sprintf("console.%s: %s", e.Type, arg.Value))
		}
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *log.EventEntryAdded:
		b.wrong = append(b.wrong, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// do runs actions.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// js runs a statement in the page.
func (b *browser) js(statement string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](statement))
}

// eval is the value of an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for an expression to be true. It asks from here, as the page's
// security policy forbids what chromedp.Poll does in it.
func (b *browser) until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !eval[bool](b, "Boolean("+expression+")"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s never came true; the page says: %.1500s", expression, eval[string](b, "document.body.innerText"))
		}
	}
}

// size makes the window as large as a device's, with its number of real pixels
// for each.
func (b *browser) size(width, height int64, scale float64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(scale)))
}

// scheme makes the browser one of a user who wants light or dark pages.
func (b *browser) scheme(name string) {
	b.t.Helper()
	p := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, p); err != nil {
		b.t.Fatal(err)
	}
}

// check fails the test for whatever went wrong in the tab, or was asked of
// others than the server.
func (b *browser) check(server string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		b.t.Errorf("in the browser: %s", w)
	}
	for _, r := range b.requests {
		if !strings.HasPrefix(r, server) {
			b.t.Errorf("the page asked for %s", r)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("no request was heard")
	}
}
