package recording

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/policies"
	"airtuned/wlan"
)

const (
	// blockSize is when a block is handed over although its window has not ended.
	blockSize = 32 << 10
	// maxWaiting is how many blocks wait for whoever takes them; further ones are
	// lost. The first window of 500 stations is some dozen.
	maxWaiting = 128
	// blockEvery is when a block is handed over although there are no windows.
	blockEvery = time.Second
	// maxKept bounds the texts kept to compare with: stations that come and go
	// leave theirs behind. Beyond it the recording begins anew.
	maxKept = 4 << 20
)

// Writer takes down what one radio's loop does, in blocks that another goroutine
// takes. It never waits: when blocks are not taken in time, it stops, counts what
// is lost, and begins anew when told to. It belongs to the loop; its methods do
// nothing on a nil Writer, which is how a loop runs that is not recorded. It
// allocates nothing in the long run.
type Writer struct {
	blocks    chan []byte
	spare     chan []byte
	abandoned atomic.Bool

	buf    []byte
	behind bool // until Begin
	lost   uint64
	files  map[string]*source
	kept   int
	last   int // number of the file read last
	now    time.Time

	windowEnded bool
	flushed     time.Time
	decided     policies.Decision
	hasDecided  bool
}

// source is a file that was read, and what it gave last.
type source struct {
	w    *Writer
	id   int
	text []byte
	err  string // what Open or reading ended with, "" if it did not
}

// NewWriter returns a Writer for one radio's loop. Nothing is taken down before
// Begin.
func NewWriter() *Writer {
	return &Writer{
		blocks: make(chan []byte, maxWaiting),
		spare:  make(chan []byte, maxWaiting),
		behind: true,
	}
}

// Blocks are what there is to store, as AppendBlock wants it.
func (w *Writer) Blocks() <-chan []byte { return w.blocks }

// Recycle gives a block back that is no longer needed.
func (w *Writer) Recycle(block []byte) {
	select {
	case w.spare <- block[:0]:
	default:
	}
}

// Abandon says that nobody takes blocks any more. Any goroutine may say so.
func (w *Writer) Abandon() { w.abandoned.Store(true) }

// Abandoned reports whether the loop had better stop recording.
func (w *Writer) Abandoned() bool { return w != nil && w.abandoned.Load() }

// Behind reports whether the loop has to Begin anew: blocks were lost and there
// is room again, or too much is remembered.
func (w *Writer) Behind() bool {
	return w != nil && (w.behind && len(w.blocks) < maxWaiting/2 || w.kept > maxKept)
}

// Begin begins a recording, with a JSON text about the radio. Whatever was taken
// down before does not matter for what follows: the loop has to open its files
// anew.
func (w *Writer) Begin(about []byte, now time.Time) {
	w.flush()
	w.files, w.kept, w.last = map[string]*source{}, 0, -1
	w.behind, w.now, w.flushed = false, now, time.Time{} // soon handed over
	w.decided, w.hasDecided, w.windowEnded = policies.Decision{}, false, false
	w.event(Begin)
	w.varint(now.UnixNano())
	w.bytes(about)
	if w.lost > 0 {
		w.event(Lost)
		w.uvarint(w.lost)
		w.lost = 0
	}
}

// End hands over what is left and closes Blocks. The Writer takes nothing down
// any more.
func (w *Writer) End() {
	if w == nil {
		return
	}
	w.flush()
	w.behind, w.files = true, nil
	close(w.blocks)
}

// off reports whether nothing is to be taken down.
func (w *Writer) off() bool { return w == nil || w.behind }

