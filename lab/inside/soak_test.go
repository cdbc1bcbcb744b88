// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

var soakFor = flag.Duration("soak", 15*time.Minute, "how long TestEmulatedSoak lasts, in virtual time")

const soakConfig = `
loop: {sample: 100ms, window: 200ms}
radios: [{match: {driver: ath10k_pci}, policy: delay}]
`

var socketNumber = regexp.MustCompile(`\d+\]$`)

// footprint is what the daemon has of the machine, but for the two files of a station
// that has seemed to sleep: they are open for as long as it is there.
type footprint struct {
	RSSKB, Threads int
	Files          []string
}

func (d *daemon) footprint(t *testing.T) (f footprint) {
	t.Helper()
	proc := fmt.Sprintf("/proc/%d/", d.cmd.Process.Pid)
	text := read(t, proc+"status")
	for key, n := range map[string]*int{"VmRSS": &f.RSSKB, "Threads": &f.Threads} {
		m := regexp.MustCompile(key + `:\s+(\d+)`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in\n%s", key, text)
		}
		*n, _ = strconv.Atoi(m[1])
	}
	files, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, err := os.Readlink(proc + "fd/" + file.Name())
		if err == nil && !strings.HasSuffix(name, "/flags") && !strings.HasSuffix(name, "/peer_ps_state") {
			f.Files = append(f.Files, socketNumber.ReplaceAllString(name, "]"))
		}
	}
	slices.Sort(f.Files)
	return f
}

