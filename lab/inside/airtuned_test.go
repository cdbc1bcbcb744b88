// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	airtuned = shared + "/airtuned"
	stateDir = "/run/airtuned"
)

// forced has limits written although they do nothing on hwsim, and other ones
// than the kernel's.
const forced = `
radios:
  - match: {driver: mac80211_hwsim}
    policy: static
    limits: {max: 2ms}
    force: true
`

// unforced does not.
const unforced = `
radios:
  - match: {driver: mac80211_hwsim}
    policy: static
    limits: {max: 2ms}
`

// radio is what these tests look at in a radio of detect or status.
type radio struct {
	Path       string
	Phy        string
	Interfaces []struct{ Name, Type string }
	Driver     string
	Bus        string
	Chip       string
	AQL        struct {
		Supported *bool
		Writable  bool
		Reason    string
		Limits    map[string]struct {
			Low  int `json:"low_us"`
			High int `json:"high_us"`
		}
		Threshold int `json:"threshold_us"`
	}
	State    string
	Reason   string
	Stations []struct{ MAC string }
}

func (r radio) interfaces() []string {
	names := []string{}
	for _, i := range r.Interfaces {
		names = append(names, i.Name)
	}
	return names
}

// warning is one of detect's.
type warning struct{ Radio, Code, Message string }

// change is one of tune's.
type change struct {
	Radio, Phy, Knob, From, To, Result, Reason string
}

// airtunedJSON runs a command of airtuned that has to end with the given exit
// code and, on standard output, exactly one JSON document.
func airtunedJSON(t testing.TB, code int, into any, args ...string) {
	t.Helper()
	stdout, stderr, got := command(t, airtuned, append(args, "--json")...)
	if got != code {
		t.Fatalf("airtuned %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), into); err != nil {
		t.Fatalf("airtuned %s: %v in %q", strings.Join(args, " "), err, stdout)
	}
}

func tune(t testing.TB, args ...string) []change {
	t.Helper()
	var result struct{ Changes []change }
	airtunedJSON(t, 0, &result, append([]string{"tune"}, args...)...)
	return result.Changes
}

// untouched checks that each radio's limits are as the kernel made them.
func untouched(t testing.TB) {
	t.Helper()
	for _, r := range radios(t) {
		for _, row := range strings.Split(strings.TrimSpace(r.limits(t)), "\n")[1:] {
			if f := strings.Fields(row); f[1] != "5000" || f[2] != "12000" {
				t.Errorf("%s: limits are not the original ones: %q", r.phy, row)
			}
		}
		if got := strings.TrimSpace(read(t, r.debugfs("aql_threshold"))); got != "24000" {
			t.Errorf("%s: threshold is %s, originally 24000", r.phy, got)
		}
	}
	records, err := filepath.Glob(stateDir + "/originals/*")
	if err != nil || len(records) > 0 {
		t.Errorf("records of originals are left over: %q, %v", records, err)
	}
}

// changed complains while a radio's limits are the kernel's.
func changed(t testing.TB, r hwsim) error {
	t.Helper()
	if text := r.limits(t); strings.Contains(text, "5000\t\t12000") {
		return fmt.Errorf("%s: limits not changed:\n%s", r.phy, text)
	}
	return nil
}

// daemon is a running airtuned.
type daemon struct {
	cmd    *exec.Cmd
	log    *bytes.Buffer
	config string
	ended  chan error
}

// start runs the daemon and waits until it answers. The test fails if it
// leaves the kernel changed.
func start(t testing.TB, config string) *daemon {
	t.Helper()
	d := &daemon{log: new(bytes.Buffer), config: filepath.Join(t.TempDir(), "airtuned.yaml"), ended: make(chan error, 1)}
	write(t, d.config, config)
	d.cmd = exec.Command(airtuned, "run", "--config", d.config)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { d.ended <- d.cmd.Wait() }()
	t.Cleanup(func() {
		if d.cmd.ProcessState == nil {
			d.stop(t, unix.SIGTERM)
		}
		if t.Failed() {
			t.Logf("the daemon said:\n%s", d.log)
		}
	})
	eventually(t, 10*time.Second, func() error {
		select {
		case err := <-d.ended:
			d.ended <- err
			t.Fatalf("the daemon ended: %v", err)
		default:
		}
		if _, stderr, code := command(t, airtuned, "status"); code != 0 {
			return fmt.Errorf("status: exit code %d: %s", code, stderr)
		}
		return nil
	})
	return d
}

// stop sends a signal and waits for the end.
func (d *daemon) stop(t testing.TB, sig unix.Signal) error {
	t.Helper()
	d.signal(t, sig)
	select {
	case err := <-d.ended:
		return err
	case <-time.After(20 * time.Second):
		d.cmd.Process.Kill()
		<-d.ended
		t.Errorf("still running 20 s after %v", sig)
		return nil
	}
}

func (d *daemon) signal(t testing.TB, sig unix.Signal) {
	t.Helper()
	if err := d.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("%v to the daemon: %v", sig, err)
	}
}

