package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"airtuned/daemon/control"
	"airtuned/metrics"
	"airtuned/tuner"
	"airtuned/wlan"
)

var (
	quiet = slog.New(slog.DiscardHandler)
	t0    = time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
)

const path = "devices/a"

// status is what a daemon says that was started a while ago, with a radio that
// has done so many things.
func status(uptime float64, events int) json.RawMessage {
	r := tuner.Status{
		Radio: tuner.Radio{Path: path, Phy: "phy0", AQL: tuner.AQL{Limits: map[string]wlan.Limit{"BE": {LowUs: 1000, HighUs: 1500}}}},
		State: tuner.Tuning, Pending: tuner.PendingStatus{AirtimeUs: 3001}, ActiveStations: 2,
		ResidencyUs: tuner.ResidencyStatus{Mean: 1200, P95: 2500}, ThroughputKbps: 5000,
		Total: tuner.Totals{TxBytes: uint64(uptime * 1e6)},
	}
	end := t0.Add(time.Duration(uptime * float64(time.Second)))
	r.WindowEnd = &end
	for n := range events {
		r.Events = append(r.Events, tuner.Event{Seq: uint64(n + 1), At: t0, State: tuner.Tuning, Reason: fmt.Sprint("event ", n+1)})
	}
	text, err := json.Marshal(metrics.Status{Version: "1.0", UptimeS: uptime, Radios: []tuner.Status{r}})
	if err != nil {
		panic(err)
	}
	return text
}

func newFeed() *Feed { return &Feed{Log: quiet} }

// next is the next message of a reader.
func next(t *testing.T, c <-chan []byte) message {
	t.Helper()
	select {
	case text, ok := <-c:
		var m message
		if err := json.Unmarshal(text, &m); err != nil || !ok {
			t.Fatalf("%s: %v", text, err)
		}
		return m
	default:
		t.Fatal("no message")
		return message{}
	}
}

func reasons(m message) []string {
	var out []string
	for _, e := range m.Log {
		out = append(out, strings.TrimSpace(e.Radio+" "+e.Reason))
	}
	return out
}

// A reader gets all there is, then what is new, each thing once, over the
// daemon's restarts.
func TestFeed(t *testing.T) {
	f := newFeed()
	c, done, err := f.read()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if m := next(t, c); string(m.Status) != "null" || m.Away != nil || len(m.Log) > 0 {
		t.Errorf("before the first status: %+v", m)
	}
	f.lose(errors.New("nothing there"), t0)
	if m := next(t, c); m.Away == nil || m.Away.Why != "nothing there" || m.Away.Since != t0.UnixMilli() || len(m.Log) > 0 {
		t.Errorf("without a daemon: %+v", m)
	}
	take := func(uptime float64, events int, after time.Duration) message {
		t.Helper()
		if err := f.take(status(uptime, events), t0.Add(after)); err != nil {
			t.Fatal(err)
		}
		return next(t, c)
	}
	m := take(100, 2, time.Second)
	if diff := cmp.Diff([]string{path + " event 1", path + " event 2"}, reasons(m)); diff != "" || m.Away != nil {
		t.Errorf("the first status (-want +got):\n%s%+v", diff, m.Away)
	}
	us := func(v int64) *int64 { return &v }
	limit, pending := uint32(1500), 1501.0 // of 3001 on two stations
	want := []Point{{t0.Add(time.Second).UnixMilli(), us(1200), us(2500), &pending, &limit, 5000}}
	if diff := cmp.Diff(want, m.Points[path]); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	m = take(101, 3, 2*time.Second)
	if got := reasons(m); len(got) != 1 || got[0] != path+" event 3" {
		t.Errorf("news: %q", got)
	}
	if got := m.Points[path][0].ThroughputKbps; got != 8000 { // 1 MB since the last
		t.Errorf("throughput %d", got)
	}
	if got := reasons(take(102.3, 3, 3*time.Second)); len(got) != 0 {
		t.Errorf("news of nothing: %q", got)
	}
	f.lose(errors.New("it went"), t0.Add(4*time.Second))
	f.lose(errors.New("still away"), t0.Add(5*time.Second))
	if m := next(t, c); m.Away == nil || len(m.Log) != 1 || len(c) != 0 {
		t.Errorf("when it went: %+v", m)
	}
	if s, err := f.Status(); s != nil || err == nil || err.Error() != "still away" {
		t.Errorf("status while away: %v, %v", s, err)
	}
	if got := reasons(take(106, 4, 6*time.Second)); len(got) != 2 || got[0] != "the daemon answers again" || got[1] != path+" event 4" {
		t.Errorf("the same daemon: %q", got)
	}
	// Another daemon counts from 1 again.
	m = take(1, 1, 10*time.Second)
	if got := m.Points[path][0].ThroughputKbps; got != 5000 {
		t.Errorf("throughput of another daemon: %d", got)
	}
	if got := reasons(m); len(got) != 2 || got[0] != "the daemon was started anew, version 1.0" || got[1] != path+" event 1" {
		t.Errorf("another daemon: %q", got)
	}
	if s, err := f.Status(); err != nil || s.Radios[0].Path != path {
		t.Errorf("status: %v, %v", s, err)
	}

	late, done, err := f.read()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if m := next(t, late); len(m.Log) != 8 || len(m.Points[path]) != 5 {
		t.Errorf("who comes late gets %d entries, %d points: %q", len(m.Log), len(m.Points[path]), reasons(m))
	}
	if err := f.take(json.RawMessage(`{"radios":7}`), t0); err == nil {
		t.Error("nonsense was taken in")
	}
	// A radio that is no more leaves nothing behind.
	if err := f.take(json.RawMessage(`{"version":"1.0","uptime_s":12,"radios":[]}`), t0.Add(12*time.Second)); err != nil || len(f.radios) != 0 {
		t.Errorf("%v, %d radios", err, len(f.radios))
	}
}

