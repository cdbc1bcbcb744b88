// Package control is the daemon's control socket: JSON-RPC 2.0 over a unix
// stream socket, one object per line, and the client for it. It knows who may
// call what, and keeps a client that is slow, silent, huge or malformed from
// costing anybody else anything. It does not know what the methods do.
//
// Objects of the protocol:
//
//	-> {"jsonrpc":"2.0","id":1,"method":"hold","params":{"radio":"phy0"}}
//	<- {"jsonrpc":"2.0","id":1,"result":{}}
//	<- {"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"..."}}
//
// After subscribe, the server sends notifications:
//
//	<- {"jsonrpc":"2.0","method":"status","params":{...}}
//
// Requests of one connection are answered in order. A request without an id is
// carried out but not answered. Batches are not supported.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Codes of errors: those of JSON-RPC 2.0, and ours.
const (
	CodeParse         = -32700 // the line is not JSON
	CodeRequest       = -32600 // it is not a request, or too long
	CodeNoMethod      = -32601
	CodeParams        = -32602
	CodeInternal      = -32603
	CodeFailed        = -32000 // it was tried, and failed
	CodeDenied        = -32001 // the peer may not do this
	CodeBusy          = -32002 // no answer in time, or too many connections
	CodeNoRadio       = -32003 // there is no such radio
	CodeConfiguration = -32004 // the configuration was refused
)

// Error is an error as it goes over the socket.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Is makes errors.Is(err, ErrDenied) true for the code of that name.
func (e *Error) Is(target error) bool { return target == ErrDenied && e.Code == CodeDenied }

// Errorf makes an error with one of the codes.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

var (
	// ErrDenied means that this user may not do that.
	ErrDenied = errors.New("not permitted")
	// ErrUnreachable means that no daemon answers at the socket.
	ErrUnreachable = errors.New("the daemon cannot be reached")
	// ErrRunning means that another daemon has the socket.
	ErrRunning = errors.New("another daemon is running")
)

// The limits of the protocol and of what a client may cost.
const (
	// MaxLine is the longest request, in bytes, without its newline.
	MaxLine = 64 << 10
	// MaxConns is how many clients there may be at once.
	MaxConns = 64
	// rootConns of these are kept for root, so that other users cannot lock
	// it out.
	rootConns = 8
	// idle is how long a client may take to send one whole line.
	idle = 30 * time.Second
	// send is how long a client may take to accept one whole line.
	send = 2 * time.Second
	// pace is the least time between two requests of all users but root, and
	// perByte what each byte of them and of their answers adds: so they cost the
	// processor little, whatever they do, and cannot hold up the radios' loops.
	pace    = 2 * time.Millisecond
	perByte = time.Microsecond
	// answer is how long a method may take.
	answer = 10 * time.Second
	// Intervals of notifications.
	minInterval     = 100 * time.Millisecond
	maxInterval     = time.Hour
	defaultInterval = time.Second
)

const version = "2.0"

// request is an object from the client. ID is nil in a notification.
type request struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// response is an object from the server: an answer, or a notification.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

var null = json.RawMessage("null")

// parseRequest reads one line. With an error, the id is what could be made out
// of it, as JSON-RPC wants, or null.
func parseRequest(line []byte) (request, *Error) {
	req := request{ID: null}
	if !json.Valid(line) {
		return req, Errorf(CodeParse, "not a JSON object on one line")
	}
	switch first(line) {
	case '[':
		return req, Errorf(CodeRequest, "batches are not supported: send one request per line")
	case '{':
	default:
		return req, Errorf(CodeRequest, "a request is an object")
	}
	var in struct {
		Version *string         `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	err := json.Unmarshal(line, &in)
	switch first(in.ID) {
	case 0: // a notification
		req.ID = nil
	case '{', '[', 't', 'f':
		return req, Errorf(CodeRequest, "id must be a string, a number or null")
	default:
		req.ID = in.ID
	}
	switch {
	case err != nil:
		return req, Errorf(CodeRequest, "not a request: %v", err)
	case in.Version == nil || *in.Version != version:
		return req, Errorf(CodeRequest, "jsonrpc must be %q", version)
	case in.Method == nil || *in.Method == "":
		return req, Errorf(CodeRequest, "no method")
	}
	switch first(in.Params) {
	case 0, '{', 'n':
	default:
		return req, Errorf(CodeParams, "params must be an object")
	}
	req.Method, req.Params = *in.Method, in.Params
	return req, nil
}

// first is the first character of a JSON text, 0 if there is none.
func first(text []byte) byte {
	for _, c := range text {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c
		}
	}
	return 0
}
