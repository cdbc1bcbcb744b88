package recording

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"airtuned/policies"
	"airtuned/tree"
	"airtuned/wlan"
)

// The file: what comes before the blocks, and what is around each of them.

// AppendHeader begins a file.
func AppendHeader(b []byte) []byte {
	return binary.AppendUvarint(append(b, Magic...), Version)
}

// AppendBlock adds a block of one radio; radios are numbered from 0.
func AppendBlock(b []byte, radio int, block []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(block))+1)
	b = binary.AppendUvarint(b, uint64(radio))
	b = append(b, block...)
	return binary.LittleEndian.AppendUint32(b, sum(block))
}

// AppendEnd ends a file.
func AppendEnd(b []byte) []byte { return append(b, 0) }

// Bounds for what a damaged file can make a Reader do.
const (
	maxBlock  = 4 << 20
	maxRadios = 64
	maxFiles  = 1 << 16
)

// Radio is one radio of a recording, as of the event last read.
type Radio struct {
	// Index is its number in the file.
	Index int
	// Now is when the event happened, by the clock of the machine.
	Now time.Time
	// Tree has the files that the loop has read, below /sys/kernel/debug, as it
	// last read them.
	Tree tree.FS

	files    []*content
	names    map[string]*content
	last     int
	decision policies.Decision
}

// content is what a file last gave.
type content struct {
	name string
	text []byte
	err  error
}

// Reader reads a recording, event by event.
type Reader struct {
	// Radios are those seen so far, by number; nil where one was not.
	Radios []*Radio

	r     *bufio.Reader
	block decoder
	radio *Radio
	buf   []byte
	n     int // blocks read
	event Event
}

// NewReader reads the beginning of a file.
func NewReader(r io.Reader) (*Reader, error) {
	b := bufio.NewReader(r)
	head := make([]byte, len(Magic))
	if _, err := io.ReadFull(b, head); err != nil || string(head) != Magic {
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: it does not begin as one", ErrFormat)
	}
	v, err := binary.ReadUvarint(b)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: no version", ErrFormat)
	case v > Version:
		return nil, fmt.Errorf("%w: format version %d, and this one knows up to %d", ErrNewer, v, Version)
	case v == 0:
		return nil, fmt.Errorf("%w: format version 0", ErrFormat)
	}
	return &Reader{r: b}, nil
}

// Next returns the next event, which is valid until the next call. The end is
// io.EOF. Other errors wrap ErrCut, if the file just ends, or ErrFormat; what was
// read before is good.
func (r *Reader) Next() (*Event, error) {
	for {
		for len(r.block.b) == 0 {
			if err := r.nextBlock(); err != nil {
				return nil, err
			}
		}
		e := &r.event
		*e = Event{Radio: r.radio}
		done := r.item(e)
		if r.block.err != nil {
			return nil, fmt.Errorf("%w: block %d: %w", ErrFormat, r.n, r.block.err)
		}
		if done {
			return e, nil
		}
	}
}

// nextBlock reads a block and holds it against its sum.
func (r *Reader) nextBlock() error {
	cut := func(err error) error {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: it is cut after block %d", ErrCut, r.n)
		}
		return err
	}
	size, err := binary.ReadUvarint(r.r)
	if err != nil {
		return cut(err)
	}
	if size == 0 {
		return io.EOF
	}
	radio, err := binary.ReadUvarint(r.r)
	if err != nil {
		return cut(err)
	}
	if size--; size > maxBlock || radio >= maxRadios {
		return fmt.Errorf("%w: after block %d", ErrFormat, r.n)
	}
	if uint64(cap(r.buf)) < size+4 {
		// Not at once: a damaged size must not cost memory that the file lacks.
		r.buf = make([]byte, 0, min(size+4, 64<<10))
	}
	r.buf = r.buf[:0]
	for want := int(size) + 4; len(r.buf) < want; {
		n := min(want-len(r.buf), 64<<10)
		start := len(r.buf)
		r.buf = append(r.buf, make([]byte, n)...)
		if _, err := io.ReadFull(r.r, r.buf[start:]); err != nil {
			return cut(err)
		}
	}
	block := r.buf[:size]
	if sum(block) != binary.LittleEndian.Uint32(r.buf[size:]) {
		return fmt.Errorf("%w: block %d is damaged", ErrFormat, r.n+1)
	}
	for uint64(len(r.Radios)) <= radio {
		r.Radios = append(r.Radios, nil)
	}
	if r.Radios[radio] == nil {
		r.Radios[radio] = &Radio{Index: int(radio)}
		r.Radios[radio].Tree = recorded{r.Radios[radio]}
	}
	r.radio = r.Radios[radio]
	r.block = decoder{b: block}
	r.n++
	return nil
}

