package tuner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/nl80211"
	"airtuned/wlan"
)

const phyDir = "ieee80211/phy0/"

// rig is a loop on a fake kernel with one busy station, driven on made-up time.
type rig struct {
	t   *testing.T
	k   *fakeKernel
	env Env
	tun *Tuner
	now time.Time

	packets uint32
}

const staDir = phyDir + "netdev:wlan0/stations/02:00:00:00:80:01/"

func newRig(t *testing.T, policy string) *rig {
	k := newFakeKernel(twoRadios)
	env := testEnv(t, k, twoRadios)
	r := &rig{t: t, k: k, env: env, now: t0}
	r.load(0, 0, 0)
	r.tun = New(env, detectOne(t, env, policy), testSettings(policy), r.now)
	return r
}

// load sets what the kernel tells from now on: pending airtime, packets in fq
// and a growing count of packets sent.
func (r *rig) load(pendingUs int32, backlog int, sent uint32) {
	r.packets += sent
	r.k.files[phyDir+"aql_pending"] = fmt.Sprintf("AC     AQL pending\nVO     0 us\nVI     0 us\nBE     %d us\nBK     0 us\ntotal  %d us\n", uint32(pendingUs), uint32(pendingUs))
	r.k.files[phyDir+"aqm"] = fmt.Sprintf("access name value\nR fq_flows_cnt 4096\nR fq_backlog %d\n", backlog)
	r.k.files[staDir+"aqm"] = "tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags\n" +
		fmt.Sprintf("0 2 %d %d 1 0 0 0 0 %d %d 0x0(RUN)\n", backlog*1500, backlog, r.packets*1500, r.packets)
	for _, other := range []string{"02:00:00:00:80:02", "02:00:00:00:80:03"} {
		r.k.files[phyDir+"netdev:wlan0/stations/"+other+"/aqm"] = "tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags\n0 2 0 0 1 0 0 0 0 0 0 0x0(RUN)\n"
		r.k.files[phyDir+"netdev:wlan0/stations/"+other+"/aql"] = "Q depth: VO: 0 us VI: 0 us BE: 0 us BK: 0 us\nQ limit[low/high]: VO: 5000/12000 VI: 5000/12000 BE: 5000/12000 BK: 5000/12000\n"
	}
	r.k.files[staDir+"aql"] = fmt.Sprintf("Q depth: VO: 0 us VI: 0 us BE: %d us BK: 0 us\nQ limit[low/high]: VO: 5000/12000 VI: 5000/12000 BE: 5000/12000 BK: 5000/12000\n", uint32(pendingUs))
}

// run lets the loop go for d; every 20 ms it sends packets at 10,000 a second
// if sending.
func (r *rig) run(d time.Duration, pendingUs int32, backlog int, sending bool) {
	for end := r.now.Add(d); r.now.Before(end); {
		r.now = r.now.Add(20 * time.Millisecond)
		sent := uint32(0)
		if sending {
			sent = 200
		}
		r.load(pendingUs, backlog, sent)
		r.tun.Step(r.now)
	}
}

func (r *rig) limits() string { return read(r.t, r.k, limitFile) }

func (r *rig) want(state State, reason string) {
	r.t.Helper()
	s := r.tun.Status()
	if s.State != state || !strings.Contains(s.Reason, reason) {
		r.t.Errorf("state %s (%s), want %s (%s)", s.State, s.Reason, state, reason)
	}
}

func TestLoopStatic(t *testing.T) {
	r := newRig(t, "static")
	before := r.limits()
	r.run(time.Second, 3000, 10, true)
	r.want(Tuning, "")
	if r.limits() == before {
		t.Error("nothing was written")
	}
	s := r.tun.Status()
	if s.ThroughputKbps < 110_000 || s.ThroughputKbps > 130_000 || s.ActiveStations != 1 || s.Pending.AirtimeUs != 3000 || s.LastChange == nil {
		t.Errorf("status %+v", s)
	}
	n := len(r.k.writes)
	r.run(10*time.Second, 3000, 10, true)
	if len(r.k.writes) != n {
		t.Errorf("wrote at steady state: %v", r.k.writes[n:])
	}
	if err := r.tun.Stop("stop"); err != nil {
		t.Fatal(err)
	}
	if r.limits() != before {
		t.Errorf("after stop:\n%s\nwant\n%s", r.limits(), before)
	}
}