func status(t testing.TB) []radio {
	t.Helper()
	var s struct{ Radios []radio }
	airtunedJSON(t, 0, &s, "status")
	return s.Radios
}

// follows waits until the daemon's view of the radio at a device path is fine.
// A radio that it does not list is the zero radio.
func follows(t testing.TB, path string, check func(radio) error) {
	t.Helper()
	eventually(t, 5*time.Second, func() error {
		all := status(t)
		var r radio
		if i := slices.IndexFunc(all, func(r radio) bool { return r.Path == path }); i >= 0 {
			r = all[i]
		}
		return check(r)
	})
}

func state(want, reason string) func(radio) error {
	return func(r radio) error {
		if r.State != want || !strings.Contains(r.Reason, reason) {
			return fmt.Errorf("state %q with reason %q, want %q with a reason that has %q", r.State, r.Reason, want, reason)
		}
		return nil
	}
}

func TestAirtunedDetect(t *testing.T) {
	var found struct {
		Radios   []radio
		Warnings []warning
	}
	airtunedJSON(t, 0, &found, "detect")
	want := radios(t)
	if len(found.Radios) != len(want) {
		t.Fatalf("%d radios, want %d: %+v", len(found.Radios), len(want), found)
	}
	for i, r := range found.Radios {
		if r.Phy != want[i].phy || r.Path != want[i].path {
			t.Errorf("radio %d is %s at %s, want %+v", i, r.Phy, r.Path, want[i])
		}
		if r.Driver != "mac80211_hwsim" || r.Chip != "" {
			t.Errorf("driver %q, chip %q, want mac80211_hwsim and none", r.Driver, r.Chip)
		}
		if len(r.Interfaces) != 1 || r.Interfaces[0].Name != fmt.Sprint("wlan", i) || r.Interfaces[0].Type != "managed" {
			t.Errorf("interfaces %+v, want wlan%d of type managed", r.Interfaces, i)
		}
		if s := r.AQL.Supported; s == nil || *s {
			t.Errorf("AQL supported: %v, want false: hwsim has no AQL feature", s)
		}
		if !r.AQL.Writable || r.AQL.Reason == "" {
			t.Errorf("AQL writable %v, reason %q, want writable and a reason", r.AQL.Writable, r.AQL.Reason)
		}
		if be := r.AQL.Limits["BE"]; be.Low != 5000 || be.High != 12000 || r.AQL.Threshold != 24000 {
			t.Errorf("limits %+v, threshold %d, want the kernel's defaults", r.AQL.Limits, r.AQL.Threshold)
		}
	}
}

// limitResults counts the results of changes to AQL limits.
func limitResults(changes []change) map[string]int {
	n := map[string]int{}
	for _, c := range changes {
		if strings.HasPrefix(c.Knob, "aql_txq_limit/") {
			n[c.Result]++
		}
	}
	return n
}

