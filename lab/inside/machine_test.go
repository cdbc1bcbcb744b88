// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
)

// command runs a program to its end, for a minute of virtual time at most.
func command(t testing.TB, name string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	// Not the test's own context: clean-ups run commands, too.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", cmd, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must runs a command line of plain words that has to succeed, and returns
// what it printed.
func must(t testing.TB, line string) string {
	t.Helper()
	words := strings.Fields(line)
	stdout, stderr, code := command(t, words[0], words[1:]...)
	if code != 0 {
		t.Fatalf("%s: exit code %d\n%s%s", line, code, stdout, stderr)
	}
	return stdout
}

// eventually tries ten times a second, on virtual time, until check has no
// more to complain of.
func eventually(t testing.TB, within time.Duration, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still after %v: %v", within, err)
		}
	}
}

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// since tells whether the kernel is this release or a newer one: for tests of
// the kernel alone, airtuned looks at what there is.
func since(t testing.TB, major, minor int) bool {
	t.Helper()
	release := read(t, "/proc/sys/kernel/osrelease")
	var gotMajor, gotMinor int
	if _, err := fmt.Sscanf(release, "%d.%d", &gotMajor, &gotMinor); err != nil {
		t.Fatalf("release %q: %v", release, err)
	}
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}

// hwsim is one radio as the kernel shows it, without airtuned's help.
type hwsim struct {
	phy  string // e.g. "phy0"
	path string // e.g. "devices/virtual/mac80211_hwsim/hwsim0"
}

// radios lists the hwsim radios by their phy's name.
func radios(t testing.TB) []hwsim {
	t.Helper()
	phys, err := filepath.Glob("/sys/class/ieee80211/*")
	if err != nil {
		t.Fatal(err)
	}
	var found []hwsim
	for _, phy := range phys {
		device, err := filepath.EvalSymlinks(phy + "/device")
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, hwsim{filepath.Base(phy), strings.TrimPrefix(device, "/sys/")})
	}
	return found
}

// debugfs is the path of one of the radio's files.
func (r hwsim) debugfs(name string) string {
	return "/sys/kernel/debug/ieee80211/" + r.phy + "/" + name
}

// limits is the text of the radio's AQL limits.
func (r hwsim) limits(t testing.TB) string { return read(t, r.debugfs("aql_txq_limit")) }

// The commands and attributes of mac80211_hwsim's netlink family
// (drivers/net/wireless/mac80211_hwsim.h).
const (
	hwsimNewRadio  = 4
	hwsimDelRadio  = 5
	hwsimRadioName = 17
)

// addRadio plugs a radio in; the test ends with it unplugged.
func addRadio(t testing.TB, phy string) {
	t.Helper()
	if err := hwsimCommand(hwsimNewRadio, phy); err != nil {
		t.Fatalf("new hwsim radio %s: %v", phy, err)
	}
	t.Cleanup(func() { hwsimCommand(hwsimDelRadio, phy) })
}

// removeRadio unplugs a radio.
func removeRadio(t testing.TB, phy string) {
	t.Helper()
	if err := hwsimCommand(hwsimDelRadio, phy); err != nil {
		t.Fatalf("remove hwsim radio %s: %v", phy, err)
	}
}

func hwsimCommand(command uint8, phy string) error {
	c, err := genetlink.Dial(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	family, err := c.GetFamily("MAC80211_HWSIM")
	if err != nil {
		return err
	}
	attrs := netlink.NewAttributeEncoder()
	// hwsim adds the terminating zero itself and takes the length as it comes.
	attrs.Bytes(hwsimRadioName, []byte(phy))
	data, err := attrs.Encode()
	if err != nil {
		return err
	}
	_, err = c.Execute(genetlink.Message{
		Header: genetlink.Header{Command: command, Version: family.Version},
		Data:   data,
	}, family.ID, netlink.Request|netlink.Acknowledge)
	// A new radio's number comes back in the place of an error: errno -2 is no
	// error but radio 2.
	var errno syscall.Errno
	if errors.As(err, &errno) && int(errno) < 0 {
		return nil
	}
	return err
}
