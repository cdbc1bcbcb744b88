// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func parseAlone(text string) (Scenario, error) {
	return parse([]byte(text), func(name string) ([]byte, error) {
		if name == "base" {
			return []byte("description: the base\nsvc_us: 1000\nstations: [{name: a}, {name: b}]\n"), nil
		}
		return nil, errors.New("not there")
	})
}

func TestParse(t *testing.T) {
	got, err := parseAlone(`
description: everything
radio: hwsim
warmup: 1s
duration: 2500ms
svc_us: {0s: 0, 5s: 3000}
wan: {delay: 5ms, rate_kbps: 1000}
params: [ath10k_emu.max_ppdu_us=2000]
aql: 1500
policy: delay
knobs: {ath10k/tx_queue_limit: 16}
seed: 7
stations:
  - name: fast
    count: 2
    rate_kbps: {0s: 866700, 10s: 6500}
    loss_ppm: 10000
    join: 1s
    leave: 20s
    every: 500ms
    download: 4
    upload: {0s: 1, 1s: 0}
    ping: true
    voip: VO
    alone_mbps: 588
`)
	if err != nil {
		t.Fatal(err)
	}
	second := Duration(time.Second)
	want := Scenario{
		Description: "everything", Radio: Hwsim, Warmup: second, Duration: second * 5 / 2,
		SvcUs: Timeline{{0, 0}, {5 * second, 3000}},
		WAN:   WAN{Delay: second / 200, RateKbps: 1000}, Params: []string{"ath10k_emu.max_ppdu_us=2000"},
		AQL: "1500", Policy: "delay", Knobs: map[string]int{"ath10k/tx_queue_limit": 16}, Seed: 7,
		Stations: []Group{{
			Name: "fast", Count: 2, RateKbps: Timeline{{0, 866700}, {10 * second, 6500}},
			LossPPM: Timeline{{0, 10000}}, Join: second, Leave: 20 * second, Every: second / 2,
			Download: Timeline{{0, 4}}, Upload: Timeline{{0, 1}, {second, 0}},
			Ping: true, VoIP: "VO", AloneMbps: 588,
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// This is how it gets into the machine.
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var again Scenario
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("after JSON (-want +got):\n%s", diff)
	}
}

func TestParseLike(t *testing.T) {
	got, err := parseAlone("like: base\ndescription: another\nsvc_us: 3000\n")
	if err != nil {
		t.Fatal(err)
	}
	if got.Description != "another" || got.SvcUs.At(0) != 3000 || len(got.Stations) != 2 || got.Radio != Ath10k {
		t.Errorf("got %+v", got)
	}
	got, err = parseAlone("like: base\nstations: [{name: c}]\n")
	if err != nil || len(got.Stations) != 1 || got.Stations[0].Name != "c" || got.Stations[0].Count != 1 {
		t.Errorf("with stations of its own: %+v, %v", got.Stations, err)
	}
}

func TestParseErrors(t *testing.T) {
	one := "stations: [{name: a}]\n"
	for _, tt := range []struct{ text, want string }{
		{"", "0 stations"},
		{one + "colour: red\n", "line 2: field colour not found"},
		{one + "---\n" + one, "more than one document"},
		{one + "radio: ath9k\n", `radio "ath9k": want ath10k or hwsim`},
		{one + "duration: 0s\n", "duration"},
		{one + "duration: 10\n", "missing unit"},
		{one + "aql: fast\n", `aql "fast"`},
		{one + "aql: 0\n", `aql "0"`},
		{one + "policy: 'delay; reboot'\n", "policy"},
		{one + "params: [a b]\n", "not one parameter"},
		{one + "svc_us: -1\n", "svc_us: -1: want 0 to 1000000"},
		{one + "svc_us: {1s: 0}\n", "want times in order, from 0s on"},
		{one + "svc_us: {0s: 0, 0s: 1}\n", "want times in order"},
		{one + "svc_us: {5: 0}\n", "line 2"},
		{one + "svc_us: soon\n", "line 2"},
		{one + "flow_control: yes\n", "flow_control"},
		{one + "crashes: [-1s]\n", "crashes: -1s"},
		{one + "radio: hwsim\ncrashes: [1s]\n", "radio ath10k"},
		{one + "tuned: b\n", `no station "b"`},
		{one + "tuned: a\npolicy: delay\n", "at the access point only"},
		{one + "knobs: {../../aql_enable: 0}\n", "no file of a phy"},
		{"stations: [{name: a, class: be}]\n", `class "be": want VO`},
		{one + "like: ../../etc/passwd\n", "not a name"},
		{one + "like: missing\n", "like: not there"},
		{"stations: [{name: a}, {name: a}]\n", "a word of its own"},
		{"stations: [{name: A}]\n", "a word of its own"},
		{"stations: [{name: a, count: 32}]\n", "count 32"},
		{"stations: [{name: a, count: 16}, {name: b, count: 16}]\n", "32 stations"},
		{"stations: [{name: a, rate_kbps: 1}]\n", "rate_kbps: 1: want 6500"},
		{"stations: [{name: a, join: 2s, leave: 1s}]\n", "want to join before leaving"},
		{"stations: [{name: a, voip: AC}]\n", `voip "AC"`},
		{"stations: [{name: a, download: 65}]\n", "download: 65"},
	} {
		_, err := parseAlone(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want one with %q", tt.text, err, tt.want)
		}
	}
}

// TestScenarios: what is in the repository is fine, and no file is left out.
func TestScenarios(t *testing.T) {
	const dir = "../scenarios"
	names := Names(dir)
	if len(names) < 10 {
		t.Fatalf("scenarios %q", names)
	}
	for _, name := range names {
		s, err := Load(dir, name)
		if err != nil {
			t.Error(err)
		}
		if s.Name != name || s.Description == "" {
			t.Errorf("%s: name %q, description %q", name, s.Name, s.Description)
		}
	}
	if _, err := Load(dir, "nosuch"); err == nil || !strings.Contains(err.Error(), "one-fast") {
		t.Errorf("unknown scenario: error %v, want one that lists those there are", err)
	}
}

func TestExpand(t *testing.T) {
	s, err := parseAlone("stations: [{name: a}, {name: b, count: 2, join: 1s, leave: 5s, every: 1s}]\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, st := range s.Expand() {
		got = append(got, fmt.Sprint(st.Name, st.Radio, st.First, st.Join, st.Leave))
	}
	want := []string{"a1 true 0s 0s", "b-12 true 1s 5s", "b-23 false 2s 6s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTimeline(t *testing.T) {
	line := Timeline{{0, 1}, {Duration(time.Second), 2}}
	for at, want := range map[time.Duration]int{0: 1, time.Second - 1: 1, time.Second: 2, time.Hour: 2} {
		if got := line.At(at); got != want {
			t.Errorf("at %v: %d, want %d", at, got, want)
		}
	}
	if got := Timeline(nil).At(0); got != 0 {
		t.Errorf("of nothing: %d, want 0", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("stations: [{name: a, count: 2, rate_kbps: {0s: 866700, 1s: 6500}}]\n")
	f.Add("like: base\nsvc_us: 3000\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseAlone(text)
		if err != nil {
			return
		}
		if n := len(s.Expand()); n < 1 || n > MaxStations {
			t.Errorf("%d stations accepted", n)
		}
	})
}
