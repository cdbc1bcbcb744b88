package term

import (
	"fmt"
	"io"
	"strings"
)

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	// Between these two a terminal that knows them shows nothing half drawn;
	// the others ignore them.
	beginFrame = "\x1b[?2026h"
	endFrame   = "\x1b[?2026l"
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
	// The second screen of a terminal, without scrollback.
	enterFull = "\x1b[?1049h\x1b[H"
	leaveFull = "\x1b[?1049l"
	home      = "\x1b[H"
)

// View redraws lines in place, and of each frame only the lines that changed. Each
// frame is one write. Where there is no terminal the frames follow each other as
// plain text, a blank line between.
type View struct {
	w    io.Writer
	t    Terminal
	full bool
	last []string // what is on the screen
}

// NewView starts a view where the cursor is: its last frame stays when it
// ends. End must be called on every way out: it brings the cursor back.
func NewView(w io.Writer, t Terminal) *View {
	v := &View{w: w, t: t}
	if t.TTY {
		io.WriteString(w, hideCursor)
	}
	return v
}

// NewFullView starts a view on the whole terminal, which is as it was before
// once the view has ended.
func NewFullView(w io.Writer, t Terminal) *View {
	v := NewView(w, t)
	if v.full = t.TTY; v.full {
		io.WriteString(w, enterFull)
	}
	return v
}

// Draw replaces the last frame.
func (v *View) Draw(lines []string) error {
	_, err := io.WriteString(v.w, v.Frame(lines))
	return err
}

// Frame is what has to be written to replace the last frame, which it takes to be
// done; nothing if nothing changed. Lines are cut to the terminal's size, since
// one that wraps would spoil the next frame. On the whole terminal the last line
// may be the terminal's.
func (v *View) Frame(lines []string) string {
	if !v.t.TTY {
		return strings.Join(lines, "\n") + "\n\n"
	}
	n := v.t.Height
	if !v.full {
		n--
	}
	if len(lines) > n {
		more := fmt.Sprintf("(%d more lines: make the terminal taller)", len(lines)-n+1)
		lines = append(lines[:max(n-1, 0):max(n-1, 0)], more)
	}
	next := make([]string, len(lines))
	same := len(lines) == len(v.last)
	for i, l := range lines {
		next[i] = Clip(l, v.t.Width-1)
		same = same && next[i] == v.last[i]
	}
	if same {
		return ""
	}
	var b strings.Builder
	b.WriteString(beginFrame)
	switch {
	case v.full:
		v.jump(&b, next)
	case len(v.last) > 0:
		fmt.Fprintf(&b, "\x1b[%dA\r", len(v.last))
		fallthrough
	default:
		for i, l := range next {
			if i >= len(v.last) || v.last[i] != l {
				b.WriteString(l + clearLine)
			}
			b.WriteString("\r\n")
		}
		if len(next) < len(v.last) {
			b.WriteString(clearBelow)
		}
	}
	b.WriteString(endFrame)
	v.last = next
	return b.String()
}

// jump writes the lines that changed, each where it belongs.
func (v *View) jump(b *strings.Builder, next []string) {
	for i := range max(len(next), len(v.last)) {
		switch {
		case i >= len(next):
			fmt.Fprintf(b, "\x1b[%dH"+clearLine, i+1)
		case i >= len(v.last) || v.last[i] != next[i]:
			fmt.Fprintf(b, "\x1b[%dH%s"+clearLine, i+1, next[i])
		}
	}
}

// Resize tells the view about the terminal's new size. On the whole terminal all
// is drawn anew, since terminals move lines about.
func (v *View) Resize(t Terminal) {
	if v.t.Width == t.Width && v.t.Height == t.Height {
		return
	}
	v.t.Width, v.t.Height = t.Width, t.Height
	v.Redraw()
}

// Redraw has the next frame of a view on the whole terminal be drawn from nothing.
func (v *View) Redraw() {
	if v.full {
		io.WriteString(v.w, home+clearBelow)
		v.last = nil
	}
}

// End brings the cursor back, and what was on a full terminal before.
func (v *View) End() {
	if v.full {
		io.WriteString(v.w, leaveFull)
	}
	if v.t.TTY {
		io.WriteString(v.w, showCursor)
	}
}
