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

// View redraws lines in place. Each frame is one write. Where there is no
// terminal the frames follow each other as plain text, a blank line between.
type View struct {
	w     io.Writer
	t     Terminal
	full  bool
	drawn int // lines of the last frame
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

// Draw replaces the last frame. Lines are cut to the terminal's size, since
// one that wraps would spoil the next frame.
func (v *View) Draw(lines []string) error {
	if !v.t.TTY {
		_, err := io.WriteString(v.w, strings.Join(lines, "\n")+"\n\n")
		return err
	}
	if n := v.t.Height - 1; len(lines) > n {
		more := fmt.Sprintf("(%d more lines: make the terminal taller)", len(lines)-n+1)
		lines = append(lines[:max(n-1, 0):max(n-1, 0)], more)
	}
	var b strings.Builder
	b.WriteString(beginFrame)
	if v.full {
		b.WriteString(home)
	} else if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r", v.drawn)
	}
	for _, l := range lines {
		b.WriteString(Clip(l, v.t.Width-1))
		b.WriteString(clearLine + "\r\n")
	}
	b.WriteString(clearBelow + endFrame)
	v.drawn = len(lines)
	_, err := io.WriteString(v.w, b.String())
	return err
}

// Resize tells the view about the terminal's new size.
func (v *View) Resize(t Terminal) { v.t.Width, v.t.Height = t.Width, t.Height }

// End brings the cursor back, and what was on a full terminal before.
func (v *View) End() {
	if v.full {
		io.WriteString(v.w, leaveFull)
	}
	if v.t.TTY {
		io.WriteString(v.w, showCursor)
	}
}
