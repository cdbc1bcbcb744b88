package term

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColumns(t *testing.T) {
	values := []float64{math.NaN(), 0, 0.001, 4, 8, 12, 16, 99}
	for _, tt := range []struct {
		unicode bool
		want    []string
	}{
		{true, []string{"     ▄██", "  ▁▄████"}},
		{false, []string{"     .||", "  _.||||"}},
	} {
		got := Terminal{Unicode: tt.unicode}.Columns(values, 2, 16)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("unicode %v (-want +got):\n%s", tt.unicode, diff)
		}
	}
}

func TestBars(t *testing.T) {
	got := Terminal{Unicode: true}.Bars([]int64{-1, 0, 1, 4000, 8000, 12000, 16000, 99000}, 2, 16000)
	if diff := cmp.Diff([]string{"     ▄██", "  ▁▄████"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNiceTop(t *testing.T) {
	for v, want := range map[int64]int64{-1: 1, 0: 1, 1: 1, 9: 10, 99: 100, 101: 150, 210: 250, 12000: 15000} {
		if got := NiceTopInt(v); got != want {
			t.Errorf("NiceTopInt(%v) = %v, want %v", v, got, want)
		}
	}
	for v, want := range map[float64]float64{0: 1, -1: 1, 1: 1, 1.2: 1.5, 9: 10, 99: 100, 101: 150, 210: 250, 0.03: 0.03, 601: 800} {
		if got := NiceTop(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("NiceTop(%v) = %v, want %v", v, got, want)
		}
	}
	if got := NiceTop(math.NaN()); got != 1 {
		t.Errorf("NiceTop(NaN) = %v", got)
	}
}

func TestTable(t *testing.T) {
	tb := Table{Head: []string{"NAME", ">N", "WHY"}, Rows: [][]string{{"a", "1", "x"}, {"long", "100", ""}}}
	want := []string{"NAME    N  WHY", "a       1  x", "long  100"}
	if diff := cmp.Diff(want, tb.Lines(Terminal{})); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	// Colour does not move columns.
	colour := Terminal{Colour: true}
	tb.Rows[0][0] = colour.Paint(Red, "a")
	if got := strings.Index(tb.Lines(colour)[1], "1  x") - len(colour.Paint(Red, "a")); got != 7 {
		t.Errorf("the second column starts %d after the first's text, want 7", got)
	}
}

func TestClip(t *testing.T) {
	red := Terminal{Colour: true}.Paint(Red, "abcdef")
	for in, want := range map[string]string{
		"abcdef": "abc",
		"ab":     "ab",
		"▁▂▃▄":   "▁▂▃",
		red:      "\x1b[31mabc\x1b[0m",
	} {
		if got := Clip(in, 3); got != want {
			t.Errorf("Clip(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSafe(t *testing.T) {
	if got, want := Safe("wlan0\x1b[2J\n\u009b\xff"), "wlan0?[2J???"; got != want {
		t.Errorf("Safe = %q, want %q", got, want)
	}
}

// A view redraws over its last frame what changed of it, never more lines or
// columns than fit, and gives the cursor back.
func TestView(t *testing.T) {
	var b bytes.Buffer
	v := NewView(&b, Terminal{TTY: true, Width: 5, Height: 3})
	for _, frame := range [][]string{{"one", "two", "three", "four"}, {"longer than five", "(3 more"}, {"long"}, {"long"}} {
		if err := v.Draw(frame); err != nil {
			t.Fatal(err)
		}
	}
	v.End()
	want := hideCursor +
		beginFrame + "one" + clearLine + "\r\n(3 m" + clearLine + "\r\n" + endFrame +
		beginFrame + "\x1b[2A\r" + "long" + clearLine + "\r\n\r\n" + endFrame +
		beginFrame + "\x1b[2A\r" + "\r\n" + clearBelow + endFrame +
		showCursor
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
	b.Reset()
	v = NewFullView(&b, Terminal{})
	v.Draw([]string{"plain"})
	v.End()
	if got := b.String(); got != "plain\n\n" {
		t.Errorf("without a terminal: %q", got)
	}
}

func TestFullView(t *testing.T) {
	var b bytes.Buffer
	tm := Terminal{TTY: true, Width: 9, Height: 3}
	v := NewFullView(&b, tm)
	b.Reset()
	for _, tt := range []struct {
		frame []string
		want  string
	}{
		{[]string{"one", "two", "three"}, beginFrame + "\x1b[1Hone" + clearLine + "\x1b[2Htwo" + clearLine + "\x1b[3Hthree" + clearLine + endFrame},
		{[]string{"one", "two", "three"}, ""},
		{[]string{"one", "2", "three"}, beginFrame + "\x1b[2H2" + clearLine + endFrame},
		{[]string{"one"}, beginFrame + "\x1b[2H" + clearLine + "\x1b[3H" + clearLine + endFrame},
	} {
		if diff := cmp.Diff(tt.want, v.Frame(tt.frame)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.frame, diff)
		}
	}
	v.Resize(tm) // as it was
	if b.Len() > 0 {
		t.Errorf("no resize: %q", &b)
	}
	tm.Width++
	v.Resize(tm)
	if got := v.Frame([]string{"one"}); b.String() != home+clearBelow || !strings.Contains(got, "one") {
		t.Errorf("after a resize: %q, then %q", &b, got)
	}
}
