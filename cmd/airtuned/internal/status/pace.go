package status

import "time"

const (
	// A terminal that never answered is asked no more after askFirst; one that did
	// is waited for, because the line to it is slow, but not for ever.
	askFirst = time.Second
	askLater = 10 * time.Second
	// paceShare of the time is spent without a frame on its way, so that a slow
	// line is free for what else goes over it; paceMost at once at most.
	paceShare = 4
	paceMost  = 5 * time.Second
)

// pace keeps one frame on its way to the terminal at a time, and knows when the
// next may go. Else frames would queue up in all the buffers on a slow line, and
// the picture would be ever older.
type pace struct {
	interval time.Duration
	sent     time.Time // of the frame on its way; zero if there is none
	writing  bool      // it has not left us
	answered bool      // the terminal answers
	silent   bool      // it does not
	next     time.Time // when the next frame may go
}

func (p *pace) start(now time.Time) { p.sent, p.writing = now, true }

// wrote notes that the frame has left us.
func (p *pace) wrote(now time.Time) {
	p.writing = false
	if p.silent {
		p.arrived(now)
	}
}

// answer notes that the terminal has got to the end of a frame.
func (p *pace) answer(now time.Time) {
	p.answered, p.silent = true, false
	if !p.writing && !p.sent.IsZero() {
		p.arrived(now)
	}
}

func (p *pace) arrived(now time.Time) {
	took := now.Sub(p.sent)
	p.next = p.sent.Add(max(p.interval, min(paceShare*took, took+paceMost)))
	p.sent = time.Time{}
}

// ready reports whether a frame may go now. If not, it may be asked again after
// wait; without one, something else has to happen first.
func (p *pace) ready(now time.Time) (ok bool, wait time.Duration) {
	if p.writing {
		return false, 0
	}
	if !p.sent.IsZero() {
		patience := askFirst
		if p.answered {
			patience = askLater
		}
		if wait = p.sent.Add(patience).Sub(now); wait > 0 {
			return false, wait
		}
		p.silent = !p.answered
		p.sent, p.next = time.Time{}, now
	}
	if wait = p.next.Sub(now); wait > 0 {
		return false, wait
	}
	return true, 0
}

// hurry lets the next frame go as soon as none is on its way: a key was pressed.
func (p *pace) hurry(now time.Time) { p.next = now }
