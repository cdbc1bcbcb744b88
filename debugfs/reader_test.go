package debugfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtuned/tree"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestReaderKeepsItsFileOpen(t *testing.T) {
	m := newMem(radio(t))
	name := phy0 + "aql_pending"
	r := NewPhy(m, "phy0").AQLPendingReader()
	if m.opened[name] != 0 {
		t.Error("opened before the first read")
	}
	var out AQLPending
	for _, variant := range []string{"busy", "idle", "negative-underflow"} {
		m.files[name] = string(samples(t, "aql_pending")[variant])
		var want AQLPending
		if err := ParseAQLPending([]byte(m.files[name]), &want); err != nil {
			t.Fatal(err)
		}
		if err := r.Read(&out); err != nil || out != want {
			t.Errorf("%s: got %+v, error %v", variant, out, err)
		}
	}
	if m.opened[name] != 1 || m.closed[name] != 0 {
		t.Errorf("opened %d times, closed %d times", m.opened[name], m.closed[name])
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := r.Read(&out); err != nil {
		t.Errorf("after Close: %v", err)
	}
	if m.opened[name] != 2 || m.closed[name] != 1 {
		t.Errorf("opened %d times, closed %d times", m.opened[name], m.closed[name])
	}
}

func TestReaderReopensAfterAnError(t *testing.T) {
	name := sta0 + "aql"
	for _, tt := range []struct {
		name    string
		breakIt func(*mem)
		want    Cause
	}{
		{"station left", func(m *mem) { m.fail["read "+name] = unix.EIO }, Gone},
		{"garbled", func(m *mem) { m.files[name] = "Q depth: \n" }, Garbled},
		{"endless", func(m *mem) { m.files[name] = strings.Repeat("x", 1<<20) }, Garbled},
	} {
		m := newMem(radio(t))
		r := NewPhy(m, "phy0").StationAQLReader("wlan0", mac0)
		var out StationAQL
		if err := r.Read(&out); err != nil {
			t.Fatal(err)
		}
		whole := m.files[name]
		tt.breakIt(m)
		if err := r.Read(&out); CauseOf(err) != tt.want || !strings.Contains(err.Error(), "/mem/"+name) {
			t.Errorf("%s: got %s: %v", tt.name, CauseOf(err), err)
		}
		if m.closed[name] != 1 {
			t.Errorf("%s: file was closed %d times", tt.name, m.closed[name])
		}
		clear(m.fail)
		m.files[name] = whole
		if err := r.Read(&out); err != nil {
			t.Errorf("%s: when all is well again: %v", tt.name, err)
		}
		if m.opened[name] != 2 {
			t.Errorf("%s: opened %d times", tt.name, m.opened[name])
		}
	}
}

// A text as long as the buffer may go on, so it is read again.
func TestReaderBufferGrows(t *testing.T) {
	m := newMem(radio(t))
	name := sta0 + "aqm"
	r := NewPhy(m, "phy0").StationAQMReader("wlan0", mac0)
	var out StationAQM
	for _, size := range []int{firstBuf - 1, firstBuf, firstBuf + 1, 2 * firstBuf, 5000} {
		lines := strings.SplitAfterN(string(samples(t, "sta_aqm")["from-6.16"]), "\n", 3)
		text := lines[0] + strings.Repeat(" ", size-len(lines[0])-len(lines[1])) + lines[1]
		if len(text) != size {
			t.Fatalf("text of %d bytes, want %d", len(text), size)
		}
		m.files[name] = text
		if err := r.Read(&out); err != nil || out.Total.TxPackets != 130934 {
			t.Errorf("%d bytes: got %+v, error %v", size, out.Total, err)
		}
	}
	if m.opened[name] != 1 {
		t.Errorf("opened %d times", m.opened[name])
	}
}

