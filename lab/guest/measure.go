// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/lab/pid1"
	"airtuned/lab/result"
	"airtuned/lab/scenario"
	"airtuned/wlan"
)

// tail is for how long traffic goes on after what is measured, so that the last
// pings meet it, too.
const tail = time.Second

// event is something that happens at a time.
type event struct {
	at time.Duration
	do func() error
}

// traffic is what one station sends and receives.
type traffic struct {
	down, up meter
	flows    []*flows
	ping     *probe
	call     *probe
	pages    *probe
	joined   chan struct{}
}

// measure plays the scenario and returns what came of it.
func (n *network) measure() (*result.Document, error) {
	s := n.scenario
	if err := n.control(); err != nil {
		return nil, err
	}
	detected, err := n.detect()
	if err != nil {
		return nil, err
	}
	sampler, err := newSampler(n)
	if err != nil {
		return nil, err
	}
	pinger, err := newPinger()
	if err != nil {
		return nil, err
	}
	n.begin = time.Now()
	done := make(chan struct{})
	all := make([]*traffic, len(n.stations))
	var events []event
	at := func(t time.Duration, do func() error) {
		if t <= s.End()+tail {
			events = append(events, event{t, do})
		}
	}
	over := func(t scenario.Timeline, do func(value int) error) {
		for _, step := range t {
			at(time.Duration(step.At), func() error { return do(step.Value) })
		}
	}

	over(s.SvcUs, func(us int) error { n.set(n.tuned, "svc_us", us); return nil })
	for _, t := range s.Crashes {
		at(time.Duration(t), n.crash)
	}
	for i, st := range n.stations {
		t := &traffic{joined: make(chan struct{})}
		all[i] = t
		t.down.begin, t.up.begin = n.begin, n.begin
		st.sink.meter = func(string) *meter { return &t.down }
		random := rand.New(rand.NewPCG(s.Seed, uint64(i)))

		over(st.Group.RateKbps, func(kbps int) error { n.set(st.radio, "kbps", kbps); return nil })
		over(st.Group.LossPPM, func(ppm int) error { n.set(st.radio, "loss", ppm); return nil })
		if st.Join == 0 {
			close(t.joined)
		} else {
			at(st.Join, func() error {
				go func() {
					if err := st.join(frequency[s.Radio]); err != nil {
						n.fail(err)
					}
					close(t.joined)
				}()
				return nil
			})
		}
		gone := done
		if st.Leave > 0 {
			gone = make(chan struct{})
			at(st.Leave, func() error {
				close(gone)
				_, err := st.command("iw dev " + st.radio.iface + " disconnect")
				return err
			})
		}
		// after has something begin at a time or when the station has joined.
		after := func(t0 time.Duration, do func() error) {
			at(max(t0, st.Join), func() error {
				go func() {
					<-t.joined
					if err := do(); err != nil {
						n.fail(fmt.Errorf("station %s: %w", st.Name, err))
					}
				}()
				return nil
			})
		}
		bulk := func(counts scenario.Timeline, from namespace, to string) {
			for k, step := range counts {
				end := s.End() + tail
				if st.Leave > 0 {
					end = min(end, st.Leave)
				}
				if k+1 < len(counts) {
					end = min(end, time.Duration(counts[k+1].At))
				}
				if step.Value == 0 || end <= st.Join {
					continue
				}
				after(time.Duration(step.At), func() error {
					f, err := startFlows(from, to, st.Group.Class, step.Value, end-time.Since(n.begin), n.begin)
					if err == nil {
						t.flows = append(t.flows, f)
					}
					return err
				})
			}
		}
		bulk(st.Group.Download, n.server, st.addr)
		bulk(st.Group.Upload, st.namespace, serverAddr)
		if st.Group.Ping && st.First {
			t.ping = &probe{begin: n.begin}
			after(0, func() error { pinger.ping(st, t.ping, random, gone); return nil })
		}
		if st.Group.VoIP != "" && st.First {
			t.call = &probe{begin: n.begin}
			after(0, func() error { return call(st, t.call, random, gone) })
		}
		if st.Group.Web && st.First {
			t.pages = &probe{begin: n.begin}
			after(0, func() error { browse(st, t.pages, random, gone); return nil })
		}
	}
	if err := serveWeb(n.server); err != nil {
		return nil, err
	}
	uploads, err := newSink(n.server, serverAddr)
	if err != nil {
		return nil, err
	}
	uploads.meter = func(peer string) *meter {
		i := slices.IndexFunc(n.stations, func(st *station) bool { return st.addr == peer })
		return &all[max(i, 0)].up
	}

	var before, after totals
	at(time.Duration(s.Warmup), func() (err error) { before, err = sampler.totals(); return err })
	at(s.End(), func() (err error) { after, err = sampler.totals(); return err })
	at(s.End()+tail, func() error { return nil })
	go func() {
		if err := sampler.run(n.begin, done); err != nil {
			n.fail(err)
		}
	}()

	slices.SortStableFunc(events, func(a, b event) int { return int(a.at - b.at) })
	for _, e := range events {
		select {
		case err := <-n.failed:
			return nil, err
		case <-time.After(e.at - time.Since(n.begin)):
		}
		if err := e.do(); err != nil {
			return nil, err
		}
	}
	close(done)
	var log strings.Builder
	for i, t := range all {
		for _, f := range t.flows {
			if err := f.stop(); err != nil {
				return nil, err
			}
			fmt.Fprintf(&log, "# %s, from %v\n%s", n.stations[i].Name, f.start.Round(time.Millisecond), &f.output)
		}
	}
	if err := os.WriteFile(pid1.Shared+"/iperf.log", []byte(log.String()), 0o644); err != nil {
		return nil, err
	}
	if n.airtuned != nil {
		if err := n.stopAirtuned(); err != nil {
			return nil, err
		}
	}
	select {
	case err := <-n.failed:
		return nil, err
	default:
	}
	d := n.document(sampler, all, before, after)
	d.Chip, d.QueueSource = detected.Chip, detected.Queue.Source
	return d, nil
}

