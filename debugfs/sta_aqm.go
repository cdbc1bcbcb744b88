package debugfs

import (
	"bytes"
	"math/bits"

	"airtuned/wlan"
)

// NumTID is the number of queues of a station: one per traffic identifier and
// one for management frames, which few drivers have.
const NumTID = 17

// StationAQM is what waits for a station above the driver and what went to the
// driver.
type StationAQM struct {
	// Total sums up the TIDs. Its counters wrap as each of them does, so that
	// differences are right. Its AC is void, its flags those of any TID.
	Total TIDQueue
	// TID is valid where HasTID is set.
	TID    [NumTID]TIDQueue
	HasTID [NumTID]bool
	// CoDel are the station's parameters, which kernels from 6.16 on (and
	// stable ones of 2025) no longer have per station.
	CoDel    CoDel
	HasCoDel bool
}

// TIDQueue is one TXQ. Backlog is a level; all other numbers count up from the
// station's arrival and wrap at 2^32.
type TIDQueue struct {
	AC             wlan.AC
	BacklogBytes   uint32
	BacklogPackets uint32
	NewFlows       uint32
	Drops          uint32 // by CoDel
	Marks          uint32 // by CoDel, with ECN
	Overlimit      uint32 // drops because fq was full
	Collisions     uint32
	TxBytes        uint32 // handed to the driver
	TxPackets      uint32 // handed to the driver
	Flags          TxqFlags
}

// TxqFlags is the state of a TXQ. The bits are ours: the kernel's numbers have
// changed their meaning, its words have not.
type TxqFlags uint8

// The states of a TXQ (net/mac80211/ieee80211_i.h, enum txq_info_flags).
const (
	TxqStop    TxqFlags = 1 << iota // stopped, for instance during a handover
	TxqAMPDU                        // aggregates
	TxqNoAMSDU                      // must not build A-MSDUs
	TxqDirty                        // has frames that the driver was not told of
)

// CoDel are the parameters of a station's CoDel.
type CoDel struct {
	TargetUs, IntervalUs uint32
	ECN                  bool
}

const staAQM = "aqm"

// The columns of a station's aqm.
type column uint8

const (
	colUnknown column = iota
	colTID
	colAC
	colBacklogBytes
	colBacklogPackets
	colNewFlows
	colDrops
	colMarks
	colOverlimit
	colCollisions
	colTxBytes
	colTxPackets
	colFlags
	numColumns
)

var columnNames = [numColumns]string{"", "tid", "ac", "backlog-bytes", "backlog-packets", "new-flows",
	"drops", "marks", "overlimit", "collisions", "tx-bytes", "tx-packets", "flags"}

// columns is the order of the columns in one text.
type columns struct {
	n  int
	is [24]column
	// usual is set if there are no others and the order is that of column.
	usual bool
}

// Every kernel so far has this header, and most TIDs of a station never carry a
// frame: knowing both by sight saves most of the work.
const (
	usualHeader = "tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags"
	unusedTID   = " 0 0 0 0 0 0 0 0 0 0x0(RUN)"
)

var usualColumns = columns{
	n: int(numColumns) - 1,
	is: [24]column{colTID, colAC, colBacklogBytes, colBacklogPackets, colNewFlows, colDrops, colMarks,
		colOverlimit, colCollisions, colTxBytes, colTxPackets, colFlags},
	usual: true,
}

// parse reads the header line. All columns we know must be there.
func (c *columns) parse(line []byte) error {
	if string(line) == usualHeader {
		*c = usualColumns
		return nil
	}
	var found [numColumns]bool
	for rest := line; ; c.n++ {
		var name []byte
		if name, rest = cutField(rest); len(name) == 0 {
			break
		}
		if c.n == len(c.is) {
			return garbled(staAQM, "header", "fewer columns", line)
		}
		for col := colTID; col < numColumns; col++ {
			if string(name) == columnNames[col] {
				c.is[c.n] = col
				found[col] = true
			}
		}
	}
	for col := colTID; col < numColumns; col++ {
		if !found[col] {
			return garbled(staAQM, "header", "a column "+columnNames[col], line)
		}
	}
	return nil
}

// row reads one row. Of a TID that was never used, known by sight, q is its AC.
func (c *columns) row(line []byte, q *TIDQueue) (tid uint32, unused bool, err error) {
	if n := len(line) - len(unusedTID); c.usual && n >= 3 && string(line[n:]) == unusedTID {
		tid, rest, ok := cutU32(line[:n])
		ac, rest, okAC := cutU32(rest)
		if ok && okAC && ac < wlan.NumAC && len(rest) == 0 {
			q.AC = wlan.AC(ac)
			return tid, true, nil
		}
	}
	var v [numColumns]uint32
	rest := line
	for _, col := range c.is[:c.n] {
		ok := true
		switch col {
		case colFlags:
			q.Flags, rest, ok = cutTxqFlags(rest)
		case colUnknown:
			_, rest = cutField(rest)
		default:
			v[col], rest, ok = cutU32(rest)
		}
		if !ok || v[colAC] >= wlan.NumAC {
			return 0, false, garbled(staAQM, "column "+columnNames[col], "a row of numbers and flags", line)
		}
	}
	q.AC = wlan.AC(v[colAC])
	q.BacklogBytes, q.BacklogPackets, q.NewFlows = v[colBacklogBytes], v[colBacklogPackets], v[colNewFlows]
	q.Drops, q.Marks, q.Overlimit, q.Collisions = v[colDrops], v[colMarks], v[colOverlimit], v[colCollisions]
	q.TxBytes, q.TxPackets = v[colTxBytes], v[colTxPackets]
	return v[colTID], false, nil
}

