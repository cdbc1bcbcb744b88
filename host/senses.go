//go:build (!mips && !mipsle) || full

package host

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"airtuned/debugfs"
	"airtuned/policies/placement"
	"airtuned/sysfs"
	"airtuned/tree"
	"airtuned/tuner"
)

// senses make observations. As long as no CPU is busy with softirqs, one is one
// read of /proc/stat and allocates nothing.
type senses struct {
	env  Env
	stat tree.File
	buf  []byte
	// The last two readings of it, and when the last was.
	times, before []sysfs.CPUTimes
	at            time.Time

	o placement.Observation

	// look asks to list links, threads and owners anew.
	look  bool
	links []link
	// The rest is the last reading of what only a busy machine is asked for; the
	// zero time if the last observation did without.
	detailed   time.Time
	softnet    map[int]uint32
	softirqs   sysfs.CPUTable
	interrupts sysfs.CPUTable
	traffic    map[string]uint64
	ticks      map[int]uint64 // by PID
	peakKbps   map[string]uint64
}

// link is what of a placement.Link does not change by itself.
type link struct {
	placement.Link
	interfaces []string
	irqs       []int
	threads    []sysfs.Thread
}

func (s *senses) close() {
	if s.stat != nil {
		s.stat.Close()
		s.stat = nil
	}
}

// observe says what happened since it was last called.
func (s *senses) observe(now time.Time, settings Settings, radios []Radio, p *placement.Policy) (*placement.Observation, error) {
	if err := s.readStat(); err != nil {
		return nil, err
	}
	o := &s.o
	o.Now, o.Window, s.at = now, now.Sub(s.at), now
	o.Detailed = false
	o.CPUs, o.Links, o.Clients = o.CPUs[:0], o.Links[:0], o.Clients[:0]
	if len(s.before) != len(s.times) {
		o.Window = 0 // the first one, or another number of CPUs
	}
	for i, t := range s.times {
		c := placement.CPU{ID: t.CPU}
		if o.Window > 0 {
			b := s.before[i]
			c.Total = t.Total() - b.Total()
			c.SoftIRQ = t.SoftIRQ - b.SoftIRQ
			// The kernel lets idle time go back now and then (fs/proc/stat.c).
			c.Spare = max(t.Idle+t.IOWait+t.Nice, b.Idle+b.IOWait+b.Nice) - (b.Idle + b.IOWait + b.Nice)
		}
		o.CPUs = append(o.CPUs, c)
	}
	blind := slices.ContainsFunc(radios, func(r Radio) bool { return r.Blind() })
	if !p.Busy() && !blind {
		s.detailed = time.Time{}
		return o, nil
	}
	if s.look || s.links == nil {
		s.look = false
		s.links = s.find(settings, radios)
		o.Owner, o.IRQOwner = owners(s.env)
		if n, err := sysfs.TCPLimitOutputBytes(s.env.Proc); err == nil {
			o.OutputBytes = n
		}
	}
	if err := s.detail(now); err != nil {
		return nil, err
	}
	for _, r := range radios {
		if r.Blind() && slices.ContainsFunc(r.Interfaces, func(i tuner.Interface) bool { return i.Type == "station" || i.Type == "managed" }) {
			c := placement.Client{Link: r.Phy, Target: r.Settings.Target, Kbps: s.peakKbps[r.Phy]}
			for _, st := range r.Stations {
				c.Kbps = max(c.Kbps, st.RateKbps)
			}
			o.Clients = append(o.Clients, c)
		}
	}
	return o, nil
}

// readStat reads how long CPUs have been at what.
func (s *senses) readStat() (err error) {
	if s.stat == nil {
		if s.stat, err = s.env.Proc.Open("stat"); err != nil {
			return fmt.Errorf("what CPUs do cannot be read: %w", err)
		}
	}
	if s.buf == nil {
		s.buf = make([]byte, 4096)
	}
	for {
		n, err := s.stat.ReadFresh(s.buf)
		if err != nil {
			s.close()
			return fmt.Errorf("what CPUs do cannot be read: %w", err)
		}
		if n == len(s.buf) && n < 1<<20 && !bytes.Contains(s.buf, []byte("\nintr ")) {
			s.buf = make([]byte, 4*n) // so many CPUs
			continue
		}
		s.before, s.times = s.times, s.before
		s.times, err = sysfs.ParseStat(s.times, s.buf[:n])
		return err
	}
}