// detected is what airtuned makes of the access point's radio.
type detected struct {
	Phy, Chip string
	Queue     struct{ Source string }
}

func (n *network) detect() (detected, error) {
	var all struct{ Radios []detected }
	out, err := root.command(pid1.Shared + "/airtuned detect --json")
	if err != nil {
		return detected{}, err
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return detected{}, fmt.Errorf("airtuned detect: %w in %q", err, out)
	}
	i := slices.IndexFunc(all.Radios, func(d detected) bool { return d.Phy == n.ap.phy })
	if i < 0 {
		return detected{}, fmt.Errorf("airtuned detect: no %s in %q", n.ap.phy, out)
	}
	return all.Radios[i], nil
}

// crash has the radio's firmware crash.
func (n *network) crash() error {
	return os.WriteFile(ieee80211+"/"+n.tuned.phy+"/ath10k/simulate_fw_crash", []byte("soft"), 0)
}

// control puts limits in force, or has airtuned do it.
func (n *network) control() error {
	for name, value := range n.scenario.Knobs {
		if err := os.WriteFile(ieee80211+"/"+n.tuned.phy+"/"+name, []byte(strconv.Itoa(value)), 0); err != nil {
			return err
		}
	}
	switch aql := n.scenario.AQL; aql {
	case scenario.AQLDefault:
	case scenario.AQLOff:
		if err := os.WriteFile(ieee80211+"/"+n.tuned.phy+"/aql_enable", []byte("0"), 0); err != nil {
			return err
		}
	default:
		for _, ac := range wlan.ACs {
			row := fmt.Sprintf("%d %s %[2]s", ac, aql)
			if err := os.WriteFile(ieee80211+"/"+n.tuned.phy+"/aql_txq_limit", []byte(row), 0); err != nil {
				return err
			}
		}
	}
	if n.scenario.Policy == "" {
		return nil
	}
	const file = "/run/airtuned.yaml"
	conf := fmt.Sprintf("radios: [{match: {phy: %s}, policy: %s}]\n", n.ap.phy, n.scenario.Policy)
	if err := os.WriteFile(file, []byte(conf), 0o644); err != nil {
		return err
	}
	log, err := os.Create(pid1.Shared + "/airtuned.log")
	if err != nil {
		return err
	}
	defer log.Close()
	n.airtuned = exec.Command(pid1.Shared+"/airtuned", "run", "--config", file)
	n.airtuned.Stdout, n.airtuned.Stderr = log, log
	if err := n.airtuned.Start(); err != nil {
		return err
	}
	if err := eventually(5*time.Second, func() error {
		_, err := root.command(pid1.Shared + "/airtuned status")
		return err
	}); err != nil {
		return fmt.Errorf("airtuned does not answer, see its log: %w", err)
	}
	return nil
}

