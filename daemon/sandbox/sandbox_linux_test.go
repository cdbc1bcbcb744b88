package sandbox

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// inside names the directory of a test that is to be locked up.
const inside = "AIRTUNED_SANDBOX"

// TestEnter runs TestInside in a process of its own, which cannot leave the
// sandbox again; without cgo, like the real program.
func TestEnter(t *testing.T) {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); errno != 0 {
		t.Skipf("this kernel has no Landlock: %v", errno)
	}
	dir := t.TempDir()
	child := filepath.Join(dir, "child")
	build := exec.Command("go", "test", "-c", "-o", child, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build without cgo: %v\n%s", err, out)
	}
	for _, d := range []string{"read", "write", "remove", "keep", "outside"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, d, "file"), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(child, "-test.run", "^TestInside$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("inside: %v\n%s", err, out)
	}
}

func TestInside(t *testing.T) {
	dir := os.Getenv(inside)
	if dir == "" {
		t.Skip("for TestEnter")
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	err := Enter(Files{
		Read: []string{at("read"), at("not-there")}, Write: []string{at("write")},
		Remove: []string{at("remove")}, Keep: []string{at("keep")},
	})
	if err != nil {
		t.Fatal(err)
	}
	readFile := func(name string) error { _, err := os.ReadFile(at(name)); return err }
	writeFile := func(name string) error { return os.WriteFile(at(name), []byte("new"), 0o600) }
	for _, test := range []struct {
		what    string
		err     error
		refused bool
	}{
		{"read in read", readFile("read/file"), false},
		{"write in read", writeFile("read/file"), true},
		{"read in write", readFile("write/file"), false},
		{"write in write", writeFile("write/file"), false},
		{"make in write", writeFile("write/new"), true},
		{"remove in write", os.Remove(at("write/file")), true},
		{"read in remove", readFile("remove/file"), true},
		{"remove in remove", os.Remove(at("remove/file")), false},
		{"make in keep", writeFile("keep/new"), false},
		{"rename in keep", os.Rename(at("keep/new"), at("keep/file")), false},
		{"make a directory in keep", os.Mkdir(at("keep/dir"), 0o700), false},
		{"remove in keep", os.Remove(at("keep/file")), false},
		{"read outside", readFile("outside/file"), true},
		{"write outside", writeFile("outside/file"), true},
		{"list outside", func() error { _, err := os.ReadDir(at("outside")); return err }(), true},
		{"run a program", exec.Command("/bin/true").Run(), true},
	} {
		if test.refused != errors.Is(test.err, fs.ErrPermission) || !test.refused && test.err != nil {
			t.Errorf("%s: got %v, want refused: %v", test.what, test.err, test.refused)
		}
	}

	// Each thread is inside: as many at once as there are goroutines.
	results := make(chan error)
	for range 8 {
		go func() { results <- readFile("outside/file") }()
	}
	for range 8 {
		if err := <-results; !errors.Is(err, fs.ErrPermission) {
			t.Errorf("read outside, from another goroutine: got %v", err)
		}
	}

	// What the daemon lives on goes on working.
	l, err := net.Listen("unix", "@airtuned-sandbox-test")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
