package nl80211

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

var errNoStation = errors.New("a message names no station")

// Stations lists the stations of an interface. The error wraps unix.ENODEV if
// there is no such interface.
//
// It can be dear: ath10k asks the firmware once per station, with the radio's
// configuration locked (ath10k_sta_statistics). That takes milliseconds each
// if all is well, and a second each if it is not. It belongs into no loop that
// is faster than several seconds.
func (c *Client) Stations(ifindex int) ([]Station, error) {
	stas, err := dump(c, unix.NL80211_CMD_GET_STATION, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.NL80211_ATTR_IFINDEX, uint32(ifindex))
	}, parseStations)
	if err != nil {
		return nil, fmt.Errorf("list stations of interface %d: %w", ifindex, err)
	}
	return stas, nil
}

func parseStations(msgs []genetlink.Message) ([]Station, error) {
	stas := make([]Station, 0, len(msgs))
	var gen generation // sta_generation of the radio
	for _, m := range msgs {
		sta, staGen, err := parseStation(m.Data)
		if err != nil {
			return nil, err
		}
		if gen.changed(staGen) {
			return nil, ErrInterrupted
		}
		stas = append(stas, sta)
	}
	return stas, nil
}

// parseStation reads one message of a dump of stations.
func parseStation(b []byte) (sta Station, gen generation, err error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return Station{}, gen, fmt.Errorf("parse station: %w", err)
	}
	known := false
	for ad.Next() {
		switch ad.Type() {
		case unix.NL80211_ATTR_IFINDEX:
			sta.IfIndex = int(ad.Uint32())
		case unix.NL80211_ATTR_MAC:
			sta.MAC, known = decodeMAC(ad), true
		case unix.NL80211_ATTR_GENERATION:
			gen = generation{true, ad.Uint32()}
		case unix.NL80211_ATTR_STA_INFO:
			ad.Nested(sta.parseInfo)
		}
	}
	if err := ad.Err(); err != nil {
		return Station{}, gen, fmt.Errorf("parse station: %w", err)
	}
	if !known {
		return Station{}, gen, fmt.Errorf("parse station: %w", errNoStation)
	}
	return sta, gen, nil
}

// parseInfo reads NL80211_ATTR_STA_INFO (enum nl80211_sta_info).
func (s *Station) parseInfo(ad *netlink.AttributeDecoder) error {
	// A driver may give bytes in 32 bits, in 64 or in both, in either order.
	var tx32, rx32 uint32
	var has32 StationFields
	for ad.Next() {
		switch ad.Type() {
		case unix.NL80211_STA_INFO_INACTIVE_TIME:
			s.InactiveMs = ad.Uint32()
			s.Has |= HasInactive
		case unix.NL80211_STA_INFO_CONNECTED_TIME:
			s.ConnectedS = ad.Uint32()
			s.Has |= HasConnected
		case unix.NL80211_STA_INFO_STA_FLAGS:
			s.parseFlags(ad)
		case unix.NL80211_STA_INFO_SIGNAL:
			s.SignalDBm = ad.Int8()
			s.Has |= HasSignal
		case unix.NL80211_STA_INFO_SIGNAL_AVG:
			s.SignalAvgDBm = ad.Int8()
			s.Has |= HasSignalAvg
		case unix.NL80211_STA_INFO_TX_BITRATE:
			ad.Nested(parseRate(&s.TxRateKbps))
		case unix.NL80211_STA_INFO_RX_BITRATE:
			ad.Nested(parseRate(&s.RxRateKbps))
		case unix.NL80211_STA_INFO_EXPECTED_THROUGHPUT:
			s.ExpectedKbps = ad.Uint32()
		case unix.NL80211_STA_INFO_TX_BYTES:
			tx32 = ad.Uint32()
			has32 |= HasTxBytes
		case unix.NL80211_STA_INFO_RX_BYTES:
			rx32 = ad.Uint32()
			has32 |= HasRxBytes
		case unix.NL80211_STA_INFO_TX_BYTES64:
			s.TxBytes = ad.Uint64()
			s.Has |= HasTxBytes
		case unix.NL80211_STA_INFO_RX_BYTES64:
			s.RxBytes = ad.Uint64()
			s.Has |= HasRxBytes
		case unix.NL80211_STA_INFO_TX_PACKETS:
			s.TxPackets = ad.Uint32()
			s.Has |= HasTxPackets
		case unix.NL80211_STA_INFO_RX_PACKETS:
			s.RxPackets = ad.Uint32()
			s.Has |= HasRxPackets
		case unix.NL80211_STA_INFO_TX_RETRIES:
			s.TxRetries = ad.Uint32()
			s.Has |= HasTxRetries
		case unix.NL80211_STA_INFO_TX_FAILED:
			s.TxFailed = ad.Uint32()
			s.Has |= HasTxFailed
		case unix.NL80211_STA_INFO_TX_DURATION:
			s.TxDurationUs = ad.Uint64()
			s.Has |= HasTxDuration
		case unix.NL80211_STA_INFO_RX_DURATION:
			s.RxDurationUs = ad.Uint64()
			s.Has |= HasRxDuration
		case unix.NL80211_STA_INFO_AIRTIME_WEIGHT:
			s.AirtimeWeight = ad.Uint16()
			s.Has |= HasAirtimeWeight
		case unix.NL80211_STA_INFO_TID_STATS:
			ad.Nested(s.parseTIDs)
		}
	}
	if s.Has&HasTxBytes == 0 {
		s.TxBytes = uint64(tx32)
	}
	if s.Has&HasRxBytes == 0 {
		s.RxBytes = uint64(rx32)
	}
	s.Has |= has32
	return nil
}

