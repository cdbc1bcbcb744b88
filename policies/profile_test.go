package policies

import (
	"strings"
	"testing"
)

func TestProfileFor(t *testing.T) {
	tests := []struct{ chip, driver, bus, profile, policy, threaded string }{
		{"QCA988X", "ath10k_pci", "pci", "qca988x-qca9887", "delay", "leave"},
		{"QCA9887", "ath10k_pci", "pci", "qca988x-qca9887", "delay", "leave"},
		{"QCA9984", "ath10k_pci", "pci", "ath10k", "delay", "leave"},
		{"QCA9888", "ath10k_pci", "pci", "ath10k", "delay", "leave"},
		{"QCA4019", "ath10k_ahb", "ahb", "ath10k", "delay", "leave"},
		{"", "ath10k_pci", "pci", "ath10k", "delay", "leave"},
		{"QCA6174", "ath10k_pci", "pci", "qca61x4-qca9377", "delay", "leave"},
		{"QCA9377", "ath10k_sdio", "sdio", "sdio-usb", "observe", "leave"},
		{"QCA9377", "ath10k_usb", "usb", "sdio-usb", "observe", "leave"},
		{"WCN3990", "ath10k_snoc", "snoc", "wcn3990", "delay", "auto"},
		{"", "ath9k", "pci", "ath9k", "observe", "leave"},
		{"", "ath9k_htc", "usb", "sdio-usb", "observe", "leave"},
		{"", "mt7915e", "pci", "mt76", "delay", "leave"},
		{"", "mt76_wmac", "platform", "mt76", "delay", "leave"},
		{"", "mt7921u", "usb", "sdio-usb", "observe", "leave"},
		{"", "iwlwifi", "pci", "no-aql", "observe", "leave"},
		{"", "ath11k_pci", "pci", "no-aql", "observe", "leave"},
		{"", "ath12k_wifi7_pci", "pci", "no-aql", "observe", "leave"},
		{"", "mac80211_hwsim", "other", "no-aql", "observe", "leave"},
		{"", "foo", "pci", "default", "observe", "leave"},
		{"", "", "", "default", "observe", "leave"},
	}
	for _, tt := range tests {
		got := ProfileFor(tt.chip, tt.driver, tt.bus)
		if got.Name != tt.profile || got.Policy != tt.policy || got.ThreadedNAPI != tt.threaded {
			t.Errorf("%s %s %s: %s, policy %s, NAPI %s; want %s, %s, %s", tt.chip, tt.driver, tt.bus,
				got.Name, got.Policy, got.ThreadedNAPI, tt.profile, tt.policy, tt.threaded)
		}
		if _, err := New(got.Policy, got.Params()); err != nil {
			t.Errorf("%s: %v", got.Name, err)
		}
	}
}

func TestProfilesAreACopy(t *testing.T) {
	Profiles()[0].Policy = "changed"
	if Profiles()[0].Policy == "changed" {
		t.Error("a caller can change the embedded profiles")
	}
}

func TestParseProfilesRefuses(t *testing.T) {
	const good = `
- name: default
  policy: observe
  static: {low: 1ms, high: 2ms, threshold: 24ms}
  threaded_napi: leave
  why: because
`
	if _, err := parseProfiles([]byte(good)); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ old, new, want string }{
		{"name: default", "name: ''", "required"},
		{"why: because", "why: ''", "required"},
		{"why: because", "reason: because", "reason"},
		{"observe", "nonsense", "nonsense"},
		{"low: 1ms", "low: 1", "us, ms or s"},
		{"low: 1ms", "low: 3ms", "low <= high"},
		{"low: 1ms", "low: 0us", "0 < low"},
		{"threshold: 24ms", "threshold: 1ms", "threshold"},
		{"leave", "perhaps", "perhaps"},
		{"why: because", "why: because\n  buses: [pci]", "match everything"},
		{"why: because", "why: because\n  buses: ['[']", "syntax error"},
		{"why: because", "why: because\n  min: 5ms\n  max: 1ms", "above max"},
		{"why: because", "why: because\n  pacing_shift: 11", "pacing_shift"},
	}
	for _, tt := range tests {
		_, err := parseProfiles([]byte(strings.Replace(good, tt.old, tt.new, 1)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s instead of %s: error %v, want one with %q", tt.new, tt.old, err, tt.want)
		}
	}
	if _, err := parseProfiles(nil); err == nil {
		t.Error("an empty file was accepted")
	}
}

func FuzzParseProfiles(f *testing.F) {
	f.Add(profilesYAML)
	f.Add([]byte("- {name: a, why: b, policy: delay, threaded_napi: on, static: {low: 1us, high: 1us, threshold: 1us}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ps, err := parseProfiles(text)
		if err != nil {
			return
		}
		for _, p := range ps {
			if _, err := New(p.Policy, p.Params()); err != nil {
				t.Fatalf("accepted profile %q: %v", p.Name, err)
			}
		}
	})
}
