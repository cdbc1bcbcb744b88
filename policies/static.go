package policies

import "airtuned/wlan"

// fixed writes the same limits whatever happens: the policies static and
// kernel-default.
type fixed struct {
	name string
	d    Decision
}

func newFixed(name string, l wlan.Limits, reason string) fixed {
	return fixed{name, Decision{Write: true, Limits: l, Reason: reason}}
}

func (f fixed) Name() string { return f.name }

func (f fixed) Decide(*Observation) Decision { return f.d }
