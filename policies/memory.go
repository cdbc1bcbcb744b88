package policies

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"time"
	"unsafe"
)

// ErrMemory is wrapped by the error of Recall when a memory is that of another
// policy, or of the same in another version.
var ErrMemory = errors.New("a memory of another version of the policy")

// Memory is all that a policy remembers, as bytes, so that a recording can begin
// in the middle of its work: one that recalls them decides as this one would.
// Times are kept relative to origin. It walks the policy's own fields, which are
// plain values by design, so that laws need not know of it and can change
// freely; a memory is therefore only good for the version of the policy that it
// came from, which Recall checks.
func Memory(p Policy, origin time.Time) []byte {
	m := memory{origin: origin}
	m.walk(p)
	return m.b
}

// Recall makes a new policy remember.
func Recall(p Policy, origin time.Time, b []byte) error {
	m := memory{origin: origin, b: b, recall: true}
	m.walk(p)
	if m.bad || len(m.b) > 0 {
		return ErrMemory
	}
	return nil
}

// memory walks through a policy and writes its values, or sets them.
type memory struct {
	b      []byte
	origin time.Time
	recall bool
	bad    bool
}

var timeType = reflect.TypeFor[time.Time]()

func (m *memory) walk(p Policy) {
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer {
		return // one that has no fields to change remembers nothing
	}
	shape := uint64(fnvStart)
	hashType(v.Type().Elem(), &shape)
	if m.number(shape) != shape {
		m.bad = true
	}
	m.value(v.Elem())
}

// number writes a number, or returns the one that was written.
func (m *memory) number(v uint64) uint64 {
	if !m.recall {
		m.b = binary.AppendUvarint(m.b, v)
		return v
	}
	v, n := binary.Uvarint(m.b)
	if n <= 0 {
		m.bad = true
		return 0
	}
	m.b = m.b[n:]
	return v
}

func (m *memory) value(v reflect.Value) {
	if m.bad {
		return
	}
	// What has no exported name cannot be set otherwise.
	v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	if v.Type() == timeType {
		m.time(v.Addr().Interface().(*time.Time))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			m.value(v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			m.value(v.Index(i))
		}
	case reflect.Slice:
		n := m.number(uint64(v.Len()))
		if m.recall {
			if n > uint64(len(m.b)) { // each element takes a byte at least
				m.bad = true
				return
			}
			v.SetZero()
			if n > 0 {
				v.Set(reflect.MakeSlice(v.Type(), int(n), int(n)))
			}
		}
		for i := range v.Len() {
			m.value(v.Index(i))
		}
	case reflect.String:
		n := m.number(uint64(v.Len()))
		if !m.recall {
			m.b = append(m.b, v.String()...)
		} else if n <= uint64(len(m.b)) {
			v.SetString(string(m.b[:n]))
			m.b = m.b[n:]
		} else {
			m.bad = true
		}
	case reflect.Bool:
		on := uint64(0)
		if v.Bool() {
			on = 1
		}
		if on = m.number(on); m.recall {
			v.SetBool(on != 0)
		}
	case reflect.Float64:
		// The other way round most numbers are short.
		if bits := m.number(reverse(math.Float64bits(v.Float()))); m.recall {
			v.SetFloat(math.Float64frombits(reverse(bits)))
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := v.Int()
		if u := m.number(uint64(n<<1 ^ n>>63)); m.recall {
			v.SetInt(int64(u>>1) ^ -int64(u&1))
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if u := m.number(v.Uint()); m.recall {
			v.SetUint(u)
		}
	default:
		m.bad = true // a test sees to it that no policy has one
	}
}

// time keeps a time as its distance from the origin; none is 0.
func (m *memory) time(t *time.Time) {
	u := uint64(0)
	if !t.IsZero() {
		d := int64(t.Sub(m.origin))
		u = uint64(d<<1^d>>63) + 1
	}
	u = m.number(u)
	if !m.recall {
		return
	}
	*t = time.Time{}
	if u > 0 {
		u--
		*t = m.origin.Add(time.Duration(int64(u>>1) ^ -int64(u&1)))
	}
}

func reverse(bits uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], bits)
	return binary.BigEndian.Uint64(b[:])
}

const fnvStart = 14695981039346656037

// hashType sums up what a type consists of (FNV-1a).
func hashType(t reflect.Type, h *uint64) {
	add := func(s string) {
		for i := range len(s) {
			*h = (*h ^ uint64(s[i])) * 1099511628211
		}
		*h = (*h ^ ';') * 1099511628211
	}
	add(t.String())
	switch {
	case t == timeType:
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			add(t.Field(i).Name)
			hashType(t.Field(i).Type, h)
		}
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		hashType(t.Elem(), h)
	}
}
