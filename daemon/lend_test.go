package daemon

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"airtuned/daemon/control"
)

func TestLentPolicy(t *testing.T) {
	policy := func(s *system, params string) {
		s.t.Helper()
		if _, err := call[struct{}](s, "policy", params); err != nil {
			s.t.Fatalf("%s: %v", params, err)
		}
	}
	want := func(s *system, want string) {
		s.t.Helper()
		time.Sleep(time.Second) // the loop takes it over at its next turn
		if got := s.status().Radios[0].Policy; got != want {
			s.t.Errorf("got policy %q, want %q", got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		_, env := simulate(t)
		s := start(t, env, static)
		want(s, "static")

		policy(s, `{"radio":"phy0","policy":"delay","for":"10s"}`)
		want(s, "delay")
		time.Sleep(7 * time.Second)
		want(s, "delay")
		time.Sleep(time.Second)
		want(s, "static") // nobody asked for more

		policy(s, `{"policy":"delay","for":"10s"}`)
		time.Sleep(8 * time.Second)
		policy(s, `{"policy":"kernel-default","for":"10s"}`)
		time.Sleep(8 * time.Second)
		want(s, "kernel-default") // the second one has its whole time
		policy(s, `{"for":"0s"}`)
		want(s, "static")
		policy(s, `{"for":"0s"}`) // again
		want(s, "static")

		// A policy set by command is what comes back.
		policy(s, `{"policy":"observe"}`)
		policy(s, `{"policy":"delay","for":"10s"}`)
		want(s, "delay")
		policy(s, `{"for":"0s"}`)
		want(s, "observe")

		// Whoever sets one for good means it.
		policy(s, `{"policy":"delay","for":"10s"}`)
		policy(s, `{"policy":"dql"}`)
		want(s, "dql")
		time.Sleep(20 * time.Second)
		want(s, "dql")

		// And so does a reload.
		policy(s, `{"policy":"delay","for":"1h"}`)
		if _, err := call[struct{}](s, "reload", ``); err != nil {
			t.Error(err)
		}
		want(s, "static")

		// It starts anew, even if it is the one in force: what it did shows.
		policy(s, `{"policy":"delay","for":"1h"}`)
		time.Sleep(20 * time.Second)
		was := s.status().Radios[0].AQL.Limits["BE"]
		policy(s, `{"policy":"delay","for":"1h"}`)
		time.Sleep(250 * time.Millisecond)
		if is := s.status().Radios[0].AQL.Limits["BE"]; is == was {
			t.Errorf("the limit stays at %v: the policy did not start anew", is)
		}
		policy(s, `{"for":"0s"}`)

		for _, params := range []string{
			`{"policy":"delay","for":"0s"}`, `{"policy":"delay","for":"-1s"}`, `{"policy":"delay","for":"2h"}`,
			`{"policy":"delay","for":"soon"}`, `{"for":"10s"}`,
		} {
			var e *control.Error
			if _, err := call[struct{}](s, "policy", params); !errors.As(err, &e) || e.Code != control.CodeParams || !strings.Contains(e.Message, "for is") {
				t.Errorf("%s: got %v", params, err)
			}
		}
		for _, params := range []string{`{"policy":"delay","for":"1s"}`, `{"for":"0s"}`} {
			if _, err := s.methods["policy"].Call(t.Context(), control.Call{Params: json.RawMessage(params)}); !errors.Is(err, control.ErrDenied) {
				t.Errorf("%s by a user: got %v", params, err)
			}
		}
		want(s, "static")
	})
}
