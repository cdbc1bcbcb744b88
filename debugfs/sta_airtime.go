package debugfs

import "airtuned/wlan"

// StationAirtime is the airtime that mac80211 booked for a station.
type StationAirtime struct {
	// RXUs and TXUs grow; they start anew when somebody writes to the file.
	// ath10k reports no received airtime here.
	RXUs, TXUs uint64
	Weight     uint32
	// DeficitUs is what the round-robin scheduler still grants the station.
	// Kernels 5.14 to 5.19 have a virtual-time scheduler instead and HasDeficit
	// is false.
	DeficitUs  [wlan.NumAC]int64
	HasDeficit bool
}

const staAirtime = "airtime"

// ParseStationAirtime reads
//
//	RX: 1234567 us
//	TX: 7654321 us
//	Weight: 256
//	Deficit: VO: 256 us VI: 256 us BE: -1187 us BK: 256 us
//
// where the last line may be another (Virt-T).
//
// Source: stations/*/airtime (net/mac80211/debugfs_sta.c, sta_airtime_read).
func ParseStationAirtime(b []byte, out *StationAirtime) error {
	*out = StationAirtime{}
	if err := wholeLines(staAirtime, b); err != nil {
		return err
	}
	var hasRX, hasTX, hasWeight bool
	var deficits acSet
	for len(b) > 0 {
		var line, label, value, unit []byte
		line, b = cutLine(b)
		title, rest := cutLabel(line)
		switch string(title) {
		case "RX", "TX":
			value, rest = cutField(rest)
			unit, _ = cutField(rest)
			us, ok := parseU64(value)
			if !ok || string(unit) != "us" {
				return garbled(staAirtime, string(title), "a number of us", value)
			}
			if title[0] == 'R' {
				out.RXUs, hasRX = us, true
			} else {
				out.TXUs, hasTX = us, true
			}
		case "Weight":
			value, _ = cutField(rest)
			w, ok := parseU32(value)
			if !ok {
				return garbled(staAirtime, "Weight", number, value)
			}
			out.Weight, hasWeight = w, true
		case "Deficit":
			out.HasDeficit = true
			for !blank(rest) {
				label, rest = cutLabel(rest)
				value, rest = cutField(rest)
				unit, rest = cutField(rest)
				us, ok := parseI64(value)
				if !ok || string(unit) != "us" {
					return garbled(staAirtime, "Deficit "+string(label), "a number of us", value)
				}
				if ac, ok := wlan.ParseAC(label); ok {
					out.DeficitUs[ac] = us
					deficits.add(ac)
				}
			}
		}
	}
	switch {
	case !hasRX:
		return garbled(staAirtime, "RX", "it to be there", nil)
	case !hasTX:
		return garbled(staAirtime, "TX", "it to be there", nil)
	case !hasWeight:
		return garbled(staAirtime, "Weight", "it to be there", nil)
	case out.HasDeficit && deficits != allACs:
		return deficits.missing(staAirtime, "Deficit")
	}
	return nil
}

// StationAirtime reads the airtime booked for a station. Kernels before 6.2
// have the file only for drivers that use mac80211's queues.
func (p *Phy) StationAirtime(netdev string, mac wlan.MAC) (StationAirtime, error) {
	return readOnce(p, p.stationDir(netdev, mac), staAirtime, ParseStationAirtime)
}

// StationAirtimeReader is StationAirtime for every window.
func (p *Phy) StationAirtimeReader(netdev string, mac wlan.MAC) *Reader[StationAirtime] {
	return newReader(p, p.stationDir(netdev, mac), staAirtime, ParseStationAirtime)
}
