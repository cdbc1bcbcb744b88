package tuner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"airtuned/debugfs"
	"airtuned/nl80211"
	"airtuned/policies"
	"airtuned/recording"
	"airtuned/wlan"
)

const (
	// rescanEvery is how often interfaces and stations are listed although
	// nobody said that they changed.
	rescanEvery = 2 * time.Second
	// rebuildEvery is the same for a radio without files in debugfs. They hardly
	// come, and finding a radio again reads half of /proc.
	rebuildEvery = 15 * time.Second
	// restartPause is how long a radio is left alone after its firmware
	// restarted.
	restartPause = 10 * time.Second
	// blameWithin is how soon after a restart another one makes the loop suspect
	// its own changes, and restartPauseMax how long that makes it wait at most.
	blameWithin     = 10 * time.Minute
	restartPauseMax = 10 * time.Minute
	// late is how much longer than two windows a window may take. One that took
	// longer, because the kernel held a read or the system slept, says nothing.
	late = 2 * time.Second
	// scanPause bounds how long a scan whose end was missed is waited for.
	scanPause = 15 * time.Second
	// leaveWithin is how long a radio may take to leave: its files fail before it
	// is not there any more.
	leaveWithin = time.Second
	// retryPause is how long a radio is left alone after a write failed.
	retryPause = time.Minute
	// logEvery is the least time between two log lines about limits that the
	// loop keeps moving.
	logEvery = 30 * time.Second
	// minStep is the smallest relative change of a limit that is worth a write.
	minStep = 0.01
)

// Tuner is the loop of one radio. All of its methods are for one goroutine:
// a read may block for seconds, and other radios must not notice.
type Tuner struct {
	env      Env
	radio    Radio
	settings Settings
	log      *slog.Logger

	phy      *debugfs.Phy
	phyIndex int
	senses   *senses // nil while there is nothing to read
	journal  *journal
	policy   policies.Policy
	guards   guards
	referee  referee
	decision policies.Decision // the policy's last

	state  State
	reason string
	// gone says why the radio is not there; empty while it is.
	gone string
	// told is set while a command or a foreign write, and not the loop itself,
	// decides the state; lasting if that outlives the phy.
	told, lasting bool
	// foreign marks the limits that were ours until another program changed them.
	foreign foreign
	// unfit says why limits cannot be used on this radio; empty if they can.
	unfit string

	inForce wlan.Limits // what the kernel had at the last look
	wrote   bool        // inForce is ours
	frames  frameLimit
	pacing  pacing
	tcp     tcpView
	// overrides are the stations that may have limits of their own from us.
	overrides map[wlan.MAC]struct{}

	look       bool // something changed: list interfaces and stations
	retype     bool // an interface has another type: detect the radio again
	lastLook   time.Time
	detected   time.Time // when the radio was last detected
	windowFrom time.Time
	fresh      bool
	idle       bool // the policy was not asked at the last window
	pauseUntil time.Time
	scanUntil  time.Time // zero when there is no scan
	failing    time.Time // since when files cannot be read; zero while they can
	broken     bool      // held because of that

	crashes   uint32
	crashesN  bool
	crashedAt time.Time
	blamed    int // restarts in a row that may be the loop's fault

	decisions  uint64
	lastChange *LastChange
	loggedAt   time.Time // when limits were last logged at info
	at         time.Time // of the latest step or command
	events     events
	view       view
	past       history
	tap        *recording.Writer // nil unless the loop is recorded
	version    string            // of the program, for recordings
}

// New returns the loop of a radio as detected. It writes nothing but threaded
// NAPI, if the settings want that.
func New(env Env, r Radio, s Settings, now time.Time) *Tuner {
	t := &Tuner{
		env: env, radio: r, settings: s,
		log:       env.Log.With("radio", r.Phy, "path", r.Path),
		state:     Observing,
		overrides: map[wlan.MAC]struct{}{},
		phyIndex:  -1,
		at:        now,
	}
	t.relocate(now)
	return t
}

// newPolicy makes the policy the settings name, with the numbers of the
// chip's profile.
func newPolicy(r Radio, s Settings) (policies.Policy, error) {
	return policies.New(s.Policy, policyParams(r, s))
}

