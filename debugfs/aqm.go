package debugfs

import "strings"

// AQM is the state of the radio's fq, above the driver. A field is valid where
// Has tells so.
type AQM struct {
	// Has tells which rows there were.
	Has AQMFields
	// Truncated is set when rows are missing at the end, because the kernel
	// cut the text: usual once the counters have grown.
	Truncated bool

	Flows            uint32 // hash buckets
	BacklogPackets   uint32 // in all TXQs
	Overlimit        uint32 // drops because fq_limit was reached, wraps
	Overmemory       uint32 // drops because fq_memory_limit was reached, wraps
	Collisions       uint32 // flows that shared a bucket, wraps
	MemoryUsageBytes uint32
	MemoryLimitBytes uint32
	LimitPackets     uint32
	QuantumBytes     uint32
}

// AQMFields is a set of fields of AQM.
type AQMFields uint16

// The fields of AQM, in the kernel's order.
const (
	AQMFlows AQMFields = 1 << iota
	AQMBacklog
	AQMOverlimit
	AQMOvermemory
	AQMCollisions
	AQMMemoryUsage
	AQMMemoryLimit
	AQMLimit
	AQMQuantum

	allAQM AQMFields = 1<<iota - 1
)

const aqm = "aqm"

const aqmHeader = "access name value"

// aqmRows are the rows, in the kernel's order, up to their numbers.
var aqmRows = [...]struct {
	text string
	is   AQMFields
}{
	{"R fq_flows_cnt ", AQMFlows},
	{"R fq_backlog ", AQMBacklog},
	{"R fq_overlimit ", AQMOvermemory}, // sic
	{"R fq_overmemory ", AQMOverlimit}, // sic
	{"R fq_collisions ", AQMCollisions},
	{"R fq_memory_usage ", AQMMemoryUsage},
	{"RW fq_memory_limit ", AQMMemoryLimit},
	{"RW fq_limit ", AQMLimit},
	{"RW fq_quantum ", AQMQuantum},
}

// aqmField is what a row of that name is about, 0 if there is none.
func aqmField(name []byte) AQMFields {
	for i := range aqmRows {
		if _, n, _ := strings.Cut(aqmRows[i].text, " "); n == string(name)+" " {
			return aqmRows[i].is
		}
	}
	return 0
}

func (a *AQM) set(field AQMFields, v uint32) {
	switch field {
	case AQMFlows:
		a.Flows = v
	case AQMBacklog:
		a.BacklogPackets = v
	case AQMOverlimit:
		a.Overlimit = v
	case AQMOvermemory:
		a.Overmemory = v
	case AQMCollisions:
		a.Collisions = v
	case AQMMemoryUsage:
		a.MemoryUsageBytes = v
	case AQMMemoryLimit:
		a.MemoryLimitBytes = v
	case AQMLimit:
		a.LimitPackets = v
	case AQMQuantum:
		a.QuantumBytes = v
	}
	a.Has |= field
}

// ParseAQM reads
//
//	access name value
//	R fq_flows_cnt 4096
//	...
//	RW fq_quantum 300
//
// The kernel renders into 200 bytes and cuts what does not fit, in the middle
// of a number if need be, so a last line without a newline is dropped. It also
// prints the two drop counters under each other's name, in every version so
// far; here they have the right ones.
//
// Source: aqm (net/mac80211/debugfs.c, aqm_read).
func ParseAQM(b []byte, out *AQM) error {
	*out = AQM{}
	// Not wholeLines: cut texts are usual here.
	text := b
	for len(b) > 0 && b[len(b)-1] != '\n' {
		b = b[:len(b)-1]
	}
	if line, rest := cutLine(b); string(line) == aqmHeader {
		b = rest
	}
	for i := range aqmRows {
		v, rest, ok := cutRow(b, aqmRows[i].text, "\n")
		if !ok {
			break // what is left may be rows all the same
		}
		out.set(aqmRows[i].is, v)
		b = rest
	}
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		_, rest := cutField(line)
		name, rest := cutField(rest)
		field := aqmField(name)
		if field == 0 {
			continue
		}
		v, _, ok := cutU32(rest)
		if !ok {
			value, _ := cutField(rest)
			return garbled(aqm, "row "+string(name), number, value)
		}
		out.set(field, v)
	}
	// The first rows always fit.
	if out.Has&AQMBacklog == 0 {
		return garbled(aqm, "row fq_backlog", "it to be there", text)
	}
	out.Truncated = out.Has != allAQM
	return nil
}

// AQM reads the state of the radio's fq. Kernels before 6.2 have the file only
// for drivers that use mac80211's queues.
func (p *Phy) AQM() (AQM, error) {
	return readOnce(p, p.dir, aqm, ParseAQM)
}

// AQMReader is AQM for every sample.
func (p *Phy) AQMReader() *Reader[AQM] {
	return newReader(p, p.dir, aqm, ParseAQM)
}
