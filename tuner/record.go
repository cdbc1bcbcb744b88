package tuner

import (
	"encoding/json"
	"errors"
	"time"

	"airtuned/debugfs"
	"airtuned/nl80211"
	"airtuned/policies"
	"airtuned/recording"
	"airtuned/sysfs"
)

// ErrRecorded is the error of Record while the loop is recorded already.
var ErrRecorded = errors.New("the radio is being recorded already")

// About is what a recording says of its radio and loop at its beginning.
type About struct {
	Version  string   `json:"version"`
	Kernel   string   `json:"kernel"`
	Radio    Radio    `json:"radio"`
	Settings Settings `json:"settings"`
}

// Record has all that the loop reads and decides taken down from now on. It costs
// the loop one window: the files are opened anew, so that nothing is known of them
// that the recording lacks. The policy goes on as it was.
func (t *Tuner) Record(w *recording.Writer, version string, now time.Time) error {
	if t.tap.Abandoned() {
		t.StopRecording(t.tap)
	}
	if t.tap != nil {
		return ErrRecorded
	}
	t.tap, t.version, t.at = w, version, now
	t.record(now)
	return nil
}

// StopRecording ends the recording of a Writer, if it is this loop's.
func (t *Tuner) StopRecording(w *recording.Writer) {
	if t.tap == nil || t.tap != w {
		return
	}
	t.tap.End()
	t.tap = nil
	t.reopen()
}

// record moves the recording's time on, begins it, at first and after a gap, and
// ends it when nobody wants it any more.
func (t *Tuner) record(now time.Time) {
	if t.tap == nil {
		return
	}
	if t.tap.Abandoned() {
		t.StopRecording(t.tap)
	}
	t.tap.At(now)
	if !t.tap.Behind() {
		return
	}
	about, err := json.Marshal(About{t.version, sysfs.KernelRelease(t.env.Proc), t.radio, t.settings})
	if err != nil {
		about = nil // nothing in it can fail
	}
	t.tap.Begin(about, now)
	t.recordPolicy()
	t.reopen()
	t.tap.State(string(t.state), t.reason)
}

// recordPolicy takes down which policy is in charge.
func (t *Tuner) recordPolicy() {
	if t.tap != nil && t.policy != nil {
		t.tap.At(t.at)
		t.tap.Policy(t.inCharge().Policy, policyParams(t.radio, t.settings), policies.Memory(t.policy, t.at))
	}
}

// newSenses are those of the phy, seen through the recording if there is one.
func (t *Tuner) newSenses() *senses {
	debug := t.tap.Tree(t.env.Debug)
	s := newSenses(debug, debugfs.NewPhy(debug, t.phy.Name()))
	s.tap = t.tap
	t.tap.Opened(t.phy.Name())
	return s
}

// reopen opens the radio's files anew, and keeps what is known of stations from
// elsewhere.
func (t *Tuner) reopen() {
	if t.senses == nil {
		return
	}
	known := t.senses.stations
	t.open()
	if t.senses == nil {
		return
	}
	rates := make([]nl80211.Station, 0, len(known))
	for _, old := range known {
		if st := t.senses.station(old.mac); st != nil {
			st.total, st.airtimeMean = old.total, old.airtimeMean
			rates = append(rates, nl80211.Station{MAC: old.mac, TxRateKbps: old.rateKbps})
		}
	}
	t.senses.note(rates)
	t.skip()
}
