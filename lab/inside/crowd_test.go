// SPDX-License-Identifier: Apache-2.0

//go:build lab

package inside

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nlenc"
	"golang.org/x/sys/unix"
)

// registrar puts stations on an access point and takes them off, as hostapd does
// when they associate: there is nobody behind them.
type registrar struct {
	t       *testing.T
	conn    *genetlink.Conn
	family  genetlink.Family
	ifindex int
	joined  map[int]bool
}

func newRegistrar(t *testing.T, ifname string) *registrar {
	t.Helper()
	conn, err := genetlink.Dial(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	family, err := conn.GetFamily(unix.NL80211_GENL_NAME)
	if err != nil {
		t.Fatal(err)
	}
	ifi, err := net.InterfaceByName(ifname)
	if err != nil {
		t.Fatal(err)
	}
	return &registrar{t, conn, family, ifi.Index, map[int]bool{}}
}

func (r *registrar) command(command uint8, station int, more func(*netlink.AttributeEncoder)) {
	r.t.Helper()
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(unix.NL80211_ATTR_IFINDEX, uint32(r.ifindex))
	ae.Bytes(unix.NL80211_ATTR_MAC, []byte{2, 0, 0, 1, byte(station >> 8), byte(station)})
	if more != nil {
		more(ae)
	}
	data, err := ae.Encode()
	if err != nil {
		r.t.Fatal(err)
	}
	req := genetlink.Message{Header: genetlink.Header{Command: command, Version: r.family.Version}, Data: data}
	if _, err := r.conn.Execute(req, r.family.ID, netlink.Request|netlink.Acknowledge); err != nil {
		r.t.Fatalf("nl80211 command %d for station %d, with %d there: %v", command, station, len(r.joined), err)
	}
}

func (r *registrar) join(station int) {
	r.t.Helper()
	r.command(unix.NL80211_CMD_NEW_STATION, station, func(ae *netlink.AttributeEncoder) {
		const all = 1<<unix.NL80211_STA_FLAG_AUTHORIZED | 1<<unix.NL80211_STA_FLAG_WME |
			1<<unix.NL80211_STA_FLAG_AUTHENTICATED | 1<<unix.NL80211_STA_FLAG_ASSOCIATED
		ae.Uint16(unix.NL80211_ATTR_STA_AID, uint16(1000+station))
		ae.Uint16(unix.NL80211_ATTR_STA_LISTEN_INTERVAL, 10)
		ae.Bytes(unix.NL80211_ATTR_STA_SUPPORTED_RATES, []byte{12, 24, 48, 108})
		ae.Bytes(unix.NL80211_ATTR_STA_FLAGS2, append(nlenc.Uint32Bytes(all), nlenc.Uint32Bytes(all)...))
	})
	r.joined[station] = true
}

func (r *registrar) leave(station int) {
	r.t.Helper()
	r.command(unix.NL80211_CMD_DEL_STATION, station, nil)
	delete(r.joined, station)
}

// sees complains unless the daemon sees that many stations on the access point's
// radio.
func sees(want int) func(radio) error {
	return func(r radio) error {
		if len(r.Stations) != want {
			return fmt.Errorf("%d stations, want %d", len(r.Stations), want)
		}
		return nil
	}
}

// TestAirtunedCrowd: 500 stations at once come and go, on hwsim.
func TestAirtunedCrowd(t *testing.T) {
	d := start(t, forced)
	ap := radios(t)[0]
	accessPoint(t)
	follows(t, ap.path, state("tuning", ""))
	time.Sleep(5 * time.Second) // until it has opened what it always has
	before := d.footprint(t)
	reg := newRegistrar(t, "wlan0")
	for i := range 500 {
		reg.join(i)
	}
	follows(t, ap.path, sees(500))
	most := d.footprint(t)
	for i := range 500 {
		reg.leave(i)
	}
	follows(t, ap.path, sees(0))
	time.Sleep(3 * time.Second)
	after := d.footprint(t)
	t.Logf("%d KiB before, %d with 500 stations, %d after", before.RSSKB, most.RSSKB, after.RSSKB)
	if len(after.Files) > len(before.Files) {
		t.Errorf("files are left open (-before +after):\n%s", cmp.Diff(before.Files, after.Files))
	}
	follows(t, ap.path, state("tuning", ""))
	d.quits(t)
}

// TestEmulatedAirtunedCrowd: 500 stations come and go on the real driver, 31 at a
// time, which with the one that has a download is all that the firmware takes.
func TestEmulatedAirtunedCrowd(t *testing.T) {
	d := tuned(t, 1, 90, "")
	reg := newRegistrar(t, "wlan0")
	rng := rand.New(rand.NewPCG(1, 500))
	present := []int{}
	for i := range 500 {
		if len(present) == 31 {
			k := rng.IntN(len(present))
			reg.leave(present[k])
			present[k] = present[len(present)-1]
			present = present[:len(present)-1]
		}
		reg.join(i)
		present = append(present, i)
		if i%100 == 99 {
			follows(t, accessPointPath, sees(32))
			atWork(t, "phy0")
		}
		time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
	}
	for _, i := range present {
		reg.leave(i)
	}
	follows(t, accessPointPath, sees(1))
	atWork(t, "phy0")
	d.quits(t)
}
