package tuner

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"airtuned/debugfs"
	"airtuned/tree"
	"airtuned/wlan"
)

const (
	aqlText  = "Q depth: VO: 0 us VI: 0 us BE: 0 us BK: 0 us\nQ limit[low/high]: VO: 5000/12000 VI: 5000/12000 BE: 5000/12000 BK: 5000/12000\n"
	airText  = "RX: 0 us\nTX: 7000000 us\nWeight: 256\nDeficit: VO: 0 us VI: 0 us BE: 0 us BK: 0 us\n"
	aqmTitle = "tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags\n"
	aqmText  = aqmTitle + "0 2 0 0 1 0 0 0 0 1500000000 1000000 0x0(RUN)\n"
)

// phyFolder is a radio's folder in a debugfs of files.
type phyFolder struct {
	t     *testing.T
	dir   string
	debug tree.FS
	phy   *debugfs.Phy
}

func newPhyFolder(t *testing.T) phyFolder {
	root := t.TempDir()
	f := phyFolder{t, filepath.Join(root, "ieee80211", "phy0"), tree.Dir(root), debugfs.NewPhy(tree.Dir(root), "phy0")}
	f.write("aql_txq_limit", "AC\tAQL limit low\tAQL limit high\nVO\t1\t\t2\nVI\t1\t\t2\nBE\t1\t\t2\nBK\t1\t\t2\n")
	f.write("aql_pending", "AC     AQL pending\nVO     0 us\nVI     0 us\nBE     0 us\nBK     0 us\ntotal  0 us\n")
	return f
}

