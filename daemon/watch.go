package daemon

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"airtuned/tree"
)

// rewatchEvery is how often watches are checked although nothing happened:
// debugfs may have been mounted, and an event may have been lost.
const rewatchEvery = 30 * time.Second

// watchDebugfs has loops look again when directories in debugfs come, go or
// are renamed, until ctx ends. That is all it is good for: the loops compare
// the limits with what they wrote in every window, so writes by others are not
// waited for here, where they could not be told from our own.
//
// The kernel deletes and recreates netdev:X when an interface changes its type
// and takes X's watch with it; a renamed directory keeps its watch under its
// old name. So the set of watches is put right after every event.
func (d *daemon) watchDebugfs(ctx context.Context) error {
	dir, ok := tree.DirOf(d.Env.Debug)
	if !ok {
		return nil
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		d.log.Warn("debugfs cannot be watched; stations and interfaces are looked for every few seconds", "error", err)
		return nil
	}
	defer w.Close()
	root := filepath.Join(dir.String(), "ieee80211")
	warned := false
	rewatch := func() {
		err := putWatches(w, root)
		if err != nil && !warned && !os.IsNotExist(err) {
			d.log.Warn("debugfs cannot be watched wholly; stations and interfaces are looked for every few seconds", "error", err)
			warned = true
		}
	}
	rewatch()
	tick := time.NewTicker(rewatchEvery)
	defer tick.Stop()
	// Events come in bursts of a directory and its files.
	quiet := time.NewTimer(0)
	quiet.Stop()
	phys := map[string]bool{}
	search := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			rewatch()
		case err := <-w.Errors:
			// Events were lost.
			d.log.Debug("watch debugfs", "error", err)
			phys[""], search = true, true
			quiet.Reset(settle)
		case e, ok := <-w.Events:
			if !ok {
				return nil
			}
			if e.Op&(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) == 0 {
				continue
			}
			if len(phys) == 0 {
				quiet.Reset(settle)
			}
			phy, depth := phyOf(root, e.Name)
			phys[phy] = true
			search = search || depth < stationDepth
		case <-quiet.C:
			rewatch()
			if search {
				d.searchSoon()
			}
			search = false
			for phy := range phys {
				d.lookAt(phy)
			}
			clear(phys)
		}
	}
}

// stationDepth is how deep a station's directory is below root:
// phy0/netdev:wlan0/stations/MAC.
const stationDepth = 4

// phyOf is the name of the phy that a path below root belongs to, and how many
// names the path has there.
func phyOf(root, path string) (phy string, depth int) {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == "." {
		return "", 0
	}
	names := strings.Split(rel, "/")
	return names[0], len(names)
}

// putWatches watches the directories in which radios, interfaces and stations
// appear, and no others.
func putWatches(w *fsnotify.Watcher, root string) error {
	want := []string{root}
	phys, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil {
		return err
	}
	for _, phy := range phys {
		netdevs, _ := filepath.Glob(filepath.Join(phy, "netdev:*"))
		want = append(want, phy)
		for _, netdev := range netdevs {
			want = append(want, netdev, filepath.Join(netdev, "stations"))
		}
	}
	// First away with those whose directory is known by another name now: it
	// would take the new watch with it.
	have := w.WatchList()
	for _, path := range have {
		if !slices.Contains(want, path) {
			_ = w.Remove(path) // mostly gone with its directory
		}
	}
	var first error
	for _, path := range want {
		if slices.Contains(have, path) {
			continue
		}
		if err := w.Add(path); err != nil && !os.IsNotExist(err) && first == nil {
			first = err
		}
	}
	return first
}
