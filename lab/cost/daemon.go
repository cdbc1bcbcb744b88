// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// daemonStations is the number for which memory has a bar.
const daemonStations = 128

// daemon starts the real binary on the files of a machine, a few times, and tells
// how long it took to be ready, and its memory after some seconds of work.
func daemon(o options, dir string, out, summary io.Writer) (missed int, err error) {
	m, err := newMachine(filepath.Join(dir, "daemon"), o.tree, daemonStations)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(o.airtuned)
	if err != nil {
		return 0, err
	}
	var ready, rss []float64
	for range 5 {
		r, kb, err := m.runDaemon(o.airtuned)
		if err != nil {
			return 0, err
		}
		ready, rss = append(ready, r.Seconds()), append(rss, kb)
		fmt.Fprintf(out, "BenchmarkDaemon/stations=%d\t1\t%d ns/start\t%.0f RSS-bytes\t%d binary-bytes\n",
			daemonStations, r.Nanoseconds(), kb*1024, info.Size())
	}
	verdict := "held"
	if median(rss)*1024 > maxRSSBytes {
		verdict, missed = "MISSED", 1
	}
	fmt.Fprintf(summary, "the daemon with %d stations: ready after %.0f ms; RSS %.1f MB; %s. Its binary: %d bytes\n",
		daemonStations, median(ready)*1000, median(rss)*1024/1e6, verdict, info.Size())

	event, silent, err := m.joinTimes(o, filepath.Join(dir, "daemon/loop"))
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "BenchmarkJoin/told=yes\t1\t%d ns/join\nBenchmarkJoin/told=no\t1\t%d ns/join\n", event.Nanoseconds(), silent.Nanoseconds())
	fmt.Fprintf(summary, "a station that joins has the radio's limits at once (the kernel's doing), and is decided about %d ms later, %d ms where netlink is missing (virtual time)\n",
		event.Milliseconds(), silent.Milliseconds())
	return missed, nil
}

var vmRSS = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// runDaemon runs it for ten seconds.
func (m *machine) runDaemon(binary string) (ready time.Duration, rssKB float64, err error) {
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.dir + "/notify", Net: "unixgram"})
	if err != nil {
		return 0, 0, err
	}
	defer notify.Close()
	config := m.dir + "/airtuned.yaml"
	// The sandbox is made for the files of a real system.
	if err := os.WriteFile(config, []byte("sandbox: false\n"), 0o600); err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(binary, "--sys", m.dir+"/sys", "--debugfs", m.dir+"/debug", "--proc", m.dir+"/proc",
		"--state", m.dir+"/state", "--socket", m.dir+"/socket", "--no-netlink", "run", "--config", config)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+m.dir+"/notify")
	var log strings.Builder
	cmd.Stderr = &log
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	buf := make([]byte, 4096)
	for !strings.Contains(string(buf), "READY=1") {
		if err := notify.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			return 0, 0, err
		}
		if _, err := notify.Read(buf); err != nil {
			return 0, 0, fmt.Errorf("%s is not ready: %w\n%s", binary, err, &log)
		}
	}
	ready = time.Since(start)
	time.Sleep(10 * time.Second)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	match := vmRSS.FindSubmatch(status)
	if match == nil {
		return 0, 0, errors.New("no VmRSS")
	}
	rssKB, err = strconv.ParseFloat(string(match[1]), 64)
	if err != nil {
		return 0, 0, err
	}
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		return 0, 0, err
	}
	ended = true
	if err := cmd.Wait(); err != nil {
		return 0, 0, fmt.Errorf("%s: %w\n%s", binary, err, &log)
	}
	return ready, rssKB, os.Remove(m.dir + "/notify")
}

// joinTimes is how long, on the loop's time, a station that joined is not yet
// decided about: with netlink's event, and without.
func (m *machine) joinTimes(o options, state string) (event, silent time.Duration, err error) {
	l, err := newLoop(m, o, state)
	if err != nil {
		return 0, 0, err
	}
	for _, told := range []bool{true, false} {
		l.step(7*samplesPerWindow + 1) // not just before a look
		if err := m.join(len(m.stations)); err != nil {
			return 0, 0, err
		}
		from := l.now
		if told {
			l.t.Rescan()
		}
		for len(l.t.Status().Stations) < len(m.stations) {
			if l.step(1); l.now.Sub(from) > time.Minute {
				return 0, 0, errors.New("a station that joined is not seen")
			}
		}
		if took := l.now.Sub(from); told {
			event = took
		} else {
			silent = took
		}
	}
	return event, silent, nil
}