func policyParams(r Radio, s Settings) policies.Params {
	s = s.forRadio(r)
	profile := policies.ProfileFor(r.Chip, r.Driver, r.Bus)
	return policies.Params{Static: profile.Static, Target: s.Target, Min: s.Min, Max: s.Max}
}

// foreign marks knobs that another program has taken over.
type foreign struct {
	ac        [wlan.NumAC]bool
	threshold bool
	queue     bool
}

// has reports whether a knob is marked.
func (f foreign) has(knob string) bool {
	for _, ac := range wlan.ACs {
		if f.ac[ac] && knob == limitKnob(ac) {
			return true
		}
	}
	return f.threshold && knob == knobThreshold || f.queue && knob == knobQueue
}

// relocate finds the radio by its device path, whatever its phy is called
// now, and starts over if it is not the phy it was.
func (t *Tuner) relocate(now time.Time) {
	t.look, t.retype, t.lastLook, t.detected = false, false, now, now
	r, index, err := detectAt(t.env, t.radio.Path)
	if errors.Is(err, fs.ErrNotExist) {
		t.vanish("the device has gone")
		return
	}
	if err != nil { // it may well be there
		t.fault(err, now)
		return
	}
	r.Policy = t.settings.Policy
	back := t.gone != ""
	t.gone = ""
	renamed := t.radio.Phy != r.Phy
	if renamed && t.phyIndex == index {
		t.log.Info("the phy has a new name", "from", t.radio.Phy, "to", r.Phy)
	}
	if renamed {
		t.log = t.env.Log.With("radio", r.Phy, "path", r.Path)
	}
	rewired := !slices.Equal(t.radio.Interfaces, r.Interfaces)
	r.VirtualTime = r.VirtualTime || t.radio.VirtualTime && t.phyIndex == index // seen while there were stations
	widened := t.radio.wide() != r.wide()
	t.radio = r
	if !t.wrote {
		for _, ac := range wlan.ACs {
			t.inForce.AC[ac] = r.AQL.Limits[ac.String()]
		}
	}
	switch {
	case t.phyIndex != index || t.journal == nil:
		t.begin(index, now)
	case renamed || t.senses == nil:
		t.open()
		t.skip()
		fallthrough
	default:
		if rewired {
			t.thread(now)
		}
		if widened {
			t.refit()
		}
	}
	t.checkThreshold()
	t.judge()
	if back && !t.told {
		t.become(Observing, t.unfit)
	}
}

// begin takes a phy on that was not seen before.
func (t *Tuner) begin(index int, now time.Time) {
	t.phyIndex = index
	t.journal, t.policy = nil, nil // they speak of another phy
	t.open()
	t.wrote, t.foreign = false, foreign{}
	t.told = t.told && t.lasting
	clear(t.overrides)
	t.guards, t.referee, t.frames, t.pacing = guards{}, referee{}, frameLimit{}, pacing{}
	t.crashesN = false
	t.startOver()
	journal, err := newJournal(t.env, t.phy, t.radio.Path, index)
	if err != nil {
		t.log.Warn("the record of original values is unusable; nothing will be written", "error", err)
		t.unfit = err.Error()
		return
	}
	t.journal = journal
	t.policy, err = newPolicy(t.radio, t.inCharge())
	if err != nil {
		t.unfit = err.Error()
		return
	}
	t.recordPolicy()
	t.thread(now)
	t.pace(now)
}

// refit gives the policy the rails that suit the radio as it is now.
func (t *Tuner) refit() {
	if t.policy == nil {
		return // begin said why
	}
	if t.appoint() {
		t.startOver()
	}
}

// appoint puts a policy in charge that remembers nothing.
func (t *Tuner) appoint() bool {
	policy, err := newPolicy(t.radio, t.inCharge())
	if err != nil {
		return false
	}
	t.policy = policy
	t.recordPolicy()
	return true
}

// open opens the files under the phy's present name.
func (t *Tuner) open() {
	t.close()
	t.phy = debugfs.NewPhy(t.env.Debug, t.radio.Phy)
	if t.journal != nil {
		t.journal.knobs.phy = t.phy
	}
	if t.phy.Built() != nil {
		return // observe through netlink alone
	}
	t.senses = t.newSenses()
	if err := t.senses.scan(); err != nil {
		t.close()
		t.look = true // just renamed, or leaving
	}
}

