// Package tuner drives one radio: it detects what can be tuned, senses what
// the hardware queue does, asks a policy, and applies the answer in bounded,
// verified steps that can all be undone. It knows nothing of configuration
// files, sockets or signals (package daemon), takes no decision about limits
// (package policies) and has no clock: every step is told the time.
package tuner

import (
	"log/slog"

	"airtuned/nl80211"
	"airtuned/tree"
)

// Env is how a tuner reaches the system.
type Env struct {
	// Sys, Debug and Proc are /sys, /sys/kernel/debug and /proc.
	Sys, Debug, Proc tree.FS
	// Netlink is nil where netlink is not to be used or not to be had.
	Netlink Netlink
	// StateDir is where originals are kept, e.g. /run/airtuned.
	StateDir string
	Log      *slog.Logger
}

// Netlink is the part of nl80211 that detection and sensing need.
type Netlink interface {
	Wiphys() ([]nl80211.Wiphy, error)
	Interfaces() ([]nl80211.Interface, error)
	Stations(ifindex int) ([]nl80211.Station, error)
	Firmware(ifname string) (string, error)
}

// Chooser picks the settings for a radio that was detected.
type Chooser func(Radio) Settings
