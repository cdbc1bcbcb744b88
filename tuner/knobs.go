package tuner

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"airtuned/debugfs"
	"airtuned/sysfs"
	"airtuned/wlan"
)

// Names of knobs, as in the contract. A knob's value is text: LOW/HIGH for a
// limit, 0 or 1 for threaded, a number for the others.
const (
	knobLimit     = "aql_txq_limit/"
	knobThreshold = "aql_threshold"
	knobThreaded  = "threaded/"
	knobStation   = "station/"
	knobQueue     = "tx_queue_limit"
	knobPacing    = "tx_sk_pacing_shift"
)

// errNotTaken is wrapped when a write succeeded and the value is another one.
var errNotTaken = errors.New("the kernel did not take the value")

// errGoneStation is wrapped when a knob belongs to a station that has left.
var errGoneStation = errors.New("the station has left")

func limitKnob(ac wlan.AC) string      { return knobLimit + ac.String() }
func threadedKnob(iface string) string { return knobThreaded + iface }
func stationKnob(mac wlan.MAC, ac wlan.AC) string {
	return knobStation + mac.String() + "/aql/" + ac.String()
}

// knobs reads and writes the settable values of one radio by name. It keeps
// nothing: what the kernel says is the truth.
type knobs struct {
	env Env
	phy *debugfs.Phy
	// restoring lets odd values through: they are what was found.
	restoring bool
}

// get returns a knob's present value.
func (k knobs) get(name string) (string, error) {
	switch {
	case strings.HasPrefix(name, knobLimit):
		ac, ok := wlan.ParseAC(name[len(knobLimit):])
		l, err := k.phy.AQLTxqLimit()
		if err != nil {
			return "", err
		}
		if !ok || !l.Has[ac] {
			return "", fmt.Errorf("knob %s: the kernel has no such row", name)
		}
		return l.Limits[ac].String(), nil
	case name == knobThreshold:
		us, err := k.phy.AQLThreshold()
		return strconv.FormatUint(uint64(us), 10), err
	case name == knobQueue:
		frames, err := k.phy.TxQueueLimit()
		return strconv.Itoa(frames), err
	case name == knobPacing:
		shift, err := k.phy.TxSkPacingShift()
		return strconv.Itoa(shift), err
	case name == FeatureThreaded:
		on, err := k.phy.NapiThreaded()
		return onOff(on), err
	case strings.HasPrefix(name, knobThreaded):
		on, err := sysfs.Threaded(k.env.Sys, name[len(knobThreaded):])
		return onOff(on), err
	case strings.HasPrefix(name, knobStation):
		mac, ac, netdev, err := k.station(name)
		if err != nil {
			return "", err
		}
		a, err := k.phy.StationAQL(netdev, mac)
		return a.Limits[ac].String(), err
	}
	return "", fmt.Errorf("unknown knob %q", name)
}

// set writes a knob and reads it back.
func (k knobs) set(name, value string) error {
	if err := k.write(name, value); err != nil {
		return err
	}
	got, err := k.get(name)
	if err != nil {
		return fmt.Errorf("read back %s: %w", name, err)
	}
	if got != value {
		return fmt.Errorf("%w: wrote %s, reads %s", errNotTaken, value, got)
	}
	return nil
}

func (k knobs) write(name, value string) error {
	switch {
	case strings.HasPrefix(name, knobLimit):
		ac, ok := wlan.ParseAC(name[len(knobLimit):])
		l, err := parseLimit(value)
		if err != nil || !ok {
			return fmt.Errorf("knob %s: bad value %q", name, value)
		}
		if k.restoring {
			return k.phy.RestoreAQLTxqLimit(ac, l)
		}
		return k.phy.SetAQLTxqLimit(ac, l)
	case name == knobThreshold:
		us, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			return fmt.Errorf("knob %s: bad value %q", name, value)
		}
		return k.phy.SetAQLThreshold(uint32(us))
	case name == knobQueue, name == knobPacing:
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("knob %s: bad value %q", name, value)
		}
		if name == knobQueue {
			return k.phy.SetTxQueueLimit(int(n))
		}
		return k.phy.SetTxSkPacingShift(int(n))
	case name == FeatureThreaded:
		return k.phy.SetNapiThreaded(value == "1")
	case strings.HasPrefix(name, knobThreaded):
		err := sysfs.SetThreaded(k.env.Sys, k.env.Proc, name[len(knobThreaded):], value == "1")
		if k.restoring && errors.Is(err, sysfs.ErrThreadNotSeen) {
			return nil // the value is back, and that is what was asked for
		}
		return err
	case strings.HasPrefix(name, knobStation):
		mac, ac, netdev, err := k.station(name)
		if err != nil {
			return err
		}
		l, err := parseLimit(value)
		if err != nil {
			return fmt.Errorf("knob %s: bad value %q", name, value)
		}
		if k.restoring {
			return k.phy.RestoreStationAQL(netdev, mac, ac, l)
		}
		return k.phy.SetStationAQL(netdev, mac, ac, l)
	}
	return fmt.Errorf("unknown knob %q", name)
}

// station takes station/MAC/aql/AC apart and finds where the station is.
func (k knobs) station(name string) (mac wlan.MAC, ac wlan.AC, netdev string, err error) {
	part := strings.Split(name, "/")
	ok := len(part) == 4 && part[2] == "aql"
	if ok {
		mac, err = wlan.ParseMAC(part[1])
		ac, ok = wlan.ParseAC(part[3])
	}
	if err != nil || !ok {
		return mac, ac, "", fmt.Errorf("bad knob name %q", name)
	}
	netdevs, err := k.phy.Netdevs()
	if err != nil {
		return mac, ac, "", err
	}
	var unread error
	for _, netdev := range netdevs {
		macs, err := k.phy.Stations(netdev)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				unread = err // it may be there
			}
			continue
		}
		for _, m := range macs {
			if m == mac {
				return mac, ac, netdev, nil
			}
		}
	}
	if unread != nil {
		return mac, ac, "", unread
	}
	return mac, ac, "", fmt.Errorf("knob %s: %w", name, errGoneStation)
}

func parseLimit(s string) (wlan.Limit, error) {
	low, high, ok := strings.Cut(s, "/")
	l, err := strconv.ParseUint(low, 10, 32)
	h, err2 := strconv.ParseUint(high, 10, 32)
	if !ok || err != nil || err2 != nil {
		return wlan.Limit{}, fmt.Errorf("bad limit %q: want LOW/HIGH in us", s)
	}
	return wlan.Limit{LowUs: uint32(l), HighUs: uint32(h)}, nil
}

// limits reports whether a knob is one of the loop's, which come and go with
// its decisions. The others are set once.
func limits(knob string) bool {
	return !strings.HasPrefix(knob, knobThreaded) && knob != FeatureThreaded && knob != knobPacing
}

func onOff(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// setting is one entry of a plan: a knob and the value it shall have.
type setting struct{ knob, value string }

// plan lists what limits mean as settings. The threshold is left out when it
// is zero: it means "as it is".
func plan(l wlan.Limits) []setting {
	p := make([]setting, 0, wlan.NumAC+1)
	for _, ac := range wlan.ACs {
		p = append(p, setting{limitKnob(ac), l.AC[ac].String()})
	}
	if l.ThresholdUs != 0 {
		p = append(p, thresholdSetting(l.ThresholdUs))
	}
	return p
}

func thresholdSetting(us uint32) setting {
	return setting{knobThreshold, strconv.FormatUint(uint64(us), 10)}
}
