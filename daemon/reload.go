package daemon

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"airtuned/daemon/config"
)

// reload takes the configuration file over, all of it or nothing. Policies set
// by command end with it.
func (d *daemon) reload(why string) error {
	select {
	case <-d.found:
		d.notify.reloading()
		defer d.notify.send("READY=1")
	default: // still starting
	}
	c, err := config.Load(d.Config)
	if err != nil {
		var all config.Errors
		if errors.As(err, &all) {
			for _, e := range all {
				d.log.Error("the configuration was refused; the old one stays in force", "error", e)
			}
		} else {
			d.log.Error("the configuration was refused; the old one stays in force", "error", err)
		}
		d.mu.Lock()
		d.refused = err.Error()
		d.mu.Unlock()
		return err
	}
	d.configureHost(c)
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Socket != d.config.Socket {
		d.log.Warn("the control socket stays where it is until the daemon is restarted", "path", d.config.Socket.Path)
		c.Socket = d.config.Socket
	}
	if c.Sandbox != d.config.Sandbox {
		d.log.Warn("the sandbox stays as it is until the daemon is restarted", "sandbox", d.config.Sandbox)
		c.Sandbox = d.config.Sandbox
	}
	d.config, d.refused = c, ""
	for _, r := range d.radios {
		r.policy = ""
		r.endLoan()
		if r.goneAt.IsZero() {
			r.configure(c.SettingsFor(r.last.Load().Radio))
		}
	}
	d.searchSoon() // names may have changed since the last look
	d.log.Info("the configuration is in force", "file", d.configFile(), "why", why)
	return nil
}

// reloadOn reloads at each signal until ctx ends.
func (d *daemon) reloadOn(ctx context.Context, signals <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-signals:
			_ = d.reload(s.String()) // it was logged
		}
	}
}

// watchConfig reloads when the configuration file changes, until ctx ends. The
// directory is watched, because editors replace files, and the text is
// compared, because much else happens in /etc.
func (d *daemon) watchConfig(ctx context.Context) error {
	file := d.configFile()
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer w.Close()
		err = w.Add(filepath.Dir(file))
	}
	if err != nil {
		d.log.Warn("changes of the configuration file will not be noticed; use SIGHUP", "error", err)
		return nil
	}
	loaded, _ := config.Read(file)
	quiet := time.NewTimer(0)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.Errors:
			d.log.Debug("watch the configuration file", "error", err)
			quiet.Reset(settle)
		case e, ok := <-w.Events:
			if !ok {
				return nil
			}
			if e.Op != fsnotify.Chmod {
				quiet.Reset(settle)
			}
		case <-quiet.C:
			text, err := config.Read(file)
			if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(text, loaded) {
				continue // a file that was removed leaves its settings behind
			}
			loaded = text
			_ = d.reload("the file changed") // it was logged
		}
	}
}
