// SPDX-License-Identifier: Apache-2.0

// Package scenario reads scenarios: what happens in a run of the lab, as data.
// The files are in lab/scenarios. Reading is strict, as with airtuned's own
// configuration: what is not known is an error.
package scenario

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"airtuned/wlan"
)

// Scenario is an access point, its stations, and what happens to them. Time 0
// is when all stations that are there from the start have joined.
type Scenario struct {
	Name        string `yaml:"-" json:"name"`
	Description string `yaml:"description" json:"description"`
	// Like names another scenario of the same folder, of which only what is
	// said here is different. Stations are taken over as a whole or not at all.
	Like string `yaml:"like" json:"-"`
	// Radio is what kind all radios are: ath10k, the real driver over an
	// emulated QCA9984, or hwsim, where neither rates nor AQL exist.
	Radio string `yaml:"radio" json:"radio"`
	// Only what happens in Duration after Warmup is measured.
	Warmup   Duration `yaml:"warmup" json:"warmup"`
	Duration Duration `yaml:"duration" json:"duration"`
	// SvcUs is how often the access point's host serves transmit completions,
	// in microseconds; 0 is at once.
	SvcUs Timeline `yaml:"svc_us" json:"svc_us"`
	// Blind firmware reports no rates, so that AQL sees nothing.
	Blind bool `yaml:"blind" json:"blind"`
	// FlowControl is "" for firmware whose queue holds 1424 frames, push for one
	// that holds 2500, pull for one that fetches them.
	FlowControl string `yaml:"flow_control" json:"flow_control"`
	// WAN is between the server and the access point.
	WAN WAN `yaml:"wan" json:"wan"`
	// Params are for the kernel's command line.
	Params []string `yaml:"params" json:"params"`
	// AQL is default (the kernel's limits), off, or a number of microseconds
	// that is both the low and the high limit of every access category.
	AQL string `yaml:"aql" json:"aql"`
	// Policy, if any, is what airtuned runs at the access point.
	Policy string `yaml:"policy" json:"policy"`
	// Tuned is the station whose radio is the one that AQL, Blind, SvcUs, Crashes
	// and Knobs are about, and that is measured: the access point's if it is "".
	Tuned string `yaml:"tuned" json:"tuned,omitempty"`
	// Knobs are numbers for other files of the radio's phy in debugfs, by their
	// names there: ath10k/tx_queue_limit. Only patched kernels have such.
	Knobs map[string]int `yaml:"knobs" json:"knobs,omitempty"`
	// Crashes are when the access point's firmware crashes.
	Crashes []Duration `yaml:"crashes" json:"crashes"`
	// Seed is what all randomness comes from: the kernel's, the air's and that
	// of the times of pings.
	Seed     uint64  `yaml:"seed" json:"seed"`
	Stations []Group `yaml:"stations" json:"stations"`
}

// WAN is a symmetric link.
type WAN struct {
	// Delay is that of one direction.
	Delay Duration `yaml:"delay" json:"delay"`
	// RateKbps is that of each direction, 0 is no bound.
	RateKbps int `yaml:"rate_kbps" json:"rate_kbps"`
}

// Group is a number of stations that are alike.
type Group struct {
	Name  string `yaml:"name" json:"name"`
	Count int    `yaml:"count" json:"count"`
	// RateKbps is the PHY rate of the links to and from the access point.
	RateKbps Timeline `yaml:"rate_kbps" json:"rate_kbps"`
	// LossPPM is how many of a million MPDUs are lost each time they are sent.
	LossPPM Timeline `yaml:"loss_ppm" json:"loss_ppm"`
	// The first station joins at Join, or before time 0 if that is 0, and each
	// next one Every later. They leave in the same way, or never if Leave is 0.
	Join  Duration `yaml:"join" json:"join"`
	Leave Duration `yaml:"leave" json:"leave"`
	Every Duration `yaml:"every" json:"every"`
	// Download and Upload are numbers of bulk TCP flows of each station from
	// and to the server.
	Download Timeline `yaml:"download" json:"download"`
	Upload   Timeline `yaml:"upload" json:"upload"`
	// Class is the access category of the bulk flows, BE if empty.
	Class string `yaml:"class" json:"class"`
	// Ping has the access point ping the group's first station.
	Ping bool `yaml:"ping" json:"ping"`
	// VoIP has the access point send a telephone call's packets to the first
	// station, in this access category.
	VoIP string `yaml:"voip" json:"voip"`
	// Web has the first station load web pages of 25 objects, one page after
	// the other, with pauses of about a second.
	Web bool `yaml:"web" json:"web"`
	// AloneMbps is the throughput of one such station that has the air for
	// itself, measured before; with that of all, there is an air efficiency.
	AloneMbps float64 `yaml:"alone_mbps" json:"alone_mbps"`
}

