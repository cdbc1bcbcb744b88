package tuner

import (
	"log/slog"
	"syscall"
	"testing"
	"time"

	"airtuned/debugfs"
	"airtuned/policies"
	"airtuned/radiosim"
	"airtuned/wlan"
)

// scripted is a policy that says what a test wants.
type scripted struct{ d policies.Decision }

func (*scripted) Name() string                                     { return "scripted" }
func (p *scripted) Decide(*policies.Observation) policies.Decision { return p.d }

// script is a loop on the simulated radio whose policy is scripted.
type script struct {
	t   *testing.T
	sim *radiosim.Sim
	tun *Tuner
	p   *scripted
}

func newScript(t *testing.T) *script {
	t.Helper()
	sc, err := radiosim.Lookup("four-fast")
	if err != nil {
		t.Fatal(err)
	}
	sim := radiosim.New(sc, radiosim.Options{Seed: 1})
	env := Env{Sys: sim.Sys(), Debug: sim.Debug(), Proc: sim.Proc(), StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	p := &scripted{policies.Decision{Write: true, Limits: wlan.Uniform(2000, 24000)}}
	s := &script{t, sim, New(env, detectOne(t, env, "static"), testSettings("static"), sim.Now()), p}
	s.tun.policy = p
	return s
}

func (s *script) run(d time.Duration) {
	for end := s.sim.Now().Add(d); s.sim.Now().Before(end); {
		s.sim.Advance(s.sim.Now().Add(20 * time.Millisecond))
		s.tun.Step(s.sim.Now())
	}
}

func (s *script) want(state State) {
	s.t.Helper()
	if st := s.tun.Status(); st.State != state {
		s.t.Errorf("state %s (%s), want %s", st.State, st.Reason, state)
	}
}

func (s *script) radio() [wlan.NumAC]wlan.Limit {
	s.t.Helper()
	l, err := debugfs.NewPhy(s.sim.Debug(), s.tun.radio.Phy).AQLTxqLimit()
	if err != nil {
		s.t.Fatal(err)
	}
	return l.Limits
}

func (s *script) stations() map[wlan.MAC][wlan.NumAC]wlan.Limit {
	s.t.Helper()
	phy := debugfs.NewPhy(s.sim.Debug(), s.tun.radio.Phy)
	netdevs, err := phy.Netdevs()
	if err != nil || len(netdevs) != 1 {
		s.t.Fatal(netdevs, err)
	}
	macs, err := phy.Stations(netdevs[0])
	if err != nil {
		s.t.Fatal(err)
	}
	m := map[wlan.MAC][wlan.NumAC]wlan.Limit{}
	for _, mac := range macs {
		a, err := phy.StationAQL(netdevs[0], mac)
		if err != nil {
			s.t.Fatal(err)
		}
		m[mac] = a.Limits
	}
	return m
}

// wantFollowing checks that every station has what the radio has.
func (s *script) wantFollowing(limits [wlan.NumAC]wlan.Limit) {
	s.t.Helper()
	if got := s.radio(); got != limits {
		s.t.Errorf("the radio has %v, want %v", got, limits)
	}
	for mac, got := range s.stations() {
		if got != limits {
			s.t.Errorf("station %s has %v, want %v", mac, got, limits)
		}
	}
}

// A station's own limits end with the decision that gave them, and at the end
// it has what it had, also if the radio was tuned before the station was.
func TestStationOverrides(t *testing.T) {
	s := newScript(t)
	s.run(time.Second)
	var mac wlan.MAC
	for mac = range s.stations() {
		break
	}
	own := wlan.Uniform(4000, 0).AC
	s.p.d.Stations = []policies.StationLimit{{MAC: mac, AC: own}, {MAC: wlan.MAC{1}, AC: own}}
	s.run(time.Second)
	s.want(Tuning)
	if got := s.stations()[mac]; got != own {
		t.Fatalf("station has %v, want %v", got, own)
	}

	// Another program, or a station that came back: it has to be given again.
	phy := debugfs.NewPhy(s.sim.Debug(), s.tun.radio.Phy)
	netdevs, _ := phy.Netdevs()
	for _, ac := range wlan.ACs {
		if err := phy.SetStationAQL(netdevs[0], mac, ac, s.radio()[ac]); err != nil {
			t.Fatal(err)
		}
	}
	s.run(time.Second)
	if got := s.stations()[mac]; got != own {
		t.Errorf("back, the station has %v, want %v", got, own)
	}

	s.p.d.Stations = nil
	s.p.d.Limits = wlan.Uniform(3000, 24000) // in the same decision
	s.run(time.Second)
	s.wantFollowing(s.p.d.Limits.AC)

	s.p.d.Stations = []policies.StationLimit{{MAC: mac, AC: own}}
	s.run(time.Second)
	if err := s.tun.Stop("end"); err != nil {
		t.Fatal(err)
	}
	s.wantFollowing(wlan.KernelDefault.AC)
}

// A change that failed half way leaves limits that are partly ours. Nobody else
// is to be blamed for them, and the loop goes on when it can.
func TestHalfAChange(t *testing.T) {
	s := newScript(t)
	s.p.d.Limits.ThresholdUs = 30000
	threshold := "ieee80211/" + s.tun.radio.Phy + "/aql_threshold"
	s.sim.FailFile(threshold, syscall.EINVAL)
	s.run(2 * time.Second)
	s.want(Held)
	s.sim.FailFile(threshold, nil)
	s.run(retryPause + time.Second)
	s.want(Tuning)
	if err := s.tun.Stop("end"); err != nil {
		t.Fatal(err)
	}
	s.wantFollowing(wlan.KernelDefault.AC)
}

// What is too close to write is not in force: it must not be missed later.
func TestCloseEnough(t *testing.T) {
	s := newScript(t)
	s.run(time.Second)
	s.p.d.Limits = wlan.Uniform(2010, 25000)
	s.run(2 * time.Second)
	s.want(Tuning)
	if got := s.radio(); got != wlan.Uniform(2000, 0).AC {
		t.Errorf("wrote %v", got)
	}
}