func (t *Tuner) close() {
	if t.senses != nil {
		t.view.total.add(t.senses.total)
		t.senses.close()
		t.senses = nil
	}
}

// vanish notes that the radio is not there. It is looked for again now and then.
func (t *Tuner) vanish(why string) {
	t.close()
	if t.gone == "" {
		t.log.Info("the radio is gone", "reason", why)
	}
	t.gone = why
}

// fault notes that something could not be read that should be there. Limits
// stay as they are meanwhile.
func (t *Tuner) fault(err error, now time.Time) {
	t.look = true
	t.skip()
	if t.failing.IsZero() || now.Before(t.failing) {
		t.failing = now
	}
	// A radio that is just leaving is not at fault: the next looks see it.
	leaving := errors.Is(err, fs.ErrNotExist) || debugfs.CauseOf(err) == debugfs.Gone
	if leaving && now.Sub(t.failing) < leaveWithin || t.told || t.unfit != "" || t.broken {
		return
	}
	t.become(Held, explain(err))
	t.broken = true // said once, whatever else fails with it
}

// judge finds out whether limits can be used on this radio at all.
func (t *Tuner) judge() {
	if t.journal != nil && t.policy != nil { // else begin said why
		t.unfit = unfit(t.radio, t.settings)
	}
	if !t.told && t.unfit != "" {
		t.become(Observing, t.unfit)
	}
}

// become changes the state and says so, once.
func (t *Tuner) become(s State, reason string) {
	if t.state == s && t.reason == reason {
		return
	}
	said := t.state != s || s == Held || s == Observing && reason != ""
	t.state, t.reason, t.broken = s, reason, false
	t.tap.State(string(s), reason)
	if said {
		t.log.Info(string(s), "reason", reason)
		t.noteState()
	}
}

// startOver tells the policy at the next window that the past is void.
func (t *Tuner) startOver() {
	t.fresh = true
	t.skip()
}

// skip starts the window anew: what it has seen so far is worthless.
func (t *Tuner) skip() { t.windowFrom = time.Time{} }

// Rescan tells the loop that interfaces or stations may have changed.
func (t *Tuner) Rescan() { t.look = true }

// Note takes in an event that makes the present window worthless.
func (t *Tuner) Note(kind nl80211.EventKind, now time.Time) {
	switch kind {
	case nl80211.ScanStarted:
		t.scanUntil = now.Add(scanPause)
		t.skip()
	case nl80211.ScanDone:
		if !t.scanUntil.IsZero() {
			t.scanUntil = time.Time{}
			t.skip()
		}
	case nl80211.ChannelSwitch:
		t.startOver()
		t.look = true
	case nl80211.InterfaceChanged:
		t.look, t.retype = true, true
	default:
		t.look = true
	}
}

// NoteStations takes in a netlink station dump of one of the interfaces. Only
// rates are taken where debugfs tells the rest.
func (t *Tuner) NoteStations(ifname string, stations []nl80211.Station, now time.Time) {
	if t.senses != nil {
		t.tap.At(now)
		t.senses.note(stations)
		return
	}
	t.view.noteStations(ifname, stations, now)
}

func (t *Tuner) pause(until time.Time) {
	if until.After(t.pauseUntil) {
		t.pauseUntil = until
	}
	t.startOver()
}

