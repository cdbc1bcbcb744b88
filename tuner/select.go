package tuner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoMatch is wrapped by the error of Select when no radio is meant.
var ErrNoMatch = errors.New("no such radio")

// Select returns the radios that sel means: a device path, a phy name, an
// interface name or a chip. The empty selector means every radio.
func Select(radios []Radio, sel string) ([]Radio, error) {
	if sel == "" {
		return radios, nil
	}
	var got []Radio
	for _, r := range radios {
		if r.Matches(sel) {
			got = append(got, r)
		}
	}
	if got == nil {
		have := make([]string, len(radios))
		for i, r := range radios {
			have[i] = r.Phy
			if r.Chip != "" {
				have[i] += " (" + r.Chip + ")"
			}
		}
		if len(have) == 0 {
			return nil, fmt.Errorf("%w: %q: there are none", ErrNoMatch, sel)
		}
		return nil, fmt.Errorf("%w: %q: there is %s", ErrNoMatch, sel, strings.Join(have, ", "))
	}
	return got, nil
}

// IsMesh reports whether an interface is a mesh point, whose peers each carry
// what many users send.
func (r Radio) IsMesh() bool {
	return slices.ContainsFunc(r.Interfaces, func(i Interface) bool { return i.Type == "mesh point" })
}

// Matches reports whether sel is the radio's path, phy, chip or an interface.
func (r Radio) Matches(sel string) bool {
	if sel == r.Path || sel == "/sys/"+r.Path || sel == r.Phy || r.Chip != "" && strings.EqualFold(sel, r.Chip) {
		return true
	}
	for _, i := range r.Interfaces {
		if sel == i.Name {
			return true
		}
	}
	return false
}
