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

// IsFourAddr reports whether an interface is a 4-address link, behind which a
// whole network may be.
func (r Radio) IsFourAddr() bool {
	return slices.ContainsFunc(r.Interfaces, func(i Interface) bool { return i.FourAddr })
}

// wide reports whether a radio is to be left more queue than a loop would find.
// What one station of a mesh or of a 4-address link is sent is for many hosts,
// and comes in bursts from another hop that shares the air: a measurement of now
// says little about what the next burst needs. And where airtime is scheduled by
// virtual time, a station whose queue runs short may not be served at all.
func (r Radio) wide() bool { return r.IsMesh() || r.IsFourAddr() || r.VirtualTime }

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