// troubles are what happens in a soak. Each leaves things so that all can be well
// after a while.
func troubles(t *testing.T, d *daemon, rng *rand.Rand) map[string]func() {
	some := func(from, to time.Duration) time.Duration { return from + time.Duration(rng.Int64N(int64(to-from))) }
	station := func() int { return 1 + rng.IntN(2) }
	phy := func() string { // whatever it is called at the moment
		for _, r := range radios(t) {
			if r.path == accessPointPath {
				return r.phy
			}
		}
		t.Fatal("the access point's radio is not there")
		return ""
	}
	file := func(name string) string { return "/sys/kernel/debug/ieee80211/" + phy() + "/" + name }
	resume := func() {
		if _, stderr, code := command(t, airtuned, "resume"); code != 0 {
			t.Errorf("resume: %s", stderr)
		}
	}
	return map[string]func(){
		"a download": func() {
			i := station()
			cmd := exec.Command("ip", "netns", "exec", fmt.Sprint("sta", i), "iperf", "-s")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
			// It may fail: stations come and go.
			_, _, _ = command(t, "timeout", "8", "ip", "netns", "exec", "server", "iperf", "-c", fmt.Sprint("10.0.0.", 1+i), "-P", "2", "-t", "3")
			cmd.Process.Kill()
			cmd.Wait()
		},
		"another rate": func() {
			write(t, emulated+fmt.Sprintf("radio%d/kbps", station()), []string{"6500", "13000", "26000", "58500"}[rng.IntN(4)])
		},
		"a station leaves and comes back": func() {
			i := station()
			_, _, _ = command(t, "ip", "netns", "exec", fmt.Sprint("sta", i), "iw", "dev", fmt.Sprint("wlan", i), "disconnect")
			time.Sleep(some(time.Second, time.Minute))
			_, _, _ = command(t, "ip", "netns", "exec", fmt.Sprint("sta", i), "iw", "dev", fmt.Sprint("wlan", i), "connect", "lab", "5180")
			time.Sleep(2 * time.Second)
		},
		"a station sleeps": func() {
			stalled := emulated + fmt.Sprintf("radio%d/stalled", station())
			write(t, stalled, "1")
			_, _, _ = command(t, "ping", "-q", "-c", "20", "-i", "0.05", "-W", "1", "10.0.0.2")
			time.Sleep(some(time.Second, 20*time.Second))
			write(t, stalled, "0")
		},
		"the firmware crashes": func() {
			write(t, file("ath10k/simulate_fw_crash"), []string{"soft", "hard", "assert", "hw-restart"}[rng.IntN(4)])
			time.Sleep(some(time.Second, 20*time.Second))
		},
		"completions get lost": func() {
			write(t, emulated+"radio0/leak", fmt.Sprint(1+rng.IntN(20)))
			_, _, _ = command(t, "ping", "-q", "-c", "20", "-i", "0.05", "-W", "1", "10.0.0.2")
			time.Sleep(some(time.Second, 30*time.Second))
			write(t, emulated+"radio0/leak", "0")
			write(t, file("ath10k/simulate_fw_crash"), "soft") // which cleans up
			time.Sleep(5 * time.Second)
		},
		"no rates": func() {
			write(t, emulated+"radio0/blind", "1")
			time.Sleep(some(time.Second, 30*time.Second))
			write(t, emulated+"radio0/blind", "0")
		},
		"another program": func() {
			// Limits that nobody has tuned yet would be taken for the original ones.
			if accessPointOf(t).State != "tuning" {
				return
			}
			write(t, file("aql_txq_limit"), fmt.Sprintf("2 %d %d", 1000+rng.IntN(1000), 3000+rng.IntN(1000)))
			time.Sleep(some(100*time.Millisecond, 20*time.Second))
			write(t, file("aql_txq_limit"), "2 5000 12000")
			resume()
		},
		"another name": func() {
			name := phy()
			must(t, "iw phy "+name+" set name radio0")
			time.Sleep(some(time.Millisecond, 20*time.Second))
			must(t, "iw phy radio0 set name "+name)
		},
		"a radio comes and goes": func() {
			const last = "/sys/bus/pci/devices/0000:00:03.0/remove"
			for range 1 + rng.IntN(3) {
				write(t, last, "1")
				time.Sleep(some(time.Millisecond, 20*time.Second))
				write(t, "/sys/bus/pci/rescan", "1")
				time.Sleep(some(time.Millisecond, 10*time.Second))
			}
		},
		"interfaces come and go": func() {
			for range 5 {
				must(t, "iw phy "+phy()+" interface add mon0 type monitor")
				time.Sleep(some(time.Millisecond, 2*time.Second))
				must(t, "iw dev mon0 del")
			}
		},
		"reloads": func() {
			for _, text := range []string{"radios: [{policy: statik}]\n", "radios: [{policy: static}]\n", "radios: [{policy: observe}]\n", soakConfig} {
				write(t, d.config, text)
				d.signal(t, unix.SIGHUP)
				time.Sleep(some(time.Millisecond, 5*time.Second))
			}
		},
		"commands": func() {
			for _, c := range []string{"hold", "resume", "restore", "resume", "tune", "resume", "radios", "history"} {
				call(t, c)
				time.Sleep(some(time.Millisecond, 2*time.Second))
			}
			resume()
		},
		"clients": func() {
			var conns []net.Conn
			for range 100 {
				if c, err := net.Dial("unix", socket); err == nil {
					conns = append(conns, c)
				}
			}
			for i, c := range conns {
				c.SetDeadline(time.Now().Add(time.Second))
				fmt.Fprint(c, []string{
					`{"jsonrpc":"2.0","id":1,"method":"subscribe"}` + "\n", `{"jsonrpc":"2.0","id":1,"method":"record"}` + "\n",
					strings.Repeat("x", 100_000), "{}\n", "", `{"jsonrpc":"2.0","id":1,"method":"status"}` + "\n",
				}[i%6])
			}
			time.Sleep(some(time.Millisecond, 10*time.Second))
			for _, c := range conns {
				c.Close()
			}
		},
		"a recording": func() {
			_, _, _ = command(t, airtuned, "record", filepath.Join(t.TempDir(), "soak.rec"), "--duration", "5s", "--radio", phy())
		},
		"the process stands still": func() {
			d.signal(t, unix.SIGSTOP)
			time.Sleep(some(time.Second, 3*time.Minute))
			d.signal(t, unix.SIGCONT)
		},
		"the clock jumps": func() {
			by := some(-48*time.Hour, 48*time.Hour)
			setClock(t, by)
			time.Sleep(some(time.Second, 10*time.Second))
			setClock(t, -by)
		},
	}
}