func (f phyFolder) write(name, text string) {
	f.t.Helper()
	file := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func stationName(netdev string, n int) string {
	return fmt.Sprintf("netdev:%s/stations/02:00:00:00:%02x:%02x", netdev, n>>8, n&255)
}

func (f phyFolder) join(netdev string, n int) {
	f.write(stationName(netdev, n)+"/aql", aqlText)
	f.write(stationName(netdev, n)+"/aqm", aqmText)
	f.write(stationName(netdev, n)+"/airtime", airText)
}

func (f phyFolder) leave(netdev string, n int) {
	f.t.Helper()
	if err := os.RemoveAll(filepath.Join(f.dir, stationName(netdev, n))); err != nil {
		f.t.Fatal(err)
	}
}

// A counter that could not be read at first has counted since the station came:
// its first reading is no difference.
func TestCounterReadLate(t *testing.T) {
	f := newPhyFolder(t)
	f.join("wlan0", 1)
	f.write(stationName("wlan0", 1)+"/aqm", "tid ac")
	f.write(stationName("wlan0", 1)+"/airtime", "RX:")
	s := newSenses(f.debug, f.phy)
	defer s.close()
	if err := s.scan(); err != nil {
		t.Fatal(err)
	}
	s.observe(t0, 0, wlan.Limits{}, true)
	f.write(stationName("wlan0", 1)+"/aqm", aqmText)
	f.write(stationName("wlan0", 1)+"/airtime", airText)
	o := s.observe(t0.Add(time.Second), time.Second, wlan.Limits{}, false)
	if o.TxBytes != 0 || o.TxPackets != 0 || len(o.Stations) != 1 || o.Stations[0].AirtimeUs != 0 {
		t.Errorf("a lifetime taken for a window: %d bytes, %+v", o.TxBytes, o.Stations)
	}
}

// A client that roams is in two networks of the radio for a while, one of
// which may be a VLAN's. It is one station, and always the same one.
func TestStationInTwoNetworks(t *testing.T) {
	f := newPhyFolder(t)
	for n := range 60 {
		for _, netdev := range []string{"wlan0", "wlan0.sta1", "wlan1"} {
			f.join(netdev, n)
		}
	}
	f.write("netdev:p2p-dev-wlan0/flags", "0x0\n")
	s := newSenses(f.debug, f.phy)
	defer s.close()
	for range 3 {
		if err := s.scan(); err != nil {
			t.Fatal(err)
		}
		o := s.observe(t0, time.Second, wlan.Limits{}, false)
		if len(o.Stations) != 60 {
			t.Fatalf("%d stations", len(o.Stations))
		}
		for _, st := range s.stations {
			if st.netdev != "wlan0" {
				t.Fatalf("%s is taken to be in %s", st.mac, st.netdev)
			}
		}
	}
	if s.observe(t0, time.Second, wlan.Limits{}, false).StationsChanged {
		t.Error("stations change though nobody came or went")
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(fds)
}

// However many stations come and go, no file stays open.
func TestNoFileLeaks(t *testing.T) {
	f := newPhyFolder(t)
	before := openFiles(t)
	s := newSenses(f.debug, f.phy)
	for round := range 30 {
		for n := range 20 {
			if (n+round)%3 == 0 {
				f.join("wlan0", n)
			} else {
				f.leave("wlan0", n)
			}
		}
		if round%4 == 0 { // an interface that changes its type is made anew
			if err := os.RemoveAll(filepath.Join(f.dir, "netdev:wlan0")); err != nil {
				t.Fatal(err)
			}
		}
		if round%2 == 0 {
			if err := s.scan(); err != nil {
				t.Fatal(err)
			}
		}
		_ = s.sample()
		s.observe(t0, time.Second, wlan.Limits{}, false)
	}
	s.close()
	if after := openFiles(t); after != before {
		t.Errorf("%d files open, %d before", after, before)
	}
}

// However many stations there are, most of what a process may open is left for
// others.
func TestManyStationsFewFiles(t *testing.T) {
	f := newPhyFolder(t)
	for n := range 50 {
		f.join("wlan0", n)
	}
	before := openFiles(t)
	s := newSenses(f.debug, f.phy)
	defer s.close()
	s.maxOpen = 60
	if err := s.scan(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_ = s.sample()
		if o := s.observe(t0, time.Second, wlan.Limits{}, false); len(o.Stations) != 50 || !o.Stations[7].HasLimit {
			t.Fatalf("%+v", o)
		}
	}
	if open := openFiles(t) - before; open > 10 {
		t.Errorf("%d files open", open)
	}
	for n := 20; n < 50; n++ {
		f.leave("wlan0", n)
	}
	if err := s.scan(); err != nil {
		t.Fatal(err)
	}
	s.observe(t0, time.Second, wlan.Limits{}, false)
	if open := openFiles(t) - before; open < 60 {
		t.Errorf("%d files open: they are opened anew for each window", open)
	}
}

// The queues of a station that is idle are looked at seldom, but what wakes it up
// is seen at once.
func TestIdleStation(t *testing.T) {
	const (
		sent   = aqmTitle + "0 2 0 0 1 0 0 0 0 1500001000 1000001 0x0(RUN)\n"
		waits  = aqmTitle + "0 2 1000 1 2 0 0 0 0 1500000000 1000000 0x0(RUN)\n"
		radio  = "access name value\nR fq_flows_cnt 4096\nR fq_backlog 1\n"
		booked = "RX: 0 us\nTX: 7000100 us\nWeight: 256\nDeficit: VO: 0 us VI: 0 us BE: 0 us BK: 0 us\n"
		never  = "RX: 0 us\nTX: 0 us\nWeight: 256\nDeficit: VO: 0 us VI: 0 us BE: 0 us BK: 0 us\n"
		inAir  = "Q depth: VO: 0 us VI: 0 us BE: 90 us BK: 0 us\nQ limit[low/high]: VO: 5000/12000 VI: 5000/12000 BE: 5000/12000 BK: 5000/12000\n"
	)
	for _, tt := range []struct {
		name  string
		files map[string]string // of the station, or below the radio's folder
		first map[string]string
		want  int // the window that notices
	}{
		{"nothing but its queues", map[string]string{"aqm": sent}, nil, idleWindows - quietWindows - 1},
		{"airtime is booked", map[string]string{"aqm": sent, "airtime": booked}, nil, 1},
		{"airtime is pending", map[string]string{"aqm": sent, "aql": inAir}, nil, 1},
		{"it sleeps and something waits", map[string]string{"aqm": waits, "../../../aqm": radio}, nil, 2},
		{"the driver books nothing", map[string]string{"aqm": sent}, map[string]string{"airtime": never}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newPhyFolder(t)
			f.write("aqm", "access name value\nR fq_flows_cnt 4096\nR fq_backlog 0\n")
			f.join("wlan0", 1)
			put := func(files map[string]string) {
				for name, text := range files {
					f.write(stationName("wlan0", 1)+"/"+name, text)
				}
			}
			put(tt.first)
			s := newSenses(f.debug, f.phy)
			defer s.close()
			if err := s.scan(); err != nil {
				t.Fatal(err)
			}
			look := func() bool {
				if err := s.sample(); err != nil {
					t.Fatal(err)
				}
				o := s.observe(time.Unix(0, 0), 200*time.Millisecond, wlan.Limits{}, false)
				return len(o.Stations) == 1 && o.Stations[0].Active
			}
			for range quietWindows + 2 { // the first counts nothing, and is due
				if look() {
					t.Fatal("active before anything was sent")
				}
			}
			put(tt.files)
			for window := 1; ; window++ {
				if look() {
					if window != tt.want {
						t.Errorf("noticed in window %d, want %d", window, tt.want)
					}
					return
				}
				if window > idleWindows {
					t.Fatal("not noticed")
				}
			}
		})
	}
}
