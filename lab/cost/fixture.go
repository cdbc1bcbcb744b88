// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"airtuned/debugfs"
	"airtuned/tree"
	"airtuned/wlan"
)

const phyDir = "ieee80211/phy0"

// fast are the files of a sample, below the phy's folder.
var fast = []string{"aql_pending", "ath10k/num_pending_tx", "aqm", "queues"}

// slow are those of a window's end: the radio's, then each station's.
var (
	slow       = []string{"ath10k/fw_reset_stats", "aql_txq_limit"}
	perStation = []string{"aqm", "aql", "airtime"}
)

// machine is a folder with the files of a machine with one radio.
type machine struct {
	dir      string
	phy      string   // the radio's folder in debugfs
	stations []string // their folders
	real     bool     // the kernel's own files, of idle stations
}

// newMachine makes the files of a QCA9888 with that many busy stations.
func newMachine(dir, like string, stations int) (*machine, error) {
	m := &machine{dir: dir}
	if err := os.CopyFS(dir, os.DirFS(like)); err != nil {
		return nil, err
	}
	m.phy = filepath.Join(dir, "debug", phyDir)
	phy := m.phy
	all := filepath.Join(phy, "netdev:wlan0/stations")
	if err := os.RemoveAll(all); err != nil {
		return nil, err
	}
	if err := os.Mkdir(all, 0o755); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"aql_pending":               aqlPending,
		"aqm":                       radioAQM,
		"ath10k/num_pending_tx":     "120\n",
		"ath10k/max_num_pending_tx": "1424\n",
		"ath10k/fw_reset_stats":     "fw_crash_counter\t\t0\nfw_warm_reset_counter\t\t0\nfw_cold_reset_counter\t\t1\n",
	} {
		if err := os.WriteFile(filepath.Join(phy, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	for i := range stations {
		if err := m.join(i); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// join adds a station.
func (m *machine) join(i int) error {
	dir := filepath.Join(m.phy, "netdev:wlan0/stations", fmt.Sprintf("02:00:00:00:%02x:%02x", i>>8, i&255))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"aqm": stationAQM, "aql": stationAQL, "airtime": stationAirtime} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	m.stations = append(m.stations, dir)
	return nil
}

// What is in the files of a busy radio.
const (
	aqlPending     = "AC     AQL pending\nVO     0 us\nVI     0 us\nBE     3000 us\nBK     0 us\ntotal  3000 us\n"
	radioAQM       = "access name value\nR fq_flows_cnt 4096\nR fq_backlog 100\nR fq_overlimit 0\nR fq_overmemory 0\nR fq_collisions 14\nR fq_memory_usage 230400\nRW fq_memory_limit 16777216\nRW fq_limit 8192\nRW fq_quantum 300\n"
	stationAQL     = "Q depth: VO: 0 us VI: 0 us BE: 3000 us BK: 0 us\nQ limit[low/high]: VO: 5000/12000 VI: 5000/12000 BE: 5000/12000 BK: 5000/12000\n"
	stationAirtime = "RX: 0 us\nTX: 1000000000 us\nWeight: 256\nDeficit: VO: 256 us VI: 256 us BE: -187 us BK: 256 us\n"
)

var stationAQM = "tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags\n" +
	"0 2 45420 30 812 14 3 0 2 1000000000 1000000000 0x2(RUN AMPDU)\n" +
	"1 3 0 0 0 0 0 0 0 0 0 0x0(RUN)\n2 3 0 0 0 0 0 0 0 0 0 0x0(RUN)\n3 2 0 0 0 0 0 0 0 0 0 0x0(RUN)\n" +
	"4 1 0 0 0 0 0 0 0 0 0 0x0(RUN)\n5 1 0 0 0 0 0 0 0 0 0 0x0(RUN)\n" +
	"6 0 0 0 12 0 0 0 0 52340 311 0x0(RUN)\n7 0 0 0 0 0 0 0 0 0 0 0x0(RUN)\n" +
	"8 2 0 0 0 0 0 0 0 0 0 0x0(RUN)\n9 3 0 0 0 0 0 0 0 0 0 0x0(RUN)\n10 3 0 0 0 0 0 0 0 0 0 0x0(RUN)\n11 2 0 0 0 0 0 0 0 0 0 0x0(RUN)\n" +
	"12 1 0 0 0 0 0 0 0 0 0 0x0(RUN)\n13 1 0 0 0 0 0 0 0 0 0 0x0(RUN)\n14 0 0 0 0 0 0 0 0 0 0 0x0(RUN)\n15 0 0 0 0 0 0 0 0 0 0 0x0(RUN)\n"

// kernel is the machine's debugfs under load: what a busy radio changes from one
// reading to the next does change, on its way from the file.
type kernel struct {
	tree.Dir
	active int  // stations that are sent something; the first ones
	real   bool // the files are those of an idle radio
}

// busy is what stands in for the texts of an idle radio, by the file's name.
var busy = map[string]string{
	"aql_pending": aqlPending, "aqm": radioAQM,
	"stations/aqm": stationAQM, "stations/aql": stationAQL, "stations/airtime": stationAirtime,
}

// moving are the numbers that change, by the file's name: the text that stands
// for each, how much it grows, and what it stays below (from its start).
var moving = map[string][]number{
	"aql_pending":    {{"3000", 137, 900}, {"3000", 137, 900}},
	"aqm":            {{"100", 7, 800}},
	"num_pending_tx": {{"120", 11, 700}},
	"stations/aqm":   {{"45420", 1514, 40000}, {"1000000000", 45420, 3e9}, {"1000000000", 30, 3e9}},
	"stations/aql":   {{"3000", 137, 900}},
	// Much less than a window, or all of them together have more airtime than there is.
	"stations/airtime": {{"1000000000", 300, 3e9}, {"187", 13, 600}},
}

type number struct {
	text        string
	step, below uint32
}

// Open opens a file and finds out what is to move in it.
func (k kernel) Open(name string) (tree.File, error) {
	f, err := k.Dir.Open(name)
	if err != nil {
		return nil, err
	}
	key := filepath.Base(name)
	if i := strings.LastIndex(name, ":"); strings.Contains(name, "/stations/") {
		low, _ := strconv.ParseUint(name[i+1:i+3], 16, 8)
		high, _ := strconv.ParseUint(name[i-2:i], 16, 8)
		if int(high<<8|low) >= k.active {
			if k.real && key == "airtime" {
				return &live{File: f, text: stationAirtime}, nil // it was sent something once
			}
			return f, nil
		}
		key = "stations/" + key
	}
	buf := make([]byte, 4096)
	n, err := f.ReadFresh(buf)
	if err != nil {
		return nil, err
	}
	l := &live{File: f}
	if text := busy[key]; k.real && text != "" {
		l.text = text
		n = copy(buf, text)
	}
	from := 0
	for _, m := range moving[key] {
		at := bytes.Index(buf[from:n], []byte(m.text))
		if at < 0 {
			return nil, fmt.Errorf("%s: no number %s", name, m.text)
		}
		start, _ := strconv.ParseUint(m.text, 10, 32)
		l.moving = append(l.moving, place{at: from + at, width: len(m.text), start: uint32(start), step: m.step, below: m.below})
		from += at + len(m.text)
	}
	return l, nil
}

// live is a file whose numbers move.
type live struct {
	tree.File
	text   string // in place of the file's, unless empty
	moving []place
}

type place struct {
	at, width          int
	start, step, below uint32
	grown              uint32
}

func (l *live) ReadFresh(p []byte) (int, error) {
	n, err := l.File.ReadFresh(p)
	if err != nil || n == len(p) || len(l.text) >= len(p) {
		return n, err
	}
	if l.text != "" {
		n = copy(p, l.text)
	}
	for i := range l.moving {
		m := &l.moving[i]
		if m.grown += m.step; m.grown >= m.below {
			m.grown -= m.below
		}
		v := m.start + m.grown
		for at := m.at + m.width - 1; at >= m.at; at-- {
			p[at] = byte('0' + v%10)
			v /= 10
		}
	}
	return n, nil
}

// Write does what mac80211 does with a limit.
func (k kernel) Write(name string, command []byte) error {
	if k.real || filepath.Base(name) != "aql_txq_limit" {
		return k.Dir.Write(name, command)
	}
	var ac wlan.AC
	var to wlan.Limit
	if _, err := fmt.Sscan(string(command), &ac, &to.LowUs, &to.HighUs); err != nil {
		return err
	}
	text, err := tree.Read(k.Dir, name)
	if err != nil {
		return err
	}
	var now debugfs.AQLTxqLimit
	if err := debugfs.ParseAQLTxqLimit(text, &now); err != nil {
		return err
	}
	row := func(l wlan.Limit) []byte { return fmt.Appendf(nil, "%s\t%d\t\t%d\n", ac, l.LowUs, l.HighUs) }
	return os.WriteFile(filepath.Join(string(k.Dir), name), bytes.Replace(text, row(now.Limits[ac]), row(to), 1), 0o644)
}
