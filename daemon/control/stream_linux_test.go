package control

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
)

// streams are methods that send notifications. ended is told when one ends.
func streams(ended chan<- struct{}) map[string]Method {
	m := methods()
	m["count"] = Method{Change: true, Stream: func(_ context.Context, c Call) (any, func(context.Context, func(any) error), error) {
		var p struct{ From int }
		if err := c.Decode(&p); err != nil {
			return nil, nil, err
		}
		if p.From < 0 {
			return nil, nil, Errorf(CodeParams, "below zero")
		}
		return map[string]bool{"ok": true}, func(ctx context.Context, send func(any) error) {
			defer func() { ended <- struct{}{} }()
			for n := p.From; ctx.Err() == nil && send(map[string]int{"n": n}) == nil; n++ {
				if n == 7 {
					return
				}
			}
		}, nil
	}}
	return m
}

func TestStream(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.sock")
	l, err := Listen(path, "", quiet)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{}, 9)
	s := Server{Log: quiet, Methods: streams(ended)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	defer func() { cancel(); <-done }()

	c := dial(t, path)
	var e *Error
	if err := c.Call(ctx, "count", map[string]int{"From": -1}, nil); !errors.As(err, &e) || e.Code != CodeParams {
		t.Errorf("a bad call: %v", err)
	}
	// It did not begin, so it can begin now. Its end is the connection's.
	var answer struct{ OK bool }
	if err := c.Call(ctx, "count", map[string]int{"From": 5}, &answer); err != nil || !answer.OK {
		t.Fatalf("%+v, %v", answer, err)
	}
	var got []string
	err = c.Notifications(ctx, "count", func(params json.RawMessage) error {
		got = append(got, string(params))
		return nil
	})
	if !errors.Is(err, ErrUnreachable) || len(got) != 3 || got[0] != `{"n":5}` || got[2] != `{"n":7}` {
		t.Errorf("got %q, %v", got, err)
	}
	<-ended

	// One for each connection, of whatever kind.
	c = dial(t, path)
	if err := c.Call(ctx, "count", map[string]int{"From": 8}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(ctx, "subscribe", nil, nil); !errors.As(err, &e) || e.Code != CodeRequest {
		t.Errorf("subscribed as well: %v", err)
	}
	// A client that goes ends its stream.
	c.Close()
	<-ended
}
