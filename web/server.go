package web

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"airtuned/metrics"
)

//go:embed page
var embedded embed.FS

// Server answers browsers and Prometheus.
type Server struct {
	Feed *Feed
	// Hosts are the names, besides localhost and addresses, that it may be asked
	// by. Another name in a request is that of an attacker's site which was made
	// to resolve to here (DNS rebinding).
	Hosts   []string
	Metrics metrics.Options
	Log     *slog.Logger
}

// writeWithin is how long a browser may take to take a message.
const writeWithin = 10 * time.Second

// Serve answers until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx }, // ends the streams
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() {
		late, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(late) != nil {
			server.Close()
		}
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler is all that is served.
func (s *Server) Handler() http.Handler {
	page, err := fs.Sub(embedded, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("/{$}", http.FileServerFS(page))
	for _, name := range []string{"page.css", "page.js", "icon.svg"} {
		mux.Handle("/"+name, http.FileServerFS(page))
	}
	mux.HandleFunc("/events", s.events)
	mux.HandleFunc("/metrics", s.metrics)
	mux.HandleFunc("/healthz", s.healthz)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache")
		switch {
		case !s.known(r.Host):
			http.Error(w, "this name is not known here: start airtuned-web with --host NAME", http.StatusMisdirectedRequest)
		case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
			// It could not read the answer, but it could take all streams.
			http.Error(w, "this is not for other sites' pages", http.StatusForbidden)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "this page only shows", http.StatusMethodNotAllowed)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// known reports whether a Host header names this machine.
func (s *Server) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	// An address cannot be made to mean another machine.
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return host == "localhost" || slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// events streams the feed as server-sent events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		return
	}
	messages, done, err := s.Feed.read()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer done()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep it
	out := http.NewResponseController(w)
	if err := out.SetReadDeadline(time.Time{}); err != nil { // the request was read
		return
	}
	// A silent stream would be taken for a dead one, by proxies and by us.
	alive := time.NewTicker(15 * time.Second)
	defer alive.Stop()
	for first := true; ; first = false {
		text := ": still here\n\n"
		select {
		case <-r.Context().Done():
			return
		case <-alive.C:
		case m, ok := <-messages:
			if !ok {
				return // too slow: the browser comes back and gets all anew
			}
			name := "news"
			if first {
				name = "all"
			}
			text = fmt.Sprintf("event: %s\ndata: %s\n\n", name, m)
		}
		if err := out.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
			return
		}
		if _, err := fmt.Fprint(w, text); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
}

func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", metrics.ContentType)
	w.Header().Set("Cache-Control", "no-store")
	status, _ := s.Feed.Status()
	_, _ = w.Write(metrics.Append(nil, status, s.Metrics))
}

func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if _, err := s.Feed.Status(); err != nil {
		http.Error(w, "the daemon is away: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}
