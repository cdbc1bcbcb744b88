// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"airtuned/debugfs"
	"airtuned/lab/result"
	"airtuned/lab/scenario"
	"airtuned/tree"
	"airtuned/wlan"
)

// samplePeriod is airtuned's own.
const samplePeriod = 20 * time.Millisecond

// sample is the state of the access point's radio at one time. What the kernel
// does not tell is -1.
type sample struct {
	at        time.Duration
	frames    float64
	airtimeUs float64
	stopped   bool
}

// sampler looks at the radio again and again.
type sampler struct {
	phy       *debugfs.Phy
	queue     int // of BE
	maxFrames int
	frames    *debugfs.Reader[int]
	pending   *debugfs.Reader[debugfs.AQLPending]
	queues    *debugfs.Reader[debugfs.Queues]

	samples []sample
	limits  []result.Limit
	airtime *airtime
}

func newSampler(n *network) (*sampler, error) {
	phy := debugfs.NewPhy(tree.Dir("/sys/kernel/debug"), n.tuned.phy)
	s := &sampler{
		phy: phy, frames: phy.NumPendingTxReader(), pending: phy.AQLPendingReader(), queues: phy.QueuesReader(),
		airtime: &airtime{n: n, phy: phy, last: map[wlan.MAC]float64{}, sum: map[wlan.MAC]float64{}},
	}
	hw, err := phy.HWQueues(n.tuned.iface)
	if err != nil {
		return nil, err
	}
	s.queue = hw.AC[wlan.BE]
	if s.maxFrames, err = phy.MaxNumPendingTx(); err != nil && !errors.Is(err, debugfs.ErrAbsent) {
		return nil, err
	}
	return s, nil
}

// run samples until done is closed.
func (s *sampler) run(begin time.Time, done <-chan struct{}) error {
	t := time.NewTicker(samplePeriod)
	defer t.Stop()
	for i := 0; ; i++ {
		at := time.Since(begin)
		if err := s.take(at); err != nil {
			return fmt.Errorf("sample: %w", err)
		}
		if i%5 == 0 {
			if err := s.takeLimits(at); err != nil {
				return fmt.Errorf("sample: %w", err)
			}
		}
		if i%50 == 0 {
			if err := s.airtime.take(); err != nil {
				return fmt.Errorf("sample: %w", err)
			}
		}
		select {
		case <-t.C:
		case <-done:
			return nil
		}
	}
}

func (s *sampler) take(at time.Duration) error {
	x := sample{at: at, frames: -1, airtimeUs: -1}
	var frames int
	switch err := s.frames.Read(&frames); {
	case err == nil:
		x.frames = float64(frames)
	case !errors.Is(err, debugfs.ErrAbsent):
		return err
	}
	var pending debugfs.AQLPending
	switch err := s.pending.Read(&pending); {
	case err == nil:
		x.airtimeUs = float64(pending.TotalUs)
	case !errors.Is(err, debugfs.ErrAbsent):
		return err
	}
	var q debugfs.Queues
	if err := s.queues.Read(&q); err != nil {
		return err
	}
	x.stopped = s.queue >= 0 && s.queue < q.N && q.Stop[s.queue]&debugfs.StopDriver != 0
	s.samples = append(s.samples, x)
	return nil
}

func (s *sampler) takeLimits(at time.Duration) error {
	l, err := s.phy.AQLTxqLimit()
	if err != nil {
		return err
	}
	frames, err := s.phy.TxQueueLimit()
	if err != nil && !errors.Is(err, debugfs.ErrAbsent) {
		return err
	}
	be := l.Limits[wlan.BE]
	now := result.Limit{LowUs: be.LowUs, HighUs: be.HighUs, Frames: frames}
	if n := len(s.limits); n > 0 {
		now.AtS = s.limits[n-1].AtS
		if s.limits[n-1] == now {
			return nil
		}
	}
	now.AtS = result.Round(at.Seconds(), 1)
	s.limits = append(s.limits, now)
	return nil
}

// tasklets is how often the machine ran its tasklets.
func tasklets() (float64, error) {
	b, err := os.ReadFile("/proc/softirqs")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "TASKLET:" { // one processor
			return strconv.ParseFloat(f[1], 64)
		}
	}
	return 0, errors.New("/proc/softirqs: no TASKLET")
}

// airtime sums up the airtime of each station, over its visits.
type airtime struct {
	n         *network
	phy       *debugfs.Phy
	last, sum map[wlan.MAC]float64
}

func (a *airtime) take() error {
	now := map[wlan.MAC]float64{}
	if a.n.scenario.Radio == scenario.Ath10k {
		var err error
		if now, err = column(a.n.emulated("stations"), "airtime_us"); err != nil {
			return err
		}
	} else {
		macs, err := a.phy.Stations(a.n.tuned.iface)
		if err != nil {
			return err
		}
		for _, mac := range macs {
			t, err := a.phy.StationAirtime(a.n.tuned.iface, mac)
			if errors.Is(err, debugfs.ErrAbsent) || errors.Is(err, debugfs.ErrGone) {
				continue
			}
			if err != nil {
				return err
			}
			now[mac] = float64(t.TXUs)
		}
	}
	for mac, v := range now {
		if v >= a.last[mac] {
			a.sum[mac] += v - a.last[mac]
		} else { // it was away
			a.sum[mac] += v
		}
	}
	a.last = now
	return nil
}

// totals are counters of the air.
type totals struct {
	busyUs, ppdus, mpdus, completed float64
	airtime                         map[wlan.MAC]float64
	tasklets                        float64 // of the machine
}

func (s *sampler) totals() (totals, error) {
	var t totals
	if err := s.airtime.take(); err != nil {
		return t, err
	}
	t.airtime = map[wlan.MAC]float64{}
	for mac, v := range s.airtime.sum {
		t.airtime[mac] = v
	}
	var err error
	if t.tasklets, err = tasklets(); err != nil {
		return t, err
	}
	if s.airtime.n.scenario.Radio != scenario.Ath10k {
		return t, nil
	}
	v, err := labelled(s.airtime.n.emulated("airtime"))
	if err != nil {
		return t, err
	}
	for label, into := range map[string]*float64{
		"busy_us": &t.busyUs, "ppdus": &t.ppdus, "mpdus": &t.mpdus, "frames_out": &t.completed,
	} {
		x, ok := v[label]
		if !ok {
			return t, fmt.Errorf("%s: no %s", s.airtime.n.emulated("airtime"), label)
		}
		*into = x
	}
	return t, nil
}
