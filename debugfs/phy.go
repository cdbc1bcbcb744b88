// Package debugfs finds, reads and writes what mac80211 and ath10k offer under
// /sys/kernel/debug/ieee80211: one Go file per kernel file, named after it. It
// knows the formats of kernels from 5.10 to 7.x and of OpenWrt's backports. It
// decides nothing, and remembers nothing but open files.
//
// Rows and columns are found by their label, and those that are newer than
// this package are passed over. A text that is cut or makes no sense is an
// error, never a zero; the one exception is aqm, which the kernel itself cuts.
//
// Whether a limit has any effect is not to be learnt here: the files of AQL
// exist for every driver, its accounting only for those with
// NL80211_EXT_FEATURE_AQL.
package debugfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"airtuned/tree"
	"airtuned/wlan"
)

const root = "ieee80211"

// Phys returns the names of the radios in debugfs, sorted, e.g. "phy0"; names
// change when users rename them. The list may be empty. An error that is
// neither about permission nor ErrNotMounted or ErrNoWireless is unexpected.
//
// Source: ieee80211/ (net/wireless/core.c, wiphy_register).
func Phys(t tree.FS) ([]string, error) {
	names, err := t.List(root)
	if !errors.Is(err, fs.ErrNotExist) {
		return names, err
	}
	// Nothing mounted: sysfs keeps an empty folder as the mount point.
	all, rootErr := t.List(".")
	switch {
	case errors.Is(rootErr, fs.ErrNotExist), rootErr == nil && len(all) == 0:
		return nil, fmt.Errorf("%w: %w", ErrNotMounted, err)
	case rootErr != nil:
		return nil, rootErr
	}
	return nil, fmt.Errorf("%w: %w", ErrNoWireless, err)
}

// Phy is one radio's folder in debugfs. It holds no state and may be used from
// several goroutines.
type Phy struct {
	t    tree.FS
	name string
	dir  string
}

// NewPhy is the radio of the given name. It touches no file: whether the radio
// exists is seen when it is read.
func NewPhy(t tree.FS, name string) *Phy {
	return &Phy{t: t, name: name, dir: root + "/" + name}
}

// Name is the radio's name, e.g. "phy0".
func (p *Phy) Name() string { return p.name }

// Built returns nil if mac80211 has its files in the radio's folder,
// ErrNotBuilt if the folder has none of them, ErrGone if there is no folder.
//
// cfg80211 makes the folder in any case; mac80211 fills it
// (net/mac80211/debugfs.c, debugfs_hw_add) only with CONFIG_MAC80211_DEBUGFS.
func (p *Phy) Built() error {
	names, err := p.t.List(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	if err != nil {
		return err
	}
	ofMac80211 := func(name string) bool {
		switch name {
		case "aql_txq_limit", "aql_pending", "queues", "keys", "hwflags":
			return true
		}
		return strings.HasPrefix(name, netdevPrefix)
	}
	if !slices.ContainsFunc(names, ofMac80211) {
		return fmt.Errorf("%w: %s", ErrNotBuilt, tree.Join(p.t, p.dir))
	}
	return nil
}

const netdevPrefix = "netdev:"

// Netdevs returns the radio's interfaces, sorted, e.g. "wlan0". Among them are
// wireless devices that have no network interface ("p2p-dev-wlan0"). An
// interface's folder is removed and made anew when its type changes.
//
// Source: netdev:*/ (net/mac80211/debugfs_netdev.c, ieee80211_debugfs_add_netdev).
func (p *Phy) Netdevs() ([]string, error) {
	names, err := p.t.List(p.dir)
	if err != nil {
		return nil, p.explain(p.dir, err)
	}
	var netdevs []string
	for _, n := range names {
		if dev, ok := strings.CutPrefix(n, netdevPrefix); ok {
			netdevs = append(netdevs, dev)
		}
	}
	return netdevs, nil
}

// Stations returns the addresses of an interface's stations, sorted. Stations
// in a VLAN are with the VLAN's interface ("wlan0.sta1").
//
// Source: netdev:*/stations/ (net/mac80211/debugfs_sta.c, ieee80211_sta_debugfs_add).
func (p *Phy) Stations(netdev string) ([]wlan.MAC, error) {
	dir := p.netdevDir(netdev)
	names, err := p.t.List(dir + "/stations")
	if err != nil {
		return nil, p.explain(dir, err)
	}
	macs := make([]wlan.MAC, 0, len(names))
	for _, n := range names {
		// Only a name that leads back to its folder is of use.
		if mac, err := wlan.ParseMAC(n); err == nil && mac.String() == n {
			macs = append(macs, mac)
		}
	}
	return macs, nil
}

func (p *Phy) netdevDir(netdev string) string { return p.dir + "/" + netdevPrefix + netdev }

func (p *Phy) stationDir(netdev string, mac wlan.MAC) string {
	return p.netdevDir(netdev) + "/stations/" + mac.String()
}

// explain finds out what a missing file in dir means.
func (p *Phy) explain(dir string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	why := ErrAbsent
	if built := p.Built(); errors.Is(built, ErrNotBuilt) {
		why = ErrNotBuilt
	} else if _, listErr := p.t.List(dir); errors.Is(listErr, fs.ErrNotExist) {
		why = ErrGone
	}
	return fmt.Errorf("%w: %w", why, err)
}

// locate puts the full path into a parser's error.
func (p *Phy) locate(path string, err error) error {
	if fe, ok := err.(*FormatError); ok {
		fe.File = tree.Join(p.t, path)
	}
	return err
}

// write hands a file one command in one write.
func (p *Phy) write(dir, file, command string) error {
	if err := p.t.Write(dir+"/"+file, []byte(command)); err != nil {
		return p.explain(dir, err)
	}
	return nil
}
