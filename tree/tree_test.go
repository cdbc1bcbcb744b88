package tree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// fixture makes files, folders (a name ending in "/") and symbolic links (a
// text beginning with "-> ") in a new folder.
func fixture(t *testing.T, files map[string]string) Dir {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(root, 0o755))
	for name, text := range files {
		path := filepath.Join(root, name)
		must(os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			must(os.Symlink(target, path))
		} else if strings.HasSuffix(name, "/") {
			must(os.MkdirAll(path, 0o755))
		} else {
			must(os.WriteFile(path, []byte(text), 0o644))
		}
	}
	return Dir(root)
}

// sys looks as /sys does: classes are links into devices.
func sys(t *testing.T) Dir {
	return fixture(t, map[string]string{
		"class/ieee80211/phy0":                            "-> ../../devices/pci0/0000:01:00.0/ieee80211/phy0",
		"devices/pci0/0000:01:00.0/ieee80211/phy0/index":  "0\n",
		"devices/pci0/0000:01:00.0/ieee80211/phy0/device": "-> ../../../0000:01:00.0",
		"devices/pci0/0000:01:00.0/vendor":                "0x168c\n",
		"class/outside":                                   "-> ../../outside",
		"class/absolute":                                  "-> /etc/hostname",
		"class/nowhere":                                   "-> missing",
		"class/loop":                                      "-> loop",
		"empty/":                                          "",
	})
}

func TestReadThroughLinks(t *testing.T) {
	d := sys(t)
	for name, want := range map[string]string{
		"class/ieee80211/phy0/index":         "0",
		"class/ieee80211/phy0/device/vendor": "0x168c",
	} {
		if got, err := ReadString(d, name); got != want || err != nil {
			t.Errorf("%s: got %q, error %v", name, got, err)
		}
	}
	got, err := d.Readlink("class/ieee80211/phy0")
	if got != "../../devices/pci0/0000:01:00.0/ieee80211/phy0" || err != nil {
		t.Errorf("Readlink: %q, error %v", got, err)
	}
	names, err := d.List("class/ieee80211/phy0")
	if diff := cmp.Diff([]string{"device", "index"}, names); diff != "" || err != nil {
		t.Errorf("List: error %v (-want +got):\n%s", err, diff)
	}
	names, err = d.List(".")
	if diff := cmp.Diff([]string{"class", "devices", "empty"}, names); diff != "" || err != nil {
		t.Errorf("List(.): error %v (-want +got):\n%s", err, diff)
	}
	if names, err = d.List("empty"); len(names) != 0 || err != nil {
		t.Errorf("List(empty): %q, error %v", names, err)
	}
}

// operations are all ways in, under the names that their errors give them.
var operations = []struct {
	op string
	do func(d Dir, name string) error
}{
	{"open", func(d Dir, name string) error {
		f, err := d.Open(name)
		if err == nil {
			f.Close()
		}
		return err
	}},
	{"open", func(d Dir, name string) error { return d.Write(name, []byte("x")) }},
	{"open", func(d Dir, name string) error { _, err := d.List(name); return err }},
	{"readlink", func(d Dir, name string) error { _, err := d.Readlink(name); return err }},
}

func TestNoWayOut(t *testing.T) {
	d := sys(t)
	secret := filepath.Join(filepath.Dir(string(d)), "outside")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../outside", "class/../../outside", "/etc/hostname", "", secret} {
		for _, o := range operations {
			if err := o.do(d, name); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s %q: error %v", o.op, name, err)
			}
		}
	}
	for _, name := range []string{"class/outside", "class/absolute", "class/loop"} {
		for _, o := range operations {
			if o.op == "readlink" { // it follows nothing
				continue
			}
			if err := o.do(d, name); err == nil {
				t.Errorf("%s %s: no error", o.op, name)
			}
		}
	}
	if b, err := os.ReadFile(secret); string(b) != "secret" {
		t.Errorf("the file outside is now %q, error %v", b, err)
	}
}

