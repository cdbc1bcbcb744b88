package policies

import (
	"fmt"
	"strings"
	"time"

	"airtuned/wlan"
)

// Params are what a user or a chip's profile can set about a policy. The zero
// value is useful: it stands for the defaults below.
type Params struct {
	// Static is what the policy static writes; zero stands for DefaultStatic.
	Static wlan.Limits
	// Target, if not 0, caps the time frames may spend in the hardware queue:
	// no limit is above it, and where several stations' limits add up to more
	// they are lowered, down to Min.
	Target time.Duration
	// Min and Max are the rails of every limit that a policy finds by itself;
	// 0 stands for DefaultMin and DefaultMax.
	Min, Max time.Duration
}

// The defaults of Params.
const (
	// DefaultMin is below the smallest knee ever measured (450 us, four
	// stations at 866.7 Mb/s): less holds less than an aggregate.
	DefaultMin = 300 * time.Microsecond
	// DefaultMax is the kernel's own upper limit
	// (IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H): never queue more than without us.
	DefaultMax = 12 * time.Millisecond
)

// DefaultStatic is right for a fast host: above the knee of every mix of
// stations with aggregates, and at a tenth of the kernel's latency.
var DefaultStatic = wlan.Uniform(1500, wlan.KernelDefault.ThresholdUs)

// constructors in the order Names lists them.
var constructors = []struct {
	name string
	make func(Params) Policy
}{
	{"kernel-default", func(Params) Policy { return newFixed("kernel-default", wlan.KernelDefault, "the kernel's defaults") }},
	{"observe", func(Params) Policy { return observe{} }},
	{"static", func(p Params) Policy { return newFixed("static", p.Static, "the profile's numbers") }},
	{"dql", func(p Params) Policy { return newDQL(p) }},
	{"delay", func(p Params) Policy { return newDelay(p) }},
}

// New returns the policy of that name. The only errors are an unknown name and
// rails that exclude each other.
func New(name string, p Params) (Policy, error) {
	if p.Static == (wlan.Limits{}) {
		p.Static = DefaultStatic
	}
	if p.Min == 0 {
		p.Min = DefaultMin
	}
	if p.Max == 0 {
		p.Max = DefaultMax
	}
	if p.Min > p.Max {
		return nil, fmt.Errorf("limits: min %v is above max %v", Duration(p.Min), Duration(p.Max))
	}
	for _, c := range constructors {
		if c.name == name {
			return c.make(p), nil
		}
	}
	return nil, fmt.Errorf("unknown policy %q (there are %s)", name, strings.Join(Names(), ", "))
}

// Names lists the policies, from the least to the most active.
func Names() []string {
	names := make([]string, len(constructors))
	for i, c := range constructors {
		names[i] = c.name
	}
	return names
}