// Step is one turn of the loop: a sample, and at the end of a window an
// observation, a decision and, if that is different, a change. It is to be
// called every Settings.Sample.
func (t *Tuner) Step(now time.Time) {
	t.at = now
	t.record(now)
	every := rescanEvery
	if t.senses == nil && t.gone == "" {
		every = rebuildEvery
	}
	if since := now.Sub(t.lastLook); since >= every || t.look && since >= t.settings.Window {
		t.rescan(now)
	}
	if t.senses == nil || now.Before(t.pauseUntil) || now.Before(t.scanUntil) {
		return
	}
	if err := t.senses.sample(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.fault(err, now)
		return
	}
	if t.windowFrom.IsZero() {
		// Start the window's counters here; what they counted before is void.
		t.senses.observe(now, 0, t.inForce, true)
		t.windowFrom = now
		return
	}
	window := now.Sub(t.windowFrom)
	if window < 0 || window > 2*t.settings.Window+late {
		if now.Before(t.lastLook) { // time went backwards
			t.lastLook = now
		}
		t.skip()
		return
	}
	if window < t.settings.Window || window == 0 {
		return
	}
	if t.restarted() {
		t.recover(now)
		return
	}
	limits, err := t.senses.inForce()
	switch {
	case err == nil:
		t.checkForeign(limits)
	case t.unfit == "": // else nobody needs them
		t.fault(err, now)
		return
	}
	t.failing = time.Time{}
	o := t.senses.observe(now, window, t.inForce, t.fresh)
	t.view.note(o)
	t.checkQueue(o)
	if !t.radio.VirtualTime && t.senses.virtualTime() {
		t.radio.VirtualTime = true
		t.log.Warn("this kernel schedules airtime by virtual time, which starves stations of some ath10k firmware", "least", wideMin)
		t.refit()
	}
	t.fresh, t.windowFrom = false, now
	t.decide(o)
	t.past.note(o, t.state)
}

// recover leaves the radio alone after a restart of its firmware. When restarts
// follow each other, the loop may be what causes them: the originals go back,
// and it waits longer each time.
func (t *Tuner) recover(now time.Time) {
	t.blamed++
	if t.crashedAt.IsZero() || now.Sub(t.crashedAt) > blameWithin {
		t.blamed = 0
	}
	t.crashedAt = now
	wait := min(restartPause<<min(t.blamed, 10), restartPauseMax)
	t.log.Warn("the firmware was restarted; leaving the radio alone for a while", "for", wait, "restarts", t.crashes)
	reason := "the firmware was restarted"
	if t.blamed > 0 {
		reason = "the firmware was restarted again and again"
	}
	if !t.told {
		if t.blamed > 0 {
			t.release(reason, now)
		}
		if t.unfit == "" {
			t.become(Held, reason)
		}
	}
	t.pause(now.Add(wait))
}

// rescan lists interfaces and stations, and finds the radio again if it is not
// where it was.
func (t *Tuner) rescan(now time.Time) {
	t.look, t.lastLook = false, now
	if t.senses == nil {
		t.relocate(now)
		return
	}
	if err := t.senses.scan(); err != nil || t.senses.netdevsChanged || t.retype ||
		t.unfit != "" && now.Sub(t.detected) >= retryPause { // it may have been for a moment
		t.relocate(now)
		return
	}
	t.checkThreshold()
	t.checkPacing()
}

// restarted reports whether the firmware was restarted since the last window
// (ath10k/fw_reset_stats). Radios without that file never say.
func (t *Tuner) restarted() bool {
	n, ok := t.senses.restarts()
	if !ok {
		return false
	}
	was, had := t.crashes, t.crashesN
	t.crashes, t.crashesN = n, true
	return had && n != was
}

// checkForeign compares the limits in force with the ones last written.
func (t *Tuner) checkForeign(now [wlan.NumAC]wlan.Limit) {
	if t.wrote && now != t.inForce.AC {
		t.cede(diff(t.inForce.AC, now))
		t.markForeign(now)
	}
	t.inForce.AC = now
}

// markForeign marks the limits that are not what was last written.
func (t *Tuner) markForeign(now [wlan.NumAC]wlan.Limit) {
	for ac := range now {
		t.foreign.ac[ac] = t.foreign.ac[ac] || now[ac] != t.inForce.AC[ac]
	}
}

// checkThreshold does for the threshold what checkForeign does for limits, but
// seldom: its file has to be opened for each reading.
func (t *Tuner) checkThreshold() {
	us, err := t.phy.AQLThreshold()
	if err != nil {
		return
	}
	if t.wrote && us != t.inForce.ThresholdUs {
		if _, ours := t.journal.original(knobThreshold); ours {
			t.cede(fmt.Sprintf("threshold %d -> %d", t.inForce.ThresholdUs, us))
			t.foreign.threshold = true
		}
	}
	t.inForce.ThresholdUs = us
}

// cede leaves the radio to another program that has changed its limits.
func (t *Tuner) cede(what string) {
	if t.foreign != (foreign{}) {
		return // said before
	}
	reason := fmt.Sprintf("another program changed the limits (%s); they are left to it", what)
	t.log.Warn("foreign write", "reason", reason)
	if !t.told {
		t.told, t.lasting = true, false
		t.become(Held, reason)
	}
}

