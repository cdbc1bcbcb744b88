package debugfs

import (
	"bytes"
	"fmt"

	"airtuned/wlan"
)

// StationAQL is a station's airtime in driver and firmware and its own limits.
type StationAQL struct {
	// PendingUs is signed as in AQLPending.
	PendingUs [wlan.NumAC]int32
	Limits    [wlan.NumAC]wlan.Limit
}

const staAQL = "aql"

// ParseStationAQL reads
//
//	Q depth: VO: 0 us VI: 0 us BE: 4876 us BK: 0 us
//	Q limit[low/high]: VO: 5000/12000 VI: 5000/12000 BE: 5000/12000 BK: 5000/12000
//
// Source: stations/*/aql (net/mac80211/debugfs_sta.c, sta_aql_read).
func ParseStationAQL(b []byte, out *StationAQL) error {
	*out = StationAQL{}
	if err := wholeLines(staAQL, b); err != nil {
		return err
	}
	var depths, limits acSet
	for len(b) > 0 {
		var line, label, value []byte
		line, b = cutLine(b)
		title, rest := cutLabel(line)
		switch string(title) {
		case "Q depth":
			for !blank(rest) {
				label, rest = cutLabel(rest)
				us, after, ok := cutUs(rest)
				if !ok {
					value, _ = cutField(rest)
					return garbled(staAQL, "Q depth "+string(label), "a number of us", value)
				}
				rest = after
				if ac, ok := wlan.ParseAC(label); ok {
					out.PendingUs[ac] = us
					depths.add(ac)
				}
			}
		case "Q limit[low/high]":
			for !blank(rest) {
				label, rest = cutLabel(rest)
				value, rest = cutField(rest)
				i := max(0, bytes.IndexByte(value, '/'))
				low, okLow := parseU32(value[:i])
				high, okHigh := parseU32(value[min(i+1, len(value)):])
				if !okLow || !okHigh {
					return garbled(staAQL, "Q limit "+string(label), "LOW/HIGH", value)
				}
				if ac, ok := wlan.ParseAC(label); ok {
					out.Limits[ac] = wlan.Limit{LowUs: low, HighUs: high}
					limits.add(ac)
				}
			}
		}
	}
	if depths != allACs {
		return depths.missing(staAQL, "Q depth")
	}
	if limits != allACs {
		return limits.missing(staAQL, "Q limit")
	}
	return nil
}

// StationAQL reads a station's airtime in flight and its limits. The file only
// exists for drivers with AQL.
func (p *Phy) StationAQL(netdev string, mac wlan.MAC) (StationAQL, error) {
	return readOnce(p, p.stationDir(netdev, mac), staAQL, ParseStationAQL)
}

// StationAQLReader is StationAQL for every window.
func (p *Phy) StationAQLReader(netdev string, mac wlan.MAC) *Reader[StationAQL] {
	return newReader(p, p.stationDir(netdev, mac), staAQL, ParseStationAQL)
}

// SetStationAQL changes a station's own limits of one access category, with
// the same checks as SetAQLTxqLimit. The station then no longer follows the
// radio's limits, until it is given what the radio has at that moment.
//
// Source: stations/*/aql (net/mac80211/debugfs_sta.c, sta_aql_write).
func (p *Phy) SetStationAQL(netdev string, mac wlan.MAC, ac wlan.AC, l wlan.Limit) error {
	if err := checkLimit(ac, l); err != nil {
		return fmt.Errorf("set AQL limit of %s, %s to %s: %w", mac, ac, l, err)
	}
	return p.RestoreStationAQL(netdev, mac, ac, l)
}

// RestoreStationAQL puts back a station's limits that were read earlier,
// whatever they are.
func (p *Phy) RestoreStationAQL(netdev string, mac wlan.MAC, ac wlan.AC, l wlan.Limit) error {
	if err := p.write(p.stationDir(netdev, mac), staAQL, fmt.Sprintf("limit %d %d %d\n", ac, l.LowUs, l.HighUs)); err != nil {
		return fmt.Errorf("set AQL limit of %s, %s to %s: %w", mac, ac, l, err)
	}
	return nil
}
