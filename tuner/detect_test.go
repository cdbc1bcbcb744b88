package tuner

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"airtuned/tree"
)

// stuck is a tree in which opening some files never returns.
type stuck struct {
	tree.FS
	prefix string
	until  chan struct{}
}

func (s *stuck) Open(name string) (tree.File, error) {
	if strings.HasPrefix(name, s.prefix) {
		<-s.until
	}
	return s.FS.Open(name)
}

// A radio that blocks in the kernel hides neither itself nor the other.
func TestDetectBlockedRadio(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := "../testdata/trees/" + twoRadios
		debug := &stuck{tree.Dir(dir + "/debug"), "ieee80211/phy0/", make(chan struct{})}
		env := Env{Sys: tree.Dir(dir + "/sys"), Debug: debug, Proc: tree.Dir(dir + "/proc"), Log: slog.New(slog.DiscardHandler)}
		d, err := Detect(env, choose("static"))
		if err != nil || len(d.Radios) != 2 {
			t.Fatalf("%+v, %v", d, err)
		}
		if r := d.Radios[0]; r.Phy != "phy0" || r.Chip != "QCA9984" || r.AQL.Writable || !strings.Contains(r.AQL.Reason, "blocked") || len(r.Interfaces) == 0 {
			t.Errorf("the blocked radio: %+v", r)
		}
		if r := d.Radios[1]; r.Phy != "phy1" || !r.AQL.Writable {
			t.Errorf("the other radio: %+v", r)
		}
		if len(d.Warnings) != 1 || d.Warnings[0].Radio != "phy0" || d.Warnings[0].Code != WarnBlocked {
			t.Errorf("warnings %+v", d.Warnings)
		}
		// Finding the other one again reads nothing of the blocked one.
		if _, _, err := detectAt(env, d.Radios[1].Path); err != nil {
			t.Error(err)
		}
		close(debug.until)
	})
}
