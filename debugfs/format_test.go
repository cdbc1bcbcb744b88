package debugfs

import (
	"fmt"
	"strings"

	"airtuned/wlan"
)

// The formatters write what the kernel writes, from its format strings, so
// that parsing can be checked against an independent inverse.

func formatAQLTxqLimit(l *AQLTxqLimit) string {
	var b strings.Builder
	b.WriteString("AC\tAQL limit low\tAQL limit high\n")
	for _, ac := range wlan.ACs {
		if l.Has[ac] {
			fmt.Fprintf(&b, "%s\t%d\t\t%d\n", ac, l.Limits[ac].LowUs, l.Limits[ac].HighUs)
		}
	}
	if l.HasMcast {
		fmt.Fprintf(&b, "MC\t%d\n", l.McastUs)
	}
	return b.String()
}

func formatAQLPending(p *AQLPending) string {
	var b strings.Builder
	b.WriteString("AC     AQL pending\n")
	for _, ac := range wlan.ACs {
		fmt.Fprintf(&b, "%s     %d us\n", ac, uint32(p.ACUs[ac]))
	}
	if p.HasMcast {
		fmt.Fprintf(&b, "MC     %d us\n", uint32(p.McastUs))
	}
	fmt.Fprintf(&b, "total  %d us\n", uint32(p.TotalUs))
	return b.String()
}

func formatAQM(a *AQM) string {
	var b strings.Builder
	b.WriteString("access name value\n")
	for _, row := range []struct {
		bit   AQMFields
		label string
		value uint32
	}{
		{AQMFlows, "R fq_flows_cnt", a.Flows},
		{AQMBacklog, "R fq_backlog", a.BacklogPackets},
		{AQMOvermemory, "R fq_overlimit", a.Overmemory},
		{AQMOverlimit, "R fq_overmemory", a.Overlimit},
		{AQMCollisions, "R fq_collisions", a.Collisions},
		{AQMMemoryUsage, "R fq_memory_usage", a.MemoryUsageBytes},
		{AQMMemoryLimit, "RW fq_memory_limit", a.MemoryLimitBytes},
		{AQMLimit, "RW fq_limit", a.LimitPackets},
		{AQMQuantum, "RW fq_quantum", a.QuantumBytes},
	} {
		if a.Has&row.bit != 0 {
			fmt.Fprintf(&b, "%s %d\n", row.label, row.value)
		}
	}
	return b.String()
}

func formatQueues(q *Queues) string {
	var b strings.Builder
	for i := range q.N {
		fmt.Fprintf(&b, "%02d: 0x%08x/%d\n", i, q.Stop[i], q.Pending[i])
	}
	return b.String()
}

func formatHWQueues(q *HWQueues) string {
	s := fmt.Sprintf("AC queues: VO:%d VI:%d BE:%d BK:%d\n",
		uint8(q.AC[wlan.VO]), uint8(q.AC[wlan.VI]), uint8(q.AC[wlan.BE]), uint8(q.AC[wlan.BK]))
	if q.Cab != NoQueue {
		s += fmt.Sprintf("cab queue: %d\n", q.Cab)
	}
	return s
}

func formatAirtimeFlags(f *AirtimeFlags) string {
	s := ""
	if *f&AirtimeTX != 0 {
		s += "AIRTIME_TX\t(1)\n"
	}
	if *f&AirtimeRX != 0 {
		s += "AIRTIME_RX\t(2)\n"
	}
	return s
}

func formatStationAQL(s *StationAQL) string {
	return fmt.Sprintf("Q depth: VO: %d us VI: %d us BE: %d us BK: %d us\nQ limit[low/high]: VO: %s VI: %s BE: %s BK: %s\n",
		uint32(s.PendingUs[0]), uint32(s.PendingUs[1]), uint32(s.PendingUs[2]), uint32(s.PendingUs[3]),
		s.Limits[0], s.Limits[1], s.Limits[2], s.Limits[3])
}

func formatStationAirtime(a *StationAirtime) string {
	s := fmt.Sprintf("RX: %d us\nTX: %d us\nWeight: %d\n", a.RXUs, a.TXUs, a.Weight)
	label := "Virt-T"
	if a.HasDeficit {
		label = "Deficit"
	}
	d := a.DeficitUs
	return s + fmt.Sprintf("%s: VO: %d us VI: %d us BE: %d us BK: %d us\n", label, d[0], d[1], d[2], d[3])
}

func formatStationAQM(s *StationAQM) string {
	var b strings.Builder
	if s.HasCoDel {
		ecn := "no"
		if s.CoDel.ECN {
			ecn = "yes"
		}
		fmt.Fprintf(&b, "target %dus interval %dus ecn %s\n", s.CoDel.TargetUs, s.CoDel.IntervalUs, ecn)
	}
	b.WriteString("tid ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets flags\n")
	for tid, q := range s.TID {
		if !s.HasTID[tid] {
			continue
		}
		fmt.Fprintf(&b, "%d %d %d %d %d %d %d %d %d %d %d 0x%x(", tid, q.AC, q.BacklogBytes, q.BacklogPackets,
			q.NewFlows, q.Drops, q.Marks, q.Overlimit, q.Collisions, q.TxBytes, q.TxPackets, uint8(q.Flags))
		words := []string{"RUN"}
		for _, w := range []struct {
			flag TxqFlags
			word string
		}{{TxqAMPDU, "AMPDU"}, {TxqNoAMSDU, "NO-AMSDU"}, {TxqDirty, "DIRTY"}} {
			if q.Flags&w.flag != 0 {
				words = append(words, w.word)
			}
		}
		if q.Flags&TxqStop != 0 {
			words[0] = "STOP"
		}
		b.WriteString(strings.Join(words, " ") + ")\n")
	}
	return b.String()
}
