package compare

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/tree"
	"airtuned/tuner"
	"airtuned/wlan"
)

const (
	// pingEvery is how often each station is pinged, as by flent.
	pingEvery = 200 * time.Millisecond
	// pingMost is how many stations are: echoes are load as well.
	pingMost = 16
	// pingLost is after what time an answer does not count any more.
	pingLost = 2 * time.Second
	echo     = 8 // ICMP types, RFC 792
	reply    = 0
	icmpSize = 64
)

// Neighbours are the IPv4 addresses of stations in the text of /proc/net/arp
// (net/ipv4/arp.c, arp_format_neigh_entry): a line per entry under a heading, with
// the address, its hardware type, flags and hardware address. Entries that are not
// complete are left out.
func Neighbours(text string) map[wlan.MAC][4]byte {
	out := map[wlan.MAC][4]byte{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 6 || f[2] == "0x0" {
			continue
		}
		mac, err := wlan.ParseMAC(f[3])
		if err != nil {
			continue
		}
		if ip, ok := parseIPv4(f[0]); ok {
			out[mac] = ip
		}
	}
	return out
}

func parseIPv4(s string) (ip [4]byte, ok bool) {
	parts := strings.Split(s, ".")
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil || i == len(ip) {
			return ip, false
		}
		ip[i] = byte(n)
	}
	return ip, len(parts) == len(ip)
}

// Pinger sends echo requests to stations and waits for the answers.
type Pinger struct {
	proc tree.FS
	fd   int
	id   uint16

	mu      sync.Mutex
	targets map[wlan.MAC][4]byte
	known   int // stations, with an address or without
	sent    map[uint16]request
	next    uint16
	pings   []Ping
	lost    int
	done    chan struct{}
	wg      sync.WaitGroup
}

type request struct {
	at time.Time
	to [4]byte
}

// ErrNoPing is wrapped by the error of NewPinger where the kernel allows none.
var ErrNoPing = errors.New("this user may not send pings")

// NewPinger opens a socket for pings, and sends none before it has an aim.
func NewPinger(proc tree.FS) (*Pinger, error) {
	p := &Pinger{proc: proc, sent: map[uint16]request{}, done: make(chan struct{}), id: uint16(unix.Getpid())}
	// Whoever may set a policy may have this, too; the socket for users
	// (net.ipv4.ping_group_range) is often closed even to root.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: %w", ErrNoPing, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open a socket for pings: %w", err)
	}
	p.fd = fd
	// So that reading comes round, and sees the end.
	wait := unix.NsecToTimeval(pingEvery.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("set up a socket for pings: %w", err)
	}
	p.wg.Go(p.send)
	p.wg.Go(p.receive)
	return p, nil
}

// Close ends it.
func (p *Pinger) Close() {
	close(p.done)
	p.wg.Wait()
	unix.Close(p.fd)
}

// Aim makes the stations of a status those that are pinged.
func (p *Pinger) Aim(s *tuner.Status) {
	text, _ := tree.ReadString(p.proc, "net/arp") // none: no addresses
	known := Neighbours(text)
	targets := map[wlan.MAC][4]byte{}
	for i := range s.Stations {
		if ip, ok := known[s.Stations[i].MAC]; ok && len(targets) < pingMost {
			targets[s.Stations[i].MAC] = ip
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets, p.known = targets, len(s.Stations)
}

// Reach is how many of the stations are pinged.
func (p *Pinger) Reach() (pinged, stations int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.targets), p.known
}

// Take returns what came since it was last called.
func (p *Pinger) Take() ([]Ping, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pings, lost := p.pings, p.lost
	p.pings, p.lost = nil, 0
	return pings, lost
}

// send sends one round after the other, the requests spread over its time.
func (p *Pinger) send() {
	for {
		p.mu.Lock()
		var round [][4]byte
		for _, ip := range p.targets {
			round = append(round, ip)
		}
		for seq, r := range p.sent {
			if time.Since(r.at) > pingLost {
				delete(p.sent, seq)
				p.lost++
			}
		}
		p.mu.Unlock()
		pause := pingEvery / time.Duration(max(len(round), 1))
		for i := range max(len(round), 1) {
			if i < len(round) {
				p.request(round[i])
			}
			select {
			case <-p.done:
				return
			case <-time.After(pause):
			}
		}
	}
}

func (p *Pinger) request(to [4]byte) {
	p.mu.Lock()
	seq := p.next
	p.next++
	p.sent[seq] = request{time.Now(), to}
	p.mu.Unlock()
	err := unix.Sendto(p.fd, newEcho(p.id, seq), 0, &unix.SockaddrInet4{Addr: to})
	if err != nil { // no route just now, or no room: not the radio's loss
		p.mu.Lock()
		delete(p.sent, seq)
		p.mu.Unlock()
	}
}

// newEcho is an echo request (RFC 792).
func newEcho(id, seq uint16) []byte {
	b := make([]byte, icmpSize)
	b[0] = echo
	binary.BigEndian.PutUint16(b[4:], id)
	binary.BigEndian.PutUint16(b[6:], seq)
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(b[2:], ^uint16(sum+sum>>16))
	return b
}

// parseReply finds the identifier and number of an echo reply in an IPv4 packet,
// which is what a raw socket has.
func parseReply(b []byte) (id, seq uint16, ok bool) {
	if len(b) < 20 || b[0]>>4 != 4 || len(b) < int(b[0]&15)*4+8 {
		return 0, 0, false
	}
	b = b[int(b[0]&15)*4:]
	return binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:]), b[0] == reply
}

func (p *Pinger) receive() {
	b := make([]byte, 1500)
	for {
		n, from, err := unix.Recvfrom(p.fd, b, 0)
		now := time.Now()
		select {
		case <-p.done:
			return
		default:
		}
		if err != nil {
			if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
				time.Sleep(pingEvery) // an ICMP error of some station; not in a hurry
			}
			continue
		}
		id, seq, ok := parseReply(b[:n])
		at, isIPv4 := from.(*unix.SockaddrInet4)
		if !ok || !isIPv4 || id != p.id {
			continue
		}
		p.mu.Lock()
		if r, ok := p.sent[seq]; ok && r.to == at.Addr {
			delete(p.sent, seq)
			p.pings = append(p.pings, Ping{At: now, RTT: now.Sub(r.at)})
		}
		p.mu.Unlock()
	}
}