func TestErrorsCarryPathAndErrno(t *testing.T) {
	d := sys(t)
	check := func(err error, op, path string, errno error) {
		t.Helper()
		var pe *fs.PathError
		if !errors.As(err, &pe) {
			t.Errorf("not a PathError: %v", err)
			return
		}
		if pe.Op != op || pe.Path != path || !errors.Is(err, errno) {
			t.Errorf("got %v, want %s %s: %v", err, op, path, errno)
		}
	}
	for _, name := range []string{"missing", "class/missing/file"} {
		for _, o := range operations {
			check(o.do(d, name), o.op, string(d)+"/"+name, unix.ENOENT)
		}
	}
	check(operations[0].do(d, "class/nowhere"), "open", string(d)+"/class/nowhere", unix.ENOENT)
	none := d + "/missing"
	for _, o := range operations {
		check(o.do(none, "file"), "open", string(none), unix.ENOENT)
	}
	_, err := d.List("devices/pci0/0000:01:00.0/vendor")
	check(err, "open", string(d)+"/devices/pci0/0000:01:00.0/vendor", unix.ENOTDIR)
	_, err = d.Readlink("empty")
	check(err, "readlink", string(d)+"/empty", unix.EINVAL)
	_, err = Read(d, "empty")
	check(err, "read", string(d)+"/empty", unix.EISDIR)
	// /dev/full and /proc/self/mem take an open and refuse the rest.
	check(Dir("/dev").Write("full", []byte("x")), "write", "/dev/full", unix.ENOSPC)
	_, err = Read(Dir("/proc/self"), "mem")
	check(err, "read", "/proc/self/mem", unix.EIO)
}

// Fixture folders are often given by a relative name.
func TestErrorsUnderRelativeRoot(t *testing.T) {
	d := sys(t)
	t.Chdir(filepath.Dir(string(d)))
	rel := Dir("root")
	_, listErr := rel.List("class/nowhere")
	_, notDirErr := rel.List("devices/pci0/0000:01:00.0/vendor")
	_, readErr := Read(rel, "empty")
	for path, err := range map[string]error{
		"root/class/nowhere":                    listErr,
		"root/devices/pci0/0000:01:00.0/vendor": notDirErr,
		"root/empty":                            readErr,
		"root/missing":                          rel.Write("missing", nil),
	} {
		var pe *fs.PathError
		if !errors.As(err, &pe) || pe.Path != path {
			t.Errorf("error %v, want one about %s", err, path)
		}
	}
}

