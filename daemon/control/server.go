package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// Method carries out one method. It must return soon after ctx ends. Results
// are sent as JSON. An error that is not an *Error is sent with CodeFailed.
type Method struct {
	// Change marks a method that only root may call.
	Change bool
	Call   func(ctx context.Context, call Call) (any, error)
	// Stream, in place of Call, answers and then sends notifications of the
	// method's name: run does so until ctx ends or a send fails, and is called
	// whatever became of the answer. When it returns, the connection ends.
	Stream func(ctx context.Context, call Call) (result any, run func(ctx context.Context, send func(any) error), err error)
}

// Call is one call of a method.
type Call struct {
	// Params is a JSON object, or empty.
	Params json.RawMessage
	// MayChange is whether the peer may change something.
	MayChange bool
}

// Decode reads the parameters into a struct, strictly.
func (c Call) Decode(params any) error {
	if f := first(c.Params); f == 0 || f == 'n' {
		return nil
	}
	if err := decodeStrict(c.Params, params); err != nil {
		return Errorf(CodeParams, "params: %v", err)
	}
	return nil
}

// Server serves the control socket.
type Server struct {
	// Methods by name. "subscribe" is the server's own; it calls "status".
	Methods map[string]Method
	Log     *slog.Logger

	mu    sync.Mutex
	conns map[*conn]struct{}
	free  time.Time // when the next request that is paced may be served
	wg    sync.WaitGroup
}

// Serve serves clients until ctx ends; then it closes the socket, which also
// removes its file, and the connections.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	defer s.wg.Wait()
	defer s.closeAll()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	for pause := time.Millisecond; ; {
		nc, err := l.AcceptUnix()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				nc.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			// Out of file descriptors or memory: it may get better.
			s.Log.Warn("accept a control connection", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = time.Millisecond
		if !s.admit(ctx, l.Group, nc) {
			time.Sleep(pace) // who knocks without end is let in no sooner
		}
	}
}

// wait waits for the turn of a request that is paced; false if ctx ends first.
func (s *Server) wait(ctx context.Context) bool {
	s.mu.Lock()
	now := time.Now()
	turn := s.free
	if turn.Before(now) {
		turn = now
	}
	s.free = turn.Add(pace)
	s.mu.Unlock()
	if turn == now {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(turn.Sub(now)):
		return true
	}
}

// charge puts the next turn off by what some bytes cost.
func (s *Server) charge(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.free.Before(now) {
		s.free = now
	}
	s.free = s.free.Add(time.Duration(bytes) * perByte)
}

// admit starts serving a client, or turns it away.
func (s *Server) admit(ctx context.Context, gid int, nc *net.UnixConn) bool {
	c := &conn{UnixConn: nc, server: s}
	refuse := func(err *Error) {
		// There is room for this much in a new socket's buffer, so this does
		// not wait; if it would, the client goes without.
		_ = nc.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		_, _ = c.write(response{ID: null, Error: err})
		nc.Close()
	}
	peer, err := peerOf(nc)
	if err != nil {
		s.Log.Warn("a control connection was refused", "error", err)
		nc.Close()
		return false
	}
	root := peer.UID == 0
	// A daemon that is not root's, as in a test or a demonstration, belongs to
	// the user who started it.
	c.mayChange = root || int(peer.UID) == os.Geteuid()
	if !c.mayChange && !peer.in(gid) {
		refuse(Errorf(CodeDenied, "not permitted: be root, or a member of the control socket's group"))
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.conns); n >= MaxConns || n >= MaxConns-rootConns && !root {
		refuse(Errorf(CodeBusy, "too many connections: close some, or try again later"))
		return false
	}
	if s.conns == nil {
		s.conns = map[*conn]struct{}{}
	}
	s.conns[c] = struct{}{}
	s.wg.Go(func() {
		defer s.forget(c)
		c.serve(ctx)
	})
	return true
}

func (s *Server) forget(c *conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *Server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// conn is one client. It is served by one goroutine, and after subscribe by a
// second one that only writes.
type conn struct {
	*net.UnixConn
	server    *Server
	mayChange bool

	// then is done after the present request was answered.
	then func()

	mu         sync.Mutex // held to write, and for subscribed
	subscribed bool
}

var errTooLong = errors.New("line too long")

// serve answers one line after the other.
func (c *conn) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var subscription sync.WaitGroup
	defer subscription.Wait()
	defer c.Close() // ends a notification that is being written
	defer cancel()

	lines := bufio.NewReader(c)
	for {
		if !c.turn(ctx) {
			return
		}
		c.expect()
		line, err := readLine(lines)
		c.charge(len(line))
		switch {
		case errors.Is(err, errTooLong):
			c.fail(null, Errorf(CodeRequest, "a request has at most %d bytes", MaxLine))
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.fail(null, Errorf(CodeRequest, "no request within %v", idle))
			return
		case errors.Is(err, io.ErrUnexpectedEOF):
			c.fail(null, Errorf(CodeParse, "the last line has no end"))
			return
		case err != nil:
			return
		}
		if first(line) == 0 {
			continue
		}
		req, rerr := parseRequest(line)
		if rerr != nil {
			// A notification must not be answered, but what cannot be read is none.
			if req.ID == nil {
				req.ID = null
			}
			if c.fail(req.ID, rerr) != nil {
				return
			}
			continue
		}
		result, rerr := c.call(ctx, req, &subscription)
		switch {
		case req.ID == nil:
		case rerr != nil:
			err = c.fail(req.ID, rerr)
		default:
			err = c.reply(response{ID: req.ID, Result: result})
		}
		if c.then != nil { // what has begun has to be ended even if the client has gone
			c.then()
			c.then = nil
		}
		if err != nil {
			return
		}
	}
}

