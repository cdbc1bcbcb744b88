// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// hostapdConf is an open access point on a radio of mac80211_hwsim.
const hostapdConf = `interface=wlan0
driver=nl80211
ssid=cost
hw_mode=g
channel=1
ieee80211n=1
wmm_enabled=1
`

// boot makes a machine of a kernel that has just started us as its process 1.
func boot() error {
	for _, m := range []struct{ kind, at string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}, {"debugfs", "/sys/kernel/debug"},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil && err != unix.EBUSY { // the kernel was first
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	if err := os.MkdirAll("/dev/shm", 0o755); err != nil {
		return err
	}
	files := unix.Rlimit{Cur: 1 << 16, Max: 1 << 16} // of the contenders, too
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return err
	}
	return unix.Mount("tmpfs", "/dev/shm", "tmpfs", 0, "")
}

// realRadio is an access point on mac80211 with stations that the kernel takes
// for real ones.
type realRadio struct {
	netlink *genetlink.Conn
	family  genetlink.Family
	ifindex uint32
	macs    []net.HardwareAddr
}

func newRealRadio() (*realRadio, error) {
	if err := os.WriteFile("/tmp/hostapd.conf", []byte(hostapdConf), 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.Command("/usr/sbin/hostapd", "-B", "/tmp/hostapd.conf").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("hostapd: %w: %s", err, out)
	}
	time.Sleep(2 * time.Second)
	ifi, err := net.InterfaceByName("wlan0")
	if err != nil {
		return nil, err
	}
	c, err := genetlink.Dial(nil)
	if err != nil {
		return nil, err
	}
	family, err := c.GetFamily("nl80211")
	return &realRadio{netlink: c, family: family, ifindex: uint32(ifi.Index)}, err
}

// grow adds stations until there are n of them.
func (r *realRadio) grow(n int) error {
	for i := len(r.macs); i < n; i++ {
		mac := net.HardwareAddr{2, 0, 0, 1, byte(i >> 8), byte(i)}
		flags := make([]byte, 8) // mask, set: authorized, WME, authenticated, associated
		const set = 1<<unix.NL80211_STA_FLAG_AUTHORIZED | 1<<unix.NL80211_STA_FLAG_WME |
			1<<unix.NL80211_STA_FLAG_AUTHENTICATED | 1<<unix.NL80211_STA_FLAG_ASSOCIATED
		binary.NativeEndian.PutUint32(flags, set)
		binary.NativeEndian.PutUint32(flags[4:], set)
		err := r.command(unix.NL80211_CMD_NEW_STATION, netlink.Request|netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.NL80211_ATTR_MAC, mac)
			ae.Uint16(unix.NL80211_ATTR_STA_AID, uint16(i+1))
			ae.Uint16(unix.NL80211_ATTR_STA_LISTEN_INTERVAL, 10)
			ae.Bytes(unix.NL80211_ATTR_STA_SUPPORTED_RATES, []byte{2, 4, 11, 22, 12, 24, 48, 108})
			ae.Bytes(unix.NL80211_ATTR_STA_FLAGS2, flags)
		})
		if err != nil {
			return fmt.Errorf("add station %d: %w", i, err)
		}
		r.macs = append(r.macs, mac)
	}
	return nil
}

func (r *realRadio) command(cmd uint8, flags netlink.HeaderFlags, more func(*netlink.AttributeEncoder)) error {
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(unix.NL80211_ATTR_IFINDEX, r.ifindex)
	if more != nil {
		more(ae)
	}
	data, err := ae.Encode()
	if err != nil {
		return err
	}
	_, err = r.netlink.Execute(genetlink.Message{Header: genetlink.Header{Command: cmd, Version: r.family.Version}, Data: data}, r.family.ID, flags)
	return err
}

// netlinkCost is the CPU of reading all stations in one dump, and one by one.
func (r *realRadio) netlinkCost() (dump, single float64, err error) {
	from := cpu()
	if err := r.command(unix.NL80211_CMD_GET_STATION, netlink.Request|netlink.Dump, nil); err != nil {
		return 0, 0, err
	}
	dump = float64(cpu() - from)
	from = cpu()
	for _, mac := range r.macs {
		err := r.command(unix.NL80211_CMD_GET_STATION, netlink.Request, func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.NL80211_ATTR_MAC, mac)
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return dump, float64(cpu() - from), nil
}

// machine is the radio as the contenders see it.
func (r *realRadio) machine() *machine {
	m := &machine{dir: "", phy: "/sys/kernel/debug/" + phyDir, real: true}
	for _, mac := range r.macs {
		m.stations = append(m.stations, filepath.Join(m.phy, "netdev:wlan0/stations", mac.String()))
	}
	return m
}