// diff says what changed between two sets of limits, e.g. "BE 1500/1500 -> 5000/12000".
func diff(from, to [wlan.NumAC]wlan.Limit) string {
	s := ""
	for _, ac := range wlan.ACs {
		if from[ac] != to[ac] {
			if s != "" {
				s += ", "
			}
			s += ac.String() + " " + from[ac].String() + " -> " + to[ac].String()
		}
	}
	return s
}

// decide asks the guards, then the policy, and acts.
func (t *Tuner) decide(o *policies.Observation) {
	if t.told {
		t.idle = true
		return
	}
	if t.unfit != "" {
		t.idle = true
		t.release(t.unfit, o.Now)
		t.become(Observing, t.unfit)
		return
	}
	v := t.guards.check(o)
	v = t.chooseUnit(v, o)
	switch {
	case v.action == backOff, v.action == noEffect && !t.settings.Force:
		t.idle = true
		t.release(v.reason, o.Now)
		t.become(Observing, v.reason)
		return
	case v.action == wait && t.settings.closedLoop() && !t.settings.Force:
		t.idle = true
		t.become(Observing, v.reason)
		return
	}
	// What was learnt before a pause is void.
	o.Fresh, t.idle = o.Fresh || t.idle, false
	found, changed := t.originals()
	comparable := t.wrote && changed && tighter(t.inForce, found)
	if t.frames.on {
		comparable = t.frames.comparable()
	}
	switch t.referee.judge(o, comparable) {
	case play:
		t.decision = t.policy.Decide(o)
		t.tap.Decided(o.Fresh, t.decision)
	case show:
		if t.frames.on {
			t.putQueue(t.frames.wide(o), "comparing with a longer queue", o.Now)
			return
		}
		t.put(found, policies.Decision{Reason: "comparing with the limits that were found"}, o.Now)
		return
	case resume:
	case stay:
		return
	case lost:
		t.idle = true
		t.release(t.referee.reason(), o.Now)
		t.become(Observing, t.referee.reason())
		return
	}
	d := t.decision
	if t.frames.on {
		t.decideQueue(d, o)
		return
	}
	if !d.Write {
		t.release(d.Reason, o.Now)
		t.become(Observing, d.Reason)
		return
	}
	t.put(t.settings.forRadio(t.radio).bound(d.Limits), d, o.Now)
}

// put brings limits about, and those of single stations that the decision gives.
func (t *Tuner) put(wanted wlan.Limits, d policies.Decision, now time.Time) {
	if wanted == t.inForce && len(d.Stations) == 0 && len(t.overrides) == 0 {
		t.wrote = true // found as wanted: from now on they are ours
		t.become(Tuning, d.Reason)
		return
	}
	todo, next := t.plan(wanted)
	todo = t.planStations(todo, next, d.Stations)
	if len(todo) == 0 {
		t.wrote = true
		t.become(Tuning, d.Reason)
		return
	}
	for _, w := range d.Stations {
		t.overrides[w.MAC] = struct{}{}
	}
	applied, failed := t.enact(todo, d.Reason, now)
	t.wrote = t.wrote || applied
	if failed != "" {
		// What is in force now is partly ours: it must not be taken for another
		// program's.
		t.look = true
		if limits, err := t.senses.inForce(); err == nil {
			t.inForce.AC = limits
		} else {
			t.wrote = false
		}
		t.pause(now.Add(retryPause))
		t.become(Held, failed)
		return
	}
	t.decisions++
	t.inForce = next
	clear(t.overrides)
	for _, w := range d.Stations {
		t.overrides[w.MAC] = struct{}{}
	}
	if now.Sub(t.loggedAt) >= logEvery {
		t.loggedAt = now
	}
	t.become(Tuning, d.Reason)
}

// enact brings settings about. It tells whether any was written, and what failed.
func (t *Tuner) enact(todo []setting, reason string, now time.Time) (applied bool, failed string) {
	changes := t.journal.apply(todo, reason, false)
	t.noteChanges(reason, changes)
	for _, c := range changes {
		switch c.Result {
		case Applied:
			applied = true
			t.changed(c, now)
		case Failed, Unsupported:
			t.log.Warn("a change failed", "knob", c.Knob, "to", c.To, "error", c.Reason)
			failed = orElse(failed, c.Knob+": "+c.Reason)
		}
	}
	return applied, failed
}

