package daemon

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"airtuned/daemon/config"
	"airtuned/host"
	"airtuned/tuner"
)

// radiosEvery is how often the host's loop is told how the radios are.
const radiosEvery = 10 * time.Second

// hostLoop is the loop of the machine itself, and the ways to reach it.
type hostLoop struct {
	commands chan func(*host.Host)
	last     atomic.Pointer[host.Status]
	done     chan struct{}
	stopped  error
}

func newHostLoop() *hostLoop {
	h := &hostLoop{commands: make(chan func(*host.Host)), done: make(chan struct{})}
	h.last.Store(&host.Status{State: tuner.Observing, Reason: "starting", Changes: []tuner.Change{}})
	return h
}

// errHostFault is what a command gets after the loop panicked.
var errHostFault = errors.New("the host's loop has failed and its original values are back; a restart of the daemon starts it anew")

// run is the loop, until ctx ends. It puts the originals back then, and when it
// panics, which the radios do not notice.
func (h *hostLoop) run(ctx context.Context, d *daemon) {
	defer close(h.done)
	env := host.Env{Env: d.Env, Etc: d.Etc}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		d.log.Error("the host's loop failed; please report this", "panic", p, "stack", string(debug.Stack()))
		h.stopped = errHostFault
		h.last.Store(&host.Status{State: tuner.Held, Reason: errHostFault.Error(), Changes: []tuner.Change{}})
		if _, err := host.Restore(env); err != nil {
			d.log.Error("restore after the host's loop failed", "error", err)
		}
	}()
	settings, radios := d.hostSettings()
	loop := host.New(env, settings)
	loop.Configure(settings, radios)
	told := time.Now()
	tick := time.NewTicker(host.StepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			h.stopped = loop.Stop("the daemon stops")
			s := loop.Status()
			h.last.Store(&s)
			return
		case command := <-h.commands:
			command(loop)
		case now := <-tick.C:
			if now.Sub(told) >= radiosEvery {
				told = now
				loop.Configure(d.hostSettings())
			}
			loop.Step(now)
		}
		s := loop.Status()
		h.last.Store(&s)
	}
}

// hostSettings is what the host's loop has to know of the configuration and the
// radios, as they are now.
func (d *daemon) hostSettings() (host.Settings, []host.Radio) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.config.HostSettings(), d.hostRadios(d.config)
}

// hostRadios is how a configuration wants the radios treated. d.mu is held.
func (d *daemon) hostRadios(c config.Config) []host.Radio {
	var radios []host.Radio
	for _, r := range d.radios {
		if r.goneAt.IsZero() {
			s := *r.last.Load()
			radios = append(radios, host.Radio{Status: s, Settings: c.SettingsFor(s.Radio)})
		}
	}
	return radios
}

// configureHost hands a new configuration to the host's loop, which takes back
// what that no longer allows. It comes before the radios' loops: one may be
// about to set what the host gives back. A loop that is blocked gets it later.
func (d *daemon) configureHost(c config.Config) {
	d.mu.Lock()
	radios := d.hostRadios(c)
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	_ = d.tellHost(ctx, func(h *host.Host) { h.Configure(c.HostSettings(), radios) })
}

// askHost has the loop call f, and waits no longer for it than ctx lasts.
func askHost[T any](ctx context.Context, h *hostLoop, f func(*host.Host) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	reply := make(chan answer, 1)
	command := func(loop *host.Host) {
		a := answer{err: errHostFault}
		defer func() { reply <- a }() // even if f panics
		v, err := f(loop)
		a = answer{v, err}
	}
	var none T
	select {
	case h.commands <- command:
	case <-h.done:
		return none, errHostFault
	case <-ctx.Done():
		return none, ctx.Err()
	}
	select {
	case a := <-reply:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// tellHost is askHost for commands that only change the state.
func (d *daemon) tellHost(ctx context.Context, f func(*host.Host)) error {
	_, err := askHost(ctx, d.host, func(loop *host.Host) (struct{}, error) { f(loop); return struct{}{}, nil })
	return err
}