// parseFlags reads struct nl80211_sta_flag_update: which flags are known, and
// which are set, as two native 32-bit words.
func (s *Station) parseFlags(ad *netlink.AttributeDecoder) {
	ad.Do(func(b []byte) error {
		if len(b) < 8 {
			return fmt.Errorf("station flags of %d bytes", len(b))
		}
		const authorized = 1 << unix.NL80211_STA_FLAG_AUTHORIZED
		if binary.NativeEndian.Uint32(b)&authorized != 0 {
			s.Authorized = binary.NativeEndian.Uint32(b[4:])&authorized != 0
			s.Has |= HasAuthorized
		}
		return nil
	})
}

// parseTIDs reads NL80211_STA_INFO_TID_STATS: an array that starts at TID + 1,
// of which each element (enum nl80211_tid_stats) may have a TXQ.
func (s *Station) parseTIDs(ad *netlink.AttributeDecoder) error {
	for ad.Next() {
		if ad.Type() == 0 {
			continue
		}
		tid := TIDStats{TID: uint8(ad.Type() - 1)}
		ad.Nested(func(ad *netlink.AttributeDecoder) error {
			for ad.Next() {
				if ad.Type() == unix.NL80211_TID_STATS_TXQ_STATS {
					ad.Nested(tid.parse)
				}
			}
			return nil
		})
		if tid.Has == 0 {
			continue
		}
		s.TIDs = append(s.TIDs, tid)
		if s.TXQ == nil {
			s.TXQ = new(TXQStats)
		}
		s.TXQ.add(&tid.TXQStats)
	}
	return nil
}

// parseRate reads a bit rate (enum nl80211_rate_info), which comes in units of
// 100 kbit/s: in 32 bits, and also in 16 if it fits.
func parseRate(kbps *uint64) func(*netlink.AttributeDecoder) error {
	return func(ad *netlink.AttributeDecoder) error {
		var r16, r32 uint64
		for ad.Next() {
			switch ad.Type() {
			case unix.NL80211_RATE_INFO_BITRATE:
				r16 = uint64(ad.Uint16())
			case unix.NL80211_RATE_INFO_BITRATE32:
				r32 = uint64(ad.Uint32())
			}
		}
		if r32 == 0 {
			r32 = r16
		}
		*kbps = r32 * 100
		return nil
	}
}
