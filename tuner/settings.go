package tuner

import (
	"math"
	"time"

	"airtuned/wlan"
)

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
	// PacingShift is auto, leave, or the tx_sk_pacing_shift to set, 5 to 10.
	PacingShift PacingShift
	// Force writes limits even where they are known to have no effect.
	Force bool
	// Sample is the time between two looks at the fast files, Window that
	// between two decisions.
	Sample, Window time.Duration
}

// ThreadedMode is the configured wish for threaded NAPI.
type ThreadedMode string

// The wishes: auto leaves it to package host, which turns it on where a CPU is
// saturated, leave never touches it, on and off are explicit.
const (
	ThreadedAuto  ThreadedMode = "auto"
	ThreadedOn    ThreadedMode = "on"
	ThreadedOff   ThreadedMode = "off"
	ThreadedLeave ThreadedMode = "leave"
)

// PacingShift is the configured wish for tx_sk_pacing_shift: auto is the chip's
// profile's, leave never touches it, a number is explicit. Empty is leave.
type PacingShift string

// The wishes that are no number.
const (
	PacingAuto  PacingShift = "auto"
	PacingLeave PacingShift = "leave"
)

// closedLoop reports whether the policy needs to see what its limits do.
// Others can be applied to an idle radio.
func (s Settings) closedLoop() bool { return s.Policy == "dql" || s.Policy == "delay" }

// wideMin is the lower rail on radios that are wide: the lower limit the kernel
// itself gives to each queue (IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L), about what one
// aggregate of the longest kind lasts (aPPDUMaxTime, 5.484 ms).
const wideMin = 5 * time.Millisecond

// forRadio raises the lower rail on a wide radio, as far as the upper one, which
// somebody may have set, allows.
func (s Settings) forRadio(r Radio) Settings {
	if r.wide() {
		s.Min = max(s.Min, wideMin)
		if s.Max > 0 {
			s.Min = min(s.Min, s.Max)
		}
	}
	return s
}

// clamp brings a pair of limits within the rails.
func (s Settings) clamp(l wlan.Limit) wlan.Limit {
	lo, hi := uint32(s.Min.Microseconds()), uint32(s.Max.Microseconds())
	if hi == 0 {
		hi = math.MaxInt32
	}
	l.LowUs = max(min(l.LowUs, hi), lo, 1)
	l.HighUs = max(min(l.HighUs, hi), l.LowUs)
	return l
}

// bound is clamp for a radio's limits.
func (s Settings) bound(l wlan.Limits) wlan.Limits {
	for ac := range l.AC {
		l.AC[ac] = s.clamp(l.AC[ac])
	}
	return l
}
