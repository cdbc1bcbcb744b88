package term

// Key is a key that was pressed: its character, or one of those below.
type Key rune

// The keys that have no character, and what is no key at all.
const (
	CtrlC Key = 3
	CtrlL Key = 12
	CtrlZ Key = 26

	Up Key = -1 - iota
	Down
	Left
	Right
	PageUp
	PageDown
	Home
	BackTab
	// Answered is the terminal's answer to Ask.
	Answered
)

// Ask has a terminal answer once it has got to it: DSR, which is as old as
// terminals are. So one knows what has been drawn.
const Ask = "\x1b[5n"

// Keys makes keys out of what a terminal sends. What it does not know it leaves
// out.
type Keys struct {
	seq []byte // of an escape sequence that has not ended
}

// longestSequence is more than any key sends.
const longestSequence = 16

// Feed takes in what was read.
func (k *Keys) Feed(b []byte) (keys []Key) {
	for _, c := range b {
		if key := k.feed(c); key != 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

func (k *Keys) feed(c byte) Key {
	switch {
	case c == 0x1b:
		k.seq = append(k.seq[:0], c)
		return 0
	case len(k.seq) == 1 && (c == '[' || c == 'O'):
		k.seq = append(k.seq, c)
		return 0
	case len(k.seq) > 1 && c >= 0x20 && c < 0x40 && len(k.seq) < longestSequence:
		k.seq = append(k.seq, c)
		return 0
	case len(k.seq) > 1:
		params := string(k.seq[2:])
		k.seq = k.seq[:0]
		return sequence(params, c)
	}
	k.seq = k.seq[:0]
	if c >= 0x80 {
		return 0
	}
	return Key(c)
}

// sequence is the key that sends ESC [ or ESC O, parameters, and a last character.
func sequence(params string, last byte) Key {
	switch last {
	case 'A':
		return Up
	case 'B':
		return Down
	case 'C':
		return Right
	case 'D':
		return Left
	case 'H':
		return Home
	case 'Z':
		return BackTab
	case 'n':
		return Answered
	case '~':
		switch params {
		case "1", "7":
			return Home
		case "5":
			return PageUp
		case "6":
			return PageDown
		}
	}
	return 0
}