// The kinds of radio.
const (
	Ath10k = "ath10k"
	Hwsim  = "hwsim"
)

// The kinds of flow control.
const (
	Push = "push"
	Pull = "pull"
)

// The settings of AQL that are no number.
const (
	AQLDefault = "default"
	AQLOff     = "off"
)

// MaxStations is one less than there are radios.
const MaxStations = 31

// Load reads a scenario by the name of its file in dir, without ".yaml", or by
// its path if it has a slash or that ending.
func Load(dir, name string) (Scenario, error) {
	file := name
	if !strings.Contains(name, "/") && !strings.HasSuffix(name, ".yaml") {
		file = filepath.Join(dir, name+".yaml")
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return Scenario{}, fmt.Errorf("no scenario %q: there are %s", name, strings.Join(Names(dir), ", "))
	}
	if err != nil {
		return Scenario{}, fmt.Errorf("read scenario: %w", err)
	}
	s, err := parse(b, func(like string) ([]byte, error) {
		return os.ReadFile(filepath.Join(filepath.Dir(file), like+".yaml"))
	})
	if err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", file, err)
	}
	s.Name = strings.TrimSuffix(filepath.Base(file), ".yaml")
	return s, nil
}

// Names lists the scenarios in a folder, sorted.
func Names(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".yaml")
	}
	return files
}

// parse reads a scenario, fills in defaults and checks it. read returns the
// text of another one.
func parse(b []byte, read func(name string) ([]byte, error)) (Scenario, error) {
	s := Scenario{
		Radio:    Ath10k,
		Warmup:   Duration(3 * time.Second),
		Duration: Duration(10 * time.Second),
		WAN:      WAN{Delay: Duration(10 * time.Millisecond)},
		AQL:      AQLDefault,
		Seed:     1,
	}
	var like struct{ Like string }
	if err := yaml.Unmarshal(b, &like); err != nil {
		return Scenario{}, err
	}
	if like.Like != "" {
		if !word.MatchString(like.Like) {
			return Scenario{}, fmt.Errorf("like: %q is not a name", like.Like)
		}
		base, err := read(like.Like)
		if err != nil {
			return Scenario{}, fmt.Errorf("like: %w", err)
		}
		if err := decode(base, &s); err != nil {
			return Scenario{}, fmt.Errorf("like %s: %w", like.Like, err)
		}
		if s.Like != "" {
			return Scenario{}, fmt.Errorf("like %s: is itself like another", like.Like)
		}
	}
	if err := decode(b, &s); err != nil {
		return Scenario{}, err
	}
	for i := range s.Stations {
		g := &s.Stations[i]
		g.Count = cmp.Or(g.Count, 1)
	}
	return s, s.Check()
}

func decode(b []byte, s *Scenario) error {
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(s); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	return nil
}

var (
	word = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)
	knob = regexp.MustCompile(`^(ath10k/)?[a-z][a-z0-9_]{0,30}$`)
)

// Check says what is wrong with a scenario.
func (s *Scenario) Check() error {
	if s.Radio != Ath10k && s.Radio != Hwsim {
		return fmt.Errorf("radio %q: want %s or %s", s.Radio, Ath10k, Hwsim)
	}
	if s.Duration <= 0 || s.Warmup < 0 {
		return fmt.Errorf("duration %v after %v: want more than nothing", s.Duration, s.Warmup)
	}
	if s.WAN.Delay < 0 || s.WAN.RateKbps < 0 {
		return fmt.Errorf("wan: delay and rate cannot be negative")
	}
	if s.AQL != AQLDefault && s.AQL != AQLOff {
		if us, err := strconv.ParseUint(s.AQL, 10, 32); err != nil || us == 0 {
			return fmt.Errorf("aql %q: want %s, %s or a number of microseconds", s.AQL, AQLDefault, AQLOff)
		}
	}
	if s.Policy != "" && !word.MatchString(s.Policy) {
		return fmt.Errorf("policy %q: not a name", s.Policy)
	}
	for _, p := range s.Params {
		if p == "" || p == "--" || strings.ContainsAny(p, " \t\n") {
			return fmt.Errorf("params: %q is not one parameter", p)
		}
	}
	for _, at := range s.Crashes {
		if at < 0 || s.Radio != Ath10k {
			return fmt.Errorf("crashes: %v: want times after 0s, and radio ath10k", at)
		}
	}
	if s.FlowControl != "" && s.FlowControl != Push && s.FlowControl != Pull {
		return fmt.Errorf("flow_control %q: want %s or %s, or nothing", s.FlowControl, Push, Pull)
	}
	for name := range s.Knobs {
		if !knob.MatchString(name) {
			return fmt.Errorf("knobs: %q is no file of a phy", name)
		}
	}
	if s.Tuned != "" && s.Policy != "" {
		return errors.New("tuned: airtuned runs at the access point only")
	}
	if err := s.SvcUs.check("svc_us", 0, 1_000_000); err != nil {
		return err
	}
	names := map[string]bool{}
	for i := range s.Stations {
		g := &s.Stations[i]
		if !word.MatchString(g.Name) || names[g.Name] {
			return fmt.Errorf("stations: name %q: want a word of its own", g.Name)
		}
		names[g.Name] = true
		if err := g.check(); err != nil {
			return fmt.Errorf("stations: %s: %w", g.Name, err)
		}
	}
	all := s.Expand()
	if n := len(all); n == 0 || n > MaxStations {
		return fmt.Errorf("%d stations: want 1 to %d", n, MaxStations)
	}
	if s.Tuned != "" && !slices.ContainsFunc(all, func(st Station) bool { return st.Name == s.Tuned }) {
		return fmt.Errorf("tuned: no station %q", s.Tuned)
	}
	return nil
}