// detail adds to the observation what tells whose softirqs they are. Counters
// of 32 bits wrap, and so do their differences.
func (s *senses) detail(now time.Time) error {
	softnet, err := sysfs.ReadSoftnetStat(s.env.Proc)
	if err != nil {
		return fmt.Errorf("which CPU handles packets cannot be read: %w", err)
	}
	softirqs, err := sysfs.ReadSoftIRQs(s.env.Proc)
	if err != nil {
		return fmt.Errorf("whose softirqs run cannot be read: %w", err)
	}
	// Some architectures have none to show.
	interrupts, _ := sysfs.ReadInterrupts(s.env.Proc)
	known := !s.detailed.IsZero()
	s.o.Detailed = known
	seconds := now.Sub(s.detailed).Seconds()
	s.detailed = now

	packets := map[int]uint32{}
	for _, c := range softnet {
		packets[c.CPU] = c.Processed
	}
	came := difference(s.interrupts, interrupts)
	for i := range s.o.CPUs {
		c := &s.o.CPUs[i]
		if !known {
			continue
		}
		if before, ok := s.softnet[c.ID]; ok {
			c.Packets = uint64(packets[c.ID] - before)
		}
		c.NetSoftIRQs = difference(s.softirqs, softirqs)["NET_RX"][c.ID]
		for label, n := range came {
			if _, err := strconv.ParseUint(label, 10, 31); err == nil {
				c.Interrupts += n[c.ID]
			}
		}
	}
	s.softnet, s.softirqs, s.interrupts = packets, softirqs, interrupts

	traffic, ticks := map[string]uint64{}, map[int]uint64{}
	if s.peakKbps == nil {
		s.peakKbps = map[string]uint64{}
	}
	for _, l := range s.links {
		h := l.Link
		for _, iface := range l.interfaces {
			t, err := sysfs.ReadTraffic(s.env.Sys, iface)
			if err != nil {
				continue // it has just gone
			}
			traffic[iface] = t.RxBytes + t.TxBytes
			if before, ok := s.traffic[iface]; known && ok && traffic[iface] >= before {
				h.Bytes += traffic[iface] - before
			}
		}
		h.Threads = slices.Clone(h.Threads)
		for i, t := range l.threads {
			if n, err := sysfs.ThreadTicks(s.env.Proc, t.PID); err == nil {
				ticks[t.PID] = n
				if before, ok := s.ticks[t.PID]; ok {
					h.Threads[i].Ticks = n - min(n, before)
				}
			}
		}
		if seconds > 0 && known {
			s.peakKbps[h.Name] = max(s.peakKbps[h.Name], uint64(float64(h.Bytes)*8/1000/seconds))
		}
		for _, n := range l.irqs {
			if c, ok := came[strconv.Itoa(n)]; ok {
				h.IRQs = append(h.IRQs, placement.IRQ{Number: n, Came: c})
			}
		}
		s.o.Links = append(s.o.Links, h)
	}
	s.traffic, s.ticks = traffic, ticks
	return nil
}

// difference is how much each row has grown, by label and CPU. Rows that were
// not there before have not.
func difference(before, now sysfs.CPUTable) map[string]map[int]uint64 {
	grown := map[string]map[int]uint64{}
	for i := range now.Rows {
		r := &now.Rows[i]
		b := before.Row(r.Label)
		if b == nil || !slices.Equal(before.CPUs, now.CPUs) || len(b.Counts) != len(r.Counts) || len(r.Counts) != len(now.CPUs) {
			continue
		}
		n := make(map[int]uint64, len(r.Counts))
		for k, cpu := range now.CPUs {
			n[cpu] = r.Counts[k] - min(b.Counts[k], r.Counts[k])
		}
		grown[r.Label] = n
	}
	return grown
}

