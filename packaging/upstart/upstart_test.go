// Package upstart tests what can be of the Upstart job without Upstart.
package upstart

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestJob holds that the shell parts are shell, that all stanzas are known, and
// that minijail leaves what the systemd unit leaves.
func TestJob(t *testing.T) {
	b, err := os.ReadFile("airtuned.conf")
	if err != nil {
		t.Fatal(err)
	}
	// The stanzas of init(5) that are used here.
	known := regexp.MustCompile(`^(description|author) +".*"$|^(start|stop) on \w|^respawn( limit \d+ \d+)?$|` +
		`^normal exit( \d+)+$|^env \w+=\S+$|^kill timeout \d+$|^expect fork$`)
	script := regexp.MustCompile(`^(pre-start |post-stop )?script$`)
	var shell strings.Builder
	inside := false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case inside && line == "end script":
			inside = false
		case inside:
			shell.WriteString(line + "\n")
		case script.MatchString(line):
			inside = true
		case line != "" && !strings.HasPrefix(line, "#") && !known.MatchString(line):
			t.Errorf("not a stanza: %q", line)
		}
	}
	if inside {
		t.Error("a script has no end")
	}
	check := exec.Command("sh", "-n")
	check.Stdin = strings.NewReader(shell.String())
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("the scripts: %v\n%s", err, out)
	}
	// CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_NET_ADMIN and CAP_SYS_NICE.
	if want := fmt.Sprintf(" -c %x --ambient ", 1<<0|1<<1|1<<12|1<<23); !strings.Contains(shell.String(), want) {
		t.Errorf("minijail is not called with%s", want)
	}
	unit, err := os.ReadFile("../systemd/airtuned.service")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(unit), "\nCapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_NET_ADMIN CAP_CHOWN CAP_SYS_NICE\n") {
		t.Error("the systemd unit has other capabilities")
	}
}
