package daemon

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"airtuned/nl80211"
	"airtuned/tree"
	"airtuned/tuner"
)

const (
	// glanceEvery is how often the list of radios and interfaces is looked at,
	// which is two directories: events are hints, this is the truth.
	glanceEvery = 3 * time.Second
	// searchEvery is how often everything about all radios is, all the same.
	searchEvery = time.Minute
	// searchWithin is how long a search waits for a radio that is blocked.
	searchWithin = time.Second
	// settle is the time between an event and what it announces: debugfs
	// directories are there before their files are.
	settle = 250 * time.Millisecond
)

// place is how events name a radio, as of the latest look at it.
type place struct {
	phy string
	// wiphy is -1 where sysfs does not tell.
	wiphy      int
	interfaces map[int]string // by index
}

// searchRadios finds radios as they come, go and change, until ctx ends.
func (d *daemon) searchRadios(ctx context.Context) error {
	glance := time.NewTicker(glanceEvery)
	defer glance.Stop()
	// A glance may be held up in the kernel. It holds up nothing here.
	glances := make(chan string, 1)
	glancing := false
	look := func() {
		if !glancing {
			glancing = true
			go func() { glances <- d.glance() }()
		}
	}
	detector := tuner.Detector{Env: d.Env, Choose: d.settingsFor, Within: searchWithin}
	var at time.Time
	incomplete, trouble := false, ""
	search := func() error {
		at, incomplete = time.Now(), true
		detection, err := detector.Detect()
		if err != nil {
			if err.Error() != trouble {
				trouble = err.Error()
				d.log.Warn("the radios could not be looked at", "error", err)
			}
			return err
		}
		trouble = ""
		d.follow(detection)
		incomplete = len(detection.Unread) > 0 ||
			slices.ContainsFunc(detection.Warnings, func(w tuner.Warning) bool { return w.Code == tuner.WarnBlocked })
		return nil
	}
	look()
	if err := search(); errors.Is(err, fs.ErrPermission) {
		time.Sleep(settle)
		if err := search(); errors.Is(err, fs.ErrPermission) {
			return err // it will not get better
		}
	}
	close(d.found)
	view, seen := "", false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-glance.C:
			look()
		case v := <-glances:
			glancing = false
			changed := seen && v != view
			view, seen = v, true
			if changed || incomplete && time.Since(at) >= glanceEvery || time.Since(at) >= searchEvery {
				_ = search() // it was logged
			}
		case <-d.search:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(settle):
			}
			_ = search()
		}
	}
}

// searchSoon has searchRadios look again.
func (d *daemon) searchSoon() {
	select {
	case d.search <- struct{}{}:
	default:
	}
}

// glance is a text that changes when a radio or an interface comes, goes or is
// renamed. It is cheap, and takes no lock in the kernel that a radio can hold.
func (d *daemon) glance() string {
	var b strings.Builder
	phys, _ := d.Env.Sys.List("class/ieee80211")
	for _, phy := range phys {
		// A radio that was registered anew may get its old name again.
		index, _ := tree.ReadString(d.Env.Sys, "class/ieee80211/"+phy+"/index")
		link, _ := d.Env.Sys.Readlink("class/ieee80211/" + phy)
		b.WriteString(phy + " " + index + " " + link + "\n")
	}
	interfaces, _ := d.Env.Sys.List("class/net")
	b.WriteString(strings.Join(interfaces, " ") + "\n")
	return b.String()
}

// placeOf is how events will name a radio.
func placeOf(r tuner.Radio) place {
	p := place{phy: r.Phy, wiphy: r.Index, interfaces: map[int]string{}}
	for _, i := range r.Interfaces {
		if i.Index > 0 {
			p.interfaces[i.Index] = i.Name
		}
	}
	return p
}

// settingsFor is how the configuration, as it is now, wants a radio treated.
func (d *daemon) settingsFor(r tuner.Radio) tuner.Settings {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.config.SettingsFor(r)
}

// follow makes the loops fit what was found. A radio that is gone keeps its
// loop for a while, which takes it up again when it comes back.
func (d *daemon) follow(found tuner.Detection) {
	places := make(map[string]place, len(found.Radios))
	for _, r := range found.Radios {
		places[r.Path] = placeOf(r)
	}
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loops.Err() != nil {
		return // stopping: no new loops
	}
	d.logFound(found)
	for _, r := range found.Radios {
		i, known := slices.BinarySearchFunc(d.radios, r.Path, func(r *radio, path string) int { return strings.Compare(r.path, path) })
		s := d.config.SettingsFor(r)
		if !known {
			d.radios = slices.Insert(d.radios, i, d.launch(r, s))
		}
		have := d.radios[i]
		if have.seen.phy != places[r.Path].phy || have.seen.wiphy != places[r.Path].wiphy || !have.goneAt.IsZero() {
			have.look.Store(true)
		}
		have.seen, have.goneAt = places[r.Path], time.Time{}
		have.configure(s)
	}
	d.radios = slices.DeleteFunc(d.radios, func(r *radio) bool {
		if _, there := places[r.path]; there || slices.Contains(found.Unread, r.seen.phy) {
			return false
		}
		if r.goneAt.IsZero() {
			r.goneAt = now
			r.look.Store(true)
		}
		if now.Sub(r.goneAt) < keepGone {
			return false
		}
		r.cancel()
		return true
	})
}