// plan lists the settings that differ enough from what is in force, and what
// will be in force with them. A threshold of zero means "as it is".
func (t *Tuner) plan(wanted wlan.Limits) (todo []setting, next wlan.Limits) {
	next = t.inForce
	for _, ac := range wlan.ACs {
		from, to := t.inForce.AC[ac], wanted.AC[ac]
		if !t.wrote && from != to || farLimit(from, to) {
			todo = append(todo, setting{limitKnob(ac), to.String()})
			next.AC[ac] = to
		}
	}
	if us := wanted.ThresholdUs; us != 0 && us != t.inForce.ThresholdUs {
		todo = append(todo, thresholdSetting(us))
		next.ThresholdUs = us
	}
	return todo, next
}

func farLimit(from, to wlan.Limit) bool {
	return far(from.LowUs, to.LowUs) || far(from.HighUs, to.HighUs)
}

func far(from, to uint32) bool {
	d := float64(to) - float64(from)
	return max(d, -d) > minStep*float64(from)
}

// planStations adds what it takes for stations to have the limits of their own
// that the decision gives them, and for others to follow the radio again: a
// station does once it has what the radio has at that moment.
func (t *Tuner) planStations(todo []setting, radio wlan.Limits, want []policies.StationLimit) []setting {
	for _, st := range t.senses.stations {
		_, had := t.overrides[st.mac]
		if had && !slices.ContainsFunc(want, func(w policies.StationLimit) bool { return w.MAC == st.mac }) {
			for _, ac := range wlan.ACs {
				todo = append(todo, setting{stationKnob(st.mac, ac), radio.AC[ac].String()})
			}
		}
	}
	rails := t.settings.forRadio(t.radio)
	for _, w := range want {
		st := t.senses.station(w.MAC)
		if st == nil {
			continue
		}
		for _, ac := range wlan.ACs {
			// Its own file is the truth: a station that left and came back has
			// what the radio has.
			if l := rails.clamp(w.AC[ac]); farLimit(st.aql.last.Limits[ac], l) {
				todo = append(todo, setting{stationKnob(w.MAC, ac), l.String()})
			}
		}
	}
	return todo
}

// changed remembers a change and logs it, unless the loop said much the same a
// short while ago.
func (t *Tuner) changed(c Change, now time.Time) {
	t.lastChange = &LastChange{At: now, Knob: c.Knob, From: c.From, To: c.To, Reason: c.Reason}
	level := slog.LevelDebug
	if now.Sub(t.loggedAt) >= logEvery || t.state != Tuning {
		level = slog.LevelInfo
	}
	t.log.Log(context.Background(), level, "changed", "knob", c.Knob, "from", c.From, "to", c.To, "why", c.Reason)
}

// release puts the original limits back in the middle of the loop's work, if
// they are not what is in force.
func (t *Tuner) release(reason string, now time.Time) {
	if t.journal == nil || !t.journal.holdsLimits() {
		return
	}
	if _, err := t.restore(reason, true, true); err != nil {
		t.log.Error("could not put every original back", "error", err)
		t.pause(now.Add(retryPause))
	}
}

// restore puts the originals back, or only those of limits. With keepForeign,
// limits that another program has changed since are left to it.
func (t *Tuner) restore(reason string, keepForeign, limitsOnly bool) ([]Change, error) {
	if t.journal == nil {
		return nil, nil
	}
	if keepForeign && t.wrote {
		if l, err := t.phy.AQLTxqLimit(); err == nil && l.Has == everyAC {
			t.markForeign(l.Limits)
		}
	}
	if n, err := t.phy.TxQueueLimit(); keepForeign && t.frames.wrote && err == nil && n != t.frames.limit {
		t.foreign.queue = true
	}
	t.checkPacing()
	changes, err := t.journal.restore(reason, func(knob string) fate {
		switch {
		case limitsOnly && !limits(knob):
			return later
		case keepForeign && (t.foreign.has(knob) || t.pacing.taken && knob == knobPacing):
			return leave
		}
		return putBack
	})
	if err != nil {
		if _, gone := findDevice(t.env, t.radio.Path); errors.Is(gone, fs.ErrNotExist) {
			changes, err = nil, t.journal.forget() // the values went with the radio
		}
	}
	for _, c := range changes {
		if c.Result == Applied {
			t.log.Info("restored", "knob", c.Knob, "from", c.From, "to", c.To, "why", c.Reason)
		}
	}
	t.noteChanges(reason, changes)
	t.wrote, t.frames.wrote, t.foreign = false, false, foreign{}
	if !limitsOnly {
		t.pacing = pacing{}
	}
	clear(t.overrides)
	if l, err := t.phy.AQLTxqLimit(); err == nil {
		t.inForce.AC = l.Limits
	}
	t.checkThreshold()
	return changes, err
}

