package term

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Input is a terminal that keys are read from one by one.
type Input struct {
	f     *os.File
	state *term.State // as it was, while raw
}

// NewInput looks at a file that keys may come from; nil where there is no
// terminal.
func NewInput(f *os.File) *Input {
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &Input{f: f}
}

// Raw has the terminal hand over each key at once and show none. Cooked must be
// called on every way out.
func (in *Input) Raw() (err error) {
	in.state, err = term.MakeRaw(int(in.f.Fd()))
	return err
}

// Cooked brings the terminal back to what it was. What was not read is dropped: it
// was not meant for the shell.
func (in *Input) Cooked() {
	if in.state == nil {
		return
	}
	fd := int(in.f.Fd())
	unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH)
	term.Restore(fd, in.state)
	in.state = nil
}

// Read hands over what was typed, until the terminal is gone.
func (in *Input) Read(keys chan<- []byte) {
	defer close(keys)
	for {
		b := make([]byte, 64)
		n, err := in.f.Read(b)
		if n > 0 {
			keys <- b[:n]
		}
		if err != nil {
			return
		}
	}
}

// Drop throws away what was written to a terminal and did not get there.
func Drop(f *os.File) { unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCOFLUSH) }