// launch starts the loop of a radio.
func (d *daemon) launch(found tuner.Radio, s tuner.Settings) *radio {
	r := newRadio(d.Env, found, s)
	ctx, cancel := context.WithCancel(d.loops)
	r.cancel = cancel
	r.log.Info("radio", "driver", found.Driver, "chip", found.Chip, "firmware", found.Firmware, "policy", s.Policy)
	go r.run(ctx)
	return r
}

// configure hands settings to the loop if they are new to it.
func (r *radio) configure(s tuner.Settings) {
	if r.policy != "" {
		s.Policy = r.policy
	}
	if r.lent != "" {
		s.Policy = r.lent
	}
	if s != r.want {
		r.want = s
		r.settings.Store(&s)
	}
}

// logFound logs what is new in a detection.
func (d *daemon) logFound(found tuner.Detection) {
	if len(found.Radios) == 0 && len(d.radios) == 0 && d.warnings == nil {
		d.log.Info("no radio yet; waiting for one")
	}
	for _, w := range found.Warnings {
		if !slices.Contains(d.warnings, w) {
			d.log.Warn(w.Message, "radio", w.Radio, "code", w.Code)
		}
	}
	d.warnings = found.Warnings
}

// lookAt tells a radio's loop to look at everything anew, by name of phy;
// every radio's if none has that name.
func (d *daemon) lookAt(phy string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hit := false
	for _, r := range d.radios {
		if r.seen.phy == phy {
			r.look.Store(true)
			hit = true
		}
	}
	for _, r := range d.radios {
		if !hit {
			r.look.Store(true)
		}
	}
}

// take passes an event on to the loop of its radio.
func (d *daemon) take(e nl80211.Event) {
	switch e.Kind {
	case nl80211.Resync, nl80211.WiphyAdded, nl80211.WiphyRemoved,
		nl80211.InterfaceAdded, nl80211.InterfaceRemoved, nl80211.InterfaceChanged:
		d.searchSoon()
	case nl80211.RegChanged:
		return
	case nl80211.StationAdded:
		select {
		case d.joined <- struct{}{}:
		default:
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.radios {
		_, owns := r.seen.interfaces[e.IfIndex]
		switch {
		case owns, e.Wiphy >= 0 && e.Wiphy == r.seen.wiphy:
			r.note(e.Kind)
		case e.Kind == nl80211.Resync:
			r.look.Store(true)
		}
	}
}

// retryEvents is how long to wait for nl80211 to come back.
const retryEvents = 10 * time.Second

// followEvents passes nl80211 events on until ctx ends. Without them the
// searches and the loops' own looks must do.
func (d *daemon) followEvents(ctx context.Context) error {
	if d.Events == nil {
		return nil
	}
	warned := false
	for {
		events, err := d.Events(ctx)
		if err == nil {
			d.take(nl80211.Event{Kind: nl80211.Resync, Wiphy: -1})
			for e := range events {
				d.take(e)
			}
			warned = false
		} else if !warned {
			d.log.Warn("no nl80211 events; radios are looked at now and then instead", "error", err)
			warned = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryEvents):
		}
	}
}

// dumpEvery is the time between two station dumps. On ath10k one costs the
// firmware a round trip for each station. The first ones, and those after a
// station came, follow each other faster, from dumpFirst on: before the first
// data a station's rate is that of its management frames.
const (
	dumpFirst = time.Second
	dumpEvery = 10 * time.Second
)

// askStations asks netlink for what only it knows of stations: their rates.
func (d *daemon) askStations(ctx context.Context) error {
	if d.Env.Netlink == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-d.found:
	}
	wait := dumpFirst
	for {
		for _, r := range d.all() {
			d.mu.Lock()
			interfaces := r.seen.interfaces // replaced, never changed
			d.mu.Unlock()
			for index, name := range interfaces {
				stations, err := d.Env.Netlink.Stations(index)
				if err != nil {
					d.log.Debug("no station dump", "interface", name, "error", err)
					continue
				}
				r.noteStations(dump{name, stations})
			}
		}
		later := time.After(wait)
		select {
		case <-d.joined:
			wait = dumpFirst
			later = time.After(wait)
		case <-later:
			wait = min(2*wait, dumpEvery)
			continue
		case <-ctx.Done():
			return nil
		}
		select {
		case <-later:
			wait = min(2*wait, dumpEvery)
		case <-ctx.Done():
			return nil
		}
	}
}
