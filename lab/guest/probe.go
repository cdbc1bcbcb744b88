// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// probe is a series of packets to a station whose delay is measured: pings, or
// one direction of a call. Its packets are numbered from 0.
type probe struct {
	begin time.Time
	sent  []time.Duration
	delay []time.Duration // -1 until it arrives
}

// send notes that the next packet leaves.
func (p *probe) send() (number int) {
	p.sent = append(p.sent, time.Since(p.begin))
	p.delay = append(p.delay, -1)
	return len(p.sent) - 1
}

// arrived notes that a packet, or its answer, is here.
func (p *probe) arrived(number int) {
	if number < len(p.sent) && p.delay[number] < 0 {
		p.delay[number] = time.Since(p.begin) - p.sent[number]
	}
}

// between is what became of the packets sent from one time to another, in
// milliseconds: of those that arrived, and how many were sent.
func (p *probe) between(from, to time.Duration) (ms []float64, sent int) {
	for i, at := range p.sent {
		if at < from || at >= to {
			continue
		}
		sent++
		if p.delay[i] >= 0 {
			ms = append(ms, p.delay[i].Seconds()*1000)
		}
	}
	return ms, sent
}

// pinger sends ICMP echo requests. There is one for all.
type pinger struct {
	conn   *net.IPConn
	probes map[uint16]*probe // by the identifier in the message
}

func newPinger() (*pinger, error) {
	c, err := net.ListenIP("ip4:icmp", &net.IPAddr{IP: net.ParseIP(apAddr)})
	if err != nil {
		return nil, fmt.Errorf("ping: %w", err)
	}
	p := &pinger{c, map[uint16]*probe{}}
	go p.receive()
	return p, nil
}

const (
	echoReply   = 0
	echoRequest = 8
	echoHeader  = 8
	echoSize    = 64 // as ping's
)

func (p *pinger) receive() {
	var b [256]byte
	for {
		n, _, err := p.conn.ReadFromIP(b[:])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || n < echoHeader+4 || b[0] != echoReply {
			continue
		}
		if to := p.probes[binary.BigEndian.Uint16(b[4:])]; to != nil {
			to.arrived(int(binary.BigEndian.Uint32(b[8:])))
		}
	}
}

// ping pings a station every 10 to 30 ms, at times that are in step with
// nothing else, until done is closed.
func (p *pinger) ping(st *station, to *probe, random *rand.Rand, done <-chan struct{}) {
	id := uint16(st.radio.index)
	p.probes[id] = to
	addr := &net.IPAddr{IP: net.ParseIP(st.addr)}
	for every(10*time.Millisecond, 30*time.Millisecond, random, done) {
		number := to.send()
		var b [echoSize]byte
		b[0] = echoRequest
		binary.BigEndian.PutUint16(b[4:], id)
		binary.BigEndian.PutUint16(b[6:], uint16(number))
		binary.BigEndian.PutUint32(b[8:], uint32(number))
		binary.BigEndian.PutUint16(b[2:], checksum(b[:]))
		// What cannot be sent is lost.
		p.conn.WriteToIP(b[:], addr)
	}
}

// checksum is the Internet's, of an even number of bytes.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

const (
	voipPort = 5004
	voipSize = 172 // RTP with 20 ms of G.711
)

// tos has the stack choose an access category (net/wireless/util.c,
// cfg80211_classify8021d: the precedence is the user priority).
var tos = map[string]int{"VO": 0xc0, "VI": 0xa0, "BE": 0, "BK": 0x20}

// call sends a call's packets to a station, 50 a second, until done is closed.
func call(st *station, to *probe, random *rand.Rand, done <-chan struct{}) error {
	var in, out *net.UDPConn
	if err := st.do(func() (err error) {
		in, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(st.addr), Port: voipPort})
		return err
	}); err != nil {
		return fmt.Errorf("call: %w", err)
	}
	out, err := net.DialUDP("udp4", nil, in.LocalAddr().(*net.UDPAddr))
	if err != nil {
		return fmt.Errorf("call: %w", err)
	}
	raw, err := out.SyscallConn()
	if err != nil {
		return err
	}
	raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, tos[st.Group.VoIP])
	})
	if err != nil {
		return fmt.Errorf("call: %w", err)
	}
	go func() {
		var b [voipSize]byte
		for {
			n, err := in.Read(b[:])
			if err != nil {
				return
			}
			if n == voipSize {
				to.arrived(int(binary.BigEndian.Uint32(b[:])))
			}
		}
	}()
	go func() {
		var b [voipSize]byte
		for every(20*time.Millisecond, 20*time.Millisecond, random, done) {
			binary.BigEndian.PutUint32(b[:], uint32(to.send()))
			out.Write(b[:])
		}
	}()
	return nil
}

// every waits for a random time between two, and reports whether to go on.
func every(least, most time.Duration, random *rand.Rand, done <-chan struct{}) bool {
	d := least
	if most > least {
		d += time.Duration(random.Int64N(int64(most - least)))
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-done:
		return false
	}
}