// cutTxqFlags reads 0x6(RUN AMPDU NO-AMSDU), the only field with blanks.
func cutTxqFlags(b []byte) (flags TxqFlags, rest []byte, ok bool) {
	open := bytes.IndexByte(b, '(')
	end := bytes.IndexByte(b, ')')
	if open < 0 || end < open {
		return 0, b, false
	}
	number, junk := cutField(b[:open])
	if _, ok := parseHex32(number); !ok || !blank(junk) {
		return 0, b, false
	}
	words := b[open+1 : end]
	for {
		var word []byte
		word, words = cutField(words)
		switch string(word) {
		case "":
			return flags, b[end+1:], true
		case "STOP":
			flags |= TxqStop
		case "AMPDU":
			flags |= TxqAMPDU
		case "NO-AMSDU":
			flags |= TxqNoAMSDU
		case "DIRTY":
			flags |= TxqDirty
		}
	}
}

// ParseStationAQM reads
//
//	target 19999us interval 99999us ecn yes
//	tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags
//	0 2 45420 30 812 14 3 0 2 198234112 130934 0x2(RUN AMPDU)
//	...
//
// where the first line is absent from newer kernels. Rows of TIDs that do not
// exist today are passed over.
//
// Source: stations/*/aqm (net/mac80211/debugfs_sta.c, sta_aqm_read).
func ParseStationAQM(b []byte, out *StationAQM) error {
	*out = StationAQM{}
	if err := wholeLines(staAQM, b); err != nil {
		return err
	}
	line, b := cutLine(b)
	if first, rest := cutField(line); string(first) == "target" {
		if !parseCoDel(rest, &out.CoDel) {
			return garbled(staAQM, "first line", "target Nus interval Nus ecn yes or no", line)
		}
		out.HasCoDel = true
		line, b = cutLine(b)
	}
	var cols columns
	if err := cols.parse(line); err != nil {
		return err
	}
	some, used := false, uint32(0)
	for len(b) > 0 {
		line, b = cutLine(b)
		var q TIDQueue
		tid, unused, err := cols.row(line, &q)
		if err != nil {
			return err
		}
		if tid >= NumTID {
			continue
		}
		out.TID[tid], out.HasTID[tid] = q, true
		some = true
		if !unused {
			used |= 1 << tid
		}
	}
	if !some {
		return garbled(staAQM, "", "a row of a TID", nil)
	}
	for ; used != 0; used &= used - 1 {
		out.Total.add(&out.TID[bits.TrailingZeros32(used)])
	}
	return nil
}

func (q *TIDQueue) add(o *TIDQueue) {
	q.BacklogBytes += o.BacklogBytes
	q.BacklogPackets += o.BacklogPackets
	q.NewFlows += o.NewFlows
	q.Drops += o.Drops
	q.Marks += o.Marks
	q.Overlimit += o.Overlimit
	q.Collisions += o.Collisions
	q.TxBytes += o.TxBytes
	q.TxPackets += o.TxPackets
	q.Flags |= o.Flags
}

// parseCoDel reads "19999us interval 99999us ecn yes".
func parseCoDel(b []byte, out *CoDel) bool {
	us := []byte("us")
	target, b := cutField(b)
	label, b := cutField(b)
	interval, b := cutField(b)
	ecnLabel, b := cutField(b)
	ecn, b := cutField(b)
	var okTarget, okInterval bool
	target, okTarget = bytes.CutSuffix(target, us)
	interval, okInterval = bytes.CutSuffix(interval, us)
	if !okTarget || !okInterval || string(label) != "interval" || string(ecnLabel) != "ecn" || !blank(b) {
		return false
	}
	out.TargetUs, okTarget = parseU32(target)
	out.IntervalUs, okInterval = parseU32(interval)
	out.ECN = string(ecn) == "yes"
	return okTarget && okInterval && (out.ECN || string(ecn) == "no")
}

// StationAQM reads a station's queues. Kernels before 6.2 have the file only
// for drivers that use mac80211's queues.
func (p *Phy) StationAQM(netdev string, mac wlan.MAC) (StationAQM, error) {
	return readOnce(p, p.stationDir(netdev, mac), staAQM, ParseStationAQM)
}

// StationAQMReader is StationAQM for every window.
func (p *Phy) StationAQMReader(netdev string, mac wlan.MAC) *Reader[StationAQM] {
	return newReader(p, p.stationDir(netdev, mac), staAQM, ParseStationAQM)
}
