package daemon

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/daemon/control"
	"airtuned/tree"
	"airtuned/tree/treetest"
	"airtuned/tuner"
)

// nobody is a user and a group without rights, and what Debian and OpenWrt call
// the group.
const nobody = 65534

// dialAs connects to the socket as nobody, if as root. Credentials belong to a
// thread, and the thread that gave up its own ends with its goroutine.
func dialAs(path string, root bool) (*net.UnixConn, error) {
	type answer struct {
		conn *net.UnixConn
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		if !root {
			runtime.LockOSThread() // for ever
			for _, give := range []struct{ call, id uintptr }{{unix.SYS_SETGROUPS, 0}, {unix.SYS_SETRESGID, nobody}, {unix.SYS_SETRESUID, nobody}} {
				if _, _, errno := unix.RawSyscall(give.call, give.id, give.id, give.id); errno != 0 {
					done <- answer{nil, errno}
					return
				}
			}
		}
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		done <- answer{conn, err}
	}()
	a := <-done
	return a.conn, a.err
}

const statusLine = `{"jsonrpc":"2.0","id":1,"method":"status"}` + "\n"

// abuses are what a user who may read does to the socket, again and again until
// ctx ends.
var abuses = map[string]func(ctx context.Context, dial func() *net.UnixConn){
	"asks and asks": func(ctx context.Context, dial func() *net.UnixConn) {
		c := dial()
		go io.Copy(io.Discard, c)
		for ctx.Err() == nil {
			if _, err := io.WriteString(c, strings.Repeat(statusLine, 100)); err != nil {
				return
			}
		}
	},
	"asks and does not listen": func(ctx context.Context, dial func() *net.UnixConn) {
		c := dial()
		for ctx.Err() == nil {
			if _, err := io.WriteString(c, statusLine); err != nil {
				c.Close()
				c = dial()
			}
		}
	},
	"subscribes and does not listen": func(ctx context.Context, dial func() *net.UnixConn) {
		for ctx.Err() == nil {
			_, _ = io.WriteString(dial(), `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"interval":"100ms"}}`+"\n")
			<-time.After(500 * time.Millisecond)
		}
	},
	"sends 100 MB without a newline": func(ctx context.Context, dial func() *net.UnixConn) {
		c := dial()
		chunk := bytes.Repeat([]byte("["), 1<<20)
		for i := 0; i < 100 && ctx.Err() == nil; i++ {
			if _, err := c.Write(chunk); err != nil {
				c.Close()
				c = dial()
			}
		}
	},
	"sends the longest lines": func(ctx context.Context, dial func() *net.UnixConn) {
		line := `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", control.MaxLine-100) + `","method":"status"}` + "\n"
		c := dial()
		go io.Copy(io.Discard, c)
		for ctx.Err() == nil {
			if _, err := io.WriteString(c, line); err != nil {
				return
			}
		}
	},
	"sends nonsense": func(ctx context.Context, dial func() *net.UnixConn) {
		r := rand.New(rand.NewPCG(1, 2))
		c := dial()
		go io.Copy(io.Discard, c)
		line := make([]byte, 256)
		for ctx.Err() == nil {
			for i := range line {
				line[i] = byte(r.Uint32())
			}
			if _, err := c.Write(line); err != nil {
				c = dial()
			}
		}
	},
	"comes and goes": func(ctx context.Context, dial func() *net.UnixConn) {
		for ctx.Err() == nil {
			dial().Close()
		}
	},
	"closes one half": func(ctx context.Context, dial func() *net.UnixConn) {
		for ctx.Err() == nil {
			c := dial()
			_, _ = io.WriteString(c, statusLine[:20])
			_ = c.CloseWrite()
		}
	},
	"says nothing": func(ctx context.Context, dial func() *net.UnixConn) {
		for ctx.Err() == nil {
			dial()
			<-time.After(time.Millisecond)
		}
	},
}

