package tuner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Originals are the values one radio's knobs had before the first write. They
// are on disk before that write happens, so that they survive a crash.
type Originals struct {
	Version int    `json:"version"`
	BootID  string `json:"boot_id"`
	// Path identifies the radio. Phy and PhyIndex are those at the time: a
	// driver that was reloaded registers the same device under a new index,
	// with its own fresh values, and then this record is void.
	Path     string     `json:"path"`
	Phy      string     `json:"phy"`
	PhyIndex int        `json:"phy_index"`
	Knobs    []Original `json:"knobs"`
}

// Original is one knob's value as found. Knob is named as in Change.Knob.
type Original struct {
	Knob  string `json:"knob"`
	Value string `json:"value"`
}

const originalsVersion = 1

// ErrOriginals is wrapped by errors about a record that cannot be used.
var ErrOriginals = errors.New("unusable record of original values")

// store keeps the originals of all radios, one file each.
type store struct{ dir string }

func newStore(stateDir string) store { return store{filepath.Join(stateDir, "originals")} }

// file is where a radio's originals are kept. The name is the device path with
// the one character that cannot stand in a file name escaped.
func (s store) file(path string) string {
	return filepath.Join(s.dir, strings.NewReplacer("%", "%25", "/", "%2f").Replace(path)+".json")
}

// load returns the record of a radio, nil if there is none.
func (s store) load(path string) (*Originals, error) { return s.read(s.file(path)) }

func (s store) read(file string) (*Originals, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read originals: %w", err)
	}
	o := new(Originals)
	const next = "if its values are no longer needed (nothing is left of them after a reboot), remove it"
	if err := json.Unmarshal(b, o); err != nil {
		return nil, fmt.Errorf("%w: %s: %w; %s", ErrOriginals, file, err, next)
	}
	if o.Version != originalsVersion {
		return nil, fmt.Errorf("%w: %s: version %d, want %d; %s", ErrOriginals, file, o.Version, originalsVersion, next)
	}
	if s.file(o.Path) != file {
		return nil, fmt.Errorf("%w: %s: it is about %q; %s", ErrOriginals, file, o.Path, next)
	}
	return o, nil
}

// radio is the path of the radio that a record's file is named after.
func (s store) radio(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".json")
	return strings.NewReplacer("%2f", "/", "%25", "%").Replace(name)
}

// save writes a record so that a crash leaves the old one or the new one.
func (s store) save(o *Originals) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("record originals: %w", err)
	}
	b, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return fmt.Errorf("record originals: %w", err)
	}
	file := s.file(o.Path)
	// One name for all, so that a process that was killed leaves one at most.
	name := file + ".tmp"
	_ = os.Remove(name)
	tmp, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("record originals: %w", err)
	}
	defer os.Remove(name)
	_, err = tmp.Write(append(b, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(name, file)
	}
	if err != nil {
		return fmt.Errorf("record originals: %w", err)
	}
	return nil
}

// forget removes a radio's record.
func (s store) forget(path string) error {
	err := os.Remove(s.file(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget originals: %w", err)
	}
	return nil
}

// HostRecord is the path under which the machine's own originals are kept,
// which belong to no radio: package host's.
const HostRecord = "host"

// Record is the place of one set of originals.
type Record struct {
	store store
	path  string
}

// RecordOf is where the originals of a path are kept.
func RecordOf(stateDir, path string) Record { return Record{newStore(stateDir), path} }

// Load returns what is recorded, nil if nothing is.
func (r Record) Load() (*Originals, error) { return r.store.load(r.path) }

// Save writes it so that a crash leaves the old one or the new one.
func (r Record) Save(o *Originals) error {
	o.Version = originalsVersion
	return r.store.save(o)
}

// Forget removes it.
func (r Record) Forget() error { return r.store.forget(r.path) }

// list returns every radio's record that can be read, and the errors of the
// others by the path of their radio.
func (s store) list() ([]*Originals, map[string]error, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read originals: %w", err)
	}
	var records []*Originals
	bad := map[string]error{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || e.Name() == HostRecord+".json" {
			continue
		}
		o, err := s.read(filepath.Join(s.dir, e.Name()))
		if err != nil {
			bad[s.radio(e.Name())] = err
		} else if o != nil {
			records = append(records, o)
		}
	}
	return records, bad, nil
}
