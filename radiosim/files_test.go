package radiosim

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/tree"
	"airtuned/wlan"
)

const stationDir = "ieee80211/phy0/netdev:wlan0/stations/02:00:00:00:01:00"

func read(tb testing.TB, t tree.FS, name string) string {
	tb.Helper()
	b, err := tree.Read(t, name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

func TestFilesAtRest(t *testing.T) {
	s := New(lone(vht80x2), Options{})
	queues := ""
	misc := "pending:\n"
	for _, q := range []string{"00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15"} {
		queues += q + ": 0x00000000/0\n"
		misc += "[" + strings.TrimPrefix(q, "0") + "] 0\n"
	}
	misc = strings.Replace(misc, "[] 0", "[0] 0", 1)
	aqm := "tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags\n"
	for tid, ac := range []string{"2", "3", "3", "2", "1", "1", "0", "0", "2", "3", "3", "2", "1", "1", "0", "0"} {
		aqm += string(appendUint(nil, uint64(tid))) + " " + ac + " 0 0 0 0 0 0 0 0 0 0x0(RUN)\n"
	}
	for name, want := range map[string]string{
		"ieee80211/phy0/aql_txq_limit":             "AC\tAQL limit low\tAQL limit high\nVO\t5000\t\t12000\nVI\t5000\t\t12000\nBE\t5000\t\t12000\nBK\t5000\t\t12000\n",
		"ieee80211/phy0/aql_threshold":             "24000\n",
		"ieee80211/phy0/aql_enable":                "1\n",
		"ieee80211/phy0/aql_pending":               "AC     AQL pending\nVO     0 us\nVI     0 us\nBE     0 us\nBK     0 us\ntotal  0 us\n",
		"ieee80211/phy0/airtime_flags":             "AIRTIME_TX\t(1)\nAIRTIME_RX\t(2)\n",
		"ieee80211/phy0/queues":                    queues,
		"ieee80211/phy0/misc":                      misc,
		"ieee80211/phy0/aqm":                       "access name value\nR fq_flows_cnt 4096\nR fq_backlog 0\nR fq_overlimit 0\nR fq_overmemory 0\nR fq_collisions 0\nR fq_memory_usage 0\nRW fq_memory_limit 16777216\nRW fq_limit 8192\nRW fq_quantum 300\n",
		"ieee80211/phy0/ath10k/num_pending_tx":     "0\n",
		"ieee80211/phy0/ath10k/max_num_pending_tx": "1424\n",
		"ieee80211/phy0/ath10k/chip_id":            "0x01000000\n",
		"ieee80211/phy0/ath10k/fw_reset_stats":     "fw_crash_counter\t\t0\nfw_warm_reset_counter\t\t0\nfw_cold_reset_counter\t\t1\n",
		"ieee80211/phy0/netdev:wlan0/hw_queues":    "AC queues: VO:0 VI:0 BE:0 BK:0\ncab queue: 0\n",
		stationDir + "/aql":                        "Q depth: VO: 0 us VI: 0 us BE: 0 us BK: 0 us\nQ limit[low/high]: VO: 5000/12000 VI: 5000/12000 BE: 5000/12000 BK: 5000/12000\n",
		stationDir + "/airtime":                    "RX: 0 us\nTX: 0 us\nWeight: 256\nDeficit: VO: 256 us VI: 256 us BE: 256 us BK: 256 us\n",
		stationDir + "/aqm":                        aqm,
		stationDir + "/num_ps_buf_frames":          "AC0: 0\nAC1: 0\nAC2: 0\nAC3: 0\n",
	} {
		if diff := cmp.Diff(want, read(t, s.Debug(), name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFilesUnderLoad(t *testing.T) {
	sc, _ := Lookup("crowd")
	s := New(sc, Options{Seed: 1})
	s.Advance(Epoch.Add(8 * time.Second))
	for name, want := range map[string]string{
		"ieee80211/phy0/aql_pending":           `^AC     AQL pending\nVO     0 us\nVI     0 us\nBE     \d{4,} us\nBK     0 us\ntotal  \d{4,} us\n$`,
		"ieee80211/phy0/ath10k/num_pending_tx": `^\d{3,4}\n$`,
		"ieee80211/phy0/queues":                `^00: 0x0000000[01]/0\n(\d\d: 0x00000001/0\n){14}15: 0x0000000[01]/0\n$`,
		"ieee80211/phy0/aqm":                   `^access name value\nR fq_flows_cnt 4096\nR fq_backlog \d{2,}\n(.*\n)*RW fq_memory_limit 16777216\nRW fq_limit 8192\n`,
		stationDir + "/aql":                    `^Q depth: VO: 0 us VI: 0 us BE: \d+ us BK: 0 us\nQ limit`,
		stationDir + "/airtime":                `^RX: 0 us\nTX: \d{4,} us\nWeight: 256\nDeficit: VO: 256 us VI: 256 us BE: -?\d+ us BK: 256 us\n$`,
		stationDir + "/aqm":                    `^tid ac .*\n0 2 \d+ \d+ \d+ \d+ 0 0 0 \d{4,} \d{2,} 0x(2\(RUN AMPDU\)|a\(RUN AMPDU DIRTY\))\n1 3 0 0`,
	} {
		if got := read(t, s.Debug(), name); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%s: %q does not match %s", name, got, want)
		}
	}
	names, err := s.Debug().List("ieee80211/phy0/netdev:wlan0/stations")
	if err != nil || len(names) != 30 || names[0] != "02:00:00:00:01:00" {
		t.Errorf("stations %v, %v", names, err)
	}
}

func TestAqmIsCut(t *testing.T) {
	s := New(lone(vht80x2), Options{})
	s.fq.overlimit, s.fq.overmemory, s.fq.memory = 1234567, 7654321, 12345678
	got := read(t, s.Debug(), "ieee80211/phy0/aqm")
	if len(got) != 199 || !strings.Contains(got, "R fq_overlimit 7654321\nR fq_overmemory 1234567\n") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestWrites(t *testing.T) {
	limit := func(s *Sim) wlan.Limit { return s.aql.limits.AC[wlan.BE] }
	for _, tc := range []struct {
		name, text string
		want       error
		then       func(*Sim) bool
	}{
		{"aql_txq_limit", "2 1500 5000\n", nil, func(s *Sim) bool { return limit(s) == wlan.Limit{LowUs: 1500, HighUs: 5000} }},
		{"aql_txq_limit", "  2  1500 5000 junk", nil, func(s *Sim) bool { return limit(s) == wlan.Limit{LowUs: 1500, HighUs: 5000} }},
		{"aql_txq_limit", "2 4294967296 4294967295", nil, func(s *Sim) bool { return limit(s) == wlan.Limit{HighUs: 4294967295} }},
		{"aql_txq_limit", "2 9000 1000", nil, func(s *Sim) bool { return limit(s).LowUs == 9000 }},
		{"aql_txq_limit", "BE 1 2", unix.EINVAL, nil},
		{"aql_txq_limit", "0x2 1 2", unix.EINVAL, nil},
		{"aql_txq_limit", "4 1 2", unix.EINVAL, nil},
		{"aql_txq_limit", "2 1", unix.EINVAL, nil},
		{"aql_txq_limit", "2 -1 2", unix.EINVAL, nil},
		{"aql_txq_limit", "mcast 20000", unix.EINVAL, nil},
		{"aql_txq_limit", "", unix.EINVAL, nil},
		{"aql_txq_limit", "2 1 2" + strings.Repeat(" ", 95), unix.EINVAL, nil},
		{"aql_threshold", "0x10\n", nil, func(s *Sim) bool { return s.aql.limits.ThresholdUs == 16 }},
		{"aql_threshold", "4294967296", nil, func(s *Sim) bool { return s.aql.limits.ThresholdUs == 0 }},
		{"aql_threshold", "-1", unix.EINVAL, nil},
		{"aql_threshold", "abc", unix.EINVAL, nil},
		{"aql_enable", "0\n", nil, func(s *Sim) bool { return !s.aql.enabled }},
		{"aql_enable", "01", unix.EINVAL, nil},
		{"aql_enable", "y", unix.EINVAL, nil},
		{"airtime_flags", "1", nil, func(s *Sim) bool { return s.airtimeFlags == 1 }},
		{"airtime_flags", "65536", unix.EINVAL, nil},
		{"aqm", "fq_quantum 600\n", nil, func(s *Sim) bool { return s.fq.quantum == 600 }},
		{"aqm", "fq_what 1", unix.EINVAL, nil},
		{"aql_pending", "1", unix.EINVAL, nil},
		{"nothing", "1", unix.ENOENT, nil},
	} {
		s := New(lone(vht80x2), Options{})
		err := s.Debug().Write("ieee80211/phy0/"+tc.name, []byte(tc.text))
		if !errors.Is(err, tc.want) {
			t.Errorf("%q to %s: %v, want %v", tc.text, tc.name, err, tc.want)
		}
		var pe *fs.PathError
		if tc.want != nil && (!errors.As(err, &pe) || !strings.HasPrefix(pe.Path, "/sys/kernel/debug/")) {
			t.Errorf("%q to %s: %#v is no path error with a full path", tc.text, tc.name, err)
		}
		if tc.then != nil && !tc.then(s) {
			t.Errorf("%q to %s took no effect", tc.text, tc.name)
		}
	}
}

func TestStationsFollowTheRadio(t *testing.T) {
	sc := lone(vht80x2)
	sc.Stations = append(sc.Stations, Station{RateKbps: vht80x2}, Station{RateKbps: vht80x2, Join: time.Second})
	s := New(sc, Options{})
	write(t, s, "ieee80211/phy0/netdev:wlan0/stations/02:00:00:00:01:01/aql", "limit 2 700 900\n")
	for _, bad := range []string{"2 700 900", "limit 4 1 2", "limit 2 700", ""} {
		if err := s.Debug().Write(stationDir+"/aql", []byte(bad)); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	write(t, s, "ieee80211/phy0/aql_txq_limit", "2 1500 2000")
	s.Advance(Epoch.Add(2 * time.Second))
	var got []wlan.Limit
	for _, st := range s.stations {
		got = append(got, st.airtime[wlan.BE].limit)
	}
	want := []wlan.Limit{{LowUs: 1500, HighUs: 2000}, {LowUs: 700, HighUs: 900}, {LowUs: 1500, HighUs: 2000}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Given the radio's present values it follows again.
	write(t, s, "ieee80211/phy0/netdev:wlan0/stations/02:00:00:00:01:01/aql", "limit 2 1500 2000")
	s.ForeignWrite(wlan.BE, wlan.Limit{LowUs: 5, HighUs: 6})
	if got := s.stations[1].airtime[wlan.BE].limit; got != (wlan.Limit{LowUs: 5, HighUs: 6}) {
		t.Errorf("got %v", got)
	}
}

func TestSysfs(t *testing.T) {
	s := New(lone(vht80x2), Options{})
	sys := s.Sys()
	for name, want := range map[string]string{
		"class/ieee80211/phy0/device/vendor":                             "0x168c\n",
		"class/ieee80211/phy0/device/device":                             "0x0046\n",
		"class/ieee80211/phy0/index":                                     "0\n",
		"class/ieee80211/phy0/device/driver/0000:01:00.0/device":         "0x0046\n",
		"class/net/wlan0/phy80211/name":                                  "phy0\n",
		"class/net/wlan0/device/class":                                   "0x028000\n",
		"class/net/wlan0/uevent":                                         "DEVTYPE=wlan\nINTERFACE=wlan0\nIFINDEX=4\n",
		"class/net/wlan0/threaded":                                       "0\n",
		"devices/pci0000:00/0000:00:00.0/0000:01:00.0/net/wlan0/ifindex": "4\n",
		"devices/system/cpu/online":                                      "0-1\n",
		"bus/pci/devices/0000:01:00.0/subsystem_vendor":                  "0x168c\n",
	} {
		if got := read(t, sys, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"class/ieee80211/phy0":          "../../devices/pci0000:00/0000:00:00.0/0000:01:00.0/ieee80211/phy0",
		"class/ieee80211/phy0/device":   "../../../0000:01:00.0",
		"class/net/wlan0/phy80211":      "../../ieee80211/phy0",
		"class/net/wlan0/device/driver": "../../../../bus/pci/drivers/ath10k_pci",
	} {
		if got, err := sys.Readlink(name); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if names, err := sys.List("class/ieee80211"); err != nil || !cmp.Equal(names, []string{"phy0"}) {
		t.Errorf("phys %v, %v", names, err)
	}
	for name, want := range map[string]error{
		"class/net/wlan0/threaded": unix.EOPNOTSUPP, "class/net/wlan0/ifindex": unix.EACCES, "class/net/wlan1/threaded": unix.ENOENT,
	} {
		if err := sys.Write(name, []byte("1\n")); !errors.Is(err, want) {
			t.Errorf("write to %s: %v, want %v", name, err, want)
		}
	}
	if _, err := sys.Readlink("class/net/wlan0/uevent"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("readlink of a file: %v", err)
	}
	for _, name := range []string{"../etc/passwd", "/class", "class//net"} {
		if _, err := sys.Open(name); err == nil {
			t.Errorf("opened %q", name)
		}
	}
	if got, err := tree.ReadString(s.Proc(), "sys/kernel/random/boot_id"); err != nil || len(got) != 36 {
		t.Errorf("boot_id %q, %v", got, err)
	}
	if got := read(t, s.Proc(), "sys/kernel/osrelease"); !strings.HasPrefix(got, "6.12.") {
		t.Errorf("osrelease %q", got)
	}
}

func TestFileLifetimes(t *testing.T) {
	sc := lone(vht80x2)
	sc.Stations[0].Leave = time.Second
	s := New(sc, Options{})
	debug := s.Debug()
	open := func(name string) tree.File {
		f, err := debug.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var buf [4096]byte
	aqm, pending := open(stationDir+"/aqm"), open("ieee80211/phy0/aql_pending")
	s.StationsChanged()
	s.Advance(Epoch.Add(2 * time.Second))
	if !s.StationsChanged() || s.StationsChanged() {
		t.Error("a station that left must be told of once")
	}
	if _, err := aqm.ReadFresh(buf[:]); !errors.Is(err, unix.EIO) {
		t.Errorf("read of a station that left: %v", err)
	}
	if _, err := debug.Open(stationDir + "/aqm"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open of a station that left: %v", err)
	}

	s.RenamePhy("radio0")
	if _, err := pending.ReadFresh(buf[:]); err != nil {
		t.Errorf("an open file does not survive a rename: %v", err)
	}
	if tree.Exists(debug, "ieee80211/phy0") || !tree.Exists(debug, "ieee80211/radio0") || !tree.Exists(s.Sys(), "class/ieee80211/radio0/device") {
		t.Error("the rename did not reach the trees")
	}

	s.RemoveRadio()
	if _, err := pending.ReadFresh(buf[:]); !errors.Is(err, unix.EIO) {
		t.Errorf("read of a radio that is gone: %v", err)
	}
	for fsys, dir := range map[tree.FS]string{debug: "ieee80211", s.Sys(): "class/ieee80211"} {
		if names, err := fsys.List(dir); err != nil || len(names) != 0 {
			t.Errorf("%s lists %v, %v", dir, names, err)
		}
	}
	s.ReturnRadio()
	if names, _ := debug.List("ieee80211"); !cmp.Equal(names, []string{"phy1"}) {
		t.Errorf("it came back as %v", names)
	}
	if _, err := pending.ReadFresh(buf[:]); !errors.Is(err, unix.EIO) {
		t.Errorf("a file of the radio before reads again: %v", err)
	}
}

func TestOptionalFiles(t *testing.T) {
	stock := New(lone(vht80x2), Options{Stock: true, NoAQL: true})
	for _, name := range []string{"ieee80211/phy0/ath10k/num_pending_tx", "ieee80211/phy0/ath10k/max_num_pending_tx", stationDir + "/aql"} {
		if tree.Exists(stock.Debug(), name) {
			t.Errorf("%s exists", name)
		}
	}
	for _, name := range []string{"ieee80211/phy0/ath10k/chip_id", "ieee80211/phy0/aql_txq_limit", stationDir + "/aqm"} {
		if !tree.Exists(stock.Debug(), name) {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestFaults(t *testing.T) {
	sc, _ := Lookup("one-fast")
	pending := func(s *Sim) string { return read(t, s.Debug(), "ieee80211/phy0/aql_pending") }
	start := func() *Sim {
		s := New(sc, Options{Seed: 1})
		s.Advance(Epoch.Add(2 * time.Second))
		return s
	}

	t.Run("stuck", func(t *testing.T) {
		s := start()
		s.StickPending()
		s.Advance(s.Now().Add(time.Second))
		first, bytes := pending(s), s.DeliveredBytes()
		s.Advance(s.Now().Add(time.Second))
		if pending(s) != first || s.DeliveredBytes() != bytes || !regexp.MustCompile(`total  12\d{3} us`).MatchString(first) {
			t.Errorf("not stuck at the limit: %q, %q", first, pending(s))
		}
	})
	t.Run("leak", func(t *testing.T) {
		s := New(lone(vht80x2), Options{})
		s.LeakPending(-4)
		if got := pending(s); !strings.Contains(got, "BE     4294967292 us\n") || !strings.Contains(got, "total  4294967292 us\n") {
			t.Errorf("%q", got)
		}
	})
	t.Run("crash", func(t *testing.T) {
		s := start()
		generation := s.Generation()
		s.Crash()
		if got := pending(s); !strings.Contains(got, "total  0 us") {
			t.Errorf("after the crash: %q", got)
		}
		if got := read(t, s.Debug(), stationDir+"/aqm"); !strings.Contains(got, "\n0 2 0 0 0 0 0 0 0 0 0 ") {
			t.Errorf("counters go on: %q", got)
		}
		if s.Generation() == generation {
			t.Error("nobody is told")
		}
		if got := read(t, s.Debug(), "ieee80211/phy0/ath10k/fw_reset_stats"); !strings.HasPrefix(got, "fw_crash_counter\t\t1\n") {
			t.Errorf("%q", got)
		}
		bytes := s.DeliveredBytes()
		s.Advance(s.Now().Add(time.Second))
		if moved := s.DeliveredBytes() - bytes; moved > 64*mss {
			t.Errorf("%d bytes delivered by dead firmware", moved)
		}
		s.Advance(s.Now().Add(2 * time.Second))
		s.ResetStats()
		s.Advance(s.Now().Add(2 * time.Second))
		if r := s.Stats(); r.ThroughputMbps < 100 {
			t.Errorf("%.0f Mb/s after recovery", r.ThroughputMbps)
		}
	})
	t.Run("failing file", func(t *testing.T) {
		s := start()
		f, err := s.Debug().Open("ieee80211/phy0/aql_pending")
		if err != nil {
			t.Fatal(err)
		}
		s.FailFile("ieee80211/phy0/aql_pending", unix.EIO)
		var buf [4096]byte
		if _, err := f.ReadFresh(buf[:]); !errors.Is(err, unix.EIO) {
			t.Errorf("read: %v", err)
		}
		if _, err := s.Debug().Open("ieee80211/phy0/aql_pending"); !errors.Is(err, unix.EIO) {
			t.Errorf("open: %v", err)
		}
		s.FailFile("ieee80211/phy0/aql_pending", nil)
		if n, err := f.ReadFresh(buf[:]); err != nil || n == 0 {
			t.Errorf("mended: %d, %v", n, err)
		}
	})
	t.Run("sleep", func(t *testing.T) {
		s := start()
		s.Sleep(0, true)
		s.Advance(s.Now().Add(time.Second))
		if got := read(t, s.Debug(), stationDir+"/peer_ps_state"); got != "1\n" {
			t.Errorf("peer_ps_state %q", got)
		}
		s.ResetStats()
		s.Advance(s.Now().Add(2 * time.Second))
		if r := s.Stats(); r.ThroughputMbps > 0 {
			t.Errorf("%.1f Mb/s reach a sleeping station", r.ThroughputMbps)
		}
		if got := s.assoc[0].airtime[wlan.BE].pending; got <= 0 {
			t.Errorf("%d us pending for a sleeping station", got)
		}
		s.Sleep(0, false)
		s.Advance(s.Now().Add(2 * time.Second))
		if r := s.Stats(); r.ThroughputMbps == 0 {
			t.Error("nothing reaches the station after it woke")
		}
		s.Sleep(0, true)
		s.Crash()
		s.Advance(s.Now().Add(time.Second))
		checkConserved(t, s)
	})
	t.Run("multicast", func(t *testing.T) {
		s := start()
		before := read(t, s.Debug(), "ieee80211/phy0/ath10k/num_pending_tx")
		s.HoldMulticast(100)
		if got := read(t, s.Debug(), "ieee80211/phy0/ath10k/num_pending_tx"); got == before {
			t.Error("multicast takes no slot")
		}
		s.HoldMulticast(0)
		if got := read(t, s.Debug(), "ieee80211/phy0/ath10k/num_pending_tx"); got != before {
			t.Errorf("num_pending_tx %q, before %q", got, before)
		}
	})
	t.Run("rate", func(t *testing.T) {
		s := start()
		s.SetRate(0, ht20mcs)
		s.Advance(s.Now().Add(5 * time.Second))
		s.ResetStats()
		s.Advance(s.Now().Add(2 * time.Second))
		if r := s.Stats(); r.ThroughputMbps > 6 {
			t.Errorf("%.0f Mb/s at 6.5", r.ThroughputMbps)
		}
		// Air efficiency is by the rate that a byte came at.
		s.SetRate(0, vht80x2)
		s.Advance(s.Now().Add(2 * time.Second))
		if e := s.Stats().AirEfficiency; e < 0.75 || e > 1.02 {
			t.Errorf("air efficiency %.2f over two rates", e)
		}
	})
}

func TestReadFreshDoesNotAllocate(t *testing.T) {
	sc, _ := Lookup("crowd")
	s := New(sc, Options{Seed: 1})
	s.Advance(Epoch.Add(time.Second))
	buf := make([]byte, tree.BufSize)
	for _, name := range []string{
		"ieee80211/phy0/aql_pending", "ieee80211/phy0/aql_txq_limit", "ieee80211/phy0/aqm", "ieee80211/phy0/queues",
		"ieee80211/phy0/ath10k/num_pending_tx", stationDir + "/aql", stationDir + "/aqm", stationDir + "/airtime",
	} {
		f, err := s.Debug().Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() {
			if _, err := f.ReadFresh(buf); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per read", name, n)
		}
	}
	// A short buffer gets the beginning, as pread does.
	f, _ := s.Debug().Open("ieee80211/phy0/aql_txq_limit")
	if n, err := f.ReadFresh(buf[:5]); n != 5 || err != nil || string(buf[:5]) != "AC\tAQ" {
		t.Errorf("short read: %d, %v, %q", n, err, buf[:5])
	}
}
