package daemon

import (
	"fmt"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// notifier talks to the service manager (sd_notify(3)); without one it is
// silent.
type notifier struct{}

// send never fails in a way that anybody could do something about.
func (notifier) send(state string) { _, _ = sd.SdNotify(false, state) }

// reloading announces a reload, which the next READY=1 ends.
func (n notifier) reloading() {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) == nil {
		n.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", t.Nano()/1000))
	}
}

// watchdog ticks when the service manager wants to hear of us, twice as often
// as it demands; nil if it does not.
func (notifier) watchdog() *time.Ticker {
	interval, err := sd.SdWatchdogEnabled(false)
	if err != nil || interval <= 0 {
		return nil
	}
	return time.NewTicker(interval / 2)
}