func (w *Writer) event(k Kind)       { w.uvarint(uint64(k) << itemBits) }
func (w *Writer) uvarint(v uint64)   { w.buf = binary.AppendUvarint(w.buf, v) }
func (w *Writer) varint(v int64)     { w.buf = binary.AppendVarint(w.buf, v) }
func (w *Writer) bytes(b []byte)     { w.buf = appendBytes(w.buf, b) }
func (w *Writer) string(s string)    { w.buf = appendBytes(w.buf, s) }
func (w *Writer) limit(l wlan.Limit) { w.uvarint(uint64(l.LowUs)); w.uvarint(uint64(l.HighUs)) }

func (w *Writer) limits(l wlan.Limits) {
	for _, ac := range l.AC {
		w.limit(ac)
	}
	w.uvarint(uint64(l.ThresholdUs))
}

func (w *Writer) flag(on bool) {
	b := byte(0)
	if on {
		b = 1
	}
	w.buf = append(w.buf, b)
}

// flush hands the block over, or drops it.
func (w *Writer) flush() {
	if len(w.buf) == 0 {
		return
	}
	select {
	case w.blocks <- w.buf:
		select {
		case w.buf = <-w.spare:
		default:
			w.buf = nil
		}
	default:
		w.lost++ // at least the window it is of
		w.behind = true
		w.buf = w.buf[:0]
	}
}

// At moves the time on. Windows are handed over as they end.
func (w *Writer) At(now time.Time) {
	if w.off() {
		return
	}
	if w.windowEnded || len(w.buf) >= blockSize || now.Sub(w.flushed) >= blockEvery {
		w.windowEnded, w.flushed = false, now
		w.flush()
		if w.behind {
			return
		}
	}
	if d := now.Sub(w.now); d != 0 {
		w.event(at)
		w.varint(int64(d))
		w.now = now
	}
}

// Opened says that the loop opened the radio's files under a phy's name.
func (w *Writer) Opened(phy string) {
	if w.off() {
		return
	}
	w.event(Open)
	w.string(phy)
}

// Scanned says that interfaces and stations were listed.
func (w *Writer) Scanned() {
	if !w.off() {
		w.event(Scan)
	}
}

// Sampled says that the fast files were read.
func (w *Writer) Sampled() {
	if !w.off() {
		w.event(Sample)
	}
}

// Observed says that a window ended.
func (w *Writer) Observed(window time.Duration, limits wlan.Limits, fresh bool) {
	if w.off() {
		if w != nil {
			w.lost++
		}
		return
	}
	w.event(Observe)
	w.varint(int64(window))
	w.flag(fresh)
	w.limits(limits)
	w.windowEnded = true
}

// Rates takes down how many stations' rates follow, each with Rate.
func (w *Writer) Rates(n int) {
	if w.off() {
		return
	}
	w.event(Rates)
	w.uvarint(uint64(n))
}

// Rate takes down a station's rate.
func (w *Writer) Rate(mac wlan.MAC, kbps uint64) {
	if w.off() {
		return
	}
	w.buf = append(w.buf, mac[:]...)
	w.uvarint(kbps)
}

// Policy says that a policy is in charge from now on, and what it remembers.
func (w *Writer) Policy(name string, p policies.Params, memory []byte) {
	if w.off() {
		return
	}
	w.event(Policy)
	w.string(name)
	w.limits(p.Static)
	for _, d := range [...]time.Duration{p.Target, p.Min, p.Max} {
		w.varint(int64(d))
	}
	w.bytes(memory)
}

// Decided says what the policy answered.
func (w *Writer) Decided(fresh bool, d policies.Decision) {
	if w.off() {
		return
	}
	w.event(Decide)
	w.flag(fresh)
	same := w.hasDecided && Same(d, w.decided)
	w.flag(same)
	if same {
		return
	}
	w.decided, w.hasDecided = d, true
	w.flag(d.Write)
	w.limits(d.Limits)
	w.uvarint(uint64(len(d.Stations)))
	for i := range d.Stations {
		w.buf = append(w.buf, d.Stations[i].MAC[:]...)
		for _, l := range d.Stations[i].AC {
			w.limit(l)
		}
	}
	w.varint(int64(d.QueueFrames))
	w.string(d.Reason)
}

