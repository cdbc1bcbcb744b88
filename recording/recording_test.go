package recording

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/policies"
	"airtuned/tree"
	"airtuned/wlan"
)

var t0 = time.Unix(1_700_000_000, 123_456_789)

// memory is a tree of texts and errors.
type memory map[string]any

func (m memory) Open(name string) (tree.File, error) {
	switch v := m[name].(type) {
	case error:
		return nil, &fs.PathError{Op: "open", Path: name, Err: v}
	case nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: unix.ENOENT}
	}
	return memoryFile{m, name}, nil
}
func (m memory) List(name string) ([]string, error) {
	if s, ok := m[name+"/"].(string); ok {
		return strings.Fields(s), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: unix.ENOENT}
}
func (m memory) Write(string, []byte) error      { return nil }
func (m memory) Readlink(string) (string, error) { return "", unix.EINVAL }
func (m memory) String() string                  { return "memory" }

type memoryFile struct {
	m    memory
	name string
}

func (f memoryFile) ReadFresh(p []byte) (int, error) {
	if err, ok := f.m[f.name].(error); ok {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: err}
	}
	return copy(p, f.m[f.name].(string)), nil
}
func (f memoryFile) Close() error { return nil }

// finish is the file of all that a Writer has.
func finish(w *Writer) []byte {
	w.End()
	file := AppendHeader(nil)
	for b := range w.Blocks() {
		file = AppendBlock(file, 0, b)
	}
	return AppendEnd(file)
}

// shown is an event in short; its values are valid for longer than it.
func shown(e *Event) string {
	at := e.Radio.Now.Sub(t0)
	switch e.Kind {
	case Begin:
		return fmt.Sprintf("%v begin %s", at, e.About)
	case Open:
		return fmt.Sprintf("%v open %s", at, e.Phy)
	case Observe:
		return fmt.Sprintf("%v observe %v %v %v", at, e.Window, e.Limits, e.Fresh)
	case Rates:
		return fmt.Sprintf("%v rates %v", at, e.Rates)
	case Policy:
		return fmt.Sprintf("%v policy %s %+v %x", at, e.Policy, e.Params, e.Memory)
	case Decide:
		return fmt.Sprintf("%v decide %v %+v", at, e.Fresh, e.Decision)
	case Change:
		return fmt.Sprintf("%v change %s %s %s %s %s", at, e.Knob, e.From, e.To, e.Result, e.Reason)
	case State:
		return fmt.Sprintf("%v state %s %s", at, e.State, e.Reason)
	case Lost:
		return fmt.Sprintf("%v lost %d", at, e.Windows)
	case Reading:
		return fmt.Sprintf("%v read %s %v %q %v", at, e.Name, e.Same, e.Text, e.Err)
	}
	return fmt.Sprintf("%v kind %d", at, e.Kind)
}

// events are those of a file, and the error at its end.
func events(file []byte) ([]string, error) {
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	var out []string
	for {
		e, err := r.Next()
		if err != nil {
			return out, err
		}
		out = append(out, shown(e))
	}
}

var mac = wlan.MAC{2, 0, 0, 0, 0, 1}

// sample is a recording with everything in it, and what it says.
func sample() (file []byte, want []string) {
	m := memory{"a": "total 5 us\n", "b": unix.EIO, "d/": "x y"}
	w := NewWriter()
	w.Begin([]byte(`{"x":1}`), t0)
	t := w.Tree(m)
	buf := make([]byte, 64)
	_, _ = t.Open("missing")
	_, _ = t.Open("b")
	_, _ = t.List("d")
	f, _ := t.Open("a")
	w.Opened("phy0")
	w.Scanned()
	read := func(text any) {
		m["a"] = text
		_, _ = f.ReadFresh(buf)
	}
	read("total 5 us\n")
	read("total 5 us\n")
	w.At(t0.Add(20 * time.Millisecond))
	read("total 17 us\n")
	read(unix.ENODEV)
	read(unix.ENODEV)
	f, _ = t.Open("a") // fails
	m["a"] = "total 17 us\n"
	f, _ = t.Open("a")
	read("total 4 us\n")
	w.Sampled()
	w.Rates(1)
	w.Rate(mac, 866700)
	w.Policy("static", policies.Params{Static: wlan.KernelDefault, Min: time.Microsecond}, []byte{1, 2})
	w.Observed(200*time.Millisecond, wlan.KernelDefault, true)
	d := policies.Decision{Write: true, Limits: wlan.Uniform(7, 8), QueueFrames: 9, Reason: "because", Stations: []policies.StationLimit{{MAC: mac}}}
	w.Decided(true, d)
	w.Changed("k", "1", "2", "applied", "why")
	w.State("tuning", "because")
	w.At(t0.Add(200*time.Millisecond + 1))
	w.Observed(200*time.Millisecond, wlan.KernelDefault, false)
	w.Decided(false, d)
	decision := fmt.Sprintf("%+v", d)
	limits := fmt.Sprint(wlan.KernelDefault)
	return finish(w), []string{
		`0s begin {"x":1}`,
		`0s read missing false "" no such file or directory`,
		`0s read b false "" input/output error`,
		`0s read d/ false "x\ny" <nil>`,
		`0s open phy0`,
		`0s kind 4`,
		`0s read a false "total 5 us\n" <nil>`,
		`0s read a true "total 5 us\n" <nil>`,
		`20ms read a false "total 17 us\n" <nil>`,
		`20ms read a false "" no such device`,
		`20ms read a true "" no such device`,
		`20ms read a true "" no such device`,
		`20ms read a false "" <nil>`, // opened again
		`20ms read a false "total 4 us\n" <nil>`,
		`20ms kind 5`,
		`20ms rates [{02:00:00:00:00:01 866700}]`,
		`20ms policy static {Static:` + fmt.Sprintf("%+v", wlan.KernelDefault) + ` Target:0s Min:1µs Max:0s} 0102`,
		`20ms observe 200ms ` + limits + ` true`,
		`20ms decide true ` + decision,
		`20ms change k 1 2 applied why`,
		`20ms state tuning because`,
		`200.000001ms observe 200ms ` + limits + ` false`,
		`200.000001ms decide false ` + decision,
	}
}

