// Package config reads airtuned's configuration file. It is strict: whatever
// it does not know is an error that names file, line and the allowed values,
// so that a typing error never silently becomes a default.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"airtuned/host"
	"airtuned/policies"
	"airtuned/tuner"
)

// DefaultPath is read when no file is named. It need not exist.
const DefaultPath = "/etc/airtuned.yaml"

// RunDir is where the control socket and original values are by default:
// /run/airtuned, or /var/run/airtuned on systems without /run, such as OpenWrt.
func RunDir() string {
	if _, err := os.Stat("/run"); err != nil {
		return "/var/run/airtuned"
	}
	return "/run/airtuned"
}

// Config is the whole configuration.
type Config struct {
	Socket Socket `json:"socket" yaml:"socket"`
	Loop   Loop   `json:"loop" yaml:"loop"`
	// Sandbox is whether the daemon shuts itself off from files it does not
	// need.
	Sandbox bool `json:"sandbox" yaml:"sandbox"`
	// Host is about the machine itself.
	Host Host `json:"host" yaml:"host"`
	// Radios are tried in order; the first whose Match fits a radio is its
	// rule, and there is no other. What it leaves open comes from the chip's
	// profile.
	Radios []Rule `json:"radios" yaml:"radios"`
}

// Socket is where the control socket is and which group may read from it.
type Socket struct {
	Path  string `json:"path" yaml:"path"`
	Group string `json:"group" yaml:"group"`
}

// Loop is how often a radio is looked at and how often it is decided.
type Loop struct {
	Sample Duration `json:"sample" yaml:"sample"`
	Window Duration `json:"window" yaml:"window"`
}

// Host says whether the network's work is moved between CPUs (auto, off), and of
// which interfaces besides those of radios.
type Host struct {
	Placement  string   `json:"placement" yaml:"placement"`
	Interfaces []string `json:"interfaces" yaml:"interfaces,flow"`
}

// The values of Host.Placement.
const (
	PlacementAuto = "auto"
	PlacementOff  = "off"
)

// HostSettings is how the machine shall be treated.
func (c Config) HostSettings() host.Settings {
	return host.Settings{Off: c.Host.Placement == PlacementOff, Interfaces: c.Host.Interfaces}
}

// Rule says how the radios that match it are treated. A zero field is one that
// was not given.
type Rule struct {
	Match  Match  `json:"match,omitzero" yaml:"match,omitempty"`
	Policy string `json:"policy,omitempty" yaml:"policy,omitempty"`
	// Target caps the time in the hardware queue; it points to 0 for "none",
	// which lifts the profile's cap.
	Target       *Duration          `json:"target,omitempty" yaml:"target,omitempty"`
	Limits       Limits             `json:"limits,omitzero" yaml:"limits,omitempty"`
	ThreadedNAPI tuner.ThreadedMode `json:"threaded_napi,omitempty" yaml:"threaded_napi,omitempty"`
	PacingShift  tuner.PacingShift  `json:"pacing_shift,omitempty" yaml:"pacing_shift,omitempty"`
	Force        bool               `json:"force,omitempty" yaml:"force,omitempty"`
}

// Match holds a glob for each property of a radio that matters; an empty one
// fits everything.
type Match struct {
	Chip      string `json:"chip,omitempty" yaml:"chip,omitempty"`
	Driver    string `json:"driver,omitempty" yaml:"driver,omitempty"`
	Bus       string `json:"bus,omitempty" yaml:"bus,omitempty"`
	Path      string `json:"path,omitempty" yaml:"path,omitempty"`
	Phy       string `json:"phy,omitempty" yaml:"phy,omitempty"`
	Interface string `json:"interface,omitempty" yaml:"interface,omitempty"`
}

// Limits are the rails for every AQL limit.
type Limits struct {
	Min Duration `json:"min,omitempty" yaml:"min,omitempty"`
	Max Duration `json:"max,omitempty" yaml:"max,omitempty"`
}

// Duration is a time.Duration that prints as it is written in the file.
type Duration time.Duration

// String is the duration with its unit, as in "1500us".
func (d Duration) String() string { return policies.Duration(d).String() }

