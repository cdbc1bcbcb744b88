package daemon

import (
	"errors"
	"path/filepath"
	"time"

	"airtuned/daemon/sandbox"
	"airtuned/tree"
)

// confine shuts the daemon off from files it does not need, as far as the
// kernel can. socketDir is where the control socket's file is removed from in
// the end. A daemon without a sandbox is better than none, so a failure is
// only told.
func (d *daemon) confine(socketDir string) {
	_, _ = time.Now().Zone() // loads the time zone, whose files go out of reach
	f := sandbox.Files{
		// The directory, because editors replace the file.
		Read:   []string{filepath.Dir(d.configFile())},
		Remove: []string{socketDir},
		Keep:   []string{d.Env.StateDir},
	}
	if etc, ok := d.Etc.(tree.Dir); ok { // who else places the network's work
		f.Read = append(f.Read, etc.String()+"/config", etc.String()+"/rc.d")
	}
	for _, fs := range []tree.FS{d.Env.Sys, d.Env.Debug, d.Env.Proc} {
		if dir, ok := tree.DirOf(fs); ok {
			f.Write = append(f.Write, dir.String())
		}
	}
	switch err := sandbox.Enter(f); {
	case errors.Is(err, errors.ErrUnsupported):
		d.log.Debug("no sandbox", "reason", err)
	case err != nil:
		d.log.Warn("no sandbox", "error", err)
	default:
		d.log.Debug("in the sandbox")
	}
}
