package debugfs

import (
	"bytes"
	"errors"
	"math"
	"strconv"

	"airtuned/wlan"
)

// ErrFormat is what errors.Is finds in every error about a text that is not
// what the kernel writes: empty, cut, or with a number that is none.
var ErrFormat = errors.New("unexpected format")

// FormatError says where a file's text is not as the kernel writes it. It is
// an ErrFormat.
type FormatError struct {
	// File is the full path, or the file's name if the text came from elsewhere.
	File string
	// Where in the text, e.g. "row BE", or "" for the text as a whole.
	Where string
	// Want and Got complete the sentence "want ..., got ...".
	Want, Got string
}

// Error is e.g. `aql_pending: row BE: want a number of us, got "xx"`.
func (e *FormatError) Error() string {
	where := e.Where
	if where != "" {
		where += ": "
	}
	return e.File + ": " + where + "want " + e.Want + ", got " + e.Got
}

// Is makes every FormatError an ErrFormat.
func (e *FormatError) Is(target error) bool { return target == ErrFormat }

// garbled is the error about a piece of text. It is apart from the parsers so
// that their good path stays free of allocation.
func garbled(file, where, want string, got []byte) error {
	const most = 40
	q := "nothing"
	if len(got) > most {
		q = strconv.Quote(string(got[:most])) + "..."
	} else if len(got) > 0 {
		q = strconv.Quote(string(got))
	}
	return &FormatError{File: file, Where: where, Want: want, Got: q}
}

// wholeLines checks that a text has lines and that its last one is not cut.
func wholeLines(file string, b []byte) error {
	if len(b) == 0 {
		return garbled(file, "", "text", nil)
	}
	if b[len(b)-1] != '\n' {
		return garbled(file, "last line", "a newline at its end", b[bytes.LastIndexByte(b, '\n')+1:])
	}
	return nil
}

// cutLine splits the first line off whole lines, without its newline.
func cutLine(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// cutField splits the first field off a line. It is empty at the line's end.
func cutField(b []byte) (field, rest []byte) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	j := i
	for j < len(b) && b[j] != ' ' && b[j] != '\t' {
		j++
	}
	return b[i:j], b[j:]
}

// cutLabel splits "LABEL:" off a line, or returns a nil label if there is none.
func cutLabel(b []byte) (label, rest []byte) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	for j := i; j < len(b); j++ {
		if b[j] == ':' {
			return b[i:j], b[j+1:]
		}
	}
	return nil, b
}

// blank reports whether nothing but white space is left of a line.
func blank(b []byte) bool {
	f, _ := cutField(b)
	return len(f) == 0
}

// number is what the files hold that are parsed on every sample.
const number = "a number below 2^32"

// parseU32 reads an unsigned decimal number, as printed by %u.
func parseU32(b []byte) (uint32, bool) {
	n := len(b)
	if n == 0 || n > 10 {
		return 0, false
	}
	var v uint32
	for _, c := range b[:min(n, 9)] {
		d := uint32(c - '0')
		if d > 9 {
			return 0, false
		}
		v = v*10 + d
	}
	if n == 10 { // the only length that may not fit
		d := uint64(b[9] - '0')
		w := uint64(v)*10 + d
		if d > 9 || w > math.MaxUint32 {
			return 0, false
		}
		v = uint32(w)
	}
	return v, true
}

// cutU32 is cutField and parseU32 in one go, for texts of many numbers.
func cutU32(b []byte) (v uint32, rest []byte, ok bool) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	from := i
	for i < len(b) && i-from < 9 && b[i]-'0' <= 9 {
		v = v*10 + uint32(b[i]-'0')
		i++
	}
	if i > from && (i == len(b) || b[i] == ' ' || b[i] == '\t') {
		return v, b[i:], true
	}
	field, rest := cutField(b) // long, or none
	v, ok = parseU32(field)
	return v, rest, ok
}

// cutRow cuts a row known by sight off a text: before, a number of at most nine
// digits, after. If the text begins otherwise, ok is false, and it may still be a
// row: it takes cutLine and cutField to know.
func cutRow(b []byte, before, after string) (v uint32, rest []byte, ok bool) {
	from := len(before)
	if len(b) <= from || string(b[:from]) != before {
		return 0, b, false
	}
	i := from
	for i < len(b) && i-from < 9 && b[i]-'0' <= 9 {
		v = v*10 + uint32(b[i]-'0')
		i++
	}
	if end := i + len(after); i > from && end <= len(b) && string(b[i:end]) == after {
		return v, b[end:], true
	}
	return 0, b, false
}

// parseI32 reads what the kernel prints with %d, or with %u of a signed
// counter: 4294967295 is -1.
func parseI32(b []byte) (int32, bool) {
	if len(b) > 1 && b[0] == '-' {
		v, ok := parseU32(b[1:])
		return -int32(v), ok && v <= -math.MinInt32
	}
	v, ok := parseU32(b)
	return int32(v), ok
}

// cutUs reads a number, as parseI32 does, and its unit "us" off a line.
func cutUs(b []byte) (us int32, rest []byte, ok bool) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	from := i
	var v uint32
	for i < len(b) && i-from < 9 && b[i]-'0' <= 9 {
		v = v*10 + uint32(b[i]-'0')
		i++
	}
	if i > from && len(b) >= i+3 && string(b[i:i+3]) == " us" && (len(b) == i+3 || b[i+3] == ' ') {
		return int32(v), b[i+3:], true
	}
	value, rest := cutField(b) // long, or below zero, or not as usual
	unit, rest := cutField(rest)
	us, ok = parseI32(value)
	return us, rest, ok && string(unit) == "us"
}

// parseCount reads what %d prints of a number that is never below zero.
func parseCount(b []byte) (int, bool) {
	v, ok := parseU32(b)
	return int(v), ok && v <= math.MaxInt32
}

// parseU64 reads what %llu prints.
func parseU64(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || v > math.MaxUint64/10 {
			return 0, false
		}
		if v *= 10; v > math.MaxUint64-d {
			return 0, false
		}
		v += d
	}
	return v, true
}

// parseI64 reads what %lld prints.
func parseI64(b []byte) (int64, bool) {
	if len(b) > 1 && b[0] == '-' {
		v, ok := parseU64(b[1:])
		return -int64(v), ok && v <= -math.MinInt64
	}
	v, ok := parseU64(b)
	return int64(v), ok && v <= math.MaxInt64
}

// parseHex32 reads what %#x prints, with or without the 0x.
func parseHex32(b []byte) (uint32, bool) {
	if len(b) > 2 && b[0] == '0' && b[1] == 'x' {
		b = b[2:]
	}
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return 0, false
		}
		if v = v<<4 | uint64(c); v > math.MaxUint32 {
			return 0, false
		}
	}
	return uint32(v), true
}

// parseOne reads a file that holds one number and a newline.
func parseOne[T any](file, want string, b []byte, out *T, parse func([]byte) (T, bool)) error {
	if err := wholeLines(file, b); err != nil {
		return err
	}
	v, ok := parse(b[:len(b)-1])
	if !ok {
		return garbled(file, "", want, b[:len(b)-1])
	}
	*out = v
	return nil
}

// acSet is a set of access categories that were found in a text.
type acSet uint8

const allACs acSet = 1<<wlan.NumAC - 1

func (s *acSet) add(ac wlan.AC) { *s |= 1 << ac }

// missing is the error about the first access category that was not found.
func (s acSet) missing(file, where string) error {
	for _, ac := range wlan.ACs {
		if s&(1<<ac) == 0 {
			return garbled(file, where+" "+ac.String(), "it to be there", nil)
		}
	}
	return nil
}
