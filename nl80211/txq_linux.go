package nl80211

import "github.com/mdlayher/netlink"

// parse reads a nest of enum nl80211_txq_stats
// (net/wireless/nl80211.c, nl80211_put_txq_stats).
func (s *TXQStats) parse(ad *netlink.AttributeDecoder) error {
	for ad.Next() {
		if f := s.field(ad.Type()); f != nil {
			*f = ad.Uint32()
			s.Has |= 1 << ad.Type()
		}
	}
	return nil
}
