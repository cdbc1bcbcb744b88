package tuner

import "time"

// Settings is how one radio shall be treated: what the configuration says,
// else what the chip's profile says.
type Settings struct {
	// Policy is a name that policies.New knows.
	Policy string
	// Target caps the time frames may spend in the hardware queue; 0: no cap.
	Target time.Duration
	// Min and Max are the rails for every AQL limit.
	Min, Max time.Duration
	// ThreadedNAPI says what to do with /sys/class/net/*/threaded.
	ThreadedNAPI ThreadedMode
	// Force writes limits even where they are known to have no effect.
	Force bool
	// Sample is the time between two looks at the fast files, Window that
	// between two decisions.
	Sample, Window time.Duration
}

// ThreadedMode is the configured wish for threaded NAPI.
type ThreadedMode string

// The wishes: auto turns it on where it works and there is more than one CPU,
// leave never touches it, on and off are explicit.
const (
	ThreadedAuto  ThreadedMode = "auto"
	ThreadedOn    ThreadedMode = "on"
	ThreadedOff   ThreadedMode = "off"
	ThreadedLeave ThreadedMode = "leave"
)
