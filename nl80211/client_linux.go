package nl80211

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// dumpTries is how often a list is read when it changes while being read.
const dumpTries = 4

// Client asks the kernel about radios. It may be used by several goroutines;
// their requests take turns.
type Client struct {
	dial    func() (*genetlink.Conn, error)
	timeout time.Duration

	// turn is held by the request under way.
	turn    chan struct{}
	closing chan struct{}

	mu   sync.Mutex
	sock *socket // nil: to be opened anew
}

// socket is a generic netlink socket and what nl80211 is known by there.
type socket struct {
	*genetlink.Conn
	family genetlink.Family
}

// Dial connects to nl80211. The error wraps ErrUnavailable where there is no
// nl80211; it may appear later, when a driver is loaded.
func Dial() (*Client, error) {
	return newClient(func() (*genetlink.Conn, error) { return genetlink.Dial(nil) }, Timeout)
}

// New returns a client that connects when it is first asked something. It is
// for programs that may be there before nl80211 is; until then requests fail
// with ErrUnavailable.
func New() *Client {
	return unconnected(func() (*genetlink.Conn, error) { return genetlink.Dial(nil) }, Timeout)
}

func unconnected(dial func() (*genetlink.Conn, error), timeout time.Duration) *Client {
	return &Client{
		dial:    dial,
		timeout: timeout,
		turn:    make(chan struct{}, 1),
		closing: make(chan struct{}),
	}
}

func newClient(dial func() (*genetlink.Conn, error), timeout time.Duration) (*Client, error) {
	c := unconnected(dial, timeout)
	var err error
	if c.sock, err = c.open(); err != nil {
		return nil, err
	}
	return c, nil
}

// open returns a new socket that knows the nl80211 family.
func (c *Client) open() (*socket, error) {
	conn, err := c.dial()
	if err != nil {
		return nil, fmt.Errorf("%w: open a generic netlink socket: %w", ErrUnavailable, err)
	}
	// Neither is essential: better messages, and a bound on a reply that is lost.
	_ = conn.SetOption(netlink.ExtendedAcknowledge, true)
	_ = conn.SetDeadline(time.Now().Add(c.timeout))
	family, err := conn.GetFamily(unix.NL80211_GENL_NAME)
	if err != nil {
		conn.Close()
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: no cfg80211 in the kernel: %w", ErrUnavailable, err)
		}
		return nil, fmt.Errorf("look up the nl80211 family: %w", err)
	}
	return &socket{conn, family}, nil
}

// Close ends all requests. Streams of events go on until their context ends.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closing:
		return nil
	default:
	}
	close(c.closing)
	if c.sock == nil {
		return nil
	}
	return c.sock.Close()
}

// dump asks for a list and parses it, anew if it changed meanwhile.
func dump[T any](c *Client, cmd uint8, request func(*netlink.AttributeEncoder), parse func([]genetlink.Message) ([]T, error)) ([]T, error) {
	ae := netlink.NewAttributeEncoder()
	if request != nil {
		request(ae)
	}
	attrs, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	req := genetlink.Message{Header: genetlink.Header{Command: cmd}, Data: attrs}

	var list []T
	for range dumpTries {
		var msgs []genetlink.Message
		if msgs, err = c.exchange(req); err == nil {
			list, err = parse(msgs)
		}
		if !errors.Is(err, ErrInterrupted) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// exchange sends a request and returns all replies. It works in a goroutine of
// its own, to be left behind if the kernel does not come back in time.
func (c *Client) exchange(req genetlink.Message) ([]genetlink.Message, error) {
	timeout := time.NewTimer(c.timeout)
	defer timeout.Stop()

	select {
	case c.turn <- struct{}{}:
	case <-c.closing:
		return nil, net.ErrClosed
	case <-timeout.C:
		return nil, fmt.Errorf("the kernel is still busy with an earlier request: %w", os.ErrDeadlineExceeded)
	}

	type reply struct {
		msgs []genetlink.Message
		err  error
	}
	done := make(chan reply, 1)
	go func() {
		msgs, err := c.transact(req)
		<-c.turn
		done <- reply{msgs, err}
	}()

	select {
	case r := <-done:
		return r.msgs, r.err
	case <-c.closing:
		return nil, net.ErrClosed
	case <-timeout.C:
		return nil, fmt.Errorf("no reply from the kernel: %w", os.ErrDeadlineExceeded)
	}
}

// transact does what exchange promises, for as long as it takes. The caller
// has the turn. After a failure that may leave replies in the socket, the
// socket is given up, so that no reply is ever taken for that to another
// request.
func (c *Client) transact(req genetlink.Message) ([]genetlink.Message, error) {
	sock, err := c.socket()
	if err != nil {
		return nil, err
	}
	msgs, err := sock.roundTrip(req, c.timeout)
	if err != nil && !errors.Is(err, ErrInterrupted) && !refused(err) {
		c.drop(sock)
	}
	return msgs, err
}

// socket returns the socket, opened anew if the last one was given up.
func (c *Client) socket() (*socket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closing:
		return nil, net.ErrClosed
	default:
	}
	if c.sock == nil {
		var err error
		if c.sock, err = c.open(); err != nil {
			return nil, err
		}
	}
	return c.sock, nil
}

// drop gives up the socket.
func (c *Client) drop(sock *socket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sock.Close()
	c.sock = nil
}

// roundTrip sends a request for a dump and collects the replies.
func (s *socket) roundTrip(req genetlink.Message, timeout time.Duration) ([]genetlink.Message, error) {
	_ = s.SetDeadline(time.Now().Add(timeout))
	req.Header.Version = s.family.Version
	sent, err := s.Send(req, s.family.ID, netlink.Request|netlink.Dump)
	if err != nil {
		return nil, err
	}
	msgs, headers, err := s.Receive()
	if err != nil {
		return nil, err
	}
	if err := netlink.Validate(sent, headers); err != nil {
		return nil, err
	}
	for _, h := range headers {
		if h.Header.Flags&netlink.DumpInterrupted != 0 {
			return nil, ErrInterrupted
		}
	}
	return msgs, nil
}

// refused reports whether err is the kernel's answer to a request, which
// leaves the socket in order. ENOENT is not among them: the family is gone,
// because cfg80211 was unloaded, and will have another number when it is back.
func refused(err error) bool {
	var op *netlink.OpError
	if !errors.As(err, &op) {
		return false
	}
	errno, ok := op.Err.(syscall.Errno)
	return ok && errno != unix.ENOENT
}
