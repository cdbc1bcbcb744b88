// Package prometheus has the alerts of airtuned, and holds them and the dashboard
// of Grafana against a real Prometheus.
package prometheus

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

const (
	rules     = "airtuned.rules.yml"
	ruleTests = "airtuned.rules.test.yml"
	dashboard = "../grafana/airtuned.json"
)

var scrape = flag.Bool("scrape", false, "have a Prometheus scrape three daemons")

// tool finds a program of Debian's package prometheus.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is missing: apt-get install prometheus", name)
	}
	return path
}

func TestRules(t *testing.T) {
	promtool := tool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", rules}, {"test", "rules", ruleTests}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// Each alert is tested both ways: something raises it, and something close does not.
func TestEachRuleIsTested(t *testing.T) {
	var r struct {
		Groups []struct {
			Rules []struct{ Alert, Record, Expr string }
		}
	}
	var tests struct {
		Tests []struct {
			Cases []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	for file, into := range map[string]any{rules: &r, ruleTests: &tests} {
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	raised, quiet := map[string]bool{}, map[string]bool{}
	for _, tt := range tests.Tests {
		for _, c := range tt.Cases {
			if len(c.Expected) > 0 {
				raised[c.Alert] = true
			} else {
				quiet[c.Alert] = true
			}
		}
	}
	n := 0
	for _, g := range r.Groups {
		for _, rule := range g.Rules {
			n++
			if !raised[rule.Alert] || !quiet[rule.Alert] {
				t.Errorf("%q: raised by a test: %v; not raised by one: %v", rule.Alert+rule.Record, raised[rule.Alert], quiet[rule.Alert])
			}
			known(t, rule.Alert, rule.Expr)
		}
	}
	if n == 0 {
		t.Error("there are no rules")
	}
}

// known wants every metric of an expression to be one that airtuned writes.
func known(t *testing.T, where, expr string) {
	t.Helper()
	golden, err := os.ReadFile("../../metrics/testdata/stations.prom")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`airtuned_[a-z0-9_]+`).FindAllString(expr, -1) {
		if !strings.Contains(string(golden), "# TYPE "+name+" ") {
			t.Errorf("%s: there is no metric %s", where, name)
		}
	}
}

// panel is one of a dashboard's, as far as it matters here.
type panel struct {
	ID          int                      `json:"id"`
	Type        string                   `json:"type"`
	Title       string                   `json:"title"`
	Description string                   `json:"description"`
	GridPos     struct{ X, Y, W, H int } `json:"gridPos"`
	Targets     []struct {
		Expr string `json:"expr"`
	} `json:"targets"`
}

type board struct {
	UID        string  `json:"uid"`
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct {
			Name       string `json:"name"`
			Definition string `json:"definition"`
		} `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Expr string `json:"expr"`
		} `json:"list"`
	} `json:"annotations"`
}

func readBoard(t *testing.T) board {
	t.Helper()
	var b board
	text, err := os.ReadFile(dashboard)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Grafana itself is in none of Debian's archives; this is what it takes silently.
func TestDashboard(t *testing.T) {
	b := readBoard(t)
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range b.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("panel %d, %q: number used twice, or no title, description or query", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W == 0 || p.GridPos.H == 0 {
			t.Errorf("%q is at %+v", p.Title, p.GridPos)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if taken[at] != "" {
					t.Fatalf("%q is on top of %q", p.Title, taken[at])
				}
				taken[at] = p.Title
			}
		}
		for _, q := range p.Targets {
			known(t, p.Title, q.Expr)
		}
	}
}

// start starts a program that ends with the test.
func start(t *testing.T, log io.Writer, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
}

// patience bounds every wait.
const patience = 2 * time.Minute

// TestScrape has Prometheus scrape three daemons on simulated radios, with the
// rules loaded, until every query of the dashboard returns data.
func TestScrape(t *testing.T) {
	if !*scrape {
		t.Skip("-scrape runs it: make prometheus-test")
	}
	prometheus := tool(t, "prometheus")
	promtool := tool(t, "promtool")
	dir := t.TempDir()
	for _, what := range []string{"./lab/simd", "./cmd/airtuned-web"} {
		if out, err := exec.Command("go", "build", "-C", "../..", "-o", dir+"/", what).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var targets []string
	for _, scenario := range []string{"one-slow", "fast-and-slow", "slow-host"} {
		socket := filepath.Join(dir, scenario)
		start(t, t.Output(), filepath.Join(dir, "simd"), "-socket", socket, "-scenario", scenario)
		r, w := io.Pipe()
		t.Cleanup(func() { w.Close() })
		start(t, w, filepath.Join(dir, "airtuned-web"), "--listen", "127.0.0.1:0", "--socket", socket, "--station-metrics")
		targets = append(targets, listensAt(t, r, `url=http://(\S+)`))
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs: [{job_name: airtuned, static_configs: [{targets: [%s]}]}]
`, filepath.Join(here, rules), strings.Join(targets, ", "))
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "config", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	start(t, w, prometheus, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	server := "http://" + listensAt(t, r, `msg="Listening on" address=(\S+)`)

	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if r, err := http.Get(server + "/-/ready"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("Prometheus does not get ready")
		}
	}

	b := readBoard(t)
	var queries []string
	for _, p := range b.Panels {
		for _, q := range p.Targets {
			queries = append(queries, q.Expr)
		}
	}
	if len(queries) < 10 {
		t.Errorf("the dashboard has %d queries", len(queries))
	}
	variables := strings.NewReplacer("$instance", ".*", "$phy", ".*", "$__rate_interval", "10s")
	for _, q := range queries {
		q = variables.Replace(q)
		if strings.Contains(q, "$") {
			t.Errorf("%s has a variable that nobody sets", q)
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
			n, err := ask(server, q)
			if err != nil {
				t.Errorf("%s: %v", q, err)
				break
			}
			// A sum has one value for all, the rest at least one for each radio.
			if one := strings.HasPrefix(q, "sum(") || strings.HasPrefix(q, "count("); n >= len(targets) || one && n == 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%s gave %d series", q, n)
				break
			}
		}
	}
	for _, v := range b.Templating.List {
		if m := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(v.Definition); m != nil {
			if n, err := ask(server, fmt.Sprintf("count by (%s) (%s)", m[2], variables.Replace(m[1]))); n == 0 || err != nil {
				t.Errorf("variable %s has no value: %v", v.Name, err)
			}
		}
	}
	for _, a := range b.Annotations.List {
		if _, err := ask(server, variables.Replace(a.Expr)); err != nil {
			t.Errorf("annotation: %v", err)
		}
	}
	// Stations are there when asked for.
	if n, err := ask(server, "airtuned_station_transmit_bytes_total"); n != 1+4+1 || err != nil {
		t.Errorf("%d stations, %v", n, err)
	}
	if got := states(t, server); len(got) == 0 || slices.ContainsFunc(got, func(s string) bool { return s != "ok" }) {
		t.Errorf("the rules: %q", got)
	}
}

// listensAt waits for the line that tells an address, and reads on for good.
func listensAt(t *testing.T, r io.Reader, pattern string) string {
	t.Helper()
	address := regexp.MustCompile(pattern)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(io.Discard, r)
			return m[1]
		}
	}
	t.Fatalf("nothing said %s", pattern)
	return ""
}

func get(server, path string, into any) error {
	r, err := http.Get(server + path)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", r.Status, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", r.Status, answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

// ask is how many series a query returns now, without those that are no number.
func ask(server, query string) (int, error) {
	var data struct {
		Result []struct {
			Value [2]any
		}
	}
	if err := get(server, "/api/v1/query?query="+url.QueryEscape(query), &data); err != nil {
		return 0, err
	}
	n := 0
	for _, r := range data.Result {
		if r.Value[1] != "NaN" {
			n++
		}
	}
	return n, nil
}

// states are the healths of the rules once all were evaluated.
func states(t *testing.T, server string) []string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		var data struct {
			Groups []struct {
				Rules []struct{ Health string }
			}
		}
		if err := get(server, "/api/v1/rules", &data); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				out = append(out, r.Health)
			}
		}
		if !slices.Contains(out, "unknown") || time.Now().After(deadline) {
			return out
		}
	}
}
