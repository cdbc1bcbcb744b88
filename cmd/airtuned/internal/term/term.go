// Package term draws for a person at a terminal: styles, tables, block charts
// and a view that redraws in place. It knows nothing about radios. What is
// written to a pipe or a file is the same text without escape sequences.
package term

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Terminal is what is known about where the output goes.
type Terminal struct {
	// TTY says that a person looks at it now.
	TTY bool
	// Colour says whether escape sequences for colours may be used: on a
	// terminal, unless NO_COLOR is set (no-color.org) or TERM is dumb.
	Colour bool
	// Unicode says whether block characters can be shown, by the locale.
	Unicode bool
	// Width and Height are in characters; 80x24 where there is no terminal.
	Width, Height int
}

// Look finds out about w.
func Look(w io.Writer) Terminal {
	t := Terminal{Width: 80, Height: 24, Unicode: utf8Locale()}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return t
	}
	dumb := os.Getenv("TERM") == "dumb"
	t.TTY = !dumb
	t.Colour = !dumb && os.Getenv("NO_COLOR") == ""
	if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
		t.Width, t.Height = w, h
	}
	return t
}

// utf8Locale follows the precedence of setlocale(3). No locale at all, as on
// most routers and in containers, is taken as UTF-8, which terminals default to.
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// Style is a way to print a piece of text.
type Style string

// The styles in use. Colours are those of the terminal's own palette.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Cyan   Style = "36"
)

// Paint returns s in the style, or s itself where there are no colours.
func (t Terminal) Paint(st Style, s string) string {
	if !t.Colour || st == Plain || s == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// Width is the number of columns s takes, not counting escape sequences. Every
// character we print is one column wide.
func Width(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] == '\x1b' {
			if end := strings.IndexByte(s[i:], 'm'); end >= 0 {
				i += end + 1
				continue
			}
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
		n++
	}
	return n
}

// Clip cuts s to at most w columns. Text of several lines is not its business.
func Clip(s string, w int) string {
	if Width(s) <= w {
		return s
	}
	var b strings.Builder
	n := 0
	for i := 0; i < len(s); {
		if s[i] == '\x1b' {
			if end := strings.IndexByte(s[i:], 'm'); end >= 0 {
				b.WriteString(s[i : i+end+1])
				i += end + 1
				continue
			}
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		if n < w {
			b.WriteString(s[i : i+size])
		}
		n++
		i += size
	}
	return b.String()
}

// Pad fills s with blanks up to w columns.
func Pad(s string, w int) string {
	if n := w - Width(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s
}

// PadLeft puts blanks before s up to w columns.
func PadLeft(s string, w int) string {
	if n := w - Width(s); n > 0 {
		return strings.Repeat(" ", n) + s
	}
	return s
}

// Wrap breaks text at blanks into lines of at most w columns.
func Wrap(s string, w int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= w:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Safe makes text from outside (an interface name, a file's content) harmless
// to print: control characters become '?'.
func Safe(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return '?'
		}
		return r
	}, s)
}
