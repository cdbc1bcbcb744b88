package recording

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// Kernel files mostly change in their numbers. So a text is kept as the
// differences of the numbers in it to those of the text before; where anything
// else differs, as what stands between a common beginning and a common end.

// maxText bounds texts; kernel files that the loop reads are shorter by far.
const maxText = 1 << 20

// A number is a run of up to 18 digits. One that begins with a zero has a width
// that it keeps; "0" alone has none.
type number struct {
	value int64
	width int // 0: none
}

// run returns the number that begins at i, and where it ends. Longer runs are no
// numbers.
func run(b []byte, i int) (n number, end int, ok bool) {
	for end = i; end < len(b) && digit(b[end]); end++ {
		if end-i < 18 {
			n.value = 10*n.value + int64(b[end]-'0')
		}
	}
	if b[i] == '0' && end-i > 1 {
		n.width = end - i
	}
	return n, end, end-i <= 18
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// eachNumber compares two texts that differ in numbers alone and calls f with
// each pair. It returns false if they differ otherwise.
func eachNumber(was, now []byte, f func(was, now int64)) bool {
	i, j := 0, 0
	for i < len(was) && j < len(now) {
		if !digit(was[i]) || !digit(now[j]) {
			if was[i] != now[j] {
				return false
			}
			i++
			j++
			continue
		}
		a, iEnd, ok := run(was, i)
		b, jEnd, ok2 := run(now, j)
		switch {
		case ok && ok2 && (a.width == 0 && b.width == 0 || a.width == jEnd-j):
			f(a.value, b.value)
		case ok || string(was[i:iEnd]) != string(now[j:jEnd]):
			return false
		}
		i, j = iEnd, jEnd
	}
	return i == len(was) && j == len(now)
}

// appendDiff appends what makes now of was.
func appendDiff(b, was, now []byte) []byte {
	n := uint64(0)
	if len(was) > 0 && eachNumber(was, now, func(x, y int64) {
		if x != y {
			n++
		}
	}) {
		b = binary.AppendUvarint(b, n<<1)
		skipped := uint64(0)
		eachNumber(was, now, func(x, y int64) {
			if x == y {
				skipped++
				return
			}
			b = binary.AppendUvarint(b, skipped)
			b = binary.AppendVarint(b, y-x)
			skipped = 0
		})
		return b
	}
	front := 0
	for front < len(was) && front < len(now) && was[front] == now[front] {
		front++
	}
	back := 0
	for back < len(was)-front && back < len(now)-front && was[len(was)-1-back] == now[len(now)-1-back] {
		back++
	}
	b = binary.AppendUvarint(b, uint64(front)<<1|1)
	b = binary.AppendUvarint(b, uint64(back))
	return appendBytes(b, now[front:len(now)-back])
}

func appendBytes[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// diff reads what appendDiff wrote and returns the text it makes of was.
func (d *decoder) diff(was []byte) []byte {
	head := d.uvarint()
	if head&1 == 1 {
		front, back := head>>1, d.uvarint()
		middle := d.bytes()
		if front > uint64(len(was)) || back > uint64(len(was))-front {
			d.fail("a text that continues one that is not there")
			return nil
		}
		now := make([]byte, 0, int(front)+len(middle)+int(back))
		now = append(append(now, was[:front]...), middle...)
		return append(now, was[uint64(len(was))-back:]...)
	}
	n := head >> 1
	now := make([]byte, 0, len(was)+8)
	skip, delta := uint64(0), int64(0)
	next := func() {
		skip, delta = ^uint64(0), 0
		if n > 0 {
			skip, delta = d.uvarint(), d.varint()
			n--
		}
	}
	next()
	for i := 0; i < len(was) && d.err == nil; {
		if !digit(was[i]) {
			now = append(now, was[i])
			i++
			continue
		}
		x, end, ok := run(was, i)
		switch {
		case !ok:
			now = append(now, was[i:end]...)
		case skip > 0:
			now = append(now, was[i:end]...)
			skip--
		default:
			value := x.value + delta
			if value < 0 {
				d.fail("a number below zero")
				return nil
			}
			at := len(now)
			now = strconv.AppendInt(now, value, 10)
			for range x.width - (len(now) - at) {
				now = slices.Insert(now, at, '0')
			}
			next()
		}
		i = end
	}
	if n > 0 || skip < 1<<62 {
		d.fail("more numbers than the text has")
	}
	return now
}
