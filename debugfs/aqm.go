package debugfs

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
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		_, rest := cutField(line)
		name, rest := cutField(rest)
		var field *uint32
		var bit AQMFields
		switch string(name) {
		case "fq_flows_cnt":
			field, bit = &out.Flows, AQMFlows
		case "fq_backlog":
			field, bit = &out.BacklogPackets, AQMBacklog
		case "fq_overlimit": // sic
			field, bit = &out.Overmemory, AQMOvermemory
		case "fq_overmemory": // sic
			field, bit = &out.Overlimit, AQMOverlimit
		case "fq_collisions":
			field, bit = &out.Collisions, AQMCollisions
		case "fq_memory_usage":
			field, bit = &out.MemoryUsageBytes, AQMMemoryUsage
		case "fq_memory_limit":
			field, bit = &out.MemoryLimitBytes, AQMMemoryLimit
		case "fq_limit":
			field, bit = &out.LimitPackets, AQMLimit
		case "fq_quantum":
			field, bit = &out.QuantumBytes, AQMQuantum
		default:
			continue
		}
		v, _, ok := cutU32(rest)
		if !ok {
			value, _ := cutField(rest)
			return garbled(aqm, "row "+string(name), number, value)
		}
		*field = v
		out.Has |= bit
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
