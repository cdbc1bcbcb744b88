package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtuned/daemon/control"
	"airtuned/metrics"
	"airtuned/radiosim"
	"airtuned/tuner"
)

// The daemon answers on its socket, and sees who comes and goes.
func TestRun(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	commands, tell := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, options{socket: socket, scenario: "one-slow", spare: 1, seed: 1}, commands, t.Output())
	}()
	var c *control.Client
	for c == nil {
		var err error
		if c, err = control.Dial(socket); errors.Is(err, control.ErrUnreachable) {
			select {
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(10 * time.Millisecond):
			}
		} else if err != nil {
			t.Fatal(err)
		}
	}
	defer c.Close()

	seen := errors.New("seen")
	want := []int{1, 2, 1} // stations
	err := c.Subscribe(ctx, 100*time.Millisecond, func(text json.RawMessage) error {
		var s metrics.Status
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		if len(s.Radios) != 1 || s.Radios[0].State == tuner.Observing || len(s.Radios[0].Stations) != want[0] {
			return nil
		}
		want = want[1:]
		switch len(want) {
		case 2:
			io.WriteString(tell, "join 1\n")
		case 1:
			io.WriteString(tell, "leave 1\n")
		case 0:
			return seen
		}
		return nil
	})
	if !errors.Is(err, seen) {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestCommands(t *testing.T) {
	sc, err := radiosim.Lookup("four-fast")
	if err != nil {
		t.Fatal(err)
	}
	sim := radiosim.New(sc, radiosim.Options{Seed: 1})
	say := func(words string, good bool) []radiosim.Link {
		t.Helper()
		if err := do(strings.Fields(words), sim, len(sc.Stations)); (err == nil) != good {
			t.Errorf("%q: %v", words, err)
		}
		return sim.Links()
	}
	for _, words := range []string{"leave", "leave 4", "leave -1", "rate 0", "rate 0 0", "rate x 1", "crash 1", "dance"} {
		say(words, false)
	}
	if got := say("", true); len(got) != 4 {
		t.Errorf("%d stations", len(got))
	}
	if got := say("leave 3", true); len(got) != 3 {
		t.Errorf("%d stations after one left", len(got))
	}
	if got := say("join 3", true); len(got) != 4 {
		t.Errorf("%d stations after it came back", len(got))
	}
	if got := say("rate 0 6500", true); got[0].RateKbps != 6500 {
		t.Errorf("rate %d", got[0].RateKbps)
	}
	for _, words := range []string{"sleep 1", "wake 1", "crash", "remove", "return"} {
		say(words, true)
	}
}
