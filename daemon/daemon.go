// Package daemon keeps the radios of a system tuned: it finds them, runs one
// loop for each, follows them as they come, go and are renamed, and answers on
// the control socket. How a radio is tuned is package tuner's business.
//
// Everything that can block in the kernel is in a goroutine of its own: the
// loop of each radio, the search for radios, the station dumps. So a radio
// that holds a read for seconds, as ath10k does while it flushes the queue of
// a dead client, costs no other radio and no client anything.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"airtuned/daemon/config"
	"airtuned/daemon/control"
	"airtuned/inet"
	"airtuned/nl80211"
	"airtuned/tree"
	"airtuned/tuner"
)

// Options is what Run needs to know.
type Options struct {
	// Env is the system. Its Log is the daemon's log, too.
	Env tuner.Env
	// Config is the configuration file, empty for config.DefaultPath if that
	// exists.
	Config string
	// Socket is where the control socket shall be, empty for where the
	// configuration says.
	Socket string
	// Etc is /etc, where OpenWrt keeps who places the network's work; nil: nowhere.
	Etc tree.FS
	// Version is reported by the method status.
	Version string
	// Events streams nl80211 events (nl80211.Client.Events); nil without
	// netlink.
	Events func(context.Context) (<-chan nl80211.Event, error)
	// Sockets lists this host's TCP connections (inet.Snapshot.Read); nil without
	// netlink.
	Sockets func(*inet.Snapshot) error
}

// ErrRunning is wrapped by the error of Run while another airtuned tunes.
var ErrRunning = tuner.ErrLocked

const (
	// stopWithin is how long a radio may take to have its originals back.
	stopWithin = 5 * time.Second
	// askWithin is how long a status waits for a radio.
	askWithin = 300 * time.Millisecond
	// hungAfter is when a loop that does not come back counts as hung. The
	// longest stall that is normal is the 5 s flush of ath10k.
	hungAfter = 30 * time.Second
	// keepGone is how long a radio that is gone stays in status.
	keepGone = 10 * time.Minute
	// beat is how often the status line of the service is brought up to date.
	beat = 5 * time.Second
)

// Run keeps radios tuned until ctx ends, then puts the originals back. It
// returns an error if it cannot start, or if some originals could not be put
// back: their record then stays for `airtuned restore`.
//
// It reloads the configuration on SIGHUP. SIGTERM and SIGINT are the caller's,
// who ends ctx.
func Run(ctx context.Context, o Options) error {
	d, err := newDaemon(o)
	if err != nil {
		return err
	}
	release, err := tuner.Lock(o.Env.StateDir)
	if err != nil {
		return err
	}
	defer release()

	path := d.config.Socket.Path
	if o.Socket != "" {
		path = o.Socket
	}
	l, err := control.Listen(path, d.config.Socket.Group, d.log)
	if err != nil {
		return err
	}
	defer l.Close()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, unix.SIGHUP)
	defer signal.Stop(hup)

	if d.config.Sandbox {
		d.confine(filepath.Dir(path))
	}

	server := control.Server{Methods: d.methods(), Log: d.log}
	return d.run(ctx,
		func(ctx context.Context) error { return server.Serve(ctx, l) },
		func(ctx context.Context) error { return d.reloadOn(ctx, hup) },
		d.watchConfig,
		d.watchDebugfs,
	)
}

// daemon is the supervisor of the radios' loops.
type daemon struct {
	Options
	log     *slog.Logger
	notify  notifier
	started time.Time
	// search asks for another look at which radios there are.
	search chan struct{}
	// found is closed after the first look.
	found chan struct{}
	// joined says that a station came.
	joined chan struct{}
	// tcpAsked asks for a look at TCP connections, and has what to close after it.
	tcpAsked chan chan struct{}

	mu     sync.Mutex
	config config.Config
	// refused says why the configuration file, as it is now, is not in force.
	refused string
	radios  []*radio // by path
	host    *hostLoop
	// warnings are those of the latest look at the radios.
	warnings []tuner.Warning
	// loops is the context of the radios' loops.
	loops context.Context
}

func newDaemon(o Options) (*daemon, error) {
	c, err := config.Load(o.Config)
	if err != nil {
		return nil, err
	}
	return &daemon{
		Options:  o,
		log:      o.Env.Log,
		config:   c,
		started:  time.Now(),
		search:   make(chan struct{}, 1),
		found:    make(chan struct{}),
		joined:   make(chan struct{}, 1),
		tcpAsked: make(chan chan struct{}),
		host:     newHostLoop(),
	}, nil
}