// Nothing on the way from the file to the value may allocate, in memory or on
// a real file system.
func TestReadersDoNotAllocate(t *testing.T) {
	files := radio(t)
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			mkdir(t, dir, name)
			continue
		}
		mkdir(t, dir, filepath.Dir(name))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, fs := range []tree.FS{newMem(files), tree.Dir(dir)} {
		p := NewPhy(fs, "phy0")
		noAllocs(t, fs, p.AQLPendingReader())
		noAllocs(t, fs, p.AQMReader())
		noAllocs(t, fs, p.QueuesReader())
		noAllocs(t, fs, p.AQLTxqLimitReader())
		noAllocs(t, fs, p.FWResetStatsReader())
		noAllocs(t, fs, p.NumPendingTxReader())
		noAllocs(t, fs, p.StationAQLReader("wlan0", mac0))
		noAllocs(t, fs, p.StationAQMReader("wlan0", mac0))
		noAllocs(t, fs, p.StationAirtimeReader("wlan0", mac0))
	}
}

func noAllocs[T any](t *testing.T, fs tree.FS, r *Reader[T]) {
	t.Helper()
	defer r.Close()
	var first, out T
	if err := r.Read(&first); err != nil {
		t.Errorf("%s: %v", fs, err)
		return
	}
	var err error
	if n := testing.AllocsPerRun(50, func() { err = errors.Join(err, r.Read(&out)) }); n != 0 || err != nil {
		t.Errorf("%s: Reader[%T]: %v allocations, error %v", fs, out, n, err)
	}
	if diff := cmp.Diff(first, out); diff != "" {
		t.Errorf("%s (-first +last):\n%s", fs, diff)
	}
}

func BenchmarkParseStationAQM(b *testing.B) {
	benchmark(b, samples(b, "sta_aqm")["from-6.16"], ParseStationAQM)
}

func BenchmarkParseStationAQL(b *testing.B) {
	benchmark(b, samples(b, "sta_aql")["v5.5-busy"], ParseStationAQL)
}

func BenchmarkParseAQLPending(b *testing.B) {
	benchmark(b, samples(b, "aql_pending")["busy"], ParseAQLPending)
}

func BenchmarkParseQueues(b *testing.B) {
	benchmark(b, samples(b, "queues")["idle"], ParseQueues)
}

func benchmark[T any](b *testing.B, text []byte, parse func([]byte, *T) error) {
	var out T
	b.ReportAllocs()
	for b.Loop() {
		if err := parse(text, &out); err != nil {
			b.Fatal(err)
		}
	}
}

// A text that is what it was is not parsed again, but only if the value is still
// what it says.
func TestReaderParsesWhatChanged(t *testing.T) {
	m := newMem(radio(t))
	name := phy0 + "aql_pending"
	idle, busy := string(samples(t, "aql_pending")["idle"]), string(samples(t, "aql_pending")["busy"])
	parsed := 0
	r := newReader(NewPhy(m, "phy0"), strings.TrimSuffix(phy0, "/"), "aql_pending", func(b []byte, out *AQLPending) error {
		parsed++
		return ParseAQLPending(b, out)
	})
	var out, other AQLPending
	for i, step := range []struct {
		text string
		into *AQLPending
		want int // times parsed so far
		us   int32
	}{
		{busy, &out, 1, 10108},
		{busy, &out, 1, 10108},
		{idle, &out, 2, 0},
		{busy, &out, 3, 10108},
		{busy, &other, 4, 10108},
		{busy, &out, 5, 10108},
		{"garbled\n", &out, 6, 0},
		{busy, &out, 7, 10108},
		{busy, &out, 7, 10108},
	} {
		m.files[name] = step.text
		err := r.Read(step.into)
		if garbled := step.text == "garbled\n"; (err != nil) != garbled || !garbled && step.into.TotalUs != step.us || parsed != step.want {
			t.Errorf("step %d: %+v after %d parsings, want %d us after %d, error %v", i, *step.into, parsed, step.us, step.want, err)
		}
	}
}
