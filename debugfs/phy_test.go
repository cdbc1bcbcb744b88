package debugfs

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"airtuned/tree"
	"airtuned/wlan"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const (
	phy0 = "ieee80211/phy0/"
	sta0 = phy0 + "netdev:wlan0/stations/02:00:00:00:01:00/"
)

var mac0 = wlan.MAC{2, 0, 0, 0, 1, 0}

// radio is an access point with one station, on a kernel with everything.
func radio(t testing.TB) map[string]string {
	sample := func(name, variant string) string { return string(samples(t, name)[variant]) }
	return map[string]string{
		phy0 + "aql_txq_limit":                  sample("aql_txq_limit", "default"),
		phy0 + "aql_threshold":                  sample("aql_threshold", "default"),
		phy0 + "aql_enable":                     sample("aql_enable", "on"),
		phy0 + "aql_pending":                    sample("aql_pending", "busy"),
		phy0 + "aqm":                            sample("aqm", "busy"),
		phy0 + "queues":                         sample("queues", "after-unlock-vdev0-only"),
		phy0 + "airtime_flags":                  sample("airtime_flags", "default"),
		phy0 + "keys/":                          "",
		phy0 + "ath10k/num_pending_tx":          "1419\n",
		phy0 + "ath10k/max_num_pending_tx":      "1424\n",
		phy0 + "ath10k/tx_queue_limit":          "256\n",
		phy0 + "ath10k/napi_threaded":           "1\n",
		phy0 + "ath10k/tx_wake_percent":         "25\n",
		phy0 + "tx_sk_pacing_shift":             "7\n",
		phy0 + "ath10k/chip_id":                 sample("chip_id", "qca988x"),
		phy0 + "ath10k/fw_reset_stats":          sample("fw_reset_stats", "started"),
		phy0 + "netdev:wlan0/hw_queues":         sample("hw_queues", "ath10k-ap"),
		phy0 + "netdev:p2p-dev-wlan0/stations/": "",
		sta0 + "aql":                            sample("sta_aql", "v5.5-busy"),
		sta0 + "aqm":                            sample("sta_aqm", "from-6.16"),
		sta0 + "airtime":                        sample("sta_airtime", "ath10k"),
	}
}

func TestPhys(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		fail  map[string]error
		want  []string
		cause Cause
		text  string
	}{
		{name: "two, renamed", files: map[string]string{"ieee80211/wl0/x": "", "ieee80211/phy12/x": "", "bdi/x": ""},
			want: []string{"phy12", "wl0"}},
		{name: "none", files: map[string]string{"ieee80211/": ""}},
		{name: "no root", files: map[string]string{}, cause: NotMounted,
			text: "debugfs is not mounted: list /mem/ieee80211: no such file or directory"},
		{name: "nothing mounted", files: map[string]string{"/": ""}, cause: NotMounted,
			text: "debugfs is not mounted: list /mem/ieee80211: no such file or directory"},
		{name: "no cfg80211", files: map[string]string{"bdi/x": ""}, cause: NoWireless,
			text: "no wireless subsystem in debugfs: list /mem/ieee80211: no such file or directory"},
		{name: "not root", files: radio(t), fail: map[string]error{"list ieee80211": unix.EACCES}, cause: NotPermitted,
			text: "list /mem/ieee80211: permission denied"},
		{name: "root not listable", files: map[string]string{"bdi/x": ""}, fail: map[string]error{"list .": unix.EACCES},
			cause: NotPermitted, text: "list /mem/.: permission denied"},
	} {
		m := newMem(tt.files)
		maps.Copy(m.fail, tt.fail)
		got, err := Phys(m)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if CauseOf(err) != tt.cause || (err != nil && err.Error() != tt.text) {
			t.Errorf("%s: got %s: %v", tt.name, CauseOf(err), err)
		}
	}
}

