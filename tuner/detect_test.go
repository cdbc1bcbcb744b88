package tuner

import (
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"airtuned/debugfs"
	"airtuned/nl80211"
	"airtuned/tree"
	"airtuned/tree/treetest"
)

func hasWarning(d Detection, code string) bool {
	return slices.ContainsFunc(d.Warnings, func(w Warning) bool { return w.Radio == "phy0" && w.Code == code })
}

// fixedAir is a netlink of one wiphy with one interface.
type fixedAir struct {
	Netlink
	kind     string
	fourAddr bool
}

func (fixedAir) Wiphys() ([]nl80211.Wiphy, error) {
	return []nl80211.Wiphy{{Name: "phy0", AQL: true}}, nil
}
func (f fixedAir) Interfaces() ([]nl80211.Interface, error) {
	return []nl80211.Interface{{Name: "wlan0", Type: f.kind, FourAddr: f.fourAddr}}, nil
}
func (fixedAir) Stations(int) ([]nl80211.Station, error) { return nil, nil }
func (fixedAir) Firmware(string) (string, error)         { return "", nil }

func TestDetectMesh(t *testing.T) {
	env := testEnv(t, newFakeKernel(twoRadios), twoRadios)
	for kind, mesh := range map[string]bool{"AP": false, "mesh point": true} {
		env.Netlink = fixedAir{kind: kind}
		d, err := Detect(env, choose("static"))
		if err != nil || hasWarning(d, WarnMesh) != mesh || d.Radios[0].IsMesh() != mesh {
			t.Errorf("%s: %+v, %v", kind, d.Warnings, err)
		}
	}
}

func TestDetectFourAddr(t *testing.T) {
	env := testEnv(t, newFakeKernel(twoRadios), twoRadios)
	for _, four := range []bool{false, true} {
		env.Netlink = fixedAir{kind: "AP/VLAN", fourAddr: four}
		d, err := Detect(env, choose("static"))
		if err != nil || hasWarning(d, WarnFourAddr) != four || d.Radios[0].IsFourAddr() != four {
			t.Errorf("4-address %v: %+v, %v", four, d.Warnings, err)
		}
	}
}

func TestDetectVirtualTime(t *testing.T) {
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	for text, want := range map[string]bool{
		"RX: 0 us\nTX: 7 us\nWeight: 256\nDeficit: VO: 0 us VI: 0 us BE: 0 us BK: 0 us\n": false,
		"RX: 0 us\nTX: 7 us\nWeight: 256\nVirt-T: VO: 0 us VI: 0 us BE: 0 us BK: 0 us\n":  true,
		"RX": false,
	} {
		k.files[staDir+"airtime"] = text
		d, err := Detect(env, choose("static"))
		if err != nil || hasWarning(d, WarnVirtualTime) != want || d.Radios[0].VirtualTime != want {
			t.Errorf("%q: %+v, %v", text, d.Warnings, err)
		}
	}
}

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

// TestDetectStationLeaves: only a station that is still there says that a driver
// does not use AQL, and not by one failure.
func TestDetectStationLeaves(t *testing.T) {
	for _, test := range []struct {
		name    string
		missing int // times that aql is not found
		listed  int // times that the stations are listed
		want    string
	}{
		{"no aql", 99, 99, "false"},
		{"once no aql", 1, 99, "true"},
		{"left meanwhile", 99, 1, "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var faults treetest.Faults
			missing, listed := test.missing, test.listed
			faults.Judge(func(op treetest.Op) treetest.Fault {
				switch {
				case op.Kind == treetest.List && strings.HasSuffix(op.Path, "/stations"):
					if listed--; listed < 0 {
						return treetest.Fault{Names: func([]string) []string { return nil }}
					}
				case op.Kind == treetest.Open && strings.HasSuffix(op.Path, "/aql"):
					if missing--; missing >= 0 {
						return treetest.Fault{Err: fs.ErrNotExist}
					}
				}
				return treetest.Fault{}
			})
			got := "unknown"
			if has := aqlFromStations(debugfs.NewPhy(faults.Tree(newFakeKernel(twoRadios)), "phy0")); has != nil {
				got = strconv.FormatBool(*has)
			}
			if got != test.want {
				t.Errorf("AQL is %s, want %s", got, test.want)
			}
		})
	}
}
