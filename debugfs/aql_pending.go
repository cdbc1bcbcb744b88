package debugfs

import "airtuned/wlan"

// AQLPending is the estimated airtime, in microseconds, of the frames that the
// driver was given and has not completed. All zero without the AQL feature, or
// while the firmware reports no rates. Below zero, or above zero at rest, it
// is an accounting error of the kernel.
type AQLPending struct {
	ACUs    [wlan.NumAC]int32
	TotalUs int32
	// McastUs is broadcast and multicast, not part of the total. Kernels
	// before 7.2 do not account for it, but OpenWrt's backports do.
	McastUs  int32
	HasMcast bool
}

const aqlPending = "aql_pending"

// Its usual rows, up to their numbers.
const (
	aqlPendingHeader = "AC     AQL pending"
	aqlPendingTotal  = "total  "
)

var aqlPendingRows = [wlan.NumAC]string{wlan.VO: "VO     ", wlan.VI: "VI     ", wlan.BE: "BE     ", wlan.BK: "BK     "}

// ParseAQLPending reads
//
//	AC     AQL pending
//	VO     0 us
//	...
//	total  4876 us
//
// with a row MC (7.2) or BC/MC (OpenWrt) before the total. The kernel prints
// signed counters as unsigned: 4294967044 is -252.
//
// Source: aql_pending (net/mac80211/debugfs.c, aql_pending_read), since 6.0.
func ParseAQLPending(b []byte, out *AQLPending) error {
	*out = AQLPending{}
	if err := wholeLines(aqlPending, b); err != nil {
		return err
	}
	var found acSet
	hasTotal := false
	if line, rest := cutLine(b); string(line) == aqlPendingHeader {
		b = rest
	}
	for _, ac := range wlan.ACs { // in the kernel's order
		us, rest, ok := cutRow(b, aqlPendingRows[ac], " us\n")
		if !ok {
			break
		}
		out.ACUs[ac] = int32(us)
		found.add(ac)
		b = rest
	}
	if us, rest, ok := cutRow(b, aqlPendingTotal, " us\n"); ok {
		out.TotalUs, hasTotal, b = int32(us), true, rest
	}
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		label, rest := cutField(line)
		ac, isAC := wlan.ParseAC(label)
		isTotal := string(label) == "total"
		isMcast := string(label) == "MC" || string(label) == "BC/MC"
		if !isAC && !isTotal && !isMcast {
			continue
		}
		us, _, ok := cutUs(rest)
		if !ok {
			value, _ := cutField(rest)
			return garbled(aqlPending, "row "+string(label), "a number of us", value)
		}
		switch {
		case isAC:
			out.ACUs[ac] = us
			found.add(ac)
		case isTotal:
			out.TotalUs, hasTotal = us, true
		default:
			out.McastUs, out.HasMcast = us, true
		}
	}
	if found != allACs {
		return found.missing(aqlPending, "row")
	}
	if !hasTotal {
		return garbled(aqlPending, "row total", "it to be there", nil)
	}
	return nil
}

// AQLPending reads the airtime in flight.
func (p *Phy) AQLPending() (AQLPending, error) {
	return readOnce(p, p.dir, aqlPending, ParseAQLPending)
}

// AQLPendingReader is AQLPending for every sample.
func (p *Phy) AQLPendingReader() *Reader[AQLPending] {
	return newReader(p, p.dir, aqlPending, ParseAQLPending)
}