// turn waits until it is the client's turn; false if ctx ends first. Root never
// waits.
func (c *conn) turn(ctx context.Context) bool { return c.mayChange || c.server.wait(ctx) }

// charge is the server's for clients that are paced.
func (c *conn) charge(bytes int) {
	if !c.mayChange {
		c.server.charge(bytes)
	}
}

// expect sets by when the next line must be there. Subscribers may be silent:
// whether they live shows when they are written to.
func (c *conn) expect() {
	deadline := time.Now().Add(idle)
	c.mu.Lock()
	if c.subscribed {
		deadline = time.Time{}
	}
	c.mu.Unlock()
	_ = c.SetReadDeadline(deadline)
}

// readLine returns a line without its end. A last line without one is
// io.ErrUnexpectedEOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > MaxLine+1 {
			return line, errTooLong
		}
		line = append(line, part...)
		switch err {
		case nil:
			return line[:len(line)-1], nil
		case bufio.ErrBufferFull:
		case io.EOF:
			if len(line) > 0 {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		default:
			return nil, err
		}
	}
}

// call carries out a request.
func (c *conn) call(ctx context.Context, req request, subscription *sync.WaitGroup) (json.RawMessage, *Error) {
	if req.Method == "subscribe" {
		return c.subscribe(ctx, req, subscription)
	}
	m, ok := c.server.Methods[req.Method]
	if !ok {
		return nil, Errorf(CodeNoMethod, "no method %q", req.Method)
	}
	if m.Change && !c.mayChange {
		return nil, Errorf(CodeDenied, "%s is for root only", req.Method)
	}
	if m.Stream != nil {
		return c.stream(ctx, req, m, subscription)
	}
	return c.run(ctx, m, req.Params)
}

// stream starts a method that sends notifications.
func (c *conn) stream(ctx context.Context, req request, m Method, subscription *sync.WaitGroup) (json.RawMessage, *Error) {
	if !c.claim() {
		return nil, Errorf(CodeRequest, "already subscribed")
	}
	var run func(context.Context, func(any) error)
	result, rerr := c.run(ctx, Method{Call: func(ctx context.Context, call Call) (result any, err error) {
		result, run, err = m.Stream(ctx, call)
		return result, err
	}}, req.Params)
	if rerr != nil {
		c.mu.Lock()
		c.subscribed = false
		c.mu.Unlock()
		return nil, rerr
	}
	c.then = func() {
		subscription.Go(func() {
			defer c.Close()
			run(ctx, func(params any) error {
				b, err := json.Marshal(params)
				if err != nil {
					return err
				}
				return c.reply(response{Method: req.Method, Params: b})
			})
		})
	}
	return result, nil
}

// claim makes the connection one that is sent notifications; false if it is.
func (c *conn) claim() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	free := !c.subscribed
	c.subscribed = true
	return free
}

// run carries out a method in its time.
func (c *conn) run(ctx context.Context, m Method, params json.RawMessage) (json.RawMessage, *Error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	result, err := m.Call(ctx, Call{params, c.mayChange})
	var known *Error
	switch {
	case errors.As(err, &known):
		return nil, known
	case errors.Is(err, context.DeadlineExceeded):
		return nil, Errorf(CodeBusy, "no answer within %v: the radio is busy in the kernel; try again", answer)
	case err != nil:
		return nil, Errorf(CodeFailed, "%v", err)
	}
	b, err := json.Marshal(result)
	if err != nil {
		return nil, Errorf(CodeInternal, "%v", err)
	}
	return b, nil
}

// subscribe starts to send the status every interval, the first one at once.
func (c *conn) subscribe(ctx context.Context, req request, subscription *sync.WaitGroup) (json.RawMessage, *Error) {
	var params struct {
		Interval string `json:"interval"`
	}
	if err := (Call{Params: req.Params}).Decode(&params); err != nil {
		return nil, err.(*Error)
	}
	interval := defaultInterval
	if params.Interval != "" {
		var err error
		interval, err = time.ParseDuration(params.Interval)
		if err != nil || interval < minInterval || interval > maxInterval {
			return nil, Errorf(CodeParams, "interval %q is not a duration from %v to %v", params.Interval, minInterval, maxInterval)
		}
	}
	status, ok := c.server.Methods["status"]
	if !ok {
		return nil, Errorf(CodeNoMethod, "there is no status to subscribe to")
	}
	if !c.claim() {
		return nil, Errorf(CodeRequest, "already subscribed")
	}
	c.then = func() {
		subscription.Go(func() {
			defer c.Close() // a client that does not take what it asked for
			c.notify(ctx, status, interval)
		})
	}
	return json.RawMessage(`{"interval":"` + interval.String() + `"}`), nil
}

// notify sends notifications until the client no longer takes them.
func (c *conn) notify(ctx context.Context, status Method, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if !c.turn(ctx) {
			return
		}
		if result, err := c.run(ctx, status, nil); err != nil {
			c.server.Log.Debug("no status for a subscriber", "error", err)
		} else if c.reply(response{Method: "status", Params: result}) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *conn) fail(id json.RawMessage, err *Error) error {
	return c.reply(response{ID: id, Error: err})
}

// reply sends one object in the time a client has for that.
func (c *conn) reply(r response) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.SetWriteDeadline(time.Now().Add(send))
	n, err := c.write(r)
	c.charge(n)
	return err
}

// write sends one object on a line of its own.
func (c *conn) write(r response) (int, error) {
	r.Version = version
	b, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	return c.Write(append(b, '\n'))
}
