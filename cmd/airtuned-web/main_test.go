package main

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestExecute(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	none := filepath.Join(t.TempDir(), "none")
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"--help", 0, "airtuned-web --listen :9642 --host router.lan", ""},
		{"--version", 0, "airtuned-web ", ""},
		{"--frobnicate", 2, "", "unknown flag: --frobnicate; see airtuned-web --help"},
		{"surplus", 2, "", `takes no argument, got "surplus"`},
		{"--listen 127.0.0.1:0 --socket " + none, 0, "", "url=http://127.0.0.1:"},
		{"--listen :0 --socket " + none, 0, "", "whoever reaches this address"},
		{"--listen " + taken.Addr().String(), 1, "", "address already in use"},
	} {
		var stdout, stderr bytes.Buffer
		code := execute(ended, strings.Fields(tt.args), &stdout, &stderr)
		if code != tt.code || !strings.Contains(stdout.String(), tt.stdout) || !strings.Contains(stderr.String(), tt.stderr) {
			t.Errorf("%s: %d\n%s%s", tt.args, code, &stdout, &stderr)
		}
		if (stdout.Len() > 0) != (tt.stdout != "") {
			t.Errorf("%s: standard output %q", tt.args, &stdout)
		}
	}
}