// MarshalText prints the duration, and 0, which only a target can be, as the
// word for it.
func (d Duration) MarshalText() ([]byte, error) {
	if d == 0 {
		return []byte(noTarget), nil
	}
	return []byte(d.String()), nil
}

// Default is the configuration of an empty file.
func Default() Config {
	return Config{
		Socket:  Socket{Path: RunDir() + "/airtuned.sock", Group: "airtuned"},
		Loop:    Loop{Sample: Duration(20 * time.Millisecond), Window: Duration(200 * time.Millisecond)},
		Sandbox: true,
		Host:    Host{Placement: PlacementAuto, Interfaces: []string{}},
		Radios:  []Rule{},
	}
}

// Load reads a configuration file. An empty name stands for DefaultPath, which
// may be missing; a file that was named may not.
func Load(name string) (Config, error) {
	file := cmp.Or(name, DefaultPath)
	b, err := Read(file)
	if name == "" && errors.Is(err, fs.ErrNotExist) {
		return Default(), nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(file, b)
}

// maxSize is far more than a configuration needs. It keeps a file that has no
// end, or is not a configuration at all, out of memory.
const maxSize = 1 << 20

// Read returns the text of a configuration file.
func Read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(b) > maxSize {
		err = &fs.PathError{Op: "read", Path: file, Err: fmt.Errorf("longer than %d bytes, which no configuration is", maxSize)}
	}
	return b, err
}

// SettingsFor is how a radio shall be treated.
func (c Config) SettingsFor(r tuner.Radio) tuner.Settings {
	p := policies.ProfileFor(r.Chip, r.Driver, r.Bus)
	s := tuner.Settings{
		Policy:       p.Policy,
		Target:       p.Target,
		Min:          cmp.Or(p.Min, policies.DefaultMin),
		Max:          cmp.Or(p.Max, policies.DefaultMax),
		ThreadedNAPI: tuner.ThreadedMode(p.ThreadedNAPI),
		PacingShift:  tuner.PacingAuto,
		Sample:       time.Duration(c.Loop.Sample),
		Window:       time.Duration(c.Loop.Window),
	}
	if r.IsMesh() { // opt in: a peer there is many users
		s.Policy = "observe"
	}
	for _, rule := range c.Radios {
		if rule.Match.fits(r) {
			rule.apply(&s)
			break
		}
	}
	return s
}

func (r Rule) apply(s *tuner.Settings) {
	if r.Policy != "" {
		s.Policy = r.Policy
	}
	if r.Target != nil {
		s.Target = time.Duration(*r.Target)
	}
	// A rail given alone moves the profile's other rail out of its way.
	if r.Limits.Min != 0 {
		s.Min = time.Duration(r.Limits.Min)
		s.Max = max(s.Max, s.Min)
	}
	if r.Limits.Max != 0 {
		s.Max = time.Duration(r.Limits.Max)
		s.Min = min(s.Min, s.Max)
	}
	if r.ThreadedNAPI != "" {
		s.ThreadedNAPI = r.ThreadedNAPI
	}
	switch {
	case r.PacingShift != "":
		s.PacingShift = r.PacingShift
	case r.Policy == "observe": // by the user's wish
		s.PacingShift = tuner.PacingLeave
	}
	s.Force = r.Force
}

func (m Match) fits(r tuner.Radio) bool {
	if !glob(strings.ToUpper(m.Chip), r.Chip) || !glob(m.Driver, r.Driver) || !glob(m.Bus, r.Bus) ||
		!glob(pathGlob(m.Path), slashless(r.Path)) || !glob(m.Phy, r.Phy) {
		return false
	}
	if m.Interface == "" {
		return true
	}
	for _, i := range r.Interfaces {
		if glob(m.Interface, i.Name) {
			return true
		}
	}
	return false
}

func glob(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// pathGlob turns a glob for a device path, which may be written as it is seen
// below /sys, into one for slashless names.
func pathGlob(pattern string) string { return slashless(strings.TrimPrefix(pattern, "/sys/")) }

// slashless lets * run across the slashes of a device path, which nobody
// counts.
func slashless(p string) string { return strings.ReplaceAll(p, "/", "\x00") }