// Same reports whether two decisions are the same in every respect.
func Same(a, b policies.Decision) bool {
	return a.Write == b.Write && a.Limits == b.Limits && a.QueueFrames == b.QueueFrames &&
		a.Reason == b.Reason && slices.Equal(a.Stations, b.Stations)
}

// Changed says what became of a change.
func (w *Writer) Changed(knob, from, to, result, reason string) {
	if w.off() {
		return
	}
	w.event(Change)
	for _, s := range [...]string{knob, from, to, result, reason} {
		w.string(s)
	}
}

// State says what the loop's state is now, and why.
func (w *Writer) State(state, reason string) {
	if w.off() {
		return
	}
	w.event(State)
	w.string(state)
	w.string(reason)
}

// source finds the file of a name, and gives it a number if it has none. Folders
// have a slash at the end.
func (w *Writer) source(name string) *source {
	if s := w.files[name]; s != nil {
		return s
	}
	s := &source{w: w, id: len(w.files)}
	w.files[name] = s
	w.kept += len(name)
	w.event(file)
	w.string(name)
	return s
}

// item begins a reading.
func (w *Writer) item(s *source, what uint64) {
	d := int64(s.id - w.last - 1)
	w.last = s.id
	w.uvarint(uint64(d<<1^d>>63)<<itemBits | what)
}

// read takes a reading down.
func (s *source) read(text []byte, err error) {
	w := s.w
	if w.off() || w.files == nil {
		return
	}
	if err != nil {
		if e := errorName(err); e == s.err {
			w.item(s, isSame)
		} else {
			s.err = e
			w.item(s, isFailed)
			w.string(e)
		}
		return
	}
	if s.err == "" && string(text) == string(s.text) {
		w.item(s, isSame)
		return
	}
	s.err = ""
	w.item(s, isChanged)
	w.buf = appendDiff(w.buf, s.text, text)
	w.kept += len(text) - len(s.text)
	s.text = append(s.text[:0], text...)
	if len(w.buf) >= blockSize {
		w.flush()
	}
}

// errnos are those that have the same name everywhere; their numbers differ
// between machines.
var errnos = []struct {
	name  string
	errno unix.Errno
}{
	{"ENOENT", unix.ENOENT}, {"ENODEV", unix.ENODEV}, {"EIO", unix.EIO}, {"EPERM", unix.EPERM},
	{"EACCES", unix.EACCES}, {"EINVAL", unix.EINVAL}, {"ENETDOWN", unix.ENETDOWN}, {"EBUSY", unix.EBUSY},
	{"EAGAIN", unix.EAGAIN}, {"ENOMEM", unix.ENOMEM}, {"EMFILE", unix.EMFILE}, {"ENFILE", unix.ENFILE},
	{"ENOTDIR", unix.ENOTDIR}, {"EISDIR", unix.EISDIR}, {"EROFS", unix.EROFS}, {"ERANGE", unix.ERANGE},
	{"ESPIPE", unix.ESPIPE}, {"EBADF", unix.EBADF}, {"EINTR", unix.EINTR}, {"ETIMEDOUT", unix.ETIMEDOUT},
	{"EOPNOTSUPP", unix.EOPNOTSUPP}, {"ESHUTDOWN", unix.ESHUTDOWN}, {"ENXIO", unix.ENXIO}, {"ELOOP", unix.ELOOP}, {"ENODATA", unix.ENODATA},
}

// errorName is what an error is called in a recording: its errno, else its text.
func errorName(err error) string {
	for _, e := range errnos {
		if errors.Is(err, e.errno) {
			return e.name
		}
	}
	return err.Error()
}

// errorNamed is the error of that name.
func errorNamed(name string) error {
	for _, e := range errnos {
		if e.name == name {
			return e.errno
		}
	}
	return errors.New(name)
}
