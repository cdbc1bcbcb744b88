package radiosim

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"airtuned/wlan"
)

// What the debugfs files print and take: net/mac80211/debugfs.c,
// debugfs_sta.c, and ath10k's debug.c, as of 6.12. Reading must not allocate.

func appendUint(b []byte, v uint64) []byte { return strconv.AppendUint(b, v, 10) }

func (s *Sim) readTxqLimit(b []byte) []byte {
	b = append(b, "AC\tAQL limit low\tAQL limit high\n"...)
	for ac, l := range s.aql.limits.AC {
		b = append(b, wlan.AC(ac).String()...)
		b = append(b, '\t')
		b = appendUint(b, uint64(l.LowUs))
		b = append(b, "\t\t"...)
		b = appendUint(b, uint64(l.HighUs))
		b = append(b, '\n')
	}
	return b
}

func (s *Sim) writeTxqLimit(p string) error {
	if len(p) >= 100 {
		return unix.EINVAL
	}
	var v [3]uint32
	if !scanUints(p, v[:]) || v[0] >= wlan.NumAC {
		return unix.EINVAL
	}
	s.setLimit(int(v[0]), wlan.Limit{LowUs: v[1], HighUs: v[2]})
	return nil
}

func (s *Sim) readThreshold(b []byte) []byte {
	return append(appendUint(b, uint64(s.aql.limits.ThresholdUs)), '\n')
}

func (s *Sim) writeThreshold(p string) error {
	v, ok := kstrtou64(p, 0)
	if !ok {
		return unix.EINVAL
	}
	s.aql.limits.ThresholdUs = uint32(v)
	return nil
}

func (s *Sim) readEnable(b []byte) []byte {
	if s.aql.enabled {
		return append(b, "1\n"...)
	}
	return append(b, "0\n"...)
}

func (s *Sim) writeEnable(p string) error {
	switch strings.TrimSuffix(p, "\n") {
	case "0":
		s.aql.enabled = false
	case "1":
		s.aql.enabled = true
	default:
		return unix.EINVAL
	}
	return nil
}

func (s *Sim) readPending(b []byte) []byte {
	b = append(b, "AC     AQL pending\n"...)
	for ac, v := range s.aql.acPending {
		b = append(b, wlan.AC(ac).String()...)
		b = append(b, "     "...)
		b = appendUint(b, uint64(uint32(v)))
		b = append(b, " us\n"...)
	}
	b = append(b, "total  "...)
	b = appendUint(b, uint64(uint32(s.aql.pending)))
	return append(b, " us\n"...)
}

// aqmBytes is what the kernel's buffer for the radio's aqm holds.
const aqmBytes = 199

func (s *Sim) readAqm(b []byte) []byte {
	row := func(b []byte, label string, v uint64) []byte {
		b = append(b, label...)
		return append(appendUint(b, v), '\n')
	}
	start := len(b)
	b = append(b, "access name value\n"...)
	b = row(b, "R fq_flows_cnt ", fqFlows)
	b = row(b, "R fq_backlog ", uint64(s.fq.backlog))
	b = row(b, "R fq_overlimit ", uint64(s.fq.overmemory)) // the kernel swaps these two
	b = row(b, "R fq_overmemory ", uint64(s.fq.overlimit))
	b = row(b, "R fq_collisions ", 0)
	b = row(b, "R fq_memory_usage ", uint64(s.fq.memory))
	b = row(b, "RW fq_memory_limit ", uint64(s.fq.memoryLimit))
	b = row(b, "RW fq_limit ", uint64(s.fq.limit))
	b = row(b, "RW fq_quantum ", uint64(s.fq.quantum))
	return b[:min(len(b), start+aqmBytes)]
}

func (s *Sim) writeAqm(p string) error {
	if len(p) >= 100 {
		return unix.EINVAL
	}
	for _, k := range []struct {
		name string
		v    *uint32
	}{
		{"fq_limit", &s.fq.limit}, {"fq_memory_limit", &s.fq.memoryLimit}, {"fq_quantum", &s.fq.quantum},
	} {
		var v [1]uint32
		if rest, ok := strings.CutPrefix(p, k.name); ok && scanUints(rest, v[:]) {
			*k.v = v[0]
			return nil
		}
	}
	return unix.EINVAL
}

func (s *Sim) readQueues(b []byte) []byte {
	for q, stopped := range s.drv.stopped {
		b = append(b, byte('0'+q/10), byte('0'+q%10))
		if stopped {
			b = append(b, ": 0x00000001/0\n"...)
		} else {
			b = append(b, ": 0x00000000/0\n"...)
		}
	}
	return b
}

func (s *Sim) readAirtimeFlags(b []byte) []byte {
	if s.airtimeFlags&airtimeUseTx != 0 {
		b = append(b, "AIRTIME_TX\t(1)\n"...)
	}
	if s.airtimeFlags&airtimeUseRx != 0 {
		b = append(b, "AIRTIME_RX\t(2)\n"...)
	}
	return b
}

func (s *Sim) writeAirtimeFlags(p string) error {
	v, ok := kstrtou64(p, 0)
	if !ok || v > math.MaxUint16 || len(p) >= 16 {
		return unix.EINVAL
	}
	s.airtimeFlags = uint16(v)
	return nil
}

func (s *Sim) readMisc(b []byte) []byte {
	b = append(b, "pending:\n"...)
	for q := range numHwQueues {
		b = append(b, '[')
		b = appendUint(b, uint64(q))
		b = append(b, "] 0\n"...)
	}
	return b
}

