package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/daemon/control"
	"airtuned/debugfs"
	"airtuned/tuner"
)

// Exit codes. They are a contract with scripts.
const (
	exitDone         = 0
	exitFailed       = 1
	exitUsage        = 2 // usage or configuration error
	exitNoRadio      = 3 // no radio that can be tuned
	exitNotPermitted = 4 // not root, lockdown, missing capability
	exitNoDaemon     = 5 // the daemon cannot be reached
)

// failure is an error that knows how the command ends. Commands return it;
// whatever else they return is classified by classify.
type failure struct {
	exit int
	code string // in kebab-case, stable: docs/troubleshooting.md lists them
	err  error
	next string // the next step to take, "" if the error says it
	// result is what the command found out or did before it failed. In JSON
	// its keys stand beside "error".
	result any
}

func (f *failure) Error() string {
	msg := f.err.Error()
	if f.next != "" {
		msg += "; " + f.next
	}
	return oneLine(msg)
}

func (f *failure) Unwrap() error { return f.err }

func usage(err error, next string) error {
	return &failure{exit: exitUsage, code: "usage", err: err, next: next}
}

func usagef(next, format string, args ...any) error {
	return usage(fmt.Errorf(format, args...), next)
}

// classify finds the exit code and the next step for an error of the packages
// below.
func classify(err error) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, tuner.ErrLocked):
		return &failure{exit: exitFailed, code: "already-running", err: err, next: "stop it first, or ask it with airtuned status"}
	case errors.Is(err, control.ErrRunning):
		return &failure{exit: exitFailed, code: "already-running", err: err, next: "ask it with airtuned status"}
	case errors.Is(err, control.ErrUnreachable):
		return &failure{exit: exitNoDaemon, code: "no-daemon", err: err, next: "start it with airtuned run, or name its socket with --socket PATH"}
	case errors.Is(err, control.ErrDenied):
		return &failure{exit: exitNotPermitted, code: "not-permitted", err: err}
	case errors.Is(err, context.Canceled):
		return &failure{exit: exitFailed, code: "interrupted", err: errors.New("interrupted")}
	case errors.Is(err, tuner.ErrNoMatch):
		return &failure{exit: exitNoRadio, code: "no-match", err: err, next: "airtuned detect lists the radios"}
	}
	var ce *control.Error
	if errors.As(err, &ce) {
		return daemonFailure(ce)
	}
	f = &failure{exit: exitFailed, code: "failed", err: err}
	switch cause := debugfs.CauseOf(err); cause {
	case debugfs.Lockdown, debugfs.NotPermitted, debugfs.ReadOnly:
		f.exit, f.code = exitNotPermitted, cause.String()
	case debugfs.NotMounted:
		f.code = cause.String()
	default:
		return f
	}
	if advice := debugfs.CauseOf(err).Advice(); !strings.Contains(err.Error(), advice) {
		f.next = advice
	}
	return f
}

// daemonFailure is what an error of the daemon means here.
func daemonFailure(e *control.Error) *failure {
	f := &failure{exit: exitFailed, code: "failed", err: fmt.Errorf("the daemon: %w", e)}
	switch e.Code {
	case control.CodeNoRadio:
		f.exit, f.code = exitNoRadio, "no-match"
	case control.CodeConfiguration:
		f.exit, f.code = exitUsage, "config"
	case control.CodeParams, control.CodeNoMethod:
		f.exit, f.code = exitUsage, "usage"
	case control.CodeBusy:
		f.code, f.next = "busy", "try again"
	}
	return f
}

// finish prints how a command ended, if there is anything left to say, and
// returns the exit code.
func (a *app) finish(err error) int {
	if err == nil {
		return exitDone
	}
	f := classify(err)
	fmt.Fprintln(a.stderr, "airtuned: "+f.Error())
	if a.json {
		doc := map[string]json.RawMessage{}
		if b, err := json.Marshal(f.result); err == nil && f.result != nil {
			_ = json.Unmarshal(b, &doc)
		}
		doc["error"], _ = json.Marshal(map[string]string{"code": f.code, "message": f.Error()})
		_ = a.emit(doc)
	}
	return f.exit
}

// emit prints v as the one JSON document of this command.
func (a *app) emit(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// oneLine keeps a message on its one line, and what names in it would do to a
// terminal out of it.
func oneLine(s string) string {
	return term.Safe(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}