// find lists the links there are and how their work can be moved.
func (s *senses) find(settings Settings, radios []Radio) []link {
	links := []link{}
	devices, _ := sysfs.Devices(s.env.Sys)
	for _, name := range settings.Interfaces {
		// A radio's are treated as its threaded_napi says, named or not.
		ofRadio := slices.ContainsFunc(devices, func(d sysfs.Device) bool { return slices.Contains(d.Interfaces, name) })
		if ofRadio || !tree.Exists(s.env.Sys, "class/net/"+name) {
			continue
		}
		l := link{Link: placement.Link{Name: name}, interfaces: []string{name}}
		if on, err := sysfs.Threaded(s.env.Sys, name); err == nil {
			l.Threaded, l.IsThreaded = knobThreaded+name, on
		}
		l.threads, _ = sysfs.ThreadsOf(s.env.Proc, name)
		l.irqs = sysfs.NetdevIRQs(s.env.Sys, name)
		links = append(links, s.fill(l))
	}
	for _, r := range radios {
		i := slices.IndexFunc(devices, func(d sysfs.Device) bool { return d.Path == r.Path })
		if i < 0 {
			continue
		}
		d := devices[i]
		l := link{Link: placement.Link{Name: r.Phy}, interfaces: d.Interfaces, irqs: s.irqsOf(d, devices)}
		napi := sysfs.ReadNAPI(s.env.Sys, s.env.Proc, d)
		l.IsThreaded = napi.Mode == sysfs.NAPIThreaded
		auto := r.Settings.ThreadedNAPI == tuner.ThreadedAuto
		if on, err := debugfs.NewPhy(s.env.Debug, r.Phy).NapiThreaded(); err == nil {
			l.IsThreaded = on
			if auto {
				l.Threaded = knobRadio + r.Phy
			}
		} else if napi.Settable && auto {
			l.Threaded = knobThreaded + d.Interfaces[0]
		}
		if !napi.Ambiguous && r.Settings.ThreadedNAPI != tuner.ThreadedLeave {
			l.threads = napi.Threads
		}
		links = append(links, s.fill(l))
	}
	return links
}

// fill adds what is found out alike for all links.
func (s *senses) fill(l link) link {
	for _, t := range l.threads {
		cpus, _ := sysfs.ThreadAffinity(s.env.Proc, t.PID) // none: it has just gone
		l.Threads = append(l.Threads, placement.Thread{Name: t.Name, CPUs: cpus})
	}
	for _, iface := range l.interfaces {
		queues, _ := sysfs.ReceiveQueues(s.env.Sys, iface)
		for _, q := range queues {
			// What is spread already is somebody's wish.
			if cpus, err := sysfs.RPS(s.env.Sys, iface, q); err == nil && len(cpus) == 0 {
				l.RPS = append(l.RPS, knobRPS+iface+"/"+q)
			}
		}
	}
	return l
}

// irqsOf lists the interrupts of a radio. Only PCI tells whose they are; else
// they are known by name, which says nothing where two radios share one.
func (s *senses) irqsOf(d sysfs.Device, all []sysfs.Device) []int {
	if len(d.IRQs) > 0 {
		return d.IRQs
	}
	alike := 0
	for _, other := range all {
		if other.Driver == d.Driver && other.DevicePath() != d.DevicePath() {
			alike++
		}
	}
	table, err := sysfs.ReadInterrupts(s.env.Proc)
	if err != nil || alike > 0 {
		return nil
	}
	var irqs []int
	for _, r := range table.Rows {
		n, err := strconv.ParseUint(r.Label, 10, 31)
		// ath10k/ahb.c names it after the driver, snoc.c one for each copy engine.
		ours := d.Driver == "ath10k_ahb" && r.Handler("ath10k_ahb") || d.Driver == "ath10k_snoc" && copyEngine(r.Text)
		if err == nil && ours {
			irqs = append(irqs, int(n))
		}
	}
	return irqs
}

func copyEngine(text string) bool {
	f := strings.Fields(text)
	return len(f) > 0 && strings.HasPrefix(f[len(f)-1], "WLAN_CE_")
}

// threadsOf lists the threads that poll a link, as of the last look.
func (s *senses) threadsOf(name string) []sysfs.Thread {
	for _, l := range s.links {
		if l.Name == name {
			return l.threads
		}
	}
	return nil
}
