package radiosim

import "airtuned/wlan"

// airtime is what mac80211 keeps per station and access category
// (struct airtime_info).
type airtime struct {
	tx      uint64 // us
	deficit int32  // us
	pending int32  // us in driver and firmware, an estimate
	limit   wlan.Limit
}

// aql is the radio-wide part of airtime queue limits (struct ieee80211_local).
// Pending sums are signed and printed unsigned, as in the kernel.
type aql struct {
	enabled   bool
	limits    wlan.Limits
	acPending [wlan.NumAC]int32
	pending   int32
}

// txqAirtimeCheck says whether a queue may hand over one more frame
// (ieee80211_txq_airtime_check). The test is "less than", so a queue may hold
// its limit and one frame more.
func (s *Sim) txqAirtimeCheck(t *txq) bool {
	if s.opt.NoAQL || !s.aql.enabled {
		return true
	}
	a := &t.sta.airtime[t.ac]
	if uint32(a.pending) < a.limit.LowUs {
		return true
	}
	return uint32(s.aql.pending) < s.aql.limits.ThresholdUs && uint32(a.pending) < a.limit.HighUs
}

// phyAirtimeCheck is the cap on all stations together, since kernel 6.0
// (ieee80211_txq_schedule_airtime_check). It uses the radio's limits, not the
// stations', holds while aql_enable is 0, and wraps as the kernel's does.
func (s *Sim) phyAirtimeCheck(ac int) bool {
	if s.opt.NoAQL {
		return true
	}
	l := s.aql.limits.AC[ac]
	limit := (s.active[ac].n-1)*l.LowUs/2 + l.HighUs
	return uint32(s.aql.acPending[ac]) < limit
}

// accountPending books a frame that goes to the driver. A station whose rate
// is not known counts nothing.
func (s *Sim) accountPending(t *txq, p *packet) {
	p.estUs = 0
	if s.opt.NoAQL || s.opt.Blind {
		return
	}
	us := expectedAirtimeUs(t.sta.reportedKbps, t.sta.spec.Legacy, p.skbBytes())
	// Ten bits in steps of 4 us (ieee80211_info_set_tx_time_est).
	us = min(us, 4095) &^ 3
	p.estUs = uint16(us)
	t.sta.airtime[t.ac].pending += us
	s.aql.pending += us
	s.aql.acPending[t.ac] += us
}

// completePending takes a frame out of the books again. A station's own sum
// never goes below zero; the radio's do (ieee80211_sta_update_pending_airtime).
func (s *Sim) completePending(t *txq, p *packet) {
	if s.stuck {
		return
	}
	us := int32(p.estUs)
	a := &t.sta.airtime[t.ac]
	a.pending = max(0, a.pending-us)
	s.aql.pending -= us
	s.aql.acPending[t.ac] -= us
}

// expectedAirtimeUs is mac80211's estimate for one frame of skb bytes
// (net/mac80211/airtime.c, ieee80211_calc_expected_tx_airtime): the raw
// duration and a share of the preamble that shrinks as the rate grows, because
// faster links are taken to send longer aggregates. 0 for an unknown rate.
func expectedAirtimeUs(kbps int, legacy bool, skb int32) int32 {
	if kbps == 0 {
		return 0
	}
	bits := (int64(skb) + 38) * 8
	if legacy {
		return int32(20 + 16 + bits*1000/int64(kbps))
	}
	avg := int64(1024*8*1000) / int64(kbps) // us of an average packet
	var shift uint
	switch {
	case avg > 400:
		shift = 1
	case avg > 250:
		shift = 2
	case avg > 150:
		shift = 3
	case avg > 70:
		shift = 4
	default:
		shift = 5
	}
	overhead := int64(36+4*streams(kbps)) >> shift
	return int32(max(4, bits*1000/int64(kbps)+overhead))
}

// streams guesses spatial streams from a rate: one carries up to 433.3 Mb/s
// in 80 MHz.
func streams(kbps int) int { return 1 + (kbps-1)/433300 }