// TestAirtunedTuneUnforced: limits do nothing without the AQL feature, so they
// are not touched.
func TestAirtunedTuneUnforced(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "airtuned.yaml")
	write(t, conf, unforced)
	var result struct{ Changes []change }
	airtunedJSON(t, 3, &result, "tune", "--config", conf)
	if n := limitResults(result.Changes); n["unsupported"] != 8 {
		t.Errorf("results %v, want 4 limits of 2 radios unsupported", n)
	}
	untouched(t)
}

func TestAirtunedTune(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "airtuned.yaml")
	write(t, conf, forced)
	t.Cleanup(func() { must(t, airtuned+" restore") })

	if n := limitResults(tune(t, "--config", conf, "--dry-run")); n["planned"] != 8 {
		t.Errorf("results of a dry run %v, want 4 limits of 2 radios planned", n)
	}
	untouched(t)

	changes := tune(t, "--config", conf)
	if n := limitResults(changes); n["applied"] != 8 {
		t.Fatalf("results %v, want 4 limits of 2 radios applied: %+v", n, changes)
	}
	for _, c := range changes {
		if ac, ok := strings.CutPrefix(c.Knob, "aql_txq_limit/"); ok {
			row := ac + "\t" + strings.Replace(c.To, "/", "\t\t", 1) + "\n"
			if text := read(t, "/sys/kernel/debug/ieee80211/"+c.Phy+"/aql_txq_limit"); !strings.Contains(text, row) {
				t.Errorf("%+v, but the kernel says:\n%s", c, text)
			}
		}
	}
	if n := limitResults(tune(t, "--config", conf)); n["unchanged"] != 8 {
		t.Errorf("results of the second time %v, want all unchanged", n)
	}

	must(t, airtuned+" restore")
	untouched(t)
}

// TestAirtunedObserves: so does the daemon, and says why.
func TestAirtunedObserves(t *testing.T) {
	start(t, unforced)
	for _, r := range radios(t) {
		follows(t, r.path, state("observing", "AQL"))
	}
	time.Sleep(10 * time.Second)
	untouched(t)
}