func TestLoopObserveNeverWrites(t *testing.T) {
	r := newRig(t, "observe")
	r.run(5*time.Second, 3000, 10, true)
	r.want(Observing, "")
	if len(r.k.writes) > 0 {
		t.Errorf("wrote %v", r.k.writes)
	}
}

// A loop that learns does not start before it has seen that AQL counts.
func TestLoopWaitsForTraffic(t *testing.T) {
	r := newRig(t, "delay")
	r.run(5*time.Second, 0, 0, false)
	r.want(Observing, "waiting for traffic")
	if len(r.k.writes) > 0 {
		t.Errorf("wrote %v", r.k.writes)
	}
	r.run(2*time.Second, 3000, 10, true)
	r.want(Tuning, "")
}

func TestLoopBlind(t *testing.T) {
	for _, policy := range []string{"delay", "dql"} {
		r := newRig(t, policy)
		r.run(3*time.Second, 0, 10, true)
		r.want(Observing, "no tx rates")
		if len(r.k.writes) > 0 {
			t.Errorf("%s wrote %v", policy, r.k.writes)
		}
	}
	r := newRig(t, "static")
	before := r.limits()
	r.run(3*time.Second, 0, 10, true)
	r.want(Observing, "no tx rates")
	if r.limits() != before {
		t.Error("blind AQL was left tuned")
	}
	r.run(time.Second, 3000, 10, true)
	r.want(Tuning, "")
}

func TestLoopForeignWrite(t *testing.T) {
	r := newRig(t, "static")
	before := r.limits()
	r.run(time.Second, 3000, 10, true)
	r.k.setLimit(limitFile, wlan.BE, wlan.Limit{LowUs: 777, HighUs: 888})
	n := len(r.k.writes)
	r.run(5*time.Second, 3000, 10, true)
	r.want(Held, "another program changed the limits (BE 1500/1500 -> 777/888)")
	if len(r.k.writes) != n {
		t.Errorf("fought over the knob: %v", r.k.writes[n:])
	}
	if err := r.tun.Stop("stop"); err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(before, "BE\t5000\t\t12000\n", "BE\t777\t\t888\n", 1)
	if diff := cmp.Diff(want, r.limits()); diff != "" {
		t.Errorf("limits after the end, the other program's and ours (-want +got):\n%s", diff)
	}
}

func TestLoopResumeAfterForeignWrite(t *testing.T) {
	r := newRig(t, "static")
	r.run(time.Second, 3000, 10, true)
	r.k.setLimit(limitFile, wlan.BE, wlan.Limit{LowUs: 777, HighUs: 888})
	r.run(time.Second, 3000, 10, true)
	r.tun.Resume(r.now)
	r.run(time.Second, 3000, 10, true)
	r.want(Tuning, "")
	if got := r.limits(); !strings.Contains(got, "BE\t1500\t\t1500\n") {
		t.Errorf("after resume:\n%s", got)
	}
}

func TestLoopGuards(t *testing.T) {
	tests := []struct {
		name    string
		pending int32
		backlog int
		sending bool
		reason  string
	}{
		{"negative", -252, 0, true, "below zero"},
		{"leak", 129136, 0, false, "does not go back to zero"},
		{"stalled", 12284, 50, false, "makes no progress"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, "static")
			before := r.limits()
			r.run(2*time.Second, 3000, 10, true)
			if r.limits() == before {
				t.Fatal("was not tuned to begin with")
			}
			r.run(10*time.Second, tt.pending, tt.backlog, tt.sending)
			r.want(Observing, tt.reason)
			if r.limits() != before {
				t.Error("the originals are not back")
			}
			r.run(time.Second, 0, 0, false)
			r.run(2*time.Second, 3000, 10, true)
			r.want(Tuning, "")
		})
	}
}

func TestLoopFirmwareRestart(t *testing.T) {
	r := newRig(t, "static")
	stats := func(n int) string {
		return fmt.Sprintf("fw_crash_counter\t\t%d\nfw_warm_reset_counter\t\t0\nfw_cold_reset_counter\t\t1\n", n)
	}
	r.k.files[phyDir+"ath10k/fw_reset_stats"] = stats(0)
	r.run(time.Second, 3000, 10, true)
	seen := r.tun.view.residencyN
	r.k.files[phyDir+"ath10k/fw_reset_stats"] = stats(1)
	r.run(9*time.Second, 0, 10, false)
	if r.tun.view.residencyN > seen+1 {
		t.Error("looked at a firmware that was restarting")
	}
	r.run(4*time.Second, 3000, 10, true)
	r.want(Tuning, "")
}