func (g *Group) check() error {
	if g.Count < 1 || g.Count > MaxStations {
		return fmt.Errorf("count %d: want 1 to %d", g.Count, MaxStations)
	}
	if g.Join < 0 || g.Every < 0 || g.Leave < 0 || g.Leave != 0 && g.Leave <= g.Join {
		return fmt.Errorf("join %v, leave %v, every %v: want to join before leaving", g.Join, g.Leave, g.Every)
	}
	for name, ac := range map[string]string{"voip": g.VoIP, "class": g.Class} {
		if _, ok := wlan.ParseAC(ac); !ok && ac != "" {
			return fmt.Errorf("%s %q: want VO, VI, BE or BK", name, ac)
		}
	}
	if g.AloneMbps < 0 {
		return fmt.Errorf("alone_mbps %v: cannot be negative", g.AloneMbps)
	}
	return errors.Join(
		g.RateKbps.check("rate_kbps", 6500, 3_466_700),
		g.LossPPM.check("loss_ppm", 0, 1_000_000),
		g.Download.check("download", 0, 64),
		g.Upload.check("upload", 0, 64),
	)
}

// End is when the measurement ends.
func (s *Scenario) End() time.Duration { return time.Duration(s.Warmup + s.Duration) }

// Station is one station of a group.
type Station struct {
	Group *Group
	Name  string
	// Radio is the number of its radio; the access point's is 0.
	Radio int
	// First of its group.
	First bool
	// Join is 0 for one that is there from the start, Leave 0 for one that
	// stays.
	Join, Leave time.Duration
}

// Expand lists the stations one by one, in the order of their groups.
func (s *Scenario) Expand() []Station {
	var all []Station
	for i := range s.Stations {
		g := &s.Stations[i]
		for k := range g.Count {
			st := Station{Group: g, Name: g.Name, Radio: len(all) + 1, First: k == 0}
			if g.Count > 1 {
				st.Name = fmt.Sprint(g.Name, "-", k+1)
			}
			st.Join = time.Duration(g.Join) + time.Duration(k)*time.Duration(g.Every)
			if g.Leave > 0 {
				st.Leave = time.Duration(g.Leave) + time.Duration(k)*time.Duration(g.Every)
			}
			all = append(all, st)
		}
	}
	return all
}

// Duration is a time.Duration that is written with its unit.
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes e.g. "1.5s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads e.g. "1.5s".
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// Timeline is a number that may change over time. In a file it is a number, or
// a mapping from times to numbers: {0s: 866700, 10s: 6500}.
type Timeline []Step

// Step is a number from a time on.
type Step struct {
	At    Duration `json:"at"`
	Value int      `json:"value"`
}

// UnmarshalYAML reads either form.
func (t *Timeline) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		var v int
		if err := n.Decode(&v); err != nil {
			return err
		}
		*t = Timeline{{0, v}}
		return nil
	}
	*t = nil
	for i := 0; i+1 < len(n.Content); i += 2 {
		var s Step
		if err := n.Content[i].Decode(&s.At); err != nil {
			return fmt.Errorf("line %d: %w", n.Content[i].Line, err)
		}
		if err := n.Content[i+1].Decode(&s.Value); err != nil {
			return err
		}
		*t = append(*t, s)
	}
	return nil
}

func (t Timeline) check(name string, lowest, highest int) error {
	for i, s := range t {
		if s.Value < lowest || s.Value > highest {
			return fmt.Errorf("%s: %d: want %d to %d", name, s.Value, lowest, highest)
		}
		if i == 0 && s.At != 0 || i > 0 && s.At <= t[i-1].At {
			return fmt.Errorf("%s: want times in order, from 0s on", name)
		}
	}
	return nil
}

// At is the number at a time, 0 if there is none.
func (t Timeline) At(at time.Duration) int {
	v := 0
	for _, s := range t {
		if time.Duration(s.At) <= at {
			v = s.Value
		}
	}
	return v
}