func TestRoundTrip(t *testing.T) {
	file, want := sample()
	got, err := events(file)
	if err != io.EOF {
		t.Errorf("the end is %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// What the tree of a recording says is what was last read from it.
func TestTreeOfARecording(t *testing.T) {
	file, _ := sample()
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = r.Next()
	}
	fs := r.Radios[0].Tree
	if s, err := tree.ReadString(fs, "a"); s != "total 4 us" || err != nil {
		t.Errorf("a: %q, %v", s, err)
	}
	if _, err := tree.Read(fs, "b"); !errors.Is(err, unix.EIO) {
		t.Errorf("b: %v", err)
	}
	for _, name := range []string{"missing", "never"} {
		if _, err := fs.Open(name); !errors.Is(err, unix.ENOENT) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names, err := fs.List("d"); cmp.Diff([]string{"x", "y"}, names) != "" || err != nil {
		t.Errorf("d: %q, %v", names, err)
	}
	if err := fs.Write("a", nil); !errors.Is(err, unix.EROFS) {
		t.Errorf("write: %v", err)
	}
}

// Wherever a file is cut, what came before is read, and the error says so.
func TestCut(t *testing.T) {
	file, want := sample()
	most := 0
	for n := range file {
		got, err := events(file[:n])
		switch {
		case n < len(Magic)+1:
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%d bytes: %v", n, err)
			}
		case !errors.Is(err, ErrCut):
			t.Fatalf("%d bytes: %v", n, err)
		}
		if diff := cmp.Diff(want[:len(got)], append([]string{}, got...)); diff != "" {
			t.Fatalf("%d bytes (-want +got):\n%s", n, diff)
		}
		most = max(most, len(got))
	}
	if most != len(want) {
		t.Errorf("%d of %d events without the end", most, len(want))
	}
}

// No byte of a file can be another one unnoticed.
func TestDamaged(t *testing.T) {
	file, want := sample()
	for i := range file {
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(file)
			bad[i] ^= bit
			got, err := events(bad)
			if err == io.EOF && cmp.Diff(want, got) == "" {
				t.Errorf("byte %d of %d is not noticed", i, len(file))
			}
		}
	}
}

func TestNewer(t *testing.T) {
	file := binary.AppendUvarint([]byte(Magic), Version+1)
	if _, err := NewReader(bytes.NewReader(file)); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("error %v", err)
	}
	for _, text := range []string{"", "airtuned", "ELF...............................", Magic, Magic + "\x00"} {
		if _, err := NewReader(strings.NewReader(text)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Several radios are told apart.
func TestRadios(t *testing.T) {
	file := AppendHeader(nil)
	for radio, phy := range []string{"phy0", "phy1"} {
		w := NewWriter()
		w.Begin(nil, t0)
		w.Opened(phy)
		w.End()
		file = AppendBlock(file, radio, <-w.Blocks())
	}
	r, err := NewReader(bytes.NewReader(AppendEnd(file)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]string{}
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		if e.Kind == Open {
			got[e.Radio.Index] = e.Phy
		}
	}
	if diff := cmp.Diff(map[int]string{0: "phy0", 1: "phy1"}, got); diff != "" {
		t.Errorf("phys (-want +got):\n%s", diff)
	}
}

// A Writer whose blocks nobody takes says so, costs no more memory, and counts
// what is lost.
func TestLost(t *testing.T) {
	w := NewWriter()
	if !w.Behind() {
		t.Fatal("a new one need not begin")
	}
	w.Begin(nil, t0)
	now := t0
	for range maxWaiting + 50 {
		now = now.Add(200 * time.Millisecond)
		w.At(now)
		w.Observed(200*time.Millisecond, wlan.Limits{}, false)
	}
	if w.Behind() {
		t.Error("wants to begin although there is no room")
	}
	for range maxWaiting/2 + 1 {
		<-w.Blocks()
	}
	if !w.Behind() {
		t.Fatal("does not want to begin although there is room")
	}
	w.Begin(nil, now)
	w.End()
	var last []byte
	for b := range w.Blocks() {
		last = b
	}
	got, err := events(AppendEnd(AppendBlock(AppendHeader(nil), 0, last)))
	at := now.Sub(t0)
	// The first block has the beginning only, the others a window each.
	want := []string{fmt.Sprintf("%v begin ", at), fmt.Sprintf("%v lost 51", at)}
	if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Texts of files that nobody reads any more are not kept for ever.
func TestKept(t *testing.T) {
	m := memory{}
	w := NewWriter()
	w.Begin(nil, t0)
	fs := w.Tree(m)
	buf := make([]byte, 64<<10)
	n := 0
	for ; !w.Behind(); n++ {
		name := fmt.Sprint("station", n)
		m[name] = strings.Repeat("x", 60<<10)
		f, err := fs.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.ReadFresh(buf)
		select {
		case b := <-w.Blocks():
			w.Recycle(b)
		default:
		}
	}
	if kept := n * 60 << 10; kept < maxKept || kept > maxKept+128<<10 {
		t.Errorf("begins anew after %d bytes", kept)
	}
	w.Begin(nil, t0)
	if w.Behind() {
		t.Error("and at once again")
	}
}

// A loop that is not recorded has no Writer.
func TestNoWriter(t *testing.T) {
	var w *Writer
	m := memory{}
	if _, same := w.Tree(m).(memory); !same {
		t.Error("the tree is another one")
	}
	if w.Behind() {
		t.Error("wants to begin")
	}
	w.At(t0)
	w.Opened("")
	w.Scanned()
	w.Sampled()
	w.Observed(0, wlan.Limits{}, false)
	w.Rates(1)
	w.Rate(mac, 1)
	w.Policy("", policies.Params{}, nil)
	w.Decided(false, policies.Decision{})
	w.Changed("", "", "", "", "")
	w.State("", "")
	w.End()
}

func TestDiff(t *testing.T) {
	for _, tt := range []struct {
		was, now string
		most     int // bytes
	}{
		{"", "", 4},
		{"", "total 5 us\n", 20},
		{"total 5 us\n", "total 5 us\n", 1},
		{"total 5 us\n", "total 4 us\n", 3},
		{"a 1 b 2 c 3\n", "a 1 b 2 c 1000\n", 5},
		{"00: 0x00000001/0\n01: 0x00000001/0\n", "00: 0x00000000/0\n01: 0x00000000/0\n", 5},
		{"00: 0x00000100/0", "00: 0x00000099/0", 4},
		{"09", "10", 6},
		{"10", "09", 6},
		{"0", "00", 6},
		{"-5", "5", 6},
		{"5", "-5", 6},
		{"x 999999999999999999", "x 1", 12},
		{"x 9999999999999999999", "x 9999999999999999998", 30}, // too long for a number
		{"18446744073709551615 1", "18446744073709551615 2", 4},
		{"a\nb\nc\n", "a\nc\n", 6},
		{"a\nc\n", "a\nb\nc\n", 8},
		{"aaa", "aa", 6},
		{"x1y", "x1", 6},
		{"x1", "x1y", 6},
	} {
		b := appendDiff(nil, []byte(tt.was), []byte(tt.now))
		d := decoder{b: b}
		if got := d.diff([]byte(tt.was)); string(got) != tt.now || d.err != nil || len(d.b) > 0 {
			t.Errorf("%q to %q: got %q, %v, %d bytes left", tt.was, tt.now, got, d.err, len(d.b))
		}
		if len(b) > tt.most {
			t.Errorf("%q to %q: %d bytes", tt.was, tt.now, len(b))
		}
	}
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte("total 5 us\n"), []byte("total 17 us\n"))
	f.Add([]byte("00: 0x00000100/0"), []byte("00: 0x00000099/-1"))
	f.Fuzz(func(t *testing.T, was, now []byte) {
		d := decoder{b: appendDiff(nil, was, now)}
		if got := d.diff(was); !bytes.Equal(got, now) || d.err != nil || len(d.b) > 0 {
			t.Fatalf("got %q, %v, %d bytes left", got, d.err, len(d.b))
		}
	})
}

// FuzzReader takes the payload of one block, because no fuzzer guesses sums, and
// the file as it is.
func FuzzReader(f *testing.F) {
	file, _ := sample()
	f.Add(file, true)
	r, _ := NewReader(bytes.NewReader(file))
	_, _ = r.Next()
	f.Add(bytes.Clone(r.buf[:len(r.buf)-4]), false)
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		if !whole {
			b = AppendEnd(AppendBlock(AppendHeader(nil), 0, b))
		}
		got, err := events(b)
		if err == nil {
			t.Fatal("no end")
		}
		if len(got) > len(b) {
			t.Fatalf("%d events in %d bytes", len(got), len(b))
		}
	})
}
