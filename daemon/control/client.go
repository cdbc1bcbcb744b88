package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"time"
)

// Client is a connection to the daemon. It is for one goroutine.
type Client struct {
	conn  net.Conn
	lines *bufio.Reader
	next  int
}

// callTimeout bounds the wait for an answer, which a living daemon gives in
// time.
const callTimeout = answer + 5*time.Second

// Dial connects to the daemon. The error wraps ErrUnreachable if there is
// none, ErrDenied if this user may not talk to it.
func Dial(path string) (*Client, error) {
	// This does not wait for a daemon that accepts no connections: it fails. And
	// unlike net.Dial it does not link the resolver of host names.
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w to use %s: be root, or join the socket's group", ErrDenied, path)
	case err != nil:
		return nil, fmt.Errorf("%w: is it running? (%w)", ErrUnreachable, err)
	}
	return &Client{conn: conn, lines: bufio.NewReader(conn)}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Call calls a method and decodes its result, unless that is nil. An error of
// the daemon is an *Error. Params may be nil.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.during(ctx, callTimeout, func() error {
		c.next++
		id := strconv.Itoa(c.next)
		line, err := json.Marshal(struct {
			Version string `json:"jsonrpc"`
			ID      int    `json:"id"`
			Method  string `json:"method"`
			Params  any    `json:"params,omitempty"`
		}{version, c.next, method, params})
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		// If the daemon has turned us away, writing fails, but why is readable.
		_, werr := c.conn.Write(append(line, '\n'))
		for {
			r, err := c.read()
			switch {
			case err != nil && werr != nil:
				return fmt.Errorf("%w: %w", ErrUnreachable, werr)
			case err != nil:
				return err
			case r.Error != nil && (bytes.Equal(r.ID, null) || string(r.ID) == id):
				return r.Error
			case string(r.ID) != id:
				continue // a notification
			case result == nil:
				return nil
			}
			if err := json.Unmarshal(r.Result, result); err != nil {
				return fmt.Errorf("%s: the daemon's answer is not understood: %w", method, err)
			}
			return nil
		}
	})
}

// Subscribe hands each status to fn, one every interval, until ctx ends, fn
// returns an error, or the daemon goes.
func (c *Client) Subscribe(ctx context.Context, interval time.Duration, fn func(status json.RawMessage) error) error {
	if err := c.Call(ctx, "subscribe", map[string]string{"interval": interval.String()}, nil); err != nil {
		return err
	}
	return c.Notifications(ctx, "status", fn)
}

// Notifications hands each notification of a method that was called to fn, until
// ctx ends, fn returns an error, or the daemon goes.
func (c *Client) Notifications(ctx context.Context, method string, fn func(params json.RawMessage) error) error {
	return c.during(ctx, 0, func() error {
		for {
			r, err := c.read()
			if err != nil {
				return err
			}
			if r.Error != nil {
				return r.Error
			}
			if r.Method != method {
				continue
			}
			if err := fn(r.Params); err != nil {
				return err
			}
		}
	})
}

// during runs fn and makes its reads and writes fail when ctx ends, or after a
// time that is not 0.
func (c *Client) during(ctx context.Context, timeout time.Duration, fn func() error) error {
	deadline := time.Time{}
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	_ = c.conn.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	err := fn()
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// read reads one object.
func (c *Client) read() (response, error) {
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it closed the connection")
		} else if errors.Is(err, os.ErrDeadlineExceeded) {
			err = errors.New("it does not answer")
		}
		return response{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	var r response
	// An id of null is told from none by the raw text.
	if err := json.Unmarshal(line, &r); err != nil {
		return response{}, fmt.Errorf("%w: not our protocol: %w", ErrUnreachable, err)
	}
	return r, nil
}

// decodeStrict refuses fields that the struct does not have.
func decodeStrict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}
