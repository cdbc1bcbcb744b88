package policies

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"airtuned/wlan"
)

// Profile is what a kind of radio is treated with unless the configuration
// says otherwise.
type Profile struct {
	Name string
	// Chips, Drivers and Buses are globs (path.Match); an empty list matches
	// anything.
	Chips, Drivers, Buses []string
	// Policy is a name that New knows.
	Policy string
	// Static, Target, Min and Max are the policy's Params.
	Static           wlan.Limits
	Target, Min, Max time.Duration
	// ThreadedNAPI is auto, on, off or leave.
	ThreadedNAPI string
	// PacingShift is the tx_sk_pacing_shift that suits the chip, 0 to leave it as
	// it is: 7 in every kernel (net/mac80211/main.c, ieee80211_alloc_hw_nm).
	PacingShift int
	// Why says in a sentence why this chip is treated like this.
	Why string
}

// Params returns what New takes for this profile.
func (p Profile) Params() Params {
	return Params{Static: p.Static, Target: p.Target, Min: p.Min, Max: p.Max}
}

//go:embed profiles.yaml
var profilesYAML []byte

// Profiles returns the embedded profiles in the order they are tried.
func Profiles() []Profile { return slices.Clone(profiles()) }

// ProfileFor returns the first profile that matches a radio. The last profile
// matches everything, so there is always one.
func ProfileFor(chip, driver, bus string) Profile {
	ps := profiles()
	for _, p := range ps {
		if matchAny(p.Chips, chip) && matchAny(p.Drivers, driver) && matchAny(p.Buses, bus) {
			return p
		}
	}
	return ps[len(ps)-1]
}

func matchAny(globs []string, name string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(g string) bool {
		ok, err := path.Match(g, name)
		return ok && err == nil
	})
}

// profiles parses what is embedded, once. That it can be parsed is tested.
var profiles = sync.OnceValue(func() []Profile {
	ps, err := parseProfiles(profilesYAML)
	if err != nil {
		panic("embedded profiles.yaml: " + err.Error())
	}
	return ps
})

// profileYAML is a profile as the file spells it.
type profileYAML struct {
	Name                  string
	Chips, Drivers, Buses []string
	Policy                string
	Static                struct{ Low, High, Threshold Duration }
	Target, Min, Max      Duration
	ThreadedNAPI          string `yaml:"threaded_napi"`
	PacingShift           int    `yaml:"pacing_shift"`
	Why                   string
}

// parseProfiles reads a list of profiles, strictly: no unknown key, no unknown
// value, and the last one matches everything.
func parseProfiles(text []byte) ([]Profile, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	var in []profileYAML
	if err := dec.Decode(&in); err != nil {
		return nil, err
	}
	if len(in) == 0 {
		return nil, errors.New("no profiles")
	}
	out := make([]Profile, len(in))
	for i, y := range in {
		p, err := y.profile()
		if err != nil {
			return nil, fmt.Errorf("profile %d (%q): %w", i+1, y.Name, err)
		}
		out[i] = p
	}
	if last := out[len(out)-1]; len(last.Chips)+len(last.Drivers)+len(last.Buses) > 0 {
		return nil, fmt.Errorf("the last profile (%q) must match everything", last.Name)
	}
	return out, nil
}

func (y profileYAML) profile() (Profile, error) {
	p := Profile{
		Name: y.Name, Chips: y.Chips, Drivers: y.Drivers, Buses: y.Buses, Policy: y.Policy,
		Target: time.Duration(y.Target), Min: time.Duration(y.Min), Max: time.Duration(y.Max),
		ThreadedNAPI: y.ThreadedNAPI, PacingShift: y.PacingShift, Why: y.Why,
	}
	if p.Name == "" || p.Why == "" {
		return p, errors.New("name and why are required")
	}
	for _, g := range slices.Concat(p.Chips, p.Drivers, p.Buses) {
		if _, err := path.Match(g, ""); err != nil {
			return p, fmt.Errorf("%q: %w", g, err)
		}
	}
	low, high := micros(y.Static.Low), micros(y.Static.High)
	if low == 0 || low > high || high > micros(y.Static.Threshold) {
		return p, errors.New("static needs 0 < low <= high <= threshold")
	}
	for ac := range p.Static.AC {
		p.Static.AC[ac] = wlan.Limit{LowUs: low, HighUs: high}
	}
	p.Static.ThresholdUs = micros(y.Static.Threshold)
	if modes := []string{"auto", "on", "off", "leave"}; !slices.Contains(modes, p.ThreadedNAPI) {
		return p, fmt.Errorf("threaded_napi %q is none of %v", p.ThreadedNAPI, modes)
	}
	if p.PacingShift < 0 || p.PacingShift > 10 {
		return p, fmt.Errorf("pacing_shift %d is not within 0 (leave) to 10", p.PacingShift)
	}
	_, err := New(p.Policy, p.Params())
	return p, err
}

// micros is a duration as mac80211 writes it. ParseDuration bounds it to 24 h,
// which is more than 32 bits of microseconds hold.
func micros(d Duration) uint32 {
	return uint32(min(time.Duration(d).Microseconds(), 1<<31))
}
