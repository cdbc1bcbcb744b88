// Command airtuned-web shows what the daemon airtuned does: a page for browsers,
// and metrics for Prometheus. It reads the daemon's control socket, which is all
// the right it needs, and changes nothing.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"airtuned/daemon/config"
	"airtuned/metrics"
	"airtuned/web"
)

// version is set by the linker (-X main.version=...) in releases.
var version string

const usage = `airtuned-web shows what the daemon airtuned does: a page for browsers, and
metrics for Prometheus at /metrics. It reads the daemon's control socket, so run
it as a member of the socket's group. It changes nothing.

Usage:
  airtuned-web [flags]

Examples:
  airtuned-web                                         http://localhost:9642
  airtuned-web --listen :9642 --host router.lan        for the network, by that name

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs a command line and returns its exit code: 0 done, 1 failed, 2 a
// command line that is not understood.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f := pflag.NewFlagSet("airtuned-web", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	listen := f.String("listen", "127.0.0.1:9642", "`ADDRESS` to listen on; without a host, on all of this machine's")
	socket := f.String("socket", socketPath(), "`PATH` of the daemon's control socket")
	hosts := f.StringSlice("host", nil, "a `NAME` that browsers and Prometheus use for this machine; may be repeated")
	stations := f.Bool("station-metrics", false, "add metrics of each station, with its address as a label")
	showVersion := f.Bool("version", false, "print the version")
	f.SortFlags = false
	switch err := f.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, usage+f.FlagUsages())
		return 0
	case err == nil && f.NArg() > 0:
		err = fmt.Errorf("airtuned-web takes no argument, got %q", f.Arg(0))
		fallthrough
	case err != nil:
		fmt.Fprintf(stderr, "airtuned-web: %v; see airtuned-web --help\n", err)
		return 2
	}
	if *showVersion {
		fmt.Fprintln(stdout, "airtuned-web", buildVersion())
		return 0
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	if err := serve(ctx, *listen, *socket, *hosts, metrics.Options{Stations: *stations}, log); err != nil {
		fmt.Fprintf(stderr, "airtuned-web: %v\n", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, listen, socket string, hosts []string, o metrics.Options, log *slog.Logger) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		log.Warn("whoever reaches this address can see the stations and their addresses", "listen", a.String())
	}
	log.Info("listening", "url", "http://"+l.Addr().String())
	feed := &web.Feed{Socket: socket, Log: log}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		feed.Run(ctx)
	}()
	s := web.Server{Feed: feed, Hosts: hosts, Metrics: o, Log: log}
	err = s.Serve(ctx, l)
	cancel()
	<-followed
	return err
}

// socketPath is where the configuration says that the daemon's socket is.
func socketPath() string {
	c, err := config.Load("")
	if err != nil {
		c = config.Default()
	}
	return c.Socket.Path
}

// withoutTime leaves the time out where the journal adds it.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && os.Getenv("JOURNAL_STREAM") != "" {
		return slog.Attr{}
	}
	return a
}

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
