// Package host moves the network's work between the CPUs of this machine where
// one of them drowns in softirqs: it reads the evidence from /proc and /sys,
// asks placement.Policy, and turns the knobs that decides on, of which each
// can be undone: NAPI threads and where they run, interrupts, RPS, and what
// TCP may queue. It is one per machine; what the hardware queue of a radio
// holds is package tuner's. Like that it has no clock: every step is told the
// time.
package host

import (
	"cmp"
	"time"

	"airtuned/sysfs"
	"airtuned/tree"
	"airtuned/tuner"
)

// Env is how it reaches the system.
type Env struct {
	tuner.Env
	// Etc is /etc, where OpenWrt keeps who places the network's work.
	Etc tree.FS
	// Place sets the CPUs of a thread; nil for sysfs.SetThreadAffinity.
	Place func(pid int, cpus []int) error
}

// Settings is what the configuration says.
type Settings struct {
	// Off leaves everything as it is.
	Off bool
	// Interfaces are wired ones to serve beside the radios'.
	Interfaces []string
}

// Radio is a radio as its loop sees it, and how it shall be treated.
type Radio struct {
	tuner.Status
	Settings tuner.Settings
}

// Status is what is done, in its JSON form as in status and detect.
type Status struct {
	State  tuner.State `json:"state"`
	Reason string      `json:"reason"`
	CPUs   int         `json:"cpus"`
	// Saturated are the CPUs that softirqs saturate; nil where nobody has looked.
	Saturated []int `json:"saturated"`
	// Changes are those in force.
	Changes []tuner.Change `json:"changes"`
}

// StepEvery is how often Step is to be called.
const StepEvery = time.Second

// Look is what can be told of a machine at one look, without the loop.
func Look(env Env, s Settings) Status {
	st := Status{State: tuner.Observing, CPUs: sysfs.CPUs(env.Sys, env.Proc)}
	st.Changes, st.Reason = look(env)
	if st.Changes == nil {
		st.Changes = []tuner.Change{}
	}
	switch {
	case s.Off:
		st.Reason = "placement: off"
	case st.Reason != "":
	case st.CPUs == 1:
		st.Reason = "there is one CPU: no other can take work off it"
	case st.CPUs == 0:
		st.Reason = "how many CPUs there are is not known"
	default:
		st.Reason = cmp.Or(leftOut, "airtuned run moves work when softirqs saturate a CPU while another is idle")
	}
	return st
}