func (s *Sim) readResetStats(b []byte) []byte {
	b = decimal(append(b, "fw_crash_counter\t\t"...), int64(s.crashes))
	b = append(b, "fw_warm_reset_counter\t\t0\n"...)
	return decimal(append(b, "fw_cold_reset_counter\t\t"...), int64(s.coldResets+s.crashes))
}

func (st *station) readAql(b []byte) []byte {
	b = append(b, "Q depth:"...)
	for ac := range st.airtime {
		b = append(b, ' ')
		b = append(b, wlan.AC(ac).String()...)
		b = append(b, ": "...)
		b = appendUint(b, uint64(uint32(st.airtime[ac].pending)))
		b = append(b, " us"...)
	}
	b = append(b, "\nQ limit[low/high]:"...)
	for ac := range st.airtime {
		b = append(b, ' ')
		b = append(b, wlan.AC(ac).String()...)
		b = append(b, ": "...)
		b = appendUint(b, uint64(st.airtime[ac].limit.LowUs))
		b = append(b, '/')
		b = appendUint(b, uint64(st.airtime[ac].limit.HighUs))
	}
	return append(b, '\n')
}

func (st *station) writeAql(p string) error {
	rest, ok := strings.CutPrefix(p, "limit")
	var v [3]uint32
	if len(p) > 100 || !ok || !scanUints(rest, v[:]) || v[0] >= wlan.NumAC {
		return unix.EINVAL
	}
	st.airtime[v[0]].limit = wlan.Limit{LowUs: v[1], HighUs: v[2]}
	return nil
}

func (st *station) readAirtime(b []byte) []byte {
	var tx uint64
	for ac := range st.airtime {
		tx += st.airtime[ac].tx
	}
	b = append(b, "RX: 0 us\nTX: "...) // ath10k reports no receive airtime here
	b = appendUint(b, tx)
	b = append(b, " us\nWeight: "...)
	b = appendUint(b, airtimeWeight)
	b = append(b, "\nDeficit:"...)
	for ac := range st.airtime {
		b = append(b, ' ')
		b = append(b, wlan.AC(ac).String()...)
		b = append(b, ": "...)
		b = strconv.AppendInt(b, int64(st.airtime[ac].deficit), 10)
		b = append(b, " us"...)
	}
	return append(b, '\n')
}

func (st *station) writeAirtime(string) error {
	for ac := range st.airtime {
		st.airtime[ac].tx = 0
		st.airtime[ac].deficit = airtimeWeight
	}
	return nil
}

// firstTID is the traffic identifier whose row carries a queue's numbers; the
// other rows of its access category are empty, as on a network that marks
// nothing but the four classes.
var firstTID = [wlan.NumAC]int{wlan.VO: 6, wlan.VI: 5, wlan.BE: 0, wlan.BK: 1}

func (st *station) readAqm(b []byte) []byte {
	b = append(b, "tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags\n"...)
	for tid, ac := range wlan.TIDToAC {
		b = appendUint(b, uint64(tid))
		b = append(b, ' ')
		b = appendUint(b, uint64(ac))
		if firstTID[ac] != tid {
			b = append(b, " 0 0 0 0 0 0 0 0 0 0x0(RUN)\n"...)
			continue
		}
		t := &st.txq[ac]
		for _, v := range [...]uint32{uint32(t.backlogBytes), uint32(t.backlogPackets), t.flows, t.drops,
			0, t.overlimit, 0, t.txBytes, t.txPackets} {
			b = append(b, ' ')
			b = appendUint(b, uint64(v))
		}
		flags, words := uint64(0), " 0x"
		if t.txPackets > 0 && !st.spec.Legacy {
			flags |= 2 // IEEE80211_TXQ_AMPDU
		}
		if t.dirty {
			flags |= 8 // IEEE80211_TXQ_DIRTY
		}
		b = append(b, words...)
		b = strconv.AppendUint(b, flags, 16)
		b = append(b, "(RUN"...)
		if flags&2 != 0 {
			b = append(b, " AMPDU"...)
		}
		if flags&8 != 0 {
			b = append(b, " DIRTY"...)
		}
		b = append(b, ")\n"...)
	}
	return b
}

// scanUints reads numbers as the kernel's sscanf does with "%u %u ...": blanks
// before each are skipped, what follows the last is ignored, and a value over
// 32 bits wraps.
func scanUints(p string, v []uint32) bool {
	for i := range v {
		p = strings.TrimLeft(p, " \t\n\v\f\r")
		n := 0
		for n < len(p) && p[n] >= '0' && p[n] <= '9' {
			v[i] = v[i]*10 + uint32(p[n]-'0')
			n++
		}
		if n == 0 {
			return false
		}
		p = p[n:]
	}
	return true
}

// kstrtou64 is the kernel's kstrtoull: the whole text, one newline at its end
// allowed.
func kstrtou64(p string, base int) (uint64, bool) {
	p = strings.TrimSuffix(p, "\n")
	p = strings.TrimPrefix(p, "+")
	if strings.Contains(p, "_") || strings.HasPrefix(strings.ToLower(p), "0b") || strings.HasPrefix(strings.ToLower(p), "0o") {
		return 0, false // Go's, not C's
	}
	v, err := strconv.ParseUint(p, base, 64)
	return v, err == nil
}
