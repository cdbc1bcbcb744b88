package tuner

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"airtuned/nl80211"
	"airtuned/policies"
	"airtuned/wlan"
)

// spy is a policy that keeps what it was shown last.
type spy struct {
	scripted
	seen  policies.Observation
	asked int
	fresh int
}

func (p *spy) Decide(o *policies.Observation) policies.Decision {
	p.seen = *o
	p.seen.Stations = append([]policies.Station(nil), o.Stations...)
	p.asked++
	if o.Fresh {
		p.fresh++
	}
	return p.d
}

func newSpy(t *testing.T) (*script, *spy) {
	s := newScript(t)
	p := &spy{scripted: *s.p}
	s.tun.policy = p
	return s, p
}

// A station that sleeps with packets waiting is neither stalled nor demand.
func TestSleepingStations(t *testing.T) {
	s, p := newSpy(t)
	s.run(2 * time.Second)
	for i := range 4 {
		s.sim.Sleep(i, true)
	}
	s.run(15 * time.Second)
	s.want(Tuning)
	waiting := uint64(0)
	for _, st := range p.seen.Stations {
		waiting += st.BacklogPackets
		if !st.Asleep || st.Active {
			t.Errorf("%s: asleep %v, active %v", st.MAC, st.Asleep, st.Active)
		}
	}
	if waiting == 0 {
		t.Fatal("nothing waits")
	}
	if b := p.seen.Backlog; b.N == 0 || b.Max != 0 {
		t.Errorf("%d packets for sleepers read as demand: %+v", waiting, b)
	}
	for i := range 4 {
		s.sim.Sleep(i, false)
	}
	s.run(5 * time.Second)
	if p.seen.TxPackets == 0 || p.seen.Stations[0].Asleep {
		t.Errorf("after waking: %+v", p.seen)
	}

	// Where the kernel says nothing of power save, it is a throttle that is not
	// released.
	for i, mac := range macs(s) {
		s.sim.FailFile("ieee80211/phy0/netdev:wlan0/stations/"+mac.String()+"/peer_ps_state", syscall.EIO)
		s.sim.Sleep(i, true)
	}
	s.run(15 * time.Second)
	s.want(Observing)
	if r := s.tun.Status().Reason; !strings.Contains(r, "makes no progress") {
		t.Errorf("reason %q", r)
	}
}

// macs are the addresses of the stations, in order.
func macs(s *script) (all []wlan.MAC) {
	for _, st := range s.tun.senses.stations {
		all = append(all, st.mac)
	}
	return all
}

// mac80211 says itself who sleeps where it keeps the frames.
func TestPowerSaveFlag(t *testing.T) {
	f := newPhyFolder(t)
	f.join("wlan0", 1)
	f.write(stationName("wlan0", 1)+"/aqm", strings.Replace(aqmText, "0 2 0 0", "0 2 15000 10", 1))
	flags := stationName("wlan0", 1) + "/flags"
	for text, want := range map[string]bool{
		"AUTH\nASSOC\nPS_STA\nAUTHORIZED\n": true,
		"AUTH\nASSOC\nAUTHORIZED\n":         false,
		"":                                  false,
	} {
		f.write(flags, text)
		s := newSenses(f.debug, f.phy)
		if err := s.scan(); err != nil {
			t.Fatal(err)
		}
		s.observe(t0, 0, wlan.Limits{}, true)
		if o := s.observe(t0.Add(time.Second), time.Second, wlan.Limits{}, false); o.Stations[0].Asleep != want {
			t.Errorf("%q: asleep %v", text, !want)
		}
		s.close()
	}
}

// Frames that firmware keeps for a sleeping station are no leak.
func TestSleepIsNoLeak(t *testing.T) {
	for _, asleep := range []bool{false, true} {
		var g guards
		var v verdict
		for i := range 100 {
			v = g.check(&policies.Observation{
				Now: t0.Add(time.Duration(i) * 200 * time.Millisecond), Window: 200 * time.Millisecond,
				Pending:  policies.Gauge{N: 10, Mean: 900, Min: 900, Max: 900, NonZero: 1},
				Backlog:  policies.Gauge{N: 10},
				Stations: []policies.Station{{HasLimit: true, PendingUs: [wlan.NumAC]int32{wlan.BE: 900}, Asleep: asleep}},
			})
		}
		if leak := v.action == backOff; leak == asleep {
			t.Errorf("asleep %v: %+v", asleep, v)
		}
	}
}

// Multicast has slots in the driver and no airtime in AQL's books: whatever of
// it is held, nothing leaks, nothing is stuck and AQL is not blind.
func TestMulticast(t *testing.T) {
	s, p := newSpy(t)
	s.run(2 * time.Second)
	s.sim.HoldMulticast(300)
	s.run(10 * time.Second)
	s.want(Tuning)
	if p.seen.Frames.Min < 300 {
		t.Fatalf("frames %+v", p.seen.Frames)
	}
	// Multicast alone, from the start: there is nothing to judge by.
	r := newRig(t, "delay")
	r.k.files[phyDir+"ath10k/num_pending_tx"] = "300\n"
	r.k.files[phyDir+"ath10k/max_num_pending_tx"] = "1424\n"
	r.k.files[phyDir+"netdev:wlan0/aqm"] = "ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets\n2 9000 20 1 0 0 0 0 900000 9000\n"
	r.run(20*time.Second, 0, 20, false)
	r.want(Observing, "waiting for traffic")
}

