package control

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// All users but root share one pace, and root knows none.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(Server)
		users := [2]*conn{{server: s}, {server: s}}
		root := &conn{server: s, mayChange: true}
		began := time.Now()
		for i := range 100 {
			if !users[i%2].turn(t.Context()) {
				t.Fatal("no turn")
			}
		}
		if took := time.Since(began); took != 99*pace {
			t.Errorf("100 requests took %v, want %v", took, 99*pace)
		}
		users[0].charge(5000)
		root.charge(1 << 30)
		began = time.Now()
		root.turn(t.Context())
		if took := time.Since(began); took != 0 {
			t.Errorf("root waited %v", took)
		}
		users[1].turn(t.Context())
		if took := time.Since(began); took != pace+5000*perByte {
			t.Errorf("after 5000 bytes it took %v, want %v", took, pace+5000*perByte)
		}
		time.Sleep(time.Hour)
		began = time.Now()
		users[1].turn(t.Context())
		if took := time.Since(began); took != 0 {
			t.Errorf("after an hour it took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 {
			if users[0].turn(ctx) {
				t.Error("a turn after the end")
			}
		}
	})
}
