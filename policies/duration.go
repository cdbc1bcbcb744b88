package policies

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a time.Duration that configuration files spell with its unit:
// 1500us, 8ms, 2s. It has a resolution of one microsecond, which is that of
// AQL limits. The zero value means "not set" to everyone who uses it.
type Duration time.Duration

// ErrDuration is what ParseDuration's errors wrap.
var ErrDuration = errors.New("not a duration (a number and its unit: us, ms or s, as in 1500us, 8ms, 2s)")

// durationUnits in the order String tries them.
var durationUnits = []struct {
	name string
	unit time.Duration
}{{"s", time.Second}, {"ms", time.Millisecond}, {"us", time.Microsecond}}

// maxDuration bounds what a configuration can ask for, well below overflow.
const maxDuration = 24 * time.Hour

// ParseDuration reads a non-negative decimal number and its unit, without
// white space. Unlike time.ParseDuration it takes one unit only, demands it
// even for zero, and refuses fractions of a microsecond.
func ParseDuration(s string) (time.Duration, error) {
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZµμ")
	unit := time.Duration(0)
	for _, u := range durationUnits {
		if s[len(number):] == u.name {
			unit = u.unit
		}
	}
	if unit == 0 || strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("%q is %w", s, ErrDuration)
	}
	whole, fraction, _ := strings.Cut(number, ".")
	if whole == "" || len(fraction) > 6 || strings.HasSuffix(number, ".") {
		return 0, fmt.Errorf("%q is %w", s, ErrDuration)
	}
	// In micro-units the number is exact, so that 0.1s is 100000 us.
	micro, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", 6-len(fraction)), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is %w", s, ErrDuration)
	}
	if micro > uint64(maxDuration/unit)*1e6 {
		return 0, fmt.Errorf("%q is longer than %v", s, Duration(maxDuration))
	}
	us := uint64(unit / time.Microsecond)
	if micro*us%1e6 != 0 {
		return 0, fmt.Errorf("%q is finer than a microsecond", s)
	}
	return time.Duration(micro*us/1e6) * time.Microsecond, nil
}

// String prints the duration in the largest unit that divides it, as
// ParseDuration reads it. Fractions of a microsecond are cut off.
func (d Duration) String() string {
	for _, u := range durationUnits {
		if time.Duration(d)%u.unit == 0 && d != 0 {
			return strconv.FormatInt(int64(time.Duration(d)/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(time.Duration(d).Microseconds(), 10) + "us"
}

// UnmarshalYAML reads what ParseDuration reads; errors carry the line.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: %w", n.Line, ErrDuration)
	}
	v, err := ParseDuration(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*d = Duration(v)
	return nil
}

// MarshalYAML writes what UnmarshalYAML reads.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }
