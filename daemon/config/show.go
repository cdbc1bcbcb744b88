package config

import (
	"bytes"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"airtuned/policies"
	"airtuned/wlan"
)

// Effective is a configuration together with the profiles that fill in what it
// leaves open, for `airtuned config show`.
type Effective struct {
	Config
	Profiles []Profile `json:"profiles"`
}

// Profile is one of the embedded profiles of package policies, printable.
type Profile struct {
	Name         string   `json:"name" yaml:"name"`
	Chips        []string `json:"chips,omitempty" yaml:"chips,omitempty,flow"`
	Drivers      []string `json:"drivers,omitempty" yaml:"drivers,omitempty,flow"`
	Buses        []string `json:"buses,omitempty" yaml:"buses,omitempty,flow"`
	Policy       string   `json:"policy" yaml:"policy"`
	Target       Duration `json:"target" yaml:"target"`
	Limits       Limits   `json:"limits,omitzero" yaml:"limits,omitempty,flow"`
	ThreadedNAPI string   `json:"threaded_napi" yaml:"threaded_napi"`
	PacingShift  int      `json:"pacing_shift,omitempty" yaml:"pacing_shift,omitempty"`
	Static       Static   `json:"static" yaml:"static,flow"`
	Why          string   `json:"why" yaml:"why"`
}

// Static is what the policy static writes for best effort; the profiles have
// the same for every access category.
type Static struct {
	Low       Duration `json:"low" yaml:"low"`
	High      Duration `json:"high" yaml:"high"`
	Threshold Duration `json:"threshold" yaml:"threshold"`
}

// Effective adds the profiles to a configuration.
func (c Config) Effective() Effective {
	e := Effective{Config: c}
	for _, p := range policies.Profiles() {
		be := p.Static.AC[wlan.BE]
		e.Profiles = append(e.Profiles, Profile{
			Name: p.Name, Chips: p.Chips, Drivers: p.Drivers, Buses: p.Buses,
			Policy: p.Policy, Target: Duration(p.Target), Limits: Limits{Duration(p.Min), Duration(p.Max)},
			ThreadedNAPI: p.ThreadedNAPI, PacingShift: p.PacingShift,
			Static: Static{micros(be.LowUs), micros(be.HighUs), micros(p.Static.ThresholdUs)},
			Why:    p.Why,
		})
	}
	return e
}

func micros(us uint32) Duration { return Duration(time.Duration(us) * time.Microsecond) }

// Marshal prints the configuration as a file that Parse reads.
func (c Config) Marshal() []byte { return encode(c) }

// Marshal prints the configuration as a file that Parse reads, and below it,
// as a comment since they cannot be set, the profiles.
func (e Effective) Marshal() []byte {
	var b bytes.Buffer
	b.Write(encode(e.Config))
	b.WriteString("\n# The profiles, first match wins: what a radio gets that has no entry above,\n# and what its entry leaves open.\n")
	for line := range strings.Lines(string(encode(map[string][]Profile{"profiles": e.Profiles}))) {
		b.WriteString(strings.TrimRight("# "+strings.TrimRight(line, "\n"), " ") + "\n")
	}
	return b.Bytes()
}

// encode cannot fail: the types above hold nothing that YAML cannot say.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(v); err != nil {
		panic("encode configuration: " + err.Error())
	}
	return b.Bytes()
}