func TestLoopScanPauses(t *testing.T) {
	r := newRig(t, "static")
	r.run(time.Second, 3000, 10, true)
	n := r.tun.view.residencyN
	r.tun.Note(nl80211.ScanStarted, r.now)
	r.run(2*time.Second, 3000, 10, true)
	if r.tun.view.residencyN != n {
		t.Error("observed during a scan")
	}
	r.tun.Note(nl80211.ScanDone, r.now)
	r.run(time.Second, 3000, 10, true)
	if r.tun.view.residencyN == n {
		t.Error("did not go on after the scan")
	}
}

func TestLoopWriteFails(t *testing.T) {
	r := newRig(t, "delay") // nothing is written before there is traffic
	r.k.fail["write "+limitFile] = unix.EPERM
	r.run(5*time.Second, 3000, 10, true)
	r.want(Held, "lockdown")
	delete(r.k.fail, "write "+limitFile)
	r.run(70*time.Second, 3000, 10, true)
	r.want(Tuning, "")
}

func TestLoopCommands(t *testing.T) {
	r := newRig(t, "static")
	before := r.limits()
	r.run(time.Second, 3000, 10, true)
	tuned := r.limits()

	r.tun.Hold("for a test")
	r.run(time.Second, 3000, 10, true)
	r.want(Held, "for a test")
	if r.limits() != tuned {
		t.Error("a hold changed the limits")
	}
	if _, err := r.tun.Restore("by command"); err != nil {
		t.Fatal(err)
	}
	r.run(time.Second, 3000, 10, true)
	r.want(Restored, "by command")
	if r.limits() != before {
		t.Error("not restored")
	}
	r.tun.Resume(r.now)
	r.run(time.Second, 3000, 10, true)
	r.want(Tuning, "")
	if r.limits() != tuned {
		t.Error("not tuned after resume")
	}
	if err := r.tun.Reconfigure(testSettings("observe"), r.now); err != nil {
		t.Fatal(err)
	}
	r.run(time.Second, 3000, 10, true)
	r.want(Observing, "")
	if r.limits() != before {
		t.Error("observe leaves limits tuned")
	}
}

// The loop must not allocate once it has settled: it runs 50 times a second on
// routers with 64 MB.
func TestLoopAllocates(t *testing.T) {
	r := newRig(t, "static")
	r.run(3*time.Second, 3000, 10, true)
	r.tun.lastLook = r.now.Add(time.Hour) // listing folders allocates; it is rare
	if n := testing.AllocsPerRun(1000, func() {
		r.now = r.now.Add(20 * time.Millisecond)
		r.tun.Step(r.now)
	}); n > 0 {
		t.Errorf("%v allocations per sample", n)
	}
}

// A fast radio that sends little is empty whenever one looks. That is no reason
// to think that AQL does not count, once it was seen to.
func TestLoopLightLoadIsNotBlind(t *testing.T) {
	r := newRig(t, "static")
	r.run(2*time.Second, 3000, 10, true)
	tuned := r.limits()
	r.run(10*time.Second, 0, 0, true)
	r.want(Tuning, "")
	if r.limits() != tuned {
		t.Error("limits were put back")
	}
	r.run(3*time.Second, 0, 10, true) // but now packets wait above an empty queue
	r.want(Observing, "no tx rates")
}

// A station that is sent many times its reported rate makes airtime a guess.
func TestLoopPinnedRate(t *testing.T) {
	r := newRig(t, "static")
	before := r.limits()
	mac := wlan.MAC{2, 0, 0, 0, 0x80, 1}
	dump := func(kbps uint64) {
		r.tun.NoteStations("wlan0", []nl80211.Station{{MAC: mac, TxRateKbps: kbps}}, r.now)
	}
	dump(866_700)
	r.run(2*time.Second, 3000, 10, true)
	dump(1000)
	r.run(9*time.Second, 3000, 10, true)
	r.want(Tuning, "") // a rate may be old
	r.run(20*time.Second, 3000, 10, true)
	r.want(Observing, "reported rate")
	if r.limits() != before {
		t.Error("the originals are not back")
	}
	dump(866_700)
	r.run(2*time.Second, 3000, 10, true)
	r.want(Tuning, "")
}
