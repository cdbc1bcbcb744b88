package debugfs

import (
	"fmt"

	"airtuned/wlan"
)

// AQLTxqLimit is how much airtime a station may have in driver and firmware,
// per access category: what new stations start with.
type AQLTxqLimit struct {
	// Limits are valid where Has is set.
	Limits [wlan.NumAC]wlan.Limit
	Has    [wlan.NumAC]bool
	// McastUs bounds broadcast and multicast, all stations together. Kernels
	// before 7.2 have no such limit, but OpenWrt's backports do.
	McastUs  uint32
	HasMcast bool
}

const aqlTxqLimit = "aql_txq_limit"

// ParseAQLTxqLimit reads
//
//	AC	AQL limit low	AQL limit high
//	VO	5000		12000
//	...
//	MC	50000
//
// where the last row is absent before 7.2 and called BC/MC in OpenWrt.
//
// Source: aql_txq_limit (net/mac80211/debugfs.c, aql_txq_limit_read).
func ParseAQLTxqLimit(b []byte, out *AQLTxqLimit) error {
	*out = AQLTxqLimit{}
	if err := wholeLines(aqlTxqLimit, b); err != nil {
		return err
	}
	found := false
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		label, rest := cutField(line)
		ac, isAC := wlan.ParseAC(label)
		isMcast := string(label) == "MC" || string(label) == "BC/MC"
		if !isAC && !isMcast {
			continue
		}
		low, rest := cutField(rest)
		lowUs, ok := parseU32(low)
		if !ok {
			return garbled(aqlTxqLimit, "row "+string(label), number, low)
		}
		if isMcast {
			out.McastUs, out.HasMcast = lowUs, true
			continue
		}
		high, _ := cutField(rest)
		highUs, ok := parseU32(high)
		if !ok {
			return garbled(aqlTxqLimit, "row "+string(label)+", high", number, high)
		}
		out.Limits[ac] = wlan.Limit{LowUs: lowUs, HighUs: highUs}
		out.Has[ac] = true
		found = true
	}
	if !found {
		return garbled(aqlTxqLimit, "", "a row of an access category", nil)
	}
	return nil
}

// AQLTxqLimit reads the radio's limits, in microseconds of airtime.
func (p *Phy) AQLTxqLimit() (AQLTxqLimit, error) {
	return readOnce(p, p.dir, aqlTxqLimit, ParseAQLTxqLimit)
}

// SetAQLTxqLimit changes the limits of one access category. Stations whose own
// limits equal the old ones follow; others keep theirs. The kernel checks
// nothing, so a limit of 0 (which blocks the queue) and low > high are refused
// here, with ErrLimit.
//
// Source: aql_txq_limit (net/mac80211/debugfs.c, aql_txq_limit_write).
func (p *Phy) SetAQLTxqLimit(ac wlan.AC, l wlan.Limit) error {
	if err := checkLimit(ac, l); err != nil {
		return fmt.Errorf("set AQL limit of %s to %s: %w", ac, l, err)
	}
	return p.RestoreAQLTxqLimit(ac, l)
}

// RestoreAQLTxqLimit puts back limits that were read earlier, whatever they
// are: what somebody else set is not ours to judge.
func (p *Phy) RestoreAQLTxqLimit(ac wlan.AC, l wlan.Limit) error {
	if err := p.write(p.dir, aqlTxqLimit, fmt.Sprintf("%d %d %d\n", ac, l.LowUs, l.HighUs)); err != nil {
		return fmt.Errorf("set AQL limit of %s to %s: %w", ac, l, err)
	}
	return nil
}

func checkLimit(ac wlan.AC, l wlan.Limit) error {
	switch {
	case ac >= wlan.NumAC:
		return fmt.Errorf("%w: no such access category", ErrLimit)
	case l.LowUs == 0:
		return fmt.Errorf("%w: a low limit of 0 blocks the queue", ErrLimit)
	case l.LowUs > l.HighUs:
		return fmt.Errorf("%w: low is above high", ErrLimit)
	}
	return nil
}

// AQLTxqLimitReader is AQLTxqLimit for every window.
func (p *Phy) AQLTxqLimitReader() *Reader[AQLTxqLimit] {
	return newReader(p, p.dir, aqlTxqLimit, ParseAQLTxqLimit)
}