const socket = stateDir + "/airtuned.sock"

// call calls a method of the daemon, whatever it answers.
func call(t *testing.T, method string) {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Errorf("%s: %v", method, err)
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, `{"jsonrpc":"2.0","id":1,"method":%q}`+"\n", method)
	var answer map[string]any
	if err := json.NewDecoder(c).Decode(&answer); err != nil {
		t.Errorf("%s: %v", method, err)
	}
}

// TestEmulatedSoak has everything happen to the daemon in random order, for a while
// or, by make lab-soak, for a day. After the first hour it takes no more memory, no
// more files and no more threads, and after each hour all is well.
func TestEmulatedSoak(t *testing.T) {
	cell(t, 2, "beacon_int=1000\n")                           // each costs the host time
	write(t, "/sys/module/ath10k_emu/parameters/radios", "4") // and one that is nobody's
	for i := 1; i <= 2; i++ {
		write(t, emulated+fmt.Sprintf("radio%d/kbps", i), "26000")
	}
	d := start(t, soakConfig)

	rng := rand.New(rand.NewPCG(1, 0x736f616b))
	all := troubles(t, d, rng)
	names := slices.Sorted(maps.Keys(all))
	count := map[string]int{}
	var next []int
	trouble := func(pause time.Duration) {
		if len(next) == 0 {
			next = rng.Perm(len(names))
		}
		name := names[next[0]]
		next = next[1:]
		count[name]++
		all[name]()
		time.Sleep(time.Duration(rng.ExpFloat64() * float64(pause)))
	}

	slot, slack := min(time.Hour, *soakFor/3), 20
	if slot < time.Hour { // some of it has not settled yet
		slack = 10
	}
	var first footprint
	for k := range int(*soakFor / slot) {
		end := time.Now().Add(slot - slot/8)
		if k == 0 { // all of it, once: what it takes is taken by then
			for range names {
				trouble(slot / 40)
			}
		}
		for time.Now().Before(end) {
			trouble(slot / 15)
		}
		// And now it rests, with both stations; what it was told to wait for is over.
		time.Sleep(slot / 8)
		eventually(t, time.Minute, func() error {
			for i := 1; i <= 2; i++ {
				connect := fmt.Sprintf("%siw dev wlan%d connect lab 5180", at(fmt.Sprint("sta", i)), i)
				_, _, _ = command(t, "sh", "-c", connect) // unless it is connected
			}
			time.Sleep(3 * time.Second)
			return authorized(t, 2)
		})
		for i := 1; i <= 2; i++ {
			_, _, _ = command(t, "ping", "-q", "-c", "50", "-i", "0.02", "-W", "1", fmt.Sprint("10.0.0.", 1+i))
		}
		if r := accessPointOf(t); r.State != "tuning" {
			t.Errorf("hour %d: %s is %s: %s", k, r.Phy, r.State, r.Reason)
		}
		f := d.footprint(t)
		t.Logf("hour %2d: %d KiB, %d files, %d threads", k, f.RSSKB, len(f.Files), f.Threads)
		if k == 0 {
			first = f
		}
		if f.RSSKB > first.RSSKB+first.RSSKB/slack || len(f.Files) > len(first.Files) || f.Threads > first.Threads+2 {
			t.Errorf("hour %d: more than after the first: (-first +now)\n%s", k, cmp.Diff(first, f))
		}
	}
	for _, name := range names {
		t.Logf("%4d times %s", count[name], name)
	}
	if err := d.stop(t, unix.SIGTERM); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	untouched(t)
	t.Logf("the daemon said %d lines", strings.Count(d.log.String(), "\n"))
}