// A real folder makes the same difference.
func TestPhysDir(t *testing.T) {
	dir := t.TempDir()
	if _, err := Phys(tree.Dir(dir)); !errors.Is(err, ErrNotMounted) {
		t.Errorf("empty root: %v", err)
	}
	if _, err := Phys(tree.Dir(dir + "/nowhere")); !errors.Is(err, ErrNotMounted) {
		t.Errorf("no root: %v", err)
	}
	mkdir(t, dir, "bdi")
	if _, err := Phys(tree.Dir(dir)); !errors.Is(err, ErrNoWireless) {
		t.Errorf("no ieee80211: %v", err)
	}
	mkdir(t, dir, "ieee80211/phy0")
	mkdir(t, dir, "ieee80211/phy1/netdev:wlan0")
	got, err := Phys(tree.Dir(dir))
	if diff := cmp.Diff([]string{"phy0", "phy1"}, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if err := NewPhy(tree.Dir(dir), "phy0").Built(); !errors.Is(err, ErrNotBuilt) {
		t.Errorf("empty folder: %v", err)
	}
	if err := NewPhy(tree.Dir(dir), "phy1").Built(); err != nil {
		t.Errorf("folder with an interface: %v", err)
	}
}

func mkdir(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestBuilt(t *testing.T) {
	m := newMem(radio(t))
	m.files["ieee80211/debian/rts_threshold"] = "-1\n" // cfg80211's
	m.files["ieee80211/hwsim/keys/"] = ""
	for name, want := range map[string]error{"phy0": nil, "hwsim": nil, "debian": ErrNotBuilt, "phy9": ErrGone} {
		if err := NewPhy(m, name).Built(); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	m.fail["list ieee80211/phy0"] = unix.EACCES
	if err := NewPhy(m, "phy0").Built(); CauseOf(err) != NotPermitted {
		t.Errorf("not permitted: %v", err)
	}
}

func TestPhyReads(t *testing.T) {
	p := NewPhy(newMem(radio(t)), "phy0")
	if p.Name() != "phy0" {
		t.Errorf("name is %q", p.Name())
	}
	// What is in the texts is tested with the parsers; here, that each method
	// reads its own file.
	limit, err := p.AQLTxqLimit()
	check(t, "AQLTxqLimit", limit.Limits, wlan.KernelDefault.AC, err)
	us, err := p.AQLThreshold()
	check(t, "AQLThreshold", us, 24000, err)
	on, err := p.AQLEnable()
	check(t, "AQLEnable", on, true, err)
	pending, err := p.AQLPending()
	check(t, "AQLPending", pending.TotalUs, 10108, err)
	aqm, err := p.AQM()
	check(t, "AQM", aqm.BacklogPackets, 120, err)
	q, err := p.Queues()
	check(t, "Queues", q.Stop[1], StopDriver, err)
	flags, err := p.AirtimeFlags()
	check(t, "AirtimeFlags", flags, AirtimeTX|AirtimeRX, err)
	netdevs, err := p.Netdevs()
	check(t, "Netdevs", netdevs, []string{"p2p-dev-wlan0", "wlan0"}, err)
	hwq, err := p.HWQueues("wlan0")
	check(t, "HWQueues", hwq, HWQueues{}, err)
	macs, err := p.Stations("wlan0")
	check(t, "Stations", macs, []wlan.MAC{mac0}, err)
	macs, err = p.Stations("p2p-dev-wlan0")
	check(t, "Stations of none", macs, []wlan.MAC{}, err)
	aql, err := p.StationAQL("wlan0", mac0)
	check(t, "StationAQL", aql.PendingUs[wlan.BE], 4876, err)
	staAQM, err := p.StationAQM("wlan0", mac0)
	check(t, "StationAQM", staAQM.Total.TxPackets, 130934, err)
	airtime, err := p.StationAirtime("wlan0", mac0)
	check(t, "StationAirtime", airtime.TXUs, 7654321, err)
	n, err := p.NumPendingTx()
	check(t, "NumPendingTx", n, 1419, err)
	n, err = p.MaxNumPendingTx()
	check(t, "MaxNumPendingTx", n, 1424, err)
	n, err = p.TxQueueLimit()
	check(t, "TxQueueLimit", n, 256, err)
	n, err = p.TxSkPacingShift()
	check(t, "TxSkPacingShift", n, 7, err)
	n, err = p.TxWakePercent()
	check(t, "TxWakePercent", n, 25, err)
	on, err = p.NapiThreaded()
	check(t, "NapiThreaded", on, true, err)
	id, err := p.ChipID()
	check(t, "ChipID", id, 0x043202ff, err)
}

func check[T any](t *testing.T, what string, got, want T, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestStationsSkipsOtherNames(t *testing.T) {
	m := newMem(map[string]string{})
	for _, name := range []string{"02:00:00:00:02:00", "02:00:00:00:01:00", "02:00:00:00:01", "link-0", "0A:00:00:00:01:00"} {
		m.files[phy0+"netdev:wlan0/stations/"+name+"/"] = ""
	}
	got, err := NewPhy(m, "phy0").Stations("wlan0")
	check(t, "Stations", got, []wlan.MAC{{2, 0, 0, 0, 1, 0}, {2, 0, 0, 0, 2, 0}}, err)
}

func TestWrites(t *testing.T) {
	m := newMem(radio(t))
	p := NewPhy(m, "phy0")
	for _, err := range []error{
		p.SetAQLTxqLimit(wlan.BE, wlan.Limit{LowUs: 1500, HighUs: 5000}),
		p.SetAQLTxqLimit(wlan.VO, wlan.Limit{LowUs: 1, HighUs: 1<<32 - 1}),
		p.SetStationAQL("wlan0", mac0, wlan.BK, wlan.Limit{LowUs: 700, HighUs: 700}),
		p.RestoreAQLTxqLimit(wlan.BE, wlan.Limit{LowUs: 9000, HighUs: 100}),
		p.RestoreStationAQL("wlan0", mac0, wlan.VI, wlan.Limit{}),
		p.SetAQLThreshold(0),
		p.SetAQLThreshold(1<<32 - 1),
		p.SetTxQueueLimit(64),
		p.SetTxSkPacingShift(8),
		p.SetNapiThreaded(true),
		p.SetNapiThreaded(false),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{
		phy0 + "aql_txq_limit: 2 1500 5000\n",
		phy0 + "aql_txq_limit: 0 1 4294967295\n",
		sta0 + "aql: limit 3 700 700\n",
		phy0 + "aql_txq_limit: 2 9000 100\n",
		sta0 + "aql: limit 1 0 0\n",
		phy0 + "aql_threshold: 0\n",
		phy0 + "aql_threshold: 4294967295\n",
		phy0 + "ath10k/tx_queue_limit: 64\n",
		phy0 + "tx_sk_pacing_shift: 8\n",
		phy0 + "ath10k/napi_threaded: 1\n",
		phy0 + "ath10k/napi_threaded: 0\n",
	}
	if diff := cmp.Diff(want, m.writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestWritesRefused(t *testing.T) {
	m := newMem(radio(t))
	p := NewPhy(m, "phy0")
	for _, tt := range []struct {
		ac    wlan.AC
		limit wlan.Limit
		want  string
	}{
		{wlan.BE, wlan.Limit{}, "BE to 0/0: refused: a low limit of 0 blocks the queue"},
		{wlan.BE, wlan.Limit{HighUs: 1}, "BE to 0/1: refused: a low limit of 0 blocks the queue"},
		{wlan.BE, wlan.Limit{LowUs: 2, HighUs: 1}, "BE to 2/1: refused: low is above high"},
		{wlan.NumAC, wlan.Limit{LowUs: 1, HighUs: 2}, "AC4 to 1/2: refused: no such access category"},
	} {
		err := p.SetAQLTxqLimit(tt.ac, tt.limit)
		if !errors.Is(err, ErrLimit) || err.Error() != "set AQL limit of "+tt.want {
			t.Errorf("radio: got %v, want %s", err, tt.want)
		}
		err = p.SetStationAQL("wlan0", mac0, tt.ac, tt.limit)
		if CauseOf(err) != Rejected || err.Error() != "set AQL limit of 02:00:00:00:01:00, "+tt.want {
			t.Errorf("station: got %v, want %s", err, tt.want)
		}
	}
	if len(m.writes) != 0 {
		t.Errorf("written all the same: %q", m.writes)
	}
}

// What a failure is called depends on the errno and on what else is there.
func TestCauses(t *testing.T) {
	limit := wlan.Limit{LowUs: 1, HighUs: 2}
	setLimit := func(p *Phy) error { return p.SetAQLTxqLimit(wlan.BE, limit) }
	threshold := func(p *Phy) error { _, err := p.AQLThreshold(); return err }
	pending := func(p *Phy) error { _, err := p.AQLPending(); return err }
	numPending := func(p *Phy) error { _, err := p.NumPendingTx(); return err }
	staAQL := func(p *Phy) error { _, err := p.StationAQL("wlan0", mac0); return err }
	setStaAQL := func(p *Phy) error { return p.SetStationAQL("wlan0", mac0, wlan.BE, limit) }
	stations := func(p *Phy) error { _, err := p.Stations("wlan0"); return err }
	hwQueues := func(p *Phy) error { _, err := p.HWQueues("wlan0"); return err }
	netdevs := func(p *Phy) error { _, err := p.Netdevs(); return err }
	without := func(prefixes ...string) map[string]string {
		files := radio(t)
		for name := range files {
			for _, p := range prefixes {
				if len(name) >= len(p) && name[:len(p)] == p {
					delete(files, name)
				}
			}
		}
		return files
	}
	for _, tt := range []struct {
		name  string
		files map[string]string // nil: all
		op    string
		errno error
		do    func(*Phy) error
		want  Cause
		text  string
	}{
		{name: "lockdown, read", op: "open " + phy0 + "aql_threshold", errno: unix.EPERM, do: threshold, want: Lockdown,
			text: "open /mem/ieee80211/phy0/aql_threshold: operation not permitted"},
		{name: "lockdown, write", op: "write " + phy0 + "aql_txq_limit", errno: unix.EPERM, do: setLimit, want: Lockdown,
			text: "set AQL limit of BE to 1/2: write /mem/ieee80211/phy0/aql_txq_limit: operation not permitted"},
		{name: "no capability", op: "write " + phy0 + "aql_txq_limit", errno: unix.EACCES, do: setLimit, want: NotPermitted},
		{name: "read-only mount", op: "write " + phy0 + "aql_txq_limit", errno: unix.EROFS, do: setLimit, want: ReadOnly},
		{name: "refused by the kernel", op: "write " + phy0 + "aql_txq_limit", errno: unix.EINVAL, do: setLimit, want: Rejected},
		{name: "removed while open", op: "read " + phy0 + "aql_pending", errno: unix.EIO, do: pending, want: Gone},
		{name: "device removed", op: "read " + sta0 + "aql", errno: unix.ENODEV, do: staAQL, want: Gone},
		{name: "interface down", op: "read " + phy0 + "ath10k/num_pending_tx", errno: unix.ENETDOWN, do: numPending, want: Down},
		{name: "something else", op: "read " + phy0 + "aql_pending", errno: unix.ENOMEM, do: pending, want: Unknown},

		{name: "before 6.0", files: without(phy0 + "aql_pending"), do: pending, want: Absent,
			text: "not offered by this kernel and driver: open /mem/ieee80211/phy0/aql_pending: no such file or directory"},
		{name: "stock ath10k", files: without(phy0 + "ath10k/num_pending_tx"), do: numPending, want: Absent},
		{name: "not ath10k", files: without(phy0 + "ath10k"), do: numPending, want: Absent},
		{name: "driver without AQL", files: without(sta0 + "aql"), do: staAQL, want: Absent},
		{name: "station left", files: without(sta0), do: staAQL, want: Gone,
			text: "gone: open /mem/" + sta0 + "aql: no such file or directory"},
		{name: "station left before the write", files: without(sta0), do: setStaAQL, want: Gone},
		{name: "interface left", files: without(phy0 + "netdev:wlan0"), do: stations, want: Gone},
		{name: "interface left, queues", files: without(phy0 + "netdev:wlan0"), do: hwQueues, want: Gone},
		{name: "radio left", files: map[string]string{"ieee80211/": ""}, do: setLimit, want: Gone},
		{name: "radio left, interfaces", files: map[string]string{"ieee80211/": ""}, do: netdevs, want: Gone},
		{name: "Debian", files: map[string]string{phy0 + "rts_threshold": "-1\n"}, do: setLimit, want: NotBuilt,
			text: "set AQL limit of BE to 1/2: no mac80211 files in debugfs: write /mem/ieee80211/phy0/aql_txq_limit: no such file or directory"},
		{name: "Debian, ath10k", files: map[string]string{phy0 + "rts_threshold": "-1\n"}, do: numPending, want: NotBuilt},
		{name: "Debian, station", files: map[string]string{phy0 + "rts_threshold": "-1\n"}, do: staAQL, want: NotBuilt},
		{name: "garbled", files: map[string]string{phy0 + "aql_pending": "BE     xx us\n"}, do: pending, want: Garbled,
			text: `/mem/ieee80211/phy0/aql_pending: row BE: want a number of us, got "xx"`},
		{name: "empty", files: map[string]string{sta0 + "aql": ""}, do: staAQL, want: Garbled,
			text: "/mem/" + sta0 + "aql: want text, got nothing"},
	} {
		m := newMem(tt.files)
		if tt.files == nil {
			m.files = radio(t)
		}
		if tt.op != "" {
			m.fail[tt.op] = tt.errno
		}
		err := tt.do(NewPhy(m, "phy0"))
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		if got := CauseOf(err); got != tt.want {
			t.Errorf("%s: cause %s, want %s: %v", tt.name, got, tt.want, err)
		}
		if tt.text != "" && err.Error() != tt.text {
			t.Errorf("%s: error (-want +got)\n- %s\n+ %v", tt.name, tt.text, err)
		}
		if tt.errno != nil && !errors.Is(err, tt.errno) {
			t.Errorf("%s: the errno is lost: %v", tt.name, err)
		}
		if len(m.writes) != 0 {
			t.Errorf("%s: written: %q", tt.name, m.writes)
		}
	}
}

func TestCauseCodes(t *testing.T) {
	if len(causes) != int(Garbled)+1 {
		t.Fatalf("%d causes in the table, want %d", len(causes), Garbled+1)
	}
	codes := map[string]bool{}
	for c := Unknown; c <= Garbled; c++ {
		if c.String() == "" || codes[c.String()] {
			t.Errorf("cause %d has the code %q", int(c), c)
		}
		codes[c.String()] = true
		if (c.Advice() == "") != (c == Unknown) {
			t.Errorf("cause %s advises %q", c, c.Advice())
		}
	}
	if c := Cause(99); c.String() != "unknown" || c.Advice() != "" {
		t.Errorf("cause 99 is %s, %q", c, c.Advice())
	}
	if c := CauseOf(nil); c != Unknown {
		t.Errorf("cause of no error is %s", c)
	}
	// Errors of a tree.FS that did not pass through here.
	if c := CauseOf(fs.ErrNotExist); c != Absent {
		t.Errorf("cause of a missing file is %s", c)
	}
}
