package main

import (
	"bytes"
	"errors"
	"testing"
)

// A message is one line that does nothing to the terminal, whatever a phy or a
// file is called.
func TestFailureIsOneLine(t *testing.T) {
	var out, errOut bytes.Buffer
	a := &app{stdout: &out, stderr: &errOut}
	err := errors.Join(errors.New("phy \x1b]0;owned\a is bad"), errors.New("and\r\nso on"))
	if code := a.finish(err); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if want := "airtuned: phy ?]0;owned? is bad; and; so on\n"; errOut.String() != want || out.Len() > 0 {
		t.Errorf("stderr %q, want %q; stdout %q", errOut.String(), want, out.String())
	}
}