// TestAbuse has users without rights do everything to the socket that they can,
// all at once, and counts how often the loops of the radios come round meanwhile
// and without.
func TestAbuse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	if testing.Short() {
		t.Skip("some seconds of real time")
	}
	const dir = "../testdata/trees/qca9984-two-radios"
	var samples atomic.Int64
	faults := new(treetest.Faults)
	faults.Judge(func(op treetest.Op) treetest.Fault {
		if op.Kind == treetest.Read && strings.HasSuffix(op.Path, "/aql_pending") {
			samples.Add(1)
		}
		return treetest.Fault{}
	})
	o := Options{
		Env: tuner.Env{
			Sys: tree.Dir(dir + "/sys"), Debug: faults.Tree(tree.Dir(dir + "/debug")), Proc: tree.Dir(dir + "/proc"),
			StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler),
		},
		Config: writeConfig(t, "socket: {group: nogroup}\nsandbox: false\n"+observe),
		Socket: filepath.Join(t.TempDir(), "a.sock"),
	}
	for p := filepath.Dir(o.Socket); p != os.TempDir() && p != "/"; p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	defer stop()
	var root *net.UnixConn
	eventually(t, "the socket", func() (ok bool) {
		var err error
		root, err = dialAs(o.Socket, true)
		return err == nil
	})
	defer root.Close()
	answers := bufio.NewReader(root)
	ask := func() {
		t.Helper()
		_ = root.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(root, statusLine)
		line, err := answers.ReadBytes('\n')
		var got struct{ Result statusResult }
		if err == nil {
			err = json.Unmarshal(line, &got)
		}
		if err != nil || len(got.Result.Radios) != 2 {
			t.Errorf("root asks for the status: %s, %v", line, err)
		}
	}
	ask()
	if c, err := dialAs(o.Socket, false); err != nil {
		t.Skipf("nobody cannot connect: %v", err)
	} else {
		_, _ = io.WriteString(c, statusLine)
		if line, _ := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, `"result"`) {
			t.Skipf("nobody may not ask: %s", line)
		}
		c.Close()
	}

	const lasts = 2 * time.Second
	count := func() int64 {
		n := samples.Load()
		time.Sleep(lasts)
		return samples.Load() - n
	}
	count() // by now the loops have all of their files open
	goroutines := runtime.NumGoroutine()
	before := openFiles(t)
	var best, calls float64
	for try := range 3 { // the machine may be busy with something else
		quiet := count()
		abuse, relent := context.WithCancel(ctx)
		var mu sync.Mutex
		var conns []*net.UnixConn
		var wg sync.WaitGroup
		dialled := 0
		for _, f := range abuses {
			for range 4 {
				wg.Go(func() {
					f(abuse, func() *net.UnixConn {
						for {
							c, err := dialAs(o.Socket, false)
							mu.Lock()
							if err == nil {
								dialled++
								conns = append(conns, c)
								mu.Unlock()
								if abuse.Err() != nil {
									c.Close()
								}
								return c
							}
							mu.Unlock()
							if abuse.Err() != nil {
								return new(net.UnixConn) // every use of it is an error
							}
							time.Sleep(time.Millisecond)
						}
					})
				})
			}
		}
		time.Sleep(lasts / 4)
		var mem runtime.MemStats
		busy := count()
		runtime.ReadMemStats(&mem)
		ask()
		relent()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		best, calls = max(best, float64(busy)/float64(quiet)), float64(dialled)
		t.Logf("try %d: %d samples without, %d with %d connections by nobody; heap %d KiB", try, quiet, busy, dialled, mem.HeapInuse>>10)
		if mem.HeapInuse > 64<<20 {
			t.Errorf("%d bytes of heap", mem.HeapInuse)
		}
		if best > 0.9 {
			break
		}
	}
	if best < 0.8 {
		t.Errorf("the loops came round %.0f %% as often as without abuse", 100*best)
	}
	if calls < 1000 {
		t.Errorf("only %v connections were tried", calls)
	}
	eventually(t, "all connections and goroutines end", func() bool {
		return runtime.NumGoroutine() <= goroutines+2 && openFiles(t) <= before+2
	})
	ask()
	stop()
}

// openFiles is how many files this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}