func (n *network) stopAirtuned() error {
	if err := n.airtuned.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("airtuned ended early, see its log: %w", err)
	}
	if err := n.airtuned.Wait(); err != nil {
		return fmt.Errorf("airtuned: %w", err)
	}
	return nil
}

// document puts together what was measured.
func (n *network) document(s *sampler, all []*traffic, before, after totals) *result.Document {
	sc := n.scenario
	from, to := time.Duration(sc.Warmup), sc.End()
	d := &result.Document{
		Scenario: sc.Name, Radio: sc.Radio, Kernel: release(), Seed: sc.Seed, AQL: sc.AQL, Policy: sc.Policy,
		Tuned: sc.Tuned, Knobs: sc.Knobs,
		WarmupS: from.Seconds(), DurationS: (to - from).Seconds(), MaxPendingFrames: s.maxFrames,
		Stations: []result.Station{}, Limits: s.limits, Seconds: []result.Second{},
	}

	var airtimeSum float64
	for mac, v := range after.airtime {
		airtimeSum += v - before.airtime[mac]
	}
	var busyMs, idleMs, callMs, pageMs, rtts, throughputs, airtimes []float64
	var busySent, idleSent, callSent, pageSent, retransmits int
	var efficiency float64
	for i, st := range n.stations {
		t := all[i]
		r := result.Station{Name: st.Name, RateKbps: st.Group.RateKbps.At(from)}
		down, up := t.down.mbps(from, to), t.up.mbps(from, to)
		r.DownloadMbps, r.UploadMbps = result.Round(down, 3), result.Round(up, 3)
		d.DownloadMbps += down
		d.UploadMbps += up
		mac := st.radio.mac
		share := (after.airtime[mac] - before.airtime[mac]) / airtimeSum
		if sc.Tuned != "" {
			share = math.NaN() // all is for the access point
		}
		r.AirtimePct = result.Rounded(100*share, 2)
		busy := len(t.flows) > 0
		if busy {
			throughputs = append(throughputs, down+up)
			airtimes = append(airtimes, share)
			efficiency += (down + up) / st.Group.AloneMbps // infinite if unknown
		}
		if t.ping != nil {
			ms, sent := t.ping.between(from, to)
			if busy {
				busyMs, busySent = append(busyMs, ms...), busySent+sent
			} else {
				idleMs, idleSent = append(idleMs, ms...), idleSent+sent
			}
			r.PingMs = result.Summarize(ms, sent)
		}
		if t.call != nil {
			ms, sent := t.call.between(from, to)
			callMs, callSent = append(callMs, ms...), callSent+sent
			r.VoIPMs = result.Summarize(ms, sent)
		}
		if t.pages != nil {
			ms, sent := t.pages.between(from, to)
			pageMs, pageSent = append(pageMs, ms...), pageSent+sent
			r.PageMs = result.Summarize(ms, sent)
		}
		var own []float64
		var again int
		for _, f := range t.flows {
			f.tcp(from, to, &own, &again)
		}
		r.TCP = tcpOf(own, again)
		rtts, retransmits = append(rtts, own...), retransmits+again
		d.Stations = append(d.Stations, r)
	}
	d.DownloadMbps, d.UploadMbps = result.Round(d.DownloadMbps, 3), result.Round(d.UploadMbps, 3)
	if len(throughputs) > 0 {
		d.AirEfficiency = result.Rounded(efficiency, 4)
	}
	d.JainThroughput = result.Rounded(result.Jain(throughputs), 4)
	d.JainAirtime = result.Rounded(result.Jain(airtimes), 4)
	d.PingMs.Busy = result.Summarize(busyMs, busySent)
	d.PingMs.Idle = result.Summarize(idleMs, idleSent)
	d.VoIPMs = result.Summarize(callMs, callSent)
	d.PageMs = result.Summarize(pageMs, pageSent)
	d.TCP = tcpOf(rtts, retransmits)

	var frames, airtimeUs []float64
	samples, full, stopped, was := 0, 0, 0, false
	for _, x := range s.samples {
		if x.at < from || x.at >= to {
			continue
		}
		samples++
		if x.frames >= 0 {
			frames = append(frames, x.frames)
		}
		if s.maxFrames > 0 && x.frames >= float64(s.maxFrames-1) {
			full++
		}
		if x.airtimeUs >= 0 {
			airtimeUs = append(airtimeUs, x.airtimeUs)
		}
		if x.stopped {
			stopped++
			if !was {
				d.Stops++
			}
		}
		was = x.stopped
	}
	d.PendingFrames, d.PendingUs = result.LevelOf(frames), result.LevelOf(airtimeUs)
	d.StoppedPct = result.Rounded(100*float64(stopped)/float64(samples), 1)
	seconds := (to - from).Seconds()
	d.TaskletsPerS = result.Round((after.tasklets-before.tasklets)/seconds, 0)
	if sc.Radio == scenario.Ath10k {
		d.AirBusyPct = result.Rounded((after.busyUs-before.busyUs)/seconds/1e4, 1)
		d.MPDUsPerPPDU = result.Rounded((after.mpdus-before.mpdus)/(after.ppdus-before.ppdus), 2)
		if len(frames) > 0 {
			d.FullPct = result.Rounded(100*float64(full)/float64(samples), 1)
			d.FirmwareMs = result.Rounded(1000*result.Mean(frames)*seconds/(after.completed-before.completed), 3)
		}
	}

	for at := time.Duration(0); at+time.Second <= to; at += time.Second {
		sec := result.Second{AtS: at.Seconds()}
		var ms, frames []float64
		for _, t := range all {
			sec.DownloadMbps += t.down.mbps(at, at+time.Second)
			sec.UploadMbps += t.up.mbps(at, at+time.Second)
			if t.ping != nil && len(t.flows) > 0 {
				m, _ := t.ping.between(at, at+time.Second)
				ms = append(ms, m...)
			}
		}
		for _, x := range s.samples {
			if x.at >= at && x.at < at+time.Second && x.frames >= 0 {
				frames = append(frames, x.frames)
			}
		}
		sec.DownloadMbps = result.Round(sec.DownloadMbps, 3)
		sec.UploadMbps = result.Round(sec.UploadMbps, 3)
		if len(ms) > 0 {
			slices.Sort(ms)
			sec.PingP50Ms = result.Rounded(result.Percentile(ms, 50), 3)
			sec.PingP95Ms = result.Rounded(result.Percentile(ms, 95), 3)
			sec.PingMaxMs = result.Rounded(ms[len(ms)-1], 3)
		}
		if len(frames) > 0 {
			sec.Pending = result.Rounded(result.Mean(frames), 1)
		}
		d.Seconds = append(d.Seconds, sec)
	}
	return d
}

// release is the kernel's, as uname -r says.
func release() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return string(u.Release[:bytes.IndexByte(u.Release[:], 0)])
}
