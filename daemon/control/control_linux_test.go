package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var quiet = slog.New(slog.DiscardHandler)

// methods are what the tests call.
func methods() map[string]Method {
	return map[string]Method{
		"status": {Call: func(context.Context, Call) (any, error) { return map[string]int{"uptime_s": 7}, nil }},
		"hold": {Change: true, Call: func(_ context.Context, c Call) (any, error) {
			var p struct {
				Radio string `json:"radio"`
			}
			if err := c.Decode(&p); err != nil {
				return nil, err
			}
			return p, nil
		}},
		"policy":  {Call: func(_ context.Context, c Call) (any, error) { return c.MayChange, nil }},
		"restore": {Call: func(context.Context, Call) (any, error) { return nil, errors.New("it broke") }},
		"resume":  {Call: func(context.Context, Call) (any, error) { return nil, Errorf(CodeNoRadio, "no such radio") }},
		"tune": {Call: func(ctx context.Context, _ Call) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"radios": {Call: func(context.Context, Call) (any, error) { return strings.Repeat("x", 1<<20), nil }},
	}
}

// serve starts a server and returns its socket.
func serve(t *testing.T, group string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.sock")
	l, err := Listen(path, group, quiet)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	s := Server{Methods: methods(), Log: quiet}
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	return path
}

// padded is a request of n bytes.
func padded(n int) string {
	const head, tail = `{"jsonrpc":"2.0","id":1,"method":"status",`, `"params":{}}`
	return head + strings.Repeat(" ", n-len(head)-len(tail)) + tail
}

func TestProtocol(t *testing.T) {
	path := serve(t, "")
	tests := []struct {
		name, in string
		want     []string
	}{
		{"call", `{"jsonrpc":"2.0","id":1,"method":"status"}` + "\n", []string{`{"jsonrpc":"2.0","id":1,"result":{"uptime_s":7}}`}},
		{"id is a string, white space, carriage return", " {\"jsonrpc\" : \"2.0\", \"id\":\"a\", \"method\":\"status\", \"params\": null}\r\n", []string{`{"jsonrpc":"2.0","id":"a","result":{"uptime_s":7}}`}},
		{"params", `{"jsonrpc":"2.0","id":1,"method":"hold","params":{"radio":"phy0"}}` + "\n", []string{`{"jsonrpc":"2.0","id":1,"result":{"radio":"phy0"}}`}},
		{"pipelined", `{"jsonrpc":"2.0","id":1,"method":"status"}` + "\n\n" + `{"jsonrpc":"2.0","id":2,"method":"resume"}` + "\n", []string{
			`{"jsonrpc":"2.0","id":1,"result":{"uptime_s":7}}`,
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32003,"message":"no such radio"}}`}},
		{"notification", `{"jsonrpc":"2.0","method":"restore"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"restore"}` + "\n", []string{
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"it broke"}}`}},
		{"unknown params", `{"jsonrpc":"2.0","id":1,"method":"hold","params":{"rdio":"phy0"}}` + "\n", []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params: json: unknown field \"rdio\""}}`}},
		{"positional params", `{"jsonrpc":"2.0","id":1,"method":"hold","params":["phy0"]}` + "\n", []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params must be an object"}}`}},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"reboot"}` + "\n", []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no method \"reboot\""}}`}},
		{"not JSON, then well again", "GET / HTTP/1.1\n" + `{"jsonrpc":"2.0","id":1,"method":"status"}` + "\n", []string{
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not a JSON object on one line"}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"uptime_s":7}}`}},
		{"batch", `[{"jsonrpc":"2.0","id":1,"method":"status"}]` + "\n", []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported: send one request per line"}}`}},
		{"not an object", `"status"` + "\n", []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request is an object"}}`}},
		{"old version", `{"jsonrpc":"1.0","id":3,"method":"status"}` + "\n", []string{`{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}`}},
		{"no method", `{"jsonrpc":"2.0","id":3}` + "\n", []string{`{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"no method"}}`}},
		{"bad id", `{"jsonrpc":"2.0","id":{},"method":"status"}` + "\n", []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string, a number or null"}}`}},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"status"}` + "\n", []string{`{"jsonrpc":"2.0","id":null,"result":{"uptime_s":7}}`}},
		{"no newline", `{"jsonrpc":"2.0","id":1,"method":"status"}`, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the last line has no end"}}`}},
		{"longest", padded(MaxLine) + "\n", []string{`{"jsonrpc":"2.0","id":1,"result":{"uptime_s":7}}`}},
		{"too long", padded(MaxLine+1) + "\n" + `{"jsonrpc":"2.0","id":2,"method":"status"}` + "\n", []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request has at most 65536 bytes"}}`}},
		{"endless", strings.Repeat("[", 1<<20), []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a request has at most 65536 bytes"}}`}},
		{"nothing", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			go func() {
				_, _ = io.WriteString(conn, tt.in) // fails where we are cut off
				_ = conn.CloseWrite()
			}()
			// After a cut-off the rest may be lost with ECONNRESET.
			b, _ := io.ReadAll(conn)
			var got []string
			if len(b) > 0 {
				got = strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func dial(t *testing.T, path string) *Client {
	t.Helper()
	c, err := Dial(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestClient(t *testing.T) {
	c := dial(t, serve(t, ""))
	var got struct {
		Radio string `json:"radio"`
	}
	if err := c.Call(t.Context(), "hold", map[string]string{"radio": "phy1"}, &got); err != nil || got.Radio != "phy1" {
		t.Errorf("hold: got %+v, %v", got, err)
	}
	var e *Error
	if err := c.Call(t.Context(), "resume", nil, nil); !errors.As(err, &e) || e.Code != CodeNoRadio {
		t.Errorf("resume: got %v, want code %d", err, CodeNoRadio)
	}
	var long string
	if err := c.Call(t.Context(), "radios", nil, &long); err != nil || len(long) != 1<<20 {
		t.Errorf("radios: got %d bytes, %v", len(long), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := c.Call(ctx, "tune", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call that takes too long: got %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestDialNobody(t *testing.T) {
	if _, err := Dial(filepath.Join(t.TempDir(), "none")); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want %v", err, ErrUnreachable)
	}
}

func TestSubscribe(t *testing.T) {
	c := dial(t, serve(t, ""))
	n := 0
	enough := errors.New("enough")
	err := c.Subscribe(t.Context(), minInterval, func(status json.RawMessage) error {
		if string(status) != `{"uptime_s":7}` {
			t.Errorf("got status %s", status)
		}
		if n++; n == 3 {
			return enough
		}
		return nil
	})
	if err != enough {
		t.Fatal(err)
	}
	// The connection serves calls as before.
	if err := c.Call(t.Context(), "status", nil, nil); err != nil {
		t.Error(err)
	}
	var e *Error
	if err := c.Subscribe(t.Context(), time.Second, nil); !errors.As(err, &e) || e.Code != CodeRequest {
		t.Errorf("second subscription: got %v", err)
	}
	if err := dial(t, c.conn.RemoteAddr().String()).Subscribe(t.Context(), time.Millisecond, nil); !errors.As(err, &e) || e.Code != CodeParams {
		t.Errorf("interval of 1ms: got %v", err)
	}
}

// TestDeafSubscriber checks that a subscriber that reads nothing is dropped,
// while others are served.
func TestDeafSubscriber(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.sock")
	l, err := Listen(path, "", quiet)
	if err != nil {
		t.Fatal(err)
	}
	s := Server{Log: quiet, Methods: methods()}
	s.Methods["status"] = s.Methods["radios"] // more than a socket's buffer holds
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() { cancel(); <-done }()

	deaf, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	if _, err := io.WriteString(deaf, `{"jsonrpc":"2.0","id":1,"method":"subscribe"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := dial(t, path).Call(t.Context(), "status", nil, nil); err != nil {
		t.Error(err)
	}
	for {
		s.mu.Lock()
		n := len(s.conns)
		s.mu.Unlock()
		if n == 1 {
			break // only the good one is left; the test's timeout is the bound
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestTooManyConnections(t *testing.T) {
	path := serve(t, "")
	most := MaxConns
	if os.Geteuid() != 0 {
		most -= rootConns
	}
	for range most {
		if err := dial(t, path).Call(t.Context(), "status", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	var e *Error
	if err := dial(t, path).Call(t.Context(), "status", nil, nil); !errors.As(err, &e) || e.Code != CodeBusy {
		t.Errorf("one too many: got %v, want code %d", err, CodeBusy)
	}
}

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir", "a.sock")
	l, err := Listen(path, "no-such-group", quiet)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("without the group: mode %v, %v; want 0600", info.Mode(), err)
	}
	if _, err := Listen(path, "", quiet); !errors.Is(err, ErrRunning) {
		t.Errorf("a living socket: got %v, want %v", err, ErrRunning)
	}
	// A crash leaves the file behind.
	l.SetUnlinkOnClose(false)
	l.Close()
	l, err = Listen(path, "", quiet)
	if err != nil {
		t.Fatalf("a stale socket: %v", err)
	}
	l.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path, "", quiet); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a file in the way: got %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Error("the file in the way was touched")
	}
}

// TestPeers connects as other users, which takes root: credentials belong to a
// thread, and the thread that gave up its own ends with its goroutine.
func TestPeers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become other users")
	}
	const gid = 4242
	path := filepath.Join(t.TempDir(), "a.sock")
	l, err := Listen(path, "", quiet)
	if err != nil {
		t.Fatal(err)
	}
	l.Group = gid
	// As behind socket activation with a lax mode: credentials must do it all.
	for p := path; p != os.TempDir() && p != "/"; p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	s := Server{Log: quiet, Methods: methods()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() { cancel(); <-done }()

	tests := []struct {
		name         string
		uid, gid     int
		groups       []int32
		read, change bool
	}{
		{"root", 0, 0, nil, true, true},
		{"stranger", 65534, 65534, nil, false, false},
		{"primary group", 65534, gid, nil, true, false},
		{"supplementary group", 65534, 65534, []int32{7, gid}, true, false},
		{"many groups", 65534, 65534, append(make([]int32, 100), gid), true, false},
		{"root's group", 65534, 0, nil, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conns := make(chan net.Conn)
			errs := make(chan error, 1)
			go func() {
				runtime.LockOSThread() // for ever
				if err := become(tt.uid, tt.gid, tt.groups); err != nil {
					errs <- err
					return
				}
				conn, err := net.Dial("unix", path)
				if err != nil {
					errs <- err
					return
				}
				conns <- conn
			}()
			var conn net.Conn
			select {
			case err := <-errs:
				t.Fatal(err)
			case conn = <-conns:
			}
			defer conn.Close()
			c := Client{conn: conn, lines: bufio.NewReader(conn)}
			if err := c.Call(t.Context(), "status", nil, nil); errors.Is(err, ErrDenied) == tt.read {
				t.Errorf("reading: got %v, want permitted: %v", err, tt.read)
			}
			if !tt.read {
				return
			}
			if err := c.Call(t.Context(), "hold", nil, nil); errors.Is(err, ErrDenied) == tt.change {
				t.Errorf("changing: got %v, want permitted: %v", err, tt.change)
			}
			var may bool
			if err := c.Call(t.Context(), "policy", nil, &may); err != nil || may != tt.change {
				t.Errorf("a method that decides itself: got %v, %v; want %v", may, err, tt.change)
			}
		})
	}
}

func TestGroupMode(t *testing.T) {
	g, err := user.LookupGroupId(strconv.Itoa(os.Getegid()))
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "a.sock")
	l, err := Listen(path, g.Name, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o660 || l.Group != os.Getegid() {
		t.Errorf("got mode %v, group %d, %v; want 0660, %d", info.Mode(), l.Group, err, os.Getegid())
	}
}

// TestActivation checks what can be without systemd: that a foreign LISTEN_PID
// is none of our business.
func TestActivation(t *testing.T) {
	t.Setenv("LISTEN_PID", strconv.Itoa(os.Getppid()))
	t.Setenv("LISTEN_FDS", "1")
	if l, err := activated(); l != nil || err != nil {
		t.Errorf("got %v, %v; want nothing", l, err)
	}
	t.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	t.Setenv("LISTEN_FDS", "2")
	if _, err := activated(); err == nil {
		t.Error("two sockets were accepted")
	}
	if os.Getenv("LISTEN_FDS") != "" {
		t.Error("the environment was left for children")
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"status"}`, `{"jsonrpc":"2.0","method":"hold","params":{"radio":"phy0"}}`,
		`[]`, `{}`, `{"jsonrpc":2}`, `{"id":[]}`, `{"jsonrpc":"2.0","id":1e999,"method":"x"}`, ` null `, "\x00", `{"jsonrpc":"2.0","id":"\ud800","method":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		req, err := parseRequest(line)
		if err == nil && req.Method == "" {
			t.Fatal("accepted without a method")
		}
		if err != nil && err.Message == "" {
			t.Fatal("an error that says nothing")
		}
		// Whatever the id was, an answer with it is one line of JSON.
		b, jerr := json.Marshal(response{Version: version, ID: req.ID, Error: err})
		if jerr != nil || strings.Contains(string(b), "\n") {
			t.Fatalf("answer %q, %v", b, jerr)
		}
	})
}

// FuzzServer sends anything to a server, in one piece and then in two. Whatever
// it is, all answers are objects on lines of their own, and the connection ends
// when the client has said all it had to say.
func FuzzServer(f *testing.F) {
	for _, s := range []string{
		"", "\n", "\n\n\x00", "GET / HTTP/1.1\r\n\r\n", `{"jsonrpc":"2.0","id":1,"method":"status"}`,
		`{"jsonrpc":"2.0","id":1,"method":"status"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"hold","params":{"radio":"phy0"}}` + "\r\n",
		`{"jsonrpc":"2.0","method":"restore"}` + "\n", `{"jsonrpc":"2.0","id":"a","method":"subscribe","params":{"interval":"1h"}}` + "\n",
		`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"interval":"-1ns"}}` + "\n[{}]\nnull\n",
		padded(MaxLine) + "\n", padded(MaxLine+1) + "\n", strings.Repeat("[", 1000) + "\n",
	} {
		f.Add([]byte(s), uint16(len(s)/2))
	}
	path := filepath.Join(f.TempDir(), "a.sock")
	l, err := Listen(path, "", quiet)
	if err != nil {
		f.Fatal(err)
	}
	all := methods()
	delete(all, "tune") // it takes its time
	s := Server{Methods: all, Log: quiet}
	ctx, cancel := context.WithCancel(f.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	f.Cleanup(func() { cancel(); <-done })
	f.Fuzz(func(t *testing.T, text []byte, cut uint16) {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			n := min(int(cut), len(text))
			_, _ = conn.Write(text[:n])
			_, _ = conn.Write(text[n:])
			_ = conn.CloseWrite()
		}()
		lines := bufio.NewReaderSize(conn, 2<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				if len(line) > 0 && errors.Is(err, io.EOF) {
					t.Fatalf("%q has no end", line)
				}
				return
			}
			var r response
			if err := json.Unmarshal(line, &r); err != nil || r.Version != version {
				t.Fatalf("%q to %q: %v", line, text, err)
			}
			if (r.Result != nil) == (r.Error != nil) && r.Method == "" {
				t.Fatalf("%q to %q is neither a result nor an error", line, text)
			}
		}
	})
}