// Links that carry many hosts, and virtual time, keep the kernel's lower limit;
// a rail that somebody set wins.
func TestWideRadios(t *testing.T) {
	five := wlan.Uniform(5000, 0).AC
	for name, air := range map[string]fixedAir{
		"mesh":      {kind: "mesh point"},
		"4-address": {kind: "AP/VLAN", fourAddr: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			s.tun.env.Netlink = air
			s.tun.Note(nl80211.InterfaceChanged, s.sim.Now())
			s.run(time.Second)
			if s.tun.policy == policies.Policy(s.p) {
				t.Error("the policy does not know the new rails")
			}
			s.tun.policy = s.p
			mac := macs(s)[0]
			s.p.d.Stations = []policies.StationLimit{{MAC: mac, AC: wlan.Uniform(1000, 0).AC}}
			s.run(time.Second)
			s.want(Tuning)
			if got := s.radio(); got != five {
				t.Errorf("limits %v", got)
			}
			if got := s.stations()[mac]; got != five {
				t.Errorf("a station's limits %v", got)
			}
			set := testSettings("static")
			set.Max = 3 * time.Millisecond
			if err := s.tun.Reconfigure(set, s.sim.Now()); err != nil {
				t.Fatal(err)
			}
			s.run(time.Second)
			if got := s.radio(); got != wlan.Uniform(3000, 0).AC {
				t.Errorf("with max 3ms: limits %v", got)
			}
			if err := s.tun.Reconfigure(testSettings("static"), s.sim.Now()); err != nil {
				t.Fatal(err)
			}
			s.tun.env.Netlink = fixedAir{kind: "AP"}
			s.tun.Note(nl80211.InterfaceChanged, s.sim.Now())
			s.run(time.Second)
			if got := s.radio(); got != wlan.Uniform(1500, 0).AC {
				t.Errorf("no longer wide, limits %v", got)
			}
		})
	}
	t.Run("virtual time", func(t *testing.T) {
		r := newRig(t, "static")
		r.run(time.Second, 3000, 10, true)
		if !strings.Contains(r.limits(), "BE\t1500\t\t1500\n") {
			t.Fatalf("limits %q", r.limits())
		}
		r.k.files[staDir+"airtime"] = "RX: 0 us\nTX: 7 us\nWeight: 256\nVirt-T: VO: 0 us VI: 0 us BE: 0 us BK: 0 us\n"
		r.run(time.Second, 3000, 10, true)
		r.want(Tuning, "")
		if !strings.Contains(r.limits(), "BE\t5000\t\t5000\n") {
			t.Errorf("limits %q", r.limits())
		}
		if !r.tun.Status().VirtualTime {
			t.Error("status does not say so")
		}
	})
	t.Run("one shot", func(t *testing.T) {
		env := testEnv(t, newFakeKernel(twoRadios), twoRadios)
		env.Netlink = fixedAir{kind: "managed", fourAddr: true}
		changes, err := TuneOnce(env, detectOne(t, env, "static"), testSettings("static"), true, t0)
		if err != nil || len(changes) < 4 || changes[0].To != "5000/5000" {
			t.Errorf("%+v, %v", changes, err)
		}
	})
}

// A change of channel voids what was learnt; so does a scan what it saw.
func TestChannelSwitchIsFresh(t *testing.T) {
	s, p := newSpy(t)
	s.run(2 * time.Second)
	fresh := p.fresh
	s.run(time.Second)
	if p.fresh != fresh {
		t.Fatal("fresh without a cause")
	}
	s.tun.Note(nl80211.ChannelSwitch, s.sim.Now())
	s.run(time.Second)
	if p.fresh != fresh+1 {
		t.Errorf("a channel switch voids %d windows, want 1", p.fresh-fresh)
	}
	asked := p.asked
	s.tun.Note(nl80211.ScanStarted, s.sim.Now())
	s.run(3 * time.Second)
	if p.asked != asked {
		t.Errorf("asked %d times during a scan", p.asked-asked)
	}
	s.tun.Note(nl80211.ScanDone, s.sim.Now())
	s.run(time.Second)
	if p.asked == asked {
		t.Error("not asked after the scan")
	}
}

// TestStalledStationFillsUp: with the originals back a stalled station takes more, once.
// That is no reason for smaller limits, which would stop all stations.
func TestStalledStationFillsUp(t *testing.T) {
	var g guards
	now := time.Unix(0, 0)
	step := func(pendingUs int32, sent uint64) action {
		const window = 200 * time.Millisecond
		now = now.Add(window)
		o := policies.Observation{Now: now, Window: window, TxPackets: sent, Backlog: policies.Gauge{N: 10, Max: 10}, Stations: []policies.Station{{
			HasLimit: true, TxPackets: sent, BacklogPackets: 10,
		}}}
		for ac := range o.Stations[0].Limit {
			o.Stations[0].Limit[ac] = wlan.Limit{LowUs: 2000, HighUs: 2000}
		}
		o.Stations[0].PendingUs[wlan.BE] = pendingUs
		o.Pending = policies.Gauge{N: 10, Mean: float64(pendingUs), Min: float64(pendingUs), Max: float64(pendingUs)}
		return g.check(&o).action
	}
	for range int(stalledAfter/(200*time.Millisecond)) - 1 {
		if got := step(2100, 0); got == backOff {
			t.Fatal("too early")
		}
	}
	if step(2100, 0) != backOff {
		t.Fatal("a station that is stalled for 5 s is none")
	}
	if step(12000, 50) != backOff || step(12000, 0) != backOff {
		t.Error("it filled its queue, and was taken to be fine")
	}
	for range int(movingAfter/(200*time.Millisecond)) - 1 {
		if step(12000, 50) != backOff {
			t.Fatal("fine too early")
		}
	}
	if step(1000, 50) == backOff {
		t.Error("it has been moving for 2 s and is still taken to be stalled")
	}
}
