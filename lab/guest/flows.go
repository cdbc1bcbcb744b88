// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"airtuned/lab/result"
)

// port is iperf's.
const port = 5001

// binWidth is how finely received bytes are told apart in time.
const binWidth = 100 * time.Millisecond

// meter counts bytes over time.
type meter struct {
	begin time.Time
	bins  []int
}

func (m *meter) add(bytes int) {
	i := int(time.Since(m.begin) / binWidth)
	for len(m.bins) <= i {
		m.bins = append(m.bins, 0)
	}
	m.bins[i] += bytes
}

// mbps is the mean from one time to another, multiples of the bin width.
func (m *meter) mbps(from, to time.Duration) float64 {
	sum := 0
	for i := int(from / binWidth); i < int(to/binWidth) && i < len(m.bins); i++ {
		sum += m.bins[i]
	}
	return float64(sum) * 8 / 1e6 / (to - from).Seconds()
}

// sink takes what iperf sends, instead of iperf's own server: it is one process
// less per station, and tells what arrived when.
type sink struct {
	listener net.Listener
	// meter is what bytes from a peer go to.
	meter func(peer string) *meter
}

func newSink(n namespace, addr string) (*sink, error) {
	s := new(sink)
	err := n.do(func() (err error) {
		s.listener, err = net.Listen("tcp4", net.JoinHostPort(addr, strconv.Itoa(port)))
		return err
	})
	if err != nil {
		return nil, err
	}
	go s.serve()
	return s, nil
}

func (s *sink) serve() {
	// There is one processor, and one goroutine runs at a time.
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		peer, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		m := s.meter(peer)
		go func() {
			defer c.Close()
			b := make([]byte, 256<<10)
			for {
				n, err := c.Read(b)
				m.add(n)
				if err != nil {
					return
				}
			}
		}()
	}
}

// flows is a run of iperf: some bulk TCP flows.
type flows struct {
	cmd    *exec.Cmd
	start  time.Duration
	output bytes.Buffer
	ended  chan error
	killed bool
}

// startFlows has iperf send from a namespace to an address for a time, in an
// access category.
func startFlows(from namespace, to, class string, count int, d time.Duration, begin time.Time) (*flows, error) {
	f := &flows{start: time.Since(begin), ended: make(chan error, 1)}
	f.cmd = exec.Command("iperf", "-c", to, "-p", strconv.Itoa(port), "-e", "-i", "1", "-f", "k",
		"-S", fmt.Sprintf("0x%02x", tos[class]),
		"-P", strconv.Itoa(count), "-t", strconv.FormatFloat(d.Seconds(), 'f', 1, 64))
	f.cmd.Stdout, f.cmd.Stderr = &f.output, &f.output
	if err := from.do(f.cmd.Start); err != nil {
		return nil, err
	}
	go func() { f.ended <- f.cmd.Wait() }()
	return f, nil
}

// stop ends it, if it has not ended.
func (f *flows) stop() error {
	f.killed = f.cmd.Process.Kill() == nil
	err := <-f.ended
	var exit *exec.ExitError
	if f.killed && errors.As(err, &exit) && exit.ExitCode() == -1 {
		err = nil
	}
	output := f.output.String()
	if err == nil && strings.Contains(output, "connect failed") {
		err = errors.New("no connection") // it is content with that
	}
	if err != nil {
		return fmt.Errorf("iperf: %w: %s", err, strings.TrimSpace(output))
	}
	return nil
}

// interval is a line of iperf -e:
//
//	[  1] 1.0000-2.0000 sec   256 KBytes  4194 Kbits/sec  2/0          0     1023K/3092(6083) us  170
var interval = regexp.MustCompile(`^\[ *\d+\] +([\d.]+)-([\d.]+) sec .*bits/sec +\d+/\d+ +(\d+) +\S+?/(\d+)\(\d+\) us`)

// tcp adds what iperf said of the intervals between two times.
func (f *flows) tcp(from, to time.Duration, rtts *[]float64, retransmits *int) {
	for line := range strings.Lines(f.output.String()) {
		m := interval.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		var v [4]float64
		for i := range v {
			v[i], _ = strconv.ParseFloat(m[i+1], 64)
		}
		start := f.start + time.Duration(v[0]*float64(time.Second))
		end := f.start + time.Duration(v[1]*float64(time.Second))
		// The last line sums up all.
		if v[1]-v[0] > 1.5 || start < from || end > to+binWidth {
			continue
		}
		*rtts = append(*rtts, v[3]/1000)
		*retransmits += int(v[2])
	}
}

func tcpOf(rtts []float64, retransmits int) *result.TCP {
	if len(rtts) == 0 {
		return nil
	}
	return &result.TCP{RTTMs: result.Round(result.Mean(rtts), 3), Retransmits: retransmits}
}