// Hold leaves everything as it is until Resume. Radios that are gone take no
// commands.
func (t *Tuner) Hold(reason string) {
	if t.gone != "" {
		return
	}
	t.told, t.lasting = true, true
	t.become(Held, reason)
}

// Tune applies a policy's first answer once, as TuneOnce does, and holds it
// until Resume. A dry run changes nothing.
func (t *Tuner) Tune(policy string, dryRun bool, now time.Time) ([]Change, error) {
	if t.journal == nil || t.gone != "" {
		return nil, fmt.Errorf("tune %s: %s", t.radio.Phy, orElse(t.gone, t.unfit))
	}
	s := t.settings
	if policy != "" {
		s.Policy = policy
	}
	changes, err := t.journal.tuneOnce(t.env, t.radio, s, dryRun, now)
	if err != nil || dryRun {
		return changes, err
	}
	taken := false
	reason := "tuned once with policy " + s.Policy
	t.at = now
	t.noteChanges(reason, changes)
	for _, c := range changes {
		if c.Result == Applied {
			t.changed(c, now)
		}
		if c.Knob == knobPacing {
			t.pacing.wrote = c.To
		}
		taken = taken || c.Result == Applied || c.Result == Unchanged
	}
	if taken { // else there is nothing to hold
		t.told, t.lasting, t.wrote, t.frames.wrote, t.foreign = true, false, false, false, foreign{}
		t.become(Held, reason)
	}
	return changes, nil
}

// Resume goes back to the policy after a hold, a restore or a foreign write.
func (t *Tuner) Resume(now time.Time) {
	if t.gone != "" || !t.told {
		return
	}
	t.at = now
	t.told, t.foreign, t.wrote, t.frames.wrote = false, foreign{}, false, false
	t.pauseUntil = time.Time{}
	t.startOver()
	t.become(Observing, "resumed")
	t.judge()
	t.thread(now)
	t.pacing.taken = false
	t.pace(now)
}

// Restore puts the originals back and keeps them until Resume.
func (t *Tuner) Restore(reason string) ([]Change, error) {
	changes, err := t.restore(reason, false, false)
	if t.gone == "" {
		t.told, t.lasting = true, true
		t.become(Restored, reason)
	}
	return changes, err
}

// Reconfigure changes the settings. Originals stay recorded, and a hold stays.
func (t *Tuner) Reconfigure(s Settings, now time.Time) error {
	if _, err := newPolicy(t.radio, s); err != nil {
		return err
	}
	changed := s.Policy != t.settings.Policy
	if changed {
		t.log.Info("policy", "from", t.settings.Policy, "to", s.Policy)
	}
	t.at = now
	if s.PacingShift != t.settings.PacingShift {
		t.pacing.taken = false
	}
	t.settings = s
	t.refit()
	t.referee = referee{}
	t.radio.Policy = s.Policy
	if s.Policy == "observe" && !t.told {
		t.release("the policy only observes now", now)
	}
	t.startOver()
	t.judge()
	t.thread(now)
	t.pace(now)
	return nil
}

// Stop puts the originals back and closes the files.
func (t *Tuner) Stop(reason string) error {
	t.close() // first, in case that files are what the process has run out of
	changes, err := t.restore(reason, true, false)
	if err != nil { // what failed once may well go the second time
		var again []Change
		again, err = t.restore(reason, true, false)
		changes = append(changes, again...)
	}
	if len(changes) > 0 {
		t.become(Restored, reason)
	}
	t.tap.End()
	t.tap = nil
	return err
}
