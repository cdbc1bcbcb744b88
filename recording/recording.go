// Package recording is the file format in which a loop's readings and decisions
// are kept: docs/recording.md describes it byte by byte. A Writer takes down
// what one radio's loop reads, does and decides; a Reader gives it back, with
// the kernel files as they were at each moment. Whether a policy would have
// decided otherwise is package tuner's business.
//
// Readings are kept as the texts that the kernel gave, and errors in place of
// those it did not give, so that a fault in a parser can be found in a recording
// as well. Texts cost little, because only the numbers that changed are kept.
package recording

import (
	"errors"
	"time"

	"airtuned/policies"
	"airtuned/wlan"
)

// Version is the version of the format. A file with a higher one cannot be
// read; what a file has of a lower one, all later versions read.
const Version = 1

// Magic begins every file; the version follows as an unsigned varint.
const Magic = "airtuned recording\n"

var (
	// ErrFormat is wrapped by errors about files that are no recording, or
	// damaged ones.
	ErrFormat = errors.New("not a sound recording")
	// ErrNewer is wrapped when a newer airtuned made the file.
	ErrNewer = errors.New("made by a newer airtuned")
	// ErrCut is wrapped when the file has no end: what was read is good.
	ErrCut = errors.New("the recording has no end")
)

// Kind says what an Event is.
type Kind uint8

// The kinds of events, by their number in the file.
const (
	Begin   Kind = iota // a recording begins, or begins anew after a gap
	file                // a file gets its number; the Reader keeps that to itself
	at                  // the time moves on; likewise
	Open                // the loop opened the radio's files under a phy's name
	Scan                // it listed interfaces and stations
	Sample              // it read the fast files
	Observe             // it ended a window
	Rates               // netlink told stations' rates
	Policy              // a policy was made
	Decide              // the policy was asked and answered
	Change              // a knob was changed
	State               // the loop's state or its reason changed
	Lost                // windows are missing here
	Reading             // a file or folder was read; it has no number of its own
	kinds
)

// What an item of a block is, in the lowest bits of its first number.
const (
	isEvent   = iota // the other bits are its Kind
	isSame           // a reading that gave what it gave before
	isChanged        // another text
	isFailed         // an error
	itemBits  = 2
)

// Event is one thing that a loop did. Which fields are set depends on its Kind.
type Event struct {
	Kind Kind
	// Radio is where the event belongs.
	Radio *Radio

	// Begin: a JSON text about the radio and the loop.
	About []byte

	// Open: the phy's name.
	Phy string

	// Observe: the window's length and the limits in force. Observe and Decide:
	// whether what was learnt before is void.
	Window time.Duration
	Limits wlan.Limits
	Fresh  bool

	// Rates, in kbit/s.
	Rates []Rate

	// Policy: its name, its parameters and its memory (policies.Memory).
	Policy string
	Params policies.Params
	Memory []byte

	// Decide: the answer.
	Decision policies.Decision

	// Change: the knob, its values before and after, what became of it. Change
	// and State: why.
	Knob, From, To, Result string
	Reason                 string

	// State: its name.
	State string

	// Lost: how many windows.
	Windows uint64

	// Reading: the file, whether it is the same as at the last reading, its text,
	// or the error in its place. The text is valid until the next event.
	Name string
	Same bool
	Text []byte
	Err  error
}

// Rate is a station's transmit rate as netlink tells it.
type Rate struct {
	MAC  wlan.MAC
	Kbps uint64
}

// Sums of blocks are FNV-1a, 32 bits.
func sum(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}