// run runs the radios' loops and the tasks until ctx ends or one of them
// fails, and then stops the loops.
func (d *daemon) run(ctx context.Context, tasks ...func(context.Context) error) error {
	// The loops outlive ctx: they end in an order of their own.
	loops, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	d.loops = loops
	go d.host.run(loops, d)

	group, ctx := errgroup.WithContext(ctx)
	for _, task := range append(tasks, d.searchRadios, d.followEvents, d.askStations, d.followTCP, d.supervise) {
		group.Go(func() error { return task(ctx) })
	}
	<-ctx.Done()
	d.notify.send("STOPPING=1")
	err := d.stop(cancel)
	ended := make(chan error, 1)
	go func() { ended <- group.Wait() }()
	select {
	case taskErr := <-ended:
		return errors.Join(taskErr, err)
	case <-time.After(stopWithin):
		// A look at a radio that is blocked. Nothing is lost with it.
		d.log.Warn("a task is blocked in the kernel and is left behind")
		return err
	}
}

// supervise says that the service is ready once it is, and from then on that
// it lives. That is the case as long as this goroutine runs and, if there are
// radios at all, at least one loop makes progress: one radio that hangs in the
// kernel is no reason to stop serving the others, but when all of them hang a
// restart is worth a try.
func (d *daemon) supervise(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-d.found:
	}
	d.notify.send("READY=1\nSTATUS=" + d.summary(ctx))
	status := time.NewTicker(beat)
	defer status.Stop()
	watchdog := d.notify.watchdog()
	if watchdog != nil {
		defer watchdog.Stop()
	} else {
		watchdog = &time.Ticker{} // never ticks
	}
	last := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watchdog.C:
			if d.alive() {
				d.notify.send("WATCHDOG=1")
			}
		case <-status.C:
			if s := d.summary(ctx); s != last {
				d.notify.send("STATUS=" + s)
				last = s
			}
		}
	}
}

// alive reports whether there is no radio, or one whose loop makes progress.
func (d *daemon) alive() bool {
	radios := d.all()
	return len(radios) == 0 || slices.ContainsFunc(radios, func(r *radio) bool { return r.silent() < hungAfter })
}

// summary is the state of the radios in a line.
func (d *daemon) summary(ctx context.Context) string {
	text := ""
	for _, s := range d.statuses(ctx) {
		if text != "" {
			text += ", "
		}
		text += s.Phy + " " + string(s.State)
		if s.Reason != "" && s.State != tuner.Tuning {
			text += " (" + s.Reason + ")"
		}
	}
	if text == "" {
		return "waiting for a radio"
	}
	return strings.ReplaceAll(text, "\n", " ") // a line each is sd_notify's format
}

// statuses asks every radio at once for its status.
func (d *daemon) statuses(ctx context.Context) []tuner.Status {
	radios := d.all()
	out := make([]tuner.Status, len(radios))
	var wg sync.WaitGroup
	for i, r := range radios {
		wg.Go(func() { out[i] = r.status(ctx) })
	}
	wg.Wait()
	return out
}

// all is a copy of the list of radios.
func (d *daemon) all() []*radio {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.radios)
}

// stop ends all loops, which puts the originals back. A radio that is blocked
// has its time like the others and does not cost them theirs.
func (d *daemon) stop(cancel context.CancelFunc) error {
	cancel()
	deadline := time.NewTimer(stopWithin)
	defer deadline.Stop()
	expired := false
	var errs []error
	for _, r := range d.all() {
		if !expired {
			select {
			case <-r.done:
			case <-deadline.C:
				expired = true
			}
		}
		select {
		case <-r.done:
			errs = append(errs, r.stopped)
		default:
			errs = append(errs, fmt.Errorf("%s is blocked and did not get its original values back within %v; airtuned restore does it later", r.path, stopWithin))
		}
	}
	select {
	case <-d.host.done:
		errs = append(errs, d.host.stopped)
	case <-time.After(stopWithin):
		errs = append(errs, errors.New("the host's original values could not be put back in time; airtuned restore does it later"))
	}
	return errors.Join(errs...)
}