// item reads one item. It returns false for those that are no event to others.
func (r *Reader) item(e *Event) bool {
	d, radio := &r.block, r.radio
	head := d.uvarint()
	if head&(1<<itemBits-1) != isEvent {
		r.reading(e, head)
		return true
	}
	if head>>itemBits >= uint64(kinds) {
		d.fail("an unknown event")
		return false
	}
	e.Kind = Kind(head >> itemBits)
	switch e.Kind {
	case Begin:
		radio.Now = time.Unix(0, d.varint())
		e.About = d.bytes()
		radio.files, radio.names, radio.last = nil, map[string]*content{}, -1
	case file:
		c := &content{name: d.string()}
		if radio.names == nil || len(radio.files) >= maxFiles {
			d.fail("a file out of place")
			return false
		}
		radio.files = append(radio.files, c)
		radio.names[c.name] = c
		return false
	case at:
		radio.Now = radio.Now.Add(time.Duration(d.varint()))
		return false
	case Open:
		e.Phy = d.string()
	case Observe:
		e.Window = time.Duration(d.varint())
		e.Fresh = d.flag()
		e.Limits = d.limits()
	case Rates:
		for n := d.uvarint(); n > 0 && d.err == nil; n-- {
			e.Rates = append(e.Rates, Rate{d.mac(), d.uvarint()})
		}
	case Policy:
		e.Policy = d.string()
		e.Params.Static = d.limits()
		for _, p := range [...]*time.Duration{&e.Params.Target, &e.Params.Min, &e.Params.Max} {
			*p = time.Duration(d.varint())
		}
		e.Memory = d.bytes()
	case Decide:
		e.Fresh = d.flag()
		if !d.flag() {
			radio.decision = d.decision()
		}
		e.Decision = radio.decision
	case Change:
		for _, s := range [...]*string{&e.Knob, &e.From, &e.To, &e.Result, &e.Reason} {
			*s = d.string()
		}
	case State:
		e.State, e.Reason = d.string(), d.string()
	case Lost:
		e.Windows = d.uvarint()
	case Scan, Sample:
	default:
		d.fail("an unknown event")
	}
	return true
}

// reading reads what a file gave.
func (r *Reader) reading(e *Event, head uint64) {
	d, radio := &r.block, r.radio
	step := head >> itemBits
	id := radio.last + 1 + int(int64(step>>1)^-int64(step&1))
	if id < 0 || id >= len(radio.files) {
		d.fail("a reading of no file")
		return
	}
	radio.last = id
	c := radio.files[id]
	switch head & (1<<itemBits - 1) {
	case isSame:
		e.Same = true
	case isChanged:
		c.text, c.err = d.diff(c.text), nil
		if len(c.text) > maxText {
			d.fail("an endless text")
		}
	case isFailed:
		c.err = errorNamed(d.string())
	}
	e.Kind, e.Name, e.Err = Reading, c.name, c.err
	if c.err == nil {
		e.Text = c.text
	}
}

// decoder takes values from a block. After the first error all are zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = errors.New(what)
	}
	d.b = nil
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail("a number is cut")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v := d.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail("a text is cut")
		return nil
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) bytes() []byte  { return d.take(d.uvarint()) }
func (d *decoder) string() string { return string(d.bytes()) }

func (d *decoder) flag() bool {
	p := d.take(1)
	return len(p) == 1 && p[0] != 0
}

func (d *decoder) mac() (m wlan.MAC) {
	copy(m[:], d.take(uint64(len(m))))
	return m
}

func (d *decoder) limit() wlan.Limit {
	return wlan.Limit{LowUs: uint32(d.uvarint()), HighUs: uint32(d.uvarint())}
}

func (d *decoder) limits() (l wlan.Limits) {
	for ac := range l.AC {
		l.AC[ac] = d.limit()
	}
	l.ThresholdUs = uint32(d.uvarint())
	return l
}

func (d *decoder) decision() (x policies.Decision) {
	x.Write = d.flag()
	x.Limits = d.limits()
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		st := policies.StationLimit{MAC: d.mac()}
		for ac := range st.AC {
			st.AC[ac] = d.limit()
		}
		x.Stations = append(x.Stations, st)
	}
	x.QueueFrames = int(d.varint())
	x.Reason = d.string()
	return x
}