func TestReadFresh(t *testing.T) {
	d := fixture(t, map[string]string{"value": "first\n"})
	f, err := d.Open("value")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 16)
	for _, want := range []string{"first\n", "second and", "", "3\n"} {
		// The same inode, as the kernel's files are.
		if err := os.WriteFile(filepath.Join(string(d), "value"), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if n, err := f.ReadFresh(buf); string(buf[:n]) != want || err != nil {
				t.Errorf("got %q, error %v, want %q", buf[:n], err, want)
			}
		}
	}
	if n, err := f.ReadFresh(buf[:1]); n != 1 || err != nil || buf[0] != '3' {
		t.Errorf("into a short buffer: %q, error %v", buf[:n], err)
	}
	if n := testing.AllocsPerRun(20, func() { f.ReadFresh(buf) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestReadFreshAfterClose(t *testing.T) {
	d := fixture(t, map[string]string{"value": "x"})
	f, err := d.Open("value")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// Whoever opens next gets the same descriptor; it must not be read here.
	other, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	buf := make([]byte, 16)
	if n, err := f.ReadFresh(buf); !errors.Is(err, unix.EBADF) {
		t.Errorf("read %q, error %v", buf[:n], err)
	}
}

func TestReadWholeText(t *testing.T) {
	for _, size := range []int{0, 1, BufSize - 1, BufSize, BufSize + 1, 100_000, maxText - 1} {
		want := strings.Repeat("x", size)
		d := fixture(t, map[string]string{"value": want})
		if got, err := Read(d, "value"); string(got) != want || err != nil {
			t.Errorf("%d bytes: got %d, error %v", size, len(got), err)
		}
	}
	// Not a kernel file, but a hostile tree may hold one.
	if b, err := Read(Dir("/dev"), "zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero: longer than") {
		t.Errorf("endless: got %d bytes, error %v", len(b), err)
	}
}

func TestFifoDoesNotBlock(t *testing.T) {
	d := fixture(t, nil)
	if err := unix.Mkfifo(string(d)+"/fifo", 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(d, "fifo"); !errors.Is(err, unix.ESPIPE) {
		t.Errorf("read: %v", err)
	}
	if err := d.Write("fifo", []byte("x")); !errors.Is(err, unix.ENXIO) {
		t.Errorf("write: %v", err)
	}
	if _, err := d.List("fifo"); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("list: %v", err)
	}
}

// One call must be one write(2), or the kernel sees two commands. A file that
// may not grow takes the start of a text; whoever tried to write the rest would
// get another error than that of a short write.
func TestWriteIsOneWrite(t *testing.T) {
	d := fixture(t, map[string]string{"value": ""})
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 4, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	err := d.Write("value", []byte("2 1500 5000\n"))
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, io.ErrShortWrite) || !strings.Contains(err.Error(), string(d)+"/value") {
		t.Errorf("error %v", err)
	}
	if got, err := ReadString(d, "value"); got != "2 15" || err != nil {
		t.Errorf("file is %q, error %v", got, err)
	}
}

// Kernel files are neither made nor cut to length nor appended to.
func TestWriteOnlyWrites(t *testing.T) {
	d := fixture(t, map[string]string{"value": "old text\n"})
	if err := d.Write("value", []byte("new")); err != nil {
		t.Error(err)
	}
	if got, err := ReadString(d, "value"); got != "new text" || err != nil {
		t.Errorf("file is %q, error %v", got, err)
	}
	if err := d.Write("missing", []byte("new")); !errors.Is(err, unix.ENOENT) || Exists(d, "missing") {
		t.Errorf("a missing file: error %v, exists: %v", err, Exists(d, "missing"))
	}
}

func TestCanWrite(t *testing.T) {
	d := fixture(t, map[string]string{"value": "old"})
	if err := d.CanWrite("value"); err != nil {
		t.Error(err)
	}
	if got, err := ReadString(d, "value"); got != "old" || err != nil {
		t.Errorf("file is %q, error %v", got, err)
	}
	if err := d.CanWrite("missing"); !errors.Is(err, unix.ENOENT) || Exists(d, "missing") {
		t.Errorf("a missing file: error %v, exists: %v", err, Exists(d, "missing"))
	}
}

func TestExists(t *testing.T) {
	d := sys(t)
	for name, want := range map[string]bool{
		".":                          true,
		"empty":                      true,
		"class/ieee80211/phy0":       true,
		"class/ieee80211/phy0/index": true,
		"class/nowhere":              false,
		"class/absolute":             false,
		"missing":                    false,
		"../root":                    false,
	} {
		if got := Exists(d, name); got != want {
			t.Errorf("Exists(%q) = %v", name, got)
		}
	}
	if Exists(d+"/missing", ".") {
		t.Error("a root that is missing exists")
	}
}

func TestString(t *testing.T) {
	if s := Join(Dir("/sys/kernel/debug/"), "ieee80211/phy0"); s != "/sys/kernel/debug/ieee80211/phy0" {
		t.Errorf("got %s", s)
	}
}

// A file system mounted later on the same folder must be seen.
func TestDirIsOpenedAnew(t *testing.T) {
	d := fixture(t, map[string]string{"value": "old"})
	if got, err := ReadString(d, "value"); got != "old" || err != nil {
		t.Fatalf("got %q, error %v", got, err)
	}
	if err := os.Rename(string(d), string(d)+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(string(fixture(t, map[string]string{"value": "new"})), string(d)); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadString(d, "value"); got != "new" || err != nil {
		t.Errorf("got %q, error %v", got, err)
	}
}

// over is a tree with something of its own on top of another.
type over struct{ FS }

func (o over) Below() FS { return o.FS }

func TestDirOf(t *testing.T) {
	for _, tt := range []struct {
		tree FS
		want Dir
		ok   bool
	}{
		{Dir("/sys"), "/sys", true},
		{over{Dir("/sys")}, "/sys", true},
		{struct{ FS }{Dir("/sys")}, "", false},
	} {
		if got, ok := DirOf(tt.tree); got != tt.want || ok != tt.ok {
			t.Errorf("%#v: got %q, %v", tt.tree, got, ok)
		}
	}
}
