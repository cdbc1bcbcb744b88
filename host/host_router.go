//go:build (mips || mipsle) && !full

package host

import (
	"time"

	"airtuned/sysfs"
	"airtuned/tuner"
)

// leftOut: with MIPS, flash is short, and most machines have one CPU. Of the
// others OpenWrt's packet steering takes care.
const leftOut = "placing work on CPUs is left out of builds for MIPS, to save flash"

// Host is a loop that changes nothing.
type Host struct{ env Env }

// New returns it.
func New(env Env, _ Settings) *Host { return &Host{env} }

// The methods of the loop, of which only Status says something.

func (h *Host) Configure(Settings, []Radio)            {}
func (h *Host) Step(time.Time)                         {}
func (h *Host) Hold(string)                            {}
func (h *Host) Resume()                                {}
func (h *Host) Restore(string) ([]tuner.Change, error) { return nil, nil }
func (h *Host) Stop(string) error                      { return nil }

// Status says that there is nothing.
func (h *Host) Status() Status {
	return Status{State: tuner.Observing, Reason: leftOut, CPUs: sysfs.CPUs(h.env.Sys, h.env.Proc), Changes: []tuner.Change{}}
}

func look(Env) ([]tuner.Change, string) { return nil, "" }

// Restore has nothing to put back.
func Restore(Env) ([]tuner.Change, error) { return nil, nil }
