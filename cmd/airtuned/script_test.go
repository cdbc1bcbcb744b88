package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// exits N COMMAND... runs the command and wants exactly that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		got = ee.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// onejson [PATH VALUE]... wants exactly one JSON document on standard output,
// and at each PATH (keys and indices joined by dots; len is a list's length) that
// JSON value. With "!" before it, the path must be absent.
func oneJSON(ts *testscript.TestScript, neg bool, args []string) {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var doc any
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("no JSON document: %v\n%s", err, ts.ReadFile("stdout"))
	}
	if err := dec.Decode(new(any)); err != io.EOF {
		ts.Fatalf("more than one JSON document: %v", err)
	}
	if neg {
		for _, path := range args {
			if got, ok := lookup(doc, path); ok {
				ts.Fatalf("%s is %v, want it absent", path, got)
			}
		}
		return
	}
	if len(args)%2 != 0 {
		ts.Fatalf("usage: onejson [PATH VALUE]...")
	}
	for i := 0; i < len(args); i += 2 {
		got, ok := lookup(doc, args[i])
		if !ok {
			ts.Fatalf("nothing at %s in %s", args[i], ts.ReadFile("stdout"))
		}
		var want any
		if err := json.Unmarshal([]byte(args[i+1]), &want); err != nil {
			want = args[i+1] // a bare word
		}
		if !reflect.DeepEqual(got, want) {
			ts.Fatalf("%s is %v, want %v", args[i], got, want)
		}
	}
}

func lookup(doc any, path string) (any, bool) {
	if path == "" {
		return doc, true
	}
	for key := range strings.SplitSeq(path, ".") {
		switch d := doc.(type) {
		case map[string]any:
			v, ok := d[key]
			if !ok {
				return nil, false
			}
			doc = v
		case []any:
			if key == "len" {
				doc = float64(len(d))
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(d) {
				return nil, false
			}
			doc = d[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// oneline wants an error of one line on standard error, from airtuned.
func oneLineOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: oneline")
	}
	got := []byte(ts.ReadFile("stderr"))
	if !bytes.HasPrefix(got, []byte("airtuned: ")) || bytes.Count(got, []byte("\n")) != 1 || !bytes.HasSuffix(got, []byte("\n")) {
		ts.Fatalf("standard error is not one line of airtuned's:\n%s", got)
	}
}

// await FILE waits until there is such a file, for as long as the test may run.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	for range 3000 {
		if _, err := os.Lstat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s does not appear", args[0])
}
