// Package openwrt tests the scripts that OpenWrt runs, in busybox ash.
package openwrt

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ash runs a script in busybox ash and returns what it prints.
func ash(t *testing.T, env []string, script ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(busybox(t), append([]string{"ash"}, script...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func busybox(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("busybox is missing: apt-get install busybox")
		}
		t.Skip("busybox is missing: apt-get install busybox")
	}
	return path
}

// router is a root directory with a configuration.
type router struct {
	root, calls, program string
}

func newRouter(t *testing.T) router {
	t.Helper()
	busybox(t)
	r := router{root: t.TempDir()}
	r.calls = filepath.Join(r.root, "calls")
	r.program = filepath.Join(r.root, "airtuned")
	build := exec.Command("go", "build", "-o", r.program, "../../cmd/airtuned")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(r.root, "etc/config"), 0o755); err != nil {
		t.Fatal(err)
	}
	return r
}

// configure writes /etc/config/airtuned.
func (r router) configure(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.root, "etc/config/airtuned"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// init runs an action of the init script and returns what procd was told.
func (r router) init(t *testing.T, action string, running bool) (calls []string, output string, err error) {
	t.Helper()
	_ = os.Remove(r.calls)
	env := []string{"IPKG_INSTROOT=" + r.root, "CALLS=" + r.calls, "AIRTUNED=" + r.program, "RUNNING="}
	if running {
		env[3] += "1"
	}
	output, err = ash(t, env, "testdata/rc.common", "airtuned/files/airtuned.init", action)
	text, _ := os.ReadFile(r.calls)
	for line := range strings.Lines(string(text)) {
		calls = append(calls, strings.ReplaceAll(strings.TrimSpace(line), r.root, ""))
	}
	return calls, output, err
}

// yaml is the configuration that the script made.
func (r router) yaml(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.root, "var/etc/airtuned.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shipped is the configuration of the package, with all that is commented out
// if whole.
func shipped(t *testing.T, whole bool) string {
	t.Helper()
	text, err := os.ReadFile("airtuned/files/airtuned.config")
	if err != nil {
		t.Fatal(err)
	}
	if !whole {
		return string(text)
	}
	s := strings.ReplaceAll(string(text), "#\toption", "\toption")
	return strings.ReplaceAll(s, "#config", "config")
}

var started = []string{
	"start", "open", "command /airtuned run --config /var/etc/airtuned.yaml", "respawn 3600 5 5", "stderr 1",
	"term_timeout 20", "close", "trigger airtuned",
}

func TestStart(t *testing.T) {
	r := newRouter(t)
	r.configure(t, shipped(t, false))
	calls, out, err := r.init(t, "start", false)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(started, calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("# made from /etc/config/airtuned: change that\n", r.yaml(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	r.configure(t, "config airtuned 'main'\n\toption enabled '0'\n")
	calls, out, err = r.init(t, "start", false)
	if err != nil || !slices.Equal(calls, []string{"start", "trigger airtuned"}) {
		t.Errorf("disabled: got %q, %v\n%s", calls, err, out)
	}
}

// TestMapping holds that every option of UCI has its key, and that airtuned
// accepts what comes of them.
func TestMapping(t *testing.T) {
	r := newRouter(t)
	r.configure(t, shipped(t, true)+"\nconfig radio\n\toption enabled '0'\n\toption chip 'QCA9887'\n"+
		"\nconfig radio\n\toption path \"it's a *\"\n\toption policy 'observe'\n"+
		"\nconfig radio 'rest'\n\toption force 'on'\n")
	if _, out, err := r.init(t, "start", false); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := `# made from /etc/config/airtuned: change that
socket:
  path: '/var/run/airtuned/airtuned.sock'
  group: 'airtuned'
sandbox: 'true'
loop:
  sample: '20ms'
  window: '200ms'
host:
  placement: 'auto'
  interfaces: ['eth0', 'eth1']
radios:
  -
    match:
      chip: 'QCA9984'
      driver: 'ath10k_pci'
      bus: 'pci'
      path: '*1b500000.pcie*'
      phy: 'phy0'
      interface: 'phy0-ap0'
    policy: 'delay'
    target: '8ms'
    limits:
      min: '500us'
      max: '12ms'
    threaded_napi: 'auto'
    pacing_shift: 'auto'
    force: 'false'
  -
    match:
      path: 'it''s a *'
    policy: 'observe'
  -
    force: 'true'
`
	if diff := cmp.Diff(want, r.yaml(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Each key of the example is there.
	example, err := os.ReadFile("../../config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(example)) {
		key, _, ok := strings.Cut(strings.TrimLeft(line, " -"), ":")
		if !ok || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if !strings.Contains(want, " "+key+":") && !strings.Contains(want, "\n"+key+":") {
			t.Errorf("UCI has no option for the key %q", key)
		}
	}
}

func TestReload(t *testing.T) {
	r := newRouter(t)
	const observe = "config airtuned 'main'\n\nconfig radio\n\toption policy 'observe'\n"
	for _, step := range []struct {
		what, config string
		running      bool
		want         []string
		yaml         string
		fails        bool
	}{
		{"not running: start", observe, false, started, "policy: 'observe'", false},
		{"running: the daemon sees the file", strings.Replace(observe, "observe", "dql", 1), true, nil, "policy: 'dql'", false},
		{"refused: the old one stays", strings.Replace(observe, "observe", "obsrve", 1), true, nil, "policy: 'dql'", true},
		{"another socket: restart", "config airtuned 'main'\n\toption socket '/tmp/s'\n", true,
			append([]string{"stop"}, started...), "path: '/tmp/s'", false},
		{"disabled: stop", "config airtuned 'main'\n\toption enabled '0'\n", true, []string{"stop"}, "path: '/tmp/s'", false},
	} {
		r.configure(t, step.config)
		calls, out, err := r.init(t, "reload", step.running)
		if (err != nil) != step.fails {
			t.Errorf("%s: %v\n%s", step.what, err, out)
		}
		if step.fails && !strings.Contains(out, `unknown policy "obsrve"`) {
			t.Errorf("%s: the log is %q", step.what, out)
		}
		if diff := cmp.Diff(step.want, calls); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
		if !strings.Contains(r.yaml(t), step.yaml) {
			t.Errorf("%s: got\n%s", step.what, r.yaml(t))
		}
		if _, err := os.Stat(filepath.Join(r.root, "var/etc/airtuned.yaml.new")); err == nil {
			t.Errorf("%s: a file is left behind", step.what)
		}
	}
}

// TestRPC runs the plugin of rpcd with an airtuned that says how it was called.
func TestRPC(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "airtuned"),
		[]byte("#!/bin/sh\nprintf '{\"args\":\"%s\"}\\n' \"$*\"\nexit 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	const plugin = "airtuned/files/airtuned.rpcd"

	out, err := ash(t, env, plugin, "list")
	var methods map[string]map[string]string
	if err != nil || json.Unmarshal([]byte(out), &methods) != nil {
		t.Fatalf("list: %v, %q", err, out)
	}
	want := map[string]map[string]string{"status": {}, "radios": {}, "restore": {"radio": "string"}, "resume": {"radio": "string"}}
	if diff := cmp.Diff(want, methods); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for method, args := range map[string]string{"status": "status --json", "radios": "detect --json"} {
		var doc struct {
			Args string `json:"args"`
		}
		out, err := ash(t, env, plugin, "call", method)
		if err != nil || json.Unmarshal([]byte(out), &doc) != nil || doc.Args != args {
			t.Errorf("%s: got %q, %v", method, out, err)
		}
	}
	if out, err := ash(t, env, plugin, "call", "reboot"); err == nil {
		t.Errorf("an unknown method: got %q", out)
	}
}

// TestLuCI holds that the page may call what it calls, and no more, and that
// it has a field for each option.
func TestLuCI(t *testing.T) {
	const app = "luci-app-airtuned/root/usr/share/"
	var acl map[string]struct {
		Read, Write struct {
			Ubus map[string][]string
			UCI  []string
		}
	}
	var menu map[string]struct {
		Action struct{ Type, Path string }
	}
	for file, doc := range map[string]any{"rpcd/acl.d/luci-app-airtuned.json": &acl, "luci/menu.d/luci-app-airtuned.json": &menu} {
		text, err := os.ReadFile(app + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, doc); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	rule := acl["luci-app-airtuned"]
	allowed := append(rule.Read.Ubus["airtuned"], rule.Write.Ubus["airtuned"]...)
	slices.Sort(allowed)
	if diff := cmp.Diff([]string{"radios", "restore", "resume", "status"}, allowed); diff != "" {
		t.Errorf("methods allowed (-want +got):\n%s", diff)
	}
	const views = "luci-app-airtuned/htdocs/luci-static/resources/view/"
	for name, entry := range menu {
		if entry.Action.Type != "view" {
			continue
		}
		if _, err := os.Stat(views + entry.Action.Path + ".js"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	settings, err := os.ReadFile(views + "airtuned/settings.js")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(shipped(t, true)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "option" && !strings.Contains(string(settings), "'"+f[1]+"'") {
			t.Errorf("the page has no field for the option %s", f[1])
		}
	}
}
