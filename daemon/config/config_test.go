package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"airtuned/policies"
	"airtuned/tuner"
)

func ms(n int) Duration { return Duration(time.Duration(n) * time.Millisecond) }
func us(n int) Duration { return Duration(time.Duration(n) * time.Microsecond) }

func TestParse(t *testing.T) {
	eight, zero := ms(8), Duration(0)
	with := func(change func(*Config)) Config {
		c := Default()
		change(&c)
		return c
	}
	tests := []struct {
		name, in string
		want     Config
	}{
		{"empty", "", Default()},
		{"comment only", "# nothing\n", Default()},
		{"explicit null", "---\n~\n", Default()},
		{"empty mapping", "{}", Default()},
		{"sections commented out", "socket:\nloop:\nradios:\n", Default()},
		{"as in the documentation", `
socket: {path: /run/airtuned/airtuned.sock, group: airtuned}
loop: {sample: 20ms, window: 200ms}
radios:                  # first match wins; no match: defaults
  - match: {chip: WCN3990}          # chip, driver, bus, path, phy, interface; globs allowed
    policy: delay
    target: 8ms
    limits: {min: 500us, max: 12ms}
    threaded_napi: auto             # auto, on, off, leave
  - match: {driver: ath9k}
    policy: observe
`, with(func(c *Config) {
			c.Radios = []Rule{
				{Match: Match{Chip: "WCN3990"}, Policy: "delay", Target: &eight,
					Limits: Limits{us(500), ms(12)}, ThreadedNAPI: tuner.ThreadedAuto},
				{Match: Match{Driver: "ath9k"}, Policy: "observe"},
			}
		})},
		{"everything else", `
socket: {path: /tmp/s}
loop: {sample: 5ms}
sandbox: false
radios:
  - {target: none, limits: {min: 1ms}, threaded_napi: off, force: true}
  - match: {bus: pci, path: "devices/*", phy: "phy?", interface: "wlan[0-3]*"}
    limits: {max: 1s}
    force: false
`, with(func(c *Config) {
			c.Socket.Path = "/tmp/s"
			c.Sandbox = false
			c.Loop.Sample = ms(5)
			c.Radios = []Rule{
				{Target: &zero, Limits: Limits{Min: ms(1)}, ThreadedNAPI: tuner.ThreadedOff, Force: true},
				{Match: Match{Bus: "pci", Path: "devices/*", Phy: "phy?", Interface: "wlan[0-3]*"}, Limits: Limits{Max: ms(1000)}},
			}
		})},
		{"host", "host: {placement: off, interfaces: [eth0, br-lan.1, 'true']}\n", with(func(c *Config) {
			c.Host = Host{Placement: PlacementOff, Interfaces: []string{"eth0", "br-lan.1", "true"}}
		})},
		{"host without interfaces", "host:\n  interfaces:\n", Default()},
		{"anchors", "radios:\n- &a\n  match: {chip: A}\n  policy: delay\n- *a\n", with(func(c *Config) {
			r := Rule{Match: Match{Chip: "A"}, Policy: "delay"}
			c.Radios = []Rule{r, r}
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse("f.yaml", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string // the beginnings of the errors
	}{
		{"unknown section", "sockets: {}", []string{`f.yaml:1:1: unknown key "sockets" in the configuration (allowed: socket, loop, sandbox, host, radios)`}},
		{"unknown key", "radios:\n- match: {chip: A}\n  polcy: delay\n", []string{`f.yaml:3:3: unknown key "polcy" in a radio's entry (allowed: match, policy, target, limits, threaded_napi, pacing_shift, force)`}},
		{"unknown match key", "radios:\n- match: {vendor: A}\n", []string{`f.yaml:2:11: unknown key "vendor" in match (allowed: chip, driver, bus, path, phy, interface)`}},
		{"unknown policy", "radios:\n- policy: fast\n", []string{`f.yaml:2:11: unknown policy "fast" (allowed: ` + strings.Join(policies.Names(), ", ") + ")"}},
		{"no unit", "radios:\n- target: 8\n", []string{`f.yaml:2:11: target: `}},
		{"wrong unit", "radios:\n- target: 8min\n", []string{`f.yaml:2:11: target: `}},
		{"negative", "radios:\n- target: -8ms\n", []string{`f.yaml:2:11: target`}},
		{"zero limit", "radios:\n- limits: {min: 0ms}\n", []string{`f.yaml:2:17: min 0ms is out of range (allowed: 50us to 1s)`}},
		{"huge limit", "radios:\n- limits: {max: 2s}\n", []string{`f.yaml:2:17: max 2s is out of range (allowed: 50us to 1s)`}},
		{"min over max", "radios:\n- limits: {max: 500us, min: 12ms}\n", []string{`f.yaml:2:29: min 12ms is greater than max 500us`}},
		{"sample over window", "loop: {sample: 300ms}", []string{`f.yaml:1:16: sample 300ms is longer than window 200ms`}},
		{"window under sample", "loop: {window: 10ms}", []string{`f.yaml:1:16: sample 20ms is longer than window 10ms`}},
		{"duplicate", "loop: {}\nsocket: {}\nloop: {}", []string{`f.yaml:3:1: duplicate key "loop" in the configuration, first seen in line 1`}},
		{"duplicate deep", "radios:\n- match: {chip: A, chip: B}\n", []string{`f.yaml:2:20: duplicate key "chip" in match`}},
		{"bad glob", "radios:\n- match: {chip: 'QCA[9'}\n", []string{`f.yaml:2:17: chip: bad pattern "QCA[9"`}},
		{"empty match", "radios:\n- match:\n", []string{`f.yaml:2:9: match is empty`}},
		{"empty match mapping", "radios:\n- match: {}\n", []string{`f.yaml:2:10: match is empty`}},
		{"no value", "radios:\n- policy:\n", []string{`f.yaml:2:10: policy has no value`}},
		{"threaded", "radios:\n- threaded_napi: yes\n", []string{`f.yaml:2:18: unknown threaded_napi "yes" (allowed: auto, on, off, leave)`}},
		{"force", "radios:\n- force: 1\n", []string{`f.yaml:2:10: unknown force "1" (allowed: true, false)`}},
		{"not a mapping", "- a\n", []string{`f.yaml:1:1: the configuration must be a mapping`}},
		{"not a list", "radios: {chip: A}\n", []string{`f.yaml:1:9: radios must be a list`}},
		{"not a scalar", "radios:\n- policy: [delay]\n", []string{`f.yaml:2:11: policy must be a single value`}},
		{"sandbox", "sandbox: no", []string{`f.yaml:1:10: unknown sandbox "no" (allowed: true, false)`}},
		{"placement", "host: {placement: on}", []string{`f.yaml:1:19: unknown placement "on" (allowed: auto, off)`}},
		{"interface list", "host: {interfaces: eth0}", []string{`f.yaml:1:20: interfaces must be a list`}},
		{"interface name", "host: {interfaces: [../x, eth0]}", []string{`f.yaml:1:21: "../x" cannot be the name of an interface`}},
		{"interface name with NUL", `host: {interfaces: ["a\0"]}`, []string{`f.yaml:1:21: "a\x00" cannot be the name of an interface`}},
		{"relative socket", "socket: {path: a.sock}", []string{`f.yaml:1:16: path "a.sock" is not absolute`}},
		{"long socket", "socket: {path: /" + strings.Repeat("a", 107) + "}", []string{`f.yaml:1:16: path is longer than 107 bytes`}},
		{"syntax", "loop: {sample: 20ms\nradios: ]", []string{`f.yaml:`}},
		{"tab", "loop:\n\tsample: 20ms\n", []string{`f.yaml:2: found character`}},
		{"binary", "\xff\xfe", []string{`f.yaml: not UTF-8 text`}},
		{"two documents", "loop: {}\n---\nloop: {}\n", []string{`f.yaml:2:1: a second document`}},
		{"unknown anchor", "loop: *a", []string{`f.yaml`}},
		{"a list that holds itself", "radios: &a\n- *a\n", []string{`f.yaml:1:9: a radio's entry must be a mapping`}},
		{"merge key", "loop: {<<: {sample: 5ms}}", []string{`f.yaml:1:8: unknown key "<<" in loop`}},
		{"tag", "radios:\n- policy: !x delay\n", []string{`f.yaml:2:11: policy has an unknown tag !x`}},
		{"all of them", "loop: {sample: 1h}\nradios:\n- policy: fast\n  x: 1\n", []string{`f.yaml:1:16: sample`, `f.yaml:3:11: unknown policy`, `f.yaml:4:3: unknown key "x"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse("f.yaml", []byte(tt.in))
			if diff := gocmp.Diff(Config{}, got); diff != "" {
				t.Errorf("a refused file left something (-want +got):\n%s", diff)
			}
			var errs Errors
			if !errors.As(err, &errs) {
				t.Fatalf("got error %v of type %T, want Errors", err, err)
			}
			if len(errs) != len(tt.want) {
				t.Fatalf("got %d errors, want %d: %q", len(errs), len(tt.want), errs.Unwrap())
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(errs[i].Error(), want) {
					t.Errorf("error %d:\n got %s\nwant %s...", i, errs[i], want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error is not one line: %q", err)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := Load(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file that was named: got %v, want ErrNotExist", err)
	}
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte("loop: {window: 1s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file)
	if err != nil || c.Loop.Window != ms(1000) {
		t.Errorf("got %+v, %v; want a window of 1s", c, err)
	}
}

func TestSettingsFor(t *testing.T) {
	c, err := Parse("f", []byte(`
radios:
  - {match: {interface: "wlan1*"}, policy: observe}
  - {match: {driver: unheard-of}, target: 3ms, limits: {min: 2ms}}
  - {match: {chip: qca99*, bus: pci}, target: 3ms, limits: {min: 20ms}}
  - {match: {path: /sys/devices/*/0000:02:00.0}, limits: {max: 100us}, threaded_napi: leave, force: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	profile := policies.ProfileFor("QCA9984", "ath10k_pci", "pci")
	base := tuner.Settings{
		Policy: profile.Policy, Target: profile.Target, Min: cmp.Or(profile.Min, policies.DefaultMin), Max: cmp.Or(profile.Max, policies.DefaultMax),
		ThreadedNAPI: tuner.ThreadedMode(profile.ThreadedNAPI), PacingShift: tuner.PacingAuto, Sample: 20 * time.Millisecond, Window: 200 * time.Millisecond,
	}
	with := func(change func(*tuner.Settings)) tuner.Settings {
		s := base
		change(&s)
		return s
	}
	radio := tuner.Radio{Path: "devices/pci0/0000:01:00.0", Phy: "phy0", Driver: "ath10k_pci", Bus: "pci", Chip: "QCA9984"}
	tests := []struct {
		name   string
		change func(*tuner.Radio)
		want   tuner.Settings
	}{
		{"second rule", func(r *tuner.Radio) { r.Interfaces = []tuner.Interface{{Name: "wlan0"}} }, with(func(s *tuner.Settings) {
			s.Target, s.Min, s.Max = 3*time.Millisecond, 20*time.Millisecond, 20*time.Millisecond
		})},
		{"first match wins", func(r *tuner.Radio) {
			r.Interfaces = []tuner.Interface{{Name: "wlan0"}, {Name: "wlan1-1"}}
		}, with(func(s *tuner.Settings) { s.Policy, s.PacingShift = "observe", tuner.PacingLeave })},
		{"path, and max below the profile's min", func(r *tuner.Radio) {
			r.Bus, r.Path = "ahb", "devices/pci0/x/0000:02:00.0"
		}, with(func(s *tuner.Settings) {
			p := policies.ProfileFor("QCA9984", "ath10k_pci", "ahb")
			s.Policy, s.Target, s.Min, s.Max = p.Policy, p.Target, 100*time.Microsecond, 100*time.Microsecond
			s.ThreadedNAPI, s.Force = tuner.ThreadedLeave, true
		})},
		{"min on a profile without limits", func(r *tuner.Radio) {
			r.Chip, r.Driver = "QCA9999", "unheard-of"
		}, with(func(s *tuner.Settings) {
			p := policies.ProfileFor("QCA9999", "unheard-of", "pci")
			s.Policy, s.ThreadedNAPI = p.Policy, tuner.ThreadedMode(p.ThreadedNAPI)
			s.Target, s.Min, s.Max = 3*time.Millisecond, 2*time.Millisecond, policies.DefaultMax
		})},
		{"no rule", func(r *tuner.Radio) { r.Chip = "QCA4019" }, with(func(s *tuner.Settings) {
			p := policies.ProfileFor("QCA4019", "ath10k_pci", "pci")
			s.Policy, s.Target, s.Min, s.Max = p.Policy, p.Target, cmp.Or(p.Min, policies.DefaultMin), cmp.Or(p.Max, policies.DefaultMax)
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := radio
			tt.change(&r)
			if diff := gocmp.Diff(tt.want, c.SettingsFor(r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestExample(t *testing.T) {
	if _, err := Parse("example.yaml", Example); err != nil {
		t.Error(err)
	}
	top, err := os.ReadFile("../../config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(top, Example) {
		t.Error("config.example.yaml differs from daemon/config/example.yaml: copy the latter over it")
	}
}

// everyKey is each key that the parser knows.
var everyKey = []string{
	"socket", "path", "group", "loop", "sample", "window", "sandbox", "host", "placement", "interfaces", "radios", "match", "chip", "driver", "bus",
	"phy", "interface", "policy", "target", "limits", "min", "max", "threaded_napi", "force",
}

// TestExampleHasEveryKey keeps the example complete: each key the parser knows
// stands in it.
func TestExampleHasEveryKey(t *testing.T) {
	for _, key := range everyKey {
		if !bytes.Contains(Example, []byte(key+":")) && !bytes.Contains(Example, []byte("#   "+key+" ")) {
			t.Errorf("the example does not explain %q", key)
		}
	}
}

// TestManualHasEveryKey keeps airtuned.yaml(5) complete: each key of the example
// stands in it, and so does each policy.
func TestManualHasEveryKey(t *testing.T) {
	manual, err := os.ReadFile("../../docs/man/airtuned.yaml.5")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(string(manual)) {
		if f := strings.Fields(strings.TrimPrefix(line, ".It")); len(f) > 1 && strings.TrimPrefix(f[0], ".") == "Ic" {
			words = append(words, strings.Split(f[1], ".")...)
		} else if len(f) == 2 && f[0] == "Cm" {
			words = append(words, f[1])
		}
	}
	for _, key := range append(policies.Names(), everyKey...) {
		if !slices.Contains(words, key) {
			t.Errorf("airtuned.yaml(5) does not explain %q", key)
		}
	}
}

func TestExampleHasEveryPolicy(t *testing.T) {
	for _, name := range policies.Names() {
		if !bytes.Contains(Example, []byte("#   "+name+" ")) {
			t.Errorf("the example does not explain the policy %q", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Example)
	f.Add([]byte("radios: &a\n- *a\n"))
	f.Add([]byte("loop: {sample: 1us, window: 1h}\n---\n"))
	f.Add([]byte("radios:\n- {match: {chip: '[a-'}, limits: {min: 2ms, max: 1ms}}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse("f", b)
		if err != nil {
			var errs Errors
			if !errors.As(err, &errs) || len(errs) == 0 || strings.Contains(err.Error(), "\n") {
				t.Fatalf("bad error %q", err)
			}
			return
		}
		if c.Loop.Sample <= 0 || c.Loop.Sample > c.Loop.Window {
			t.Fatalf("accepted loop %+v", c.Loop)
		}
		// What is accepted prints as something that is accepted and the same.
		again, err := Parse("again", c.Marshal())
		if err != nil {
			t.Fatalf("%v in\n%s", err, c.Marshal())
		}
		if diff := gocmp.Diff(c, again); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestEffective(t *testing.T) {
	c, err := Parse("f", Example)
	if err != nil {
		t.Fatal(err)
	}
	text := c.Effective().Marshal()
	again, err := Parse("shown", text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if diff := gocmp.Diff(c, again); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, p := range policies.Profiles() {
		if !bytes.Contains(text, []byte("#   - name: "+p.Name+"\n")) {
			t.Errorf("profile %s is not shown", p.Name)
		}
	}
	j, err := json.Marshal(c.Effective())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"target":"8ms"`, `"target":"none"`, `"limits":{"min":"500us","max":"12ms"}`, `"profiles":[`} {
		if !bytes.Contains(j, []byte(want)) {
			t.Errorf("no %s in %s", want, j)
		}
	}
}

// A file without an end is refused, not read.
func TestLoadTooLong(t *testing.T) {
	for _, file := range []string{"/dev/zero", filepath.Join(t.TempDir(), "sparse")} {
		if !strings.HasPrefix(file, "/dev/") {
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(file, 1<<34); err != nil {
				t.Skip(err)
			}
		}
		if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// What YAML can do to its reader: aliases that grow without bound or hold
// themselves, depth, merges, odd encodings.
func TestParseHostile(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	for name, in := range map[string]string{
		"bomb":              bomb + "radios: *i\n",
		"in itself":         "radios: &a\n  - *a\n",
		"matches itself":    "radios: &a\n  - match: *a\n",
		"deep":              "radios: " + strings.Repeat("[", 200_000),
		"merge":             "loop: &x {sample: 20ms}\nsocket:\n  <<: *x\n",
		"odd keys":          "? \n: x\n? [a,b]\n: y\n",
		"UTF-16":            "\xff\xfel\x00o\x00o\x00p\x00",
		"NUL":               "loop: \x00\n",
		"tab":               "radios:\n\t- policy: delay\n",
		"unfinished anchor": "loop: &l {sample: 20ms, window: *l}\n",
	} {
		_, err := Parse("f", []byte(in))
		var all Errors
		if !errors.As(err, &all) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, in := range map[string]string{
		"BOM":  "\ufeffloop: {sample: 20ms}\n",
		"CRLF": "loop:\r\n  sample: 20ms\r\nradios:\r\n  - policy: observe\r\n",
	} {
		if _, err := Parse("f", []byte(in)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A mesh is left alone unless a rule names a policy.
func TestSettingsForMesh(t *testing.T) {
	c, err := Parse("f", []byte("radios:\n  - {match: {phy: phy1}, policy: delay}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := tuner.Radio{Phy: "phy0", Driver: "ath10k_pci", Bus: "pci", Chip: "QCA9984", Interfaces: []tuner.Interface{{Name: "mesh0", Type: "mesh point"}}}
	if p := c.SettingsFor(r).Policy; p != "observe" {
		t.Errorf("policy %s", p)
	}
	r.Phy = "phy1"
	if p := c.SettingsFor(r).Policy; p != "delay" {
		t.Errorf("with a rule: policy %s", p)
	}
}
