package daemon

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"airtuned/inet"
	"airtuned/sysfs"
)

// TestTCP: connections are listed when somebody asks, not more often than every two
// seconds, seldom while that fails, and not at all otherwise.
func TestTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, env := simulate(t)
		index, err := sysfs.IfIndex(env.Sys, "wlan0")
		if err != nil {
			t.Fatal(err)
		}
		looks, fail := 0, false
		s := startWith(t, env, static, func(o *Options) {
			o.Sockets = func(sn *inet.Snapshot) error {
				looks++
				if fail {
					return inet.ErrUnavailable
				}
				ip := netip.MustParseAddr("10.0.0.2")
				sn.Addresses = []inet.Address{{IfIndex: index, IP: ip}}
				sn.Sockets = []inet.Socket{{Local: netip.AddrPortFrom(ip, 1), Remote: netip.MustParseAddrPort("10.0.0.1:2"), Cookie: 1}}
				return nil
			}
		})
		time.Sleep(4 * time.Second)
		if looks != 0 {
			t.Errorf("%d looks, and nobody asked", looks)
		}
		for range 10 {
			if tcp := s.status().Radios[0].TCP; tcp == nil || tcp.Flows != 1 {
				t.Fatalf("got %+v, want one connection", tcp)
			}
			time.Sleep(500 * time.Millisecond)
		}
		if looks != 3 {
			t.Errorf("%d looks in 5 s", looks)
		}
		fail, looks = true, 0
		time.Sleep(3 * time.Second)
		for range 20 {
			if tcp := s.status().Radios[0].TCP; tcp != nil {
				t.Fatalf("got %+v, although nothing could be listed", tcp)
			}
			time.Sleep(time.Second)
		}
		if looks != 1 {
			t.Errorf("%d looks in 20 s, all of which fail", looks)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		s.status() // which nobody looks for any more
	})
}
