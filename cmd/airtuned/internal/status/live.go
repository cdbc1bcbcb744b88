package status

import (
	"context"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/cmd/airtuned/internal/term"
)

// Live is the view of a Top on a terminal.
type Live struct {
	Follower
	Out *os.File
	In  *os.File

	top   Top
	view  *term.View
	tm    term.Terminal
	pace  pace
	input *term.Input // nil without keys
	keys  term.Keys
	typed chan []byte
	wrote chan error
	dirty bool
}

// Run shows it until ctx ends or the reader quits. On every way out, a panic too,
// the terminal is what it was.
func (l *Live) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	updates, ended := make(chan Update), make(chan error, 1)
	go func() {
		ended <- l.Follow(ctx, func(u Update) error {
			select {
			case updates <- u:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	// Nothing is drawn before the daemon is known to be there.
	select {
	case err := <-ended:
		return err
	case u := <-updates:
		l.take(u)
	}
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	defer signal.Stop(resized)
	l.pace.interval = l.Interval
	l.wrote = make(chan error, 1)
	l.tm = term.Look(l.Out)
	if l.input = term.NewInput(l.In); l.input != nil {
		l.typed = make(chan []byte)
		go l.input.Read(l.typed)
	} else {
		l.pace.silent = true // nobody hears its answers
	}
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case u := <-updates:
			l.take(u)
		case err := <-l.wrote:
			if err != nil {
				return err
			}
			l.pace.wrote(time.Now())
		case b, ok := <-l.typed:
			if !ok || l.press(b) {
				return nil
			}
		case <-resized:
			l.tm = term.Look(l.Out)
			l.dirty = true
			l.pace.hurry(time.Now())
		case <-timer.C:
		}
		if !l.dirty {
			continue
		}
		now := time.Now()
		ok, wait := l.pace.ready(now)
		if ok {
			l.draw(now)
		} else if wait > 0 {
			timer.Reset(wait)
		}
	}
}

func (l *Live) take(u Update) {
	now := time.Now()
	l.dirty = l.dirty || u.Past == nil // a status follows
	switch {
	case u.Status != nil:
		l.top.Take(*u.Status, now)
	case u.Away:
		l.top.Away()
	}
	for _, past := range u.Past {
		l.top.Fill(past, now)
	}
}

// press takes in keys, and reports whether one of them ends the view.
func (l *Live) press(b []byte) (quit bool) {
	for _, k := range l.keys.Feed(b) {
		switch k {
		case term.Answered:
			l.pace.answer(time.Now())
		case term.CtrlZ:
			l.suspend()
		case term.CtrlL:
			l.view.Redraw()
		default:
			if l.top.Key(k) {
				return true
			}
		}
		if k != term.Answered {
			l.dirty = true
			l.pace.hurry(time.Now())
		}
	}
	return false
}

// draw sends the frame on its way. Writing may block for as long as the line
// likes, and keys must work meanwhile.
func (l *Live) draw(now time.Time) {
	l.dirty = false
	l.view.Resize(l.tm)
	frame := l.view.Frame(l.top.Lines(l.tm, now))
	if frame == "" {
		return
	}
	if !l.pace.silent {
		frame += term.Ask
	}
	l.pace.start(now)
	go func() {
		_, err := io.WriteString(l.Out, frame)
		l.wrote <- err
	}()
}

func (l *Live) enter() error {
	if l.input != nil {
		if err := l.input.Raw(); err != nil {
			return err
		}
	}
	l.view = term.NewFullView(l.Out, l.tm)
	return nil
}

// leaveWithin is how long the terminal is waited for in the end.
const leaveWithin = 300 * time.Millisecond

// leave gives the terminal back. What is on its way is waited for, as far as it
// may be: an answer that comes too late would be typed into the shell.
func (l *Live) leave() {
	enough := time.After(leaveWithin)
	if l.pace.writing {
		term.Drop(l.Out)
		select {
		case <-l.wrote:
			l.pace.wrote(time.Now())
		case <-enough:
		}
	}
	for waiting := !l.pace.silent && !l.pace.sent.IsZero() && !l.pace.writing; waiting; {
		select {
		case b, ok := <-l.typed:
			for _, k := range l.keys.Feed(b) {
				waiting = waiting && k != term.Answered
			}
			waiting = waiting && ok
		case <-enough:
			waiting = false
		}
	}
	l.view.End()
	if l.input != nil {
		l.input.Cooked()
	}
}

// suspend gives the terminal back until the shell brings us to the front again.
func (l *Live) suspend() {
	l.leave()
	back := make(chan os.Signal, 1)
	signal.Notify(back, unix.SIGCONT)
	defer signal.Stop(back)
	if unix.Kill(0, unix.SIGTSTP) == nil {
		select {
		case <-back:
		case <-time.After(leaveWithin): // no shell is there that could
		}
	}
	l.pace.sent, l.pace.writing = time.Time{}, false
	l.tm = term.Look(l.Out)
	// As it was before, it can be again.
	_ = l.enter()
}
