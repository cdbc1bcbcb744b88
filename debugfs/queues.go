package debugfs

// MaxQueues is more hardware queues than mac80211 allows (IEEE80211_MAX_QUEUES).
const MaxQueues = 64

// Queues is the state of the hardware queues, 0 to N-1. Which of them an
// interface uses is in its HWQueues: unused ones of ath10k stay stopped for
// ever after the driver was full once.
type Queues struct {
	N int
	// Stop is why a queue is stopped, 0 if it is not.
	Stop [MaxQueues]StopReason
	// Pending is the number of frames mac80211 itself holds for a queue.
	Pending [MaxQueues]int32
}

// StopReason is a set of reasons to stop a queue (net/mac80211/ieee80211_i.h,
// enum queue_stop_reason).
type StopReason uint32

// The reasons to stop a queue. New kernels may have more.
const (
	StopDriver       StopReason = 1 << iota // the driver is full
	StopPS                                  // power save
	StopCSA                                 // channel switch
	StopAggregation                         // block ack session changes
	StopSuspend                             // system sleep
	StopSKBAdd                              // frames are put back
	StopOffchannel                          // scan or remain-on-channel
	StopFlush                               // waiting for the hardware queues
	StopTDLSTeardown                        // TDLS link goes down
	StopReserveTID                          // TID is being reserved
	StopIftypeChange                        // interface type changes
)

const queues = "queues"

// ParseQueues reads one line per hardware queue, stop reasons and number of
// pending frames:
//
//	00: 0x00000001/0
//
// Source: queues (net/mac80211/debugfs.c, queues_read).
func ParseQueues(b []byte, out *Queues) error {
	*out = Queues{}
	if err := wholeLines(queues, b); err != nil {
		return err
	}
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		label, rest := cutLabel(line)
		index, ok := parseU32(label)
		if !ok || int64(index) != int64(out.N) || out.N == MaxQueues {
			return garbled(queues, "", "one row per queue, in order", line)
		}
		value, rest := cutField(rest)
		i := 0
		for i < len(value) && value[i] != '/' {
			i++
		}
		stop, ok := parseHex32(value[:i])
		if !ok || i == len(value) || !blank(rest) {
			return garbled(queues, "row "+string(label), "0xSTOP/PENDING", line)
		}
		pending, ok := parseI32(value[i+1:])
		if !ok {
			return garbled(queues, "row "+string(label), "0xSTOP/PENDING", line)
		}
		out.Stop[out.N], out.Pending[out.N] = StopReason(stop), pending
		out.N++
	}
	return nil
}

// Queues reads the state of the hardware queues.
func (p *Phy) Queues() (Queues, error) {
	return readOnce(p, p.dir, queues, ParseQueues)
}

// QueuesReader is Queues for every sample.
func (p *Phy) QueuesReader() *Reader[Queues] {
	return newReader(p, p.dir, queues, ParseQueues)
}