// What is kept is bounded, and so is the number of readers; slow ones are cut off.
func TestFeedIsBounded(t *testing.T) {
	f := newFeed()
	slow, done, err := f.read()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for i := range keepPoints + 50 {
		if err := f.take(status(float64(i), i%30), t0.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	f.lose(errors.New("x"), t0.Add(time.Hour))
	if n, k := len(f.radios[path].points), len(f.entries); n != keepPoints || k > keepEntries {
		t.Errorf("%d points, %d entries", n, k)
	}
	if last := f.radios[path].points[keepPoints-1].At; last != t0.Add((keepPoints+49)*time.Second).UnixMilli() {
		t.Errorf("the last point is of %d", last)
	}
	n := 0
	for range slow { // ends
		n++
	}
	if n != backlog || len(f.readers) != 0 {
		t.Errorf("the slow one got %d messages, %d readers are left", n, len(f.readers))
	}
	for range maxReaders {
		if _, _, err := f.read(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := f.read(); err == nil {
		t.Error("one too many")
	}
}

// The feed finds the daemon, loses it, and finds the next one at the same path.
func TestRun(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	f := &Feed{Socket: socket, Log: quiet}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.Run(ctx) }()
	c, done, err := f.read()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	await := func(what string, ok func(message) bool) {
		t.Helper()
		for {
			select {
			case text := <-c:
				var m message
				if err := json.Unmarshal(text, &m); err != nil {
					t.Fatal(err)
				}
				if ok(m) {
					return
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s did not happen", what)
			}
		}
	}
	var uptime atomic.Int64
	daemon := func() (stop func()) {
		l, err := control.Listen(socket, "", quiet)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		server := control.Server{Log: quiet, Methods: map[string]control.Method{
			"status": {Call: func(context.Context, control.Call) (any, error) { return status(float64(uptime.Add(1)), 1), nil }},
		}}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(ctx, l) }()
		return func() { cancel(); l.Close(); <-served }
	}
	for range 2 {
		uptime.Store(0)
		stop := daemon()
		await("an answer", func(m message) bool { return m.Away == nil && len(m.Points) > 0 })
		stop()
		await("the loss", func(m message) bool { return m.Away != nil })
	}
	cancel()
	<-ended
}

func serve(t *testing.T, f *Feed, o metrics.Options) *httptest.Server {
	t.Helper()
	s := Server{Feed: f, Hosts: []string{"Router.lan"}, Metrics: o, Log: quiet}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server
}

// get asks with a Host header of its own.
func get(t *testing.T, server *httptest.Server, method, path, host string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequest(method, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	got, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, got.Header, string(body)
}

// Only names of this machine are answered to: an attacker's page that was made to
// resolve to it comes with its own.
func TestHosts(t *testing.T) {
	server := serve(t, newFeed(), metrics.Options{})
	for host, want := range map[string]int{
		"":                      200, // 127.0.0.1:port
		"localhost":             200,
		"LOCALHOST:9642":        200,
		"192.168.1.1":           200,
		"[::1]:9642":            200,
		"[fe80::1%25wlan0]:80":  200,
		"router.lan":            200,
		"ROUTER.lan.:80":        200,
		"evil.example":          421,
		"evil.example:9642":     421,
		"localhost.evil":        421,
		"127.0.0.1.nip.example": 421,
		"router.lan.evil":       421,
		"notlocalhost":          421,
	} {
		for _, path := range []string{"/", "/metrics", "/events"} {
			method := http.MethodGet
			if path == "/events" {
				method = http.MethodHead
			}
			if code, _, _ := get(t, server, method, path, host); code != want {
				t.Errorf("%s of %q: %d, want %d", path, host, code, want)
			}
		}
	}
}

// A foreign page may have a link to here, and nothing else.
func TestForeignPages(t *testing.T) {
	server := serve(t, newFeed(), metrics.Options{})
	for _, tt := range []struct {
		site, mode string
		want       int
	}{
		{"", "", 200}, {"same-origin", "cors", 200}, {"none", "navigate", 200}, {"cross-site", "navigate", 200},
		{"cross-site", "no-cors", 403}, {"cross-site", "cors", 403}, {"cross-site", "", 403},
	} {
		r, err := http.NewRequest(http.MethodHead, server.URL+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Sec-Fetch-Site", tt.site)
		r.Header.Set("Sec-Fetch-Mode", tt.mode)
		got, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != tt.want {
			t.Errorf("%+v: %d", tt, got.StatusCode)
		}
	}
}

// What is served, and that nothing can be done with it but look.
func TestHandler(t *testing.T) {
	f := newFeed()
	server := serve(t, f, metrics.Options{})
	for path, want := range map[string]struct {
		code int
		kind string
	}{
		"/":              {200, "text/html; charset=utf-8"},
		"/page.css":      {200, "text/css; charset=utf-8"},
		"/page.js":       {200, "text/javascript; charset=utf-8"},
		"/icon.svg":      {200, "image/svg+xml"},
		"/metrics":       {200, metrics.ContentType},
		"/healthz":       {503, "text/plain; charset=utf-8"},
		"/server.go":     {404, "text/plain; charset=utf-8"},
		"/page":          {404, "text/plain; charset=utf-8"},
		"/../server.go":  {307, "text/html; charset=utf-8"},
		"/index.html/..": {307, "text/html; charset=utf-8"},
	} {
		server.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		code, h, _ := get(t, server, http.MethodGet, path, "")
		if code != want.code || h.Get("Content-Type") != want.kind {
			t.Errorf("%s: %d, %s", path, code, h.Get("Content-Type"))
		}
		for name, value := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		} {
			if h.Get(name) != value {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
			if code, _, _ := get(t, server, method, path, ""); code != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, code)
			}
		}
	}
	if _, _, body := get(t, server, http.MethodGet, "/metrics", ""); !strings.HasSuffix(body, "\nairtuned_up 0\n") {
		t.Errorf("metrics without a daemon: %s", body)
	}
	if err := f.take(status(1, 1), t0); err != nil {
		t.Fatal(err)
	}
	if _, _, body := get(t, server, http.MethodGet, "/metrics", ""); !strings.Contains(body, `airtuned_radio_state{radio="devices/a",phy="phy0",chip="",state="tuning"} 1`) {
		t.Errorf("metrics: %s", body)
	}
	if code, _, body := get(t, server, http.MethodGet, "/healthz", ""); code != 200 || body != "ok\n" {
		t.Errorf("healthz: %d %s", code, body)
	}
}

// The stream, and that it ends with the server.
func TestEvents(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := newFeed()
	s := Server{Feed: f, Log: quiet}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	r, err := http.Get("http://" + l.Addr().String() + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if got := r.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("type %s", got)
	}
	lines := bufio.NewReader(r.Body)
	want := func(name string, ok func(message) bool) {
		t.Helper()
		head, _ := lines.ReadString('\n')
		data, _ := lines.ReadString('\n')
		end, err := lines.ReadString('\n')
		var m message
		if err == nil {
			err = json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &m)
		}
		if err != nil || head != "event: "+name+"\n" || end != "\n" || !ok(m) {
			t.Fatalf("%q %q %q: %v", head, data, end, err)
		}
	}
	want("all", func(m message) bool { return string(m.Status) == "null" })
	if err := f.take(status(1, 1), t0); err != nil {
		t.Fatal(err)
	}
	want("news", func(m message) bool { return len(m.Log) == 1 })
	cancel()
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