func TestAirtunedRun(t *testing.T) {
	d := start(t, forced)
	for _, r := range radios(t) {
		follows(t, r.path, state("tuning", ""))
		eventually(t, 5*time.Second, func() error { return changed(t, r) })
	}
	if err := d.stop(t, unix.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	untouched(t)
	if _, _, code := command(t, airtuned, "status"); code != 5 {
		t.Errorf("status without a daemon: exit code %d, want 5", code)
	}
}

// TestAirtunedPace lets a minute of ticks pass: a daemon that spins would keep
// it from passing.
func TestAirtunedPace(t *testing.T) {
	start(t, forced)
	age := func() float64 {
		var s struct {
			Uptime float64 `json:"uptime_s"`
		}
		airtunedJSON(t, 0, &s, "status")
		return s.Uptime
	}
	before := age()
	time.Sleep(time.Minute)
	if d := age() - before; d < 59 || d > 61 {
		t.Errorf("the daemon aged by %v s in a minute", d)
	}
}

// TestAirtunedCrash: what a killed daemon left behind is undone by restore, or
// by the next daemon.
func TestAirtunedCrash(t *testing.T) {
	crash := func(t *testing.T) {
		d := start(t, forced)
		for _, r := range radios(t) {
			eventually(t, 5*time.Second, func() error { return changed(t, r) })
		}
		d.stop(t, unix.SIGKILL)
		for _, r := range radios(t) {
			if err := changed(t, r); err != nil {
				t.Fatalf("after SIGKILL: %v", err)
			}
		}
	}
	t.Run("restore", func(t *testing.T) {
		crash(t)
		must(t, airtuned+" restore")
		untouched(t)
	})
	t.Run("observer", func(t *testing.T) {
		crash(t)
		d := start(t, "radios: [{match: {driver: mac80211_hwsim}, policy: observe}]")
		eventually(t, 5*time.Second, func() error {
			for _, r := range radios(t) {
				if changed(t, r) == nil {
					return fmt.Errorf("%s: still tuned by the daemon that was killed", r.phy)
				}
			}
			return nil
		})
		d.stop(t, unix.SIGTERM)
		untouched(t)
	})
	t.Run("tuner", func(t *testing.T) {
		crash(t)
		d := start(t, forced)
		for _, r := range radios(t) {
			follows(t, r.path, state("tuning", ""))
		}
		d.stop(t, unix.SIGTERM)
		untouched(t)
	})
}

func TestAirtunedTwice(t *testing.T) {
	d := start(t, forced)
	stdout, stderr, code := command(t, airtuned, "run", "--config", d.config)
	if code != 1 || !strings.Contains(stderr, "another airtuned") {
		t.Errorf("second daemon: exit code %d, want 1 and a word about the first\n%s%s", code, stdout, stderr)
	}
	for _, r := range radios(t) {
		follows(t, r.path, state("tuning", ""))
	}
}

func TestAirtunedReload(t *testing.T) {
	d := start(t, forced)
	r := radios(t)[0]
	follows(t, r.path, state("tuning", ""))

	// A bad file is refused: what was in force stays.
	before := r.limits(t)
	write(t, d.config, "radios: [{match: {driver: mac80211_hwsim}, policy: statik}]\n")
	d.signal(t, unix.SIGHUP)
	time.Sleep(3 * time.Second)
	follows(t, r.path, state("tuning", ""))
	if after := r.limits(t); after != before {
		t.Errorf("limits after a bad reload:\n%s\nbefore:\n%s", after, before)
	}

	write(t, d.config, "radios: [{match: {driver: mac80211_hwsim}, policy: observe}]\n")
	d.signal(t, unix.SIGHUP)
	follows(t, r.path, state("observing", ""))
	eventually(t, 5*time.Second, func() error {
		if changed(t, r) == nil {
			return fmt.Errorf("limits not restored under policy observe:\n%s", r.limits(t))
		}
		return nil
	})

	write(t, d.config, forced)
	d.signal(t, unix.SIGHUP)
	follows(t, r.path, state("tuning", ""))
	eventually(t, 5*time.Second, func() error { return changed(t, r) })
}

// TestAirtunedRename: a radio is its device, whatever its phy is called.
func TestAirtunedRename(t *testing.T) {
	d := start(t, forced)
	r := radios(t)[0]
	follows(t, r.path, state("tuning", ""))

	must(t, "iw phy "+r.phy+" set name radio0")
	t.Cleanup(func() { must(t, "iw phy radio0 set name "+r.phy) })
	follows(t, r.path, func(now radio) error {
		if now.Phy != "radio0" || now.State != "tuning" {
			return fmt.Errorf("phy %q in state %q (%s), want radio0 and tuning", now.Phy, now.State, now.Reason)
		}
		return nil
	})
	if n := len(status(t)); n != 2 {
		t.Errorf("%d radios after the rename, want 2", n)
	}
	if err := changed(t, hwsim{"radio0", r.path}); err != nil {
		t.Error(err)
	}

	// And it is found again at the end.
	if err := d.stop(t, unix.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	untouched(t)
}

func TestAirtunedInterfaces(t *testing.T) {
	start(t, forced)
	r := radios(t)[0]
	has := func(want ...string) {
		t.Helper()
		follows(t, r.path, func(now radio) error {
			if !slices.Equal(now.interfaces(), want) {
				return fmt.Errorf("interfaces %q, want %q", now.interfaces(), want)
			}
			return nil
		})
	}
	has("wlan0")
	must(t, "iw phy "+r.phy+" interface add mon0 type monitor")
	has("mon0", "wlan0")
	must(t, "ip link set mon0 name mon1")
	has("mon1", "wlan0")
	must(t, "iw dev mon1 del")
	has("wlan0")
	follows(t, r.path, state("tuning", ""))
}

// TestAirtunedHotplug plugs a third radio in and out, and in again.
func TestAirtunedHotplug(t *testing.T) {
	d := start(t, forced)
	for range 2 {
		addRadio(t, "usb0")
		all := radios(t)
		i := slices.IndexFunc(all, func(r hwsim) bool { return r.phy == "usb0" })
		if i < 0 {
			t.Fatalf("no usb0 among %+v", all)
		}
		follows(t, all[i].path, state("tuning", ""))
		eventually(t, 5*time.Second, func() error { return changed(t, all[i]) })

		removeRadio(t, "usb0")
		follows(t, all[i].path, func(r radio) error {
			if r.State != "" && r.State != "gone" {
				return fmt.Errorf("state %q after the radio was pulled", r.State)
			}
			return nil
		})
	}
	for _, r := range radios(t) {
		follows(t, r.path, state("tuning", ""))
	}
	if err := d.stop(t, unix.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	untouched(t)
}

// TestAirtunedForeignWrite: whoever else sets the limits has the last word.
func TestAirtunedForeignWrite(t *testing.T) {
	d := start(t, forced)
	r := radios(t)[0]
	follows(t, r.path, state("tuning", ""))
	eventually(t, 5*time.Second, func() error { return changed(t, r) })
	write(t, r.debugfs("aql_txq_limit"), "2 3333 4444")
	follows(t, r.path, state("held", "another program"))
	time.Sleep(30 * time.Second)
	if text := r.limits(t); !strings.Contains(text, "BE\t3333\t\t4444\n") {
		t.Errorf("the daemon overwrote another's limits:\n%s", text)
	}
	follows(t, radios(t)[1].path, state("tuning", ""))

	// What is still ours goes back at the end; what is not does not.
	if err := d.stop(t, unix.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if text := r.limits(t); !strings.Contains(text, "BE\t3333\t\t4444\n") {
		t.Errorf("another's limits were taken back:\n%s", text)
	}
	write(t, r.debugfs("aql_txq_limit"), "2 5000 12000")
	untouched(t)
}

// TestNoDebugfs: on Debian's kernels there is nl80211 and nothing else.
func TestNoDebugfs(t *testing.T) {
	if _, err := os.Stat(radios(t)[0].debugfs("aql_txq_limit")); err == nil {
		t.Fatal("this kernel has MAC80211_DEBUGFS")
	}
	const option = "CONFIG_MAC80211_DEBUGFS"

	var found struct {
		Radios   []radio
		Warnings []warning
	}
	airtunedJSON(t, 0, &found, "detect")
	if len(found.Radios) != 2 {
		t.Errorf("%d radios, want 2: %+v", len(found.Radios), found)
	}
	for i, r := range found.Radios {
		if r.Driver != "mac80211_hwsim" || r.AQL.Writable || r.AQL.Supported == nil || *r.AQL.Supported {
			t.Errorf("radio: %+v", r)
		}
		if len(r.Interfaces) != 1 || r.Interfaces[0].Name != fmt.Sprint("wlan", i) || r.Interfaces[0].Type != "managed" {
			t.Errorf("interfaces %+v, want wlan%d of type managed", r.Interfaces, i)
		}
	}
	if !slices.ContainsFunc(found.Warnings, func(w warning) bool { return strings.Contains(w.Message, option) }) {
		t.Errorf("no warning names %s: %+v", option, found.Warnings)
	}

	conf := filepath.Join(t.TempDir(), "airtuned.yaml")
	write(t, conf, forced)
	if stdout, stderr, code := command(t, airtuned, "tune", "--config", conf); code != 3 || !strings.Contains(stdout+stderr, option) {
		t.Errorf("tune: exit code %d, want 3 and %s to be named\n%s%s", code, option, stdout, stderr)
	}

	d := start(t, forced)
	for _, r := range radios(t) {
		follows(t, r.path, state("observing", option))
	}
	must(t, "iw phy phy0 set name radio0")
	follows(t, radios(t)[1].path, func(now radio) error {
		if now.Phy != "radio0" {
			return fmt.Errorf("phy %q, want radio0", now.Phy)
		}
		return nil
	})
	if err := d.stop(t, unix.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if _, err := os.Stat(stateDir + "/originals"); err == nil {
		t.Error("originals recorded though nothing can be written")
	}
}
