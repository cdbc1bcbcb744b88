// SPDX-License-Identifier: Apache-2.0

package cells

import (
	"os"
	"path/filepath"
	"testing"

	"airtuned/lab/bench"
	"airtuned/lab/result"
	"airtuned/lab/scenario"
)

func example() Rows {
	return Rows{
		{Setting: Setting{AQL: "default"}, Mbps: 588, P95: 21},
		{Setting: Setting{AQL: "300"}, Mbps: 472, P95: 1},
		{Setting: Setting{AQL: "1500"}, Mbps: 580, P95: 3},
		{Setting: Setting{AQL: "3000"}, Mbps: 588, P95: 6},
		{Setting: Setting{AQL: "off"}, Mbps: 600, P95: 300},
		{Setting: Setting{AQL: "default", Policy: "delay"}, Mbps: 587, P95: 2},
	}
}

func TestBest(t *testing.T) {
	rows := example()
	if got := rows.Best(); got != 2 {
		t.Errorf("best row %d, want 2: 1500 keeps 98 %% of the best static limit", got)
	}
	if got := rows.Most(); got != 588 {
		t.Errorf("at most %v, want 588: of static limits only", got)
	}
	rows[2].Mbps = 570
	if got := rows.Best(); got != 3 {
		t.Errorf("best row %d, want 3: 1500 costs too much", got)
	}
	// Efficiency counts where it is known.
	for i := range rows {
		rows[i].Efficiency = 0.9
	}
	if got := rows.Best(); got != 1 {
		t.Errorf("best row %d, want 1: all are as efficient", got)
	}
	if got := rows[:1].Best(); got != -1 {
		t.Errorf("best row %d without static limits", got)
	}
}

func TestMean(t *testing.T) {
	a, b := &result.Document{DownloadMbps: 10, UploadMbps: 1}, &result.Document{DownloadMbps: 20}
	a.PingMs.Busy = &result.Latency{P95: 4}
	b.PingMs.Busy = &result.Latency{P95: 6}
	got := Mean(Setting{AQL: "1500"}, []*result.Document{a, b})
	if got.Mbps != 15.5 || got.P95 != 5 || got.Name() != "1500" {
		t.Errorf("got %+v", got)
	}
}

// cached is a runner that runs nothing, and a function that has it find a
// document.
func cached(t *testing.T) (*Runner, func(scenario.Scenario, string)) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"linux", "guest", "airtuned"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := &Runner{
		Bench: bench.Bench{Kernel: filepath.Join(dir, "linux"), Programs: dir},
		Cache: filepath.Join(dir, "cache"), Jobs: 2, NoRun: true,
	}
	if err := os.Mkdir(r.Cache, 0o755); err != nil {
		t.Fatal(err)
	}
	return r, func(s scenario.Scenario, text string) {
		t.Helper()
		key, err := r.key(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.Cache, s.Name+"-"+key+".json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoRunFindsWhatIsCached(t *testing.T) {
	r, put := cached(t)
	s := scenario.Scenario{Name: "one-fast"}
	first, second := Setting{AQL: "600"}.Of(s, 1), Setting{AQL: "600"}.Of(s, 2)
	put(second, `{"download_mbps": 2}`)
	docs, err := r.All(t.Context(), []scenario.Scenario{first, second})
	if err != nil {
		t.Fatal(err)
	}
	if docs[0] != nil || docs[1] == nil || docs[1].DownloadMbps != 2 {
		t.Errorf("got %+v, want nothing and 2 Mb/s", docs)
	}
	put(first, `{`)
	if _, err := r.All(t.Context(), []scenario.Scenario{first}); err == nil {
		t.Error("took a broken document")
	}
}

func TestKeyHasWhatADocumentDependsOn(t *testing.T) {
	static := scenario.Scenario{Name: "one-fast", AQL: "600", Seed: 1}
	policy := Setting{AQL: scenario.AQLDefault, Policy: "delay"}.Of(static, 1)
	for _, tt := range []struct {
		change         string
		static, policy bool // whether the key is another one
	}{
		{"linux", true, true}, {"guest", true, true}, {"airtuned", false, true}, {"other", false, false},
	} {
		r, _ := cached(t)
		keys := func() (keys [2]string) {
			for i, s := range []scenario.Scenario{static, policy} {
				key, err := (&Runner{Bench: r.Bench}).key(s)
				if err != nil {
					t.Fatal(err)
				}
				keys[i] = key
			}
			return keys
		}
		before := keys()
		if err := os.WriteFile(filepath.Join(r.Bench.Programs, tt.change), []byte("new"), 0o755); err != nil {
			t.Fatal(err)
		}
		after := keys()
		if got := before[0] != after[0]; got != tt.static {
			t.Errorf("a new %s makes another document of a static limit: %v, want %v", tt.change, got, tt.static)
		}
		if got := before[1] != after[1]; got != tt.policy {
			t.Errorf("a new %s makes another document of a policy: %v, want %v", tt.change, got, tt.policy)
		}
	}
}

func TestAloneRates(t *testing.T) {
	r, put := cached(t)
	group := func(kbps ...scenario.Step) scenario.Group { return scenario.Group{Count: 1, RateKbps: kbps} }
	scenarios := []scenario.Scenario{{Stations: []scenario.Group{
		group(scenario.Step{Value: 866700}),
		group(scenario.Step{Value: 866700}, scenario.Step{At: 1, Value: 6500}),
		group(scenario.Step{Value: 13000}),
	}}}
	scenarios[0].Stations[0].AloneMbps = 1 // it says so
	scenarios = append(scenarios, scenario.Scenario{Stations: []scenario.Group{
		group(scenario.Step{Value: 866700}),
	}})
	// The one file there is, whatever its key.
	alone := func(kbps int) scenario.Scenario {
		s := scenario.Scenario{
			Name: "alone-866700", Radio: scenario.Ath10k, Seed: 1, AQL: scenario.AQLDefault,
			Warmup: 5e9, Duration: 10e9, WAN: scenario.WAN{Delay: 1e7},
			Stations: []scenario.Group{{
				Name: "alone", Count: 1, RateKbps: scenario.Timeline{{Value: kbps}}, Download: scenario.Timeline{{Value: 4}},
			}},
		}
		return s
	}
	put(alone(866700), `{"download_mbps": 600}`)
	if err := r.AloneRates(t.Context(), scenarios); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		scenario, group int
		want            float64
	}{
		{0, 0, 1}, {0, 1, 0}, {0, 2, 0}, {1, 0, 600},
	} {
		if got := scenarios[tt.scenario].Stations[tt.group].AloneMbps; got != tt.want {
			t.Errorf("scenario %d, group %d: alone at %v Mb/s, want %v", tt.scenario, tt.group, got, tt.want)
		}
	}
}
