package term

import (
	"slices"
	"testing"
)

func TestKeys(t *testing.T) {
	for in, want := range map[string][]Key{
		"q":                         {'q'},
		"\x03\x1a\x0c\t ":           {CtrlC, CtrlZ, CtrlL, '\t', ' '},
		"\x1b[A\x1bOB\x1b[C\x1b[D":  {Up, Down, Right, Left},
		"\x1b[5~\x1b[6~\x1b[1~":     {PageUp, PageDown, Home},
		"\x1b[H\x1b[Z\x1b[1;5A":     {Home, BackTab, Up},
		"\x1b[0nq":                  {Answered, 'q'},
		"\x1b\x1b[A":                {Up},
		"\x1bq":                     {'q'},
		"\x1b[9~\x1b[x":             nil,
		"\xc3\xa9é":                 nil,
		"\x1b[11111111111111111111": {'1', '1', '1', '1', '1'},
		"\x1b[\x1b[B":               {Down},
	} {
		var k Keys
		if got := k.Feed([]byte(in)); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", in, got, want)
		}
	}
}

// However the bytes arrive, the keys are the same, and little is kept.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("q\x1b[A\x1b[0n\x1b[5~"))
	f.Add([]byte("\x1b[1;5\x1b\x1bOx\x80"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var whole, single Keys
		want := whole.Feed(in)
		var got []Key
		for i := range in {
			got = append(got, single.Feed(in[i:i+1])...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("byte by byte %v, at once %v", got, want)
		}
		if len(whole.seq) > longestSequence {
			t.Errorf("keeps %d bytes", len(whole.seq))
		}
	})
}
