// Package wlan holds the plain vocabulary every other package speaks: access
// categories, MAC addresses and airtime queue limits. It reads no file, keeps
// no state and imports nothing of ours.
package wlan

import (
	"errors"
	"fmt"
	"strconv"
)

// AC is an access category in mac80211's numbering
// (include/net/mac80211.h, enum ieee80211_ac_numbers).
type AC uint8

// The four access categories, highest priority first.
const (
	VO AC = iota // voice
	VI           // video
	BE           // best effort
	BK           // background
)

// NumAC is the number of access categories (IEEE80211_NUM_ACS).
const NumAC = 4

// ACs lists every access category in mac80211's order.
var ACs = [NumAC]AC{VO, VI, BE, BK}

var acNames = [NumAC]string{"VO", "VI", "BE", "BK"}

// String returns the two-letter name that mac80211's debugfs files print.
func (ac AC) String() string {
	if int(ac) < len(acNames) {
		return acNames[ac]
	}
	return "AC" + strconv.Itoa(int(ac))
}

// ParseAC returns the access category with the given two-letter name.
func ParseAC[T string | []byte](name T) (AC, bool) {
	for i, n := range acNames {
		if string(name) == n {
			return AC(i), true
		}
	}
	return 0, false
}

// TIDToAC is the access category of each of the 16 traffic identifiers
// (net/mac80211/wme.c, ieee802_1d_to_ac, repeated for TIDs 8 to 15).
var TIDToAC = [16]AC{BE, BK, BK, BE, VI, VI, VO, VO, BE, BK, BK, BE, VI, VI, VO, VO}

// Limit is one pair of AQL limits, in microseconds of airtime. A queue may
// always hold LowUs; it may hold HighUs while the whole radio has less than
// the threshold in flight (net/mac80211/tx.c, ieee80211_txq_airtime_check).
type Limit struct {
	LowUs  uint32 `json:"low_us"`
	HighUs uint32 `json:"high_us"`
}

// String prints the limit as LOW/HIGH, e.g. "5000/12000".
func (l Limit) String() string {
	return strconv.FormatUint(uint64(l.LowUs), 10) + "/" + strconv.FormatUint(uint64(l.HighUs), 10)
}

// Limits are the AQL limits of one radio: a pair per access category and the
// radio-wide threshold, all in microseconds of airtime.
type Limits struct {
	AC          [NumAC]Limit
	ThresholdUs uint32
}

// Uniform returns limits with low = high = us for every access category,
// which makes the threshold irrelevant; it is kept as given.
func Uniform(us, thresholdUs uint32) Limits {
	var l Limits
	for ac := range l.AC {
		l.AC[ac] = Limit{us, us}
	}
	l.ThresholdUs = thresholdUs
	return l
}

// KernelDefault is what mac80211 starts every radio with (include/net/cfg80211.h,
// IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L, _H and IEEE80211_AQL_THRESHOLD). Builds
// differ, so it is never what a radio is restored to: that is what was found.
var KernelDefault = Limits{
	AC:          [NumAC]Limit{{5000, 12000}, {5000, 12000}, {5000, 12000}, {5000, 12000}},
	ThresholdUs: 24000,
}

// MAC is a station's address. Unlike net.HardwareAddr it can be a map key.
type MAC [6]byte

// ErrMAC is what ParseMAC returns for anything but aa:bb:cc:dd:ee:ff.
var ErrMAC = errors.New("not a MAC address")

// ParseMAC reads the colon form that debugfs uses as a directory name (%pM).
func ParseMAC(s string) (MAC, error) {
	var m MAC
	if len(s) != 17 {
		return m, fmt.Errorf("%w: %q", ErrMAC, s)
	}
	for i := range m {
		if i > 0 && s[3*i-1] != ':' {
			return MAC{}, fmt.Errorf("%w: %q", ErrMAC, s)
		}
		v, err := strconv.ParseUint(s[3*i:3*i+2], 16, 8)
		if err != nil {
			return MAC{}, fmt.Errorf("%w: %q", ErrMAC, s)
		}
		m[i] = byte(v)
	}
	return m, nil
}

// String prints the lower-case colon form.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// MarshalText makes a MAC print as a string in JSON.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the colon form.
func (m *MAC) UnmarshalText(b []byte) (err error) {
	*m, err = ParseMAC(string(b))
	return err
}
