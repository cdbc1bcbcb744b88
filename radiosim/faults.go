package radiosim

import (
	"slices"
	"time"

	"airtuned/wlan"
)

// Faults a loop must survive. Each takes effect at the present virtual time.

// StickPending makes airtime that is handed to the driver never come back, as
// when completions are lost: pending climbs to the limits and stays.
func (s *Sim) StickPending() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = true
}

// LeakPending adds airtime to the radio's books that no frame stands for. A
// negative number makes an idle radio print a pending of about 4294967000.
func (s *Sim) LeakPending(us int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aql.pending += us
	s.aql.acPending[wlan.BE] += us
}

// firmwareRestart is how long a crashed firmware is away.
const firmwareRestart = 1500 * ms

// Crash is a firmware crash and its recovery: what was queued in driver and
// firmware is lost, the queues stand still for a while, every station is set
// up anew and its counters start at 0. Limits of the radio survive, those of
// single stations do not.
func (s *Sim) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.drv.down {
		return
	}
	s.crashes++
	s.drv.down = true
	s.stopQueues()
	s.ev.push(s.now+firmwareRestart, evFirmware, 0)
	for _, st := range slices.Clone(s.assoc) {
		s.flush(st)
		for ac := range st.txq {
			t := &st.txq[ac]
			if t.scheduled {
				s.active[ac].remove(t)
			}
			*t = txq{sta: st, ac: ac}
			st.airtime[ac] = airtime{deficit: airtimeWeight, limit: s.aql.limits.AC[ac]}
		}
		st.reportedKbps, st.rateSeen, st.ppdus = 0, 0, 0
	}
	s.clearBooks()
	s.stuck = false
	s.generation++
}

// clearBooks takes back what the driver has done and forgets the airtime of
// what is on the air.
func (s *Sim) clearBooks() {
	s.service()
	for i := s.air.frames.head; i != 0; i = s.packets.all[i].next {
		s.packets.all[i].estUs = 0
	}
	s.aql.pending, s.aql.acPending = 0, [wlan.NumAC]int32{}
}

func (s *Sim) firmwareUp() {
	s.drv.down = false
	s.wakeQueues()
	s.pushPending()
	s.contend()
}

// RenamePhy renames the wiphy, as OpenWrt does and `iw phy set name`.
func (s *Sim) RenamePhy(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phy = name
	s.stationsChanged()
}

// RemoveRadio takes the device away: all its files are gone, open ones fail.
func (s *Sim) RemoveRadio() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range slices.Clone(s.assoc) {
		s.leave(st)
	}
	s.clearBooks()
	s.gone = true
	s.closeFiles()
	s.stationsChanged()
}

// ReturnRadio brings it back as a new wiphy with the next number, the kernel's
// default limits and the stations that were there.
func (s *Sim) ReturnRadio() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		return
	}
	s.gone = false
	s.phyIndex++
	s.phy = phyName(s.phyIndex)
	s.aql = aql{enabled: s.aql.enabled, limits: wlan.KernelDefault}
	s.airtimeFlags = airtimeUseTx | airtimeUseRx
	backlog, memory := s.fq.backlog, s.fq.memory
	s.fq.init()
	s.fq.backlog, s.fq.memory = backlog, memory
	s.stuck, s.crashes, s.coldResets = false, 0, 1
	s.drv.down = false
	s.drv.stopped = [numHwQueues]bool{}
	s.stopChanged()
	s.openFiles()
	for _, st := range s.stations {
		if st.spec.Join <= time.Duration(s.now) && (st.spec.Leave == 0 || st.spec.Leave > time.Duration(s.now)) {
			s.join(st)
		}
	}
	s.stationsChanged()
}

// ForeignWrite sets a limit as another tool would.
func (s *Sim) ForeignWrite(ac wlan.AC, l wlan.Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLimit(int(ac), l)
}

// SetRate changes a station's PHY rate, in the scenario's order of stations.
func (s *Sim) SetRate(station, kbps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stations[station].setRate(kbps)
}

// Join associates a station, whatever the scenario has in store for it.
func (s *Sim) Join(station int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.join(s.stations[station])
}

// Leave takes a station away.
func (s *Sim) Leave(station int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(s.stations[station])
}

// Sleep puts a station into power save, or wakes it. The firmware keeps what is
// for it until then; mac80211 sees frames that do not come back.
func (s *Sim) Sleep(station int, asleep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stations[station]
	if !st.joined || st.asleep == asleep {
		return
	}
	st.asleep = asleep
	for ac := range st.firmware {
		if asleep {
			s.air.queued -= st.firmware[ac].n
			st.kept[ac], st.firmware[ac] = st.firmware[ac], fifo{}
			continue
		}
		for i := s.packets.pop(&st.kept[ac]); i != 0; i = s.packets.pop(&st.kept[ac]) {
			s.toFirmware(&st.txq[ac], i)
		}
	}
	s.starvedChanged()
}

// SetBlind has the firmware report rates from now on, or no more.
func (s *Sim) SetBlind(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opt.Blind = on
}

// HoldMulticast makes the firmware hold so many multicast frames, as it does
// until the next DTIM beacon while a station sleeps. They have slots in the
// driver, but no airtime in the books of AQL.
func (s *Sim) HoldMulticast(frames int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drv.pending += int32(frames) - s.multicast
	s.multicast = int32(frames)
}

// FailFile makes every open, read and write of a file fail from now on, by its
// name in its tree ("ieee80211/phy0/aql_pending"); nil mends it. err should be
// a syscall.Errno.
func (s *Sim) FailFile(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.failing, name)
		return
	}
	s.failing[name] = err
}

// failure is the error FailFile asked for.
func (t *fileTree) failure(op, name string) error {
	if err, ok := t.sim.failing[name]; ok {
		return t.fail(op, name, err)
	}
	return nil
}
