package tuner

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"airtuned/nl80211"
	"airtuned/policies"
	"airtuned/recording"
	"airtuned/wlan"
)

// tape records a loop on the fake kernel and returns the blocks.
func tape(t *testing.T, policy string, d time.Duration) [][]byte {
	t.Helper()
	r := newRig(t, policy)
	r.run(3*time.Second, 3000, 10, true)
	w := recording.NewWriter()
	if err := r.tun.Record(w, "test", r.now); err != nil {
		t.Fatal(err)
	}
	if err := r.tun.Record(recording.NewWriter(), "test", r.now); err != ErrRecorded {
		t.Errorf("recorded twice: %v", err)
	}
	r.run(d, 3000, 10, true)
	r.tun.StopRecording(recording.NewWriter()) // another's
	r.run(d, 0, 0, false)
	r.tun.StopRecording(w)
	var blocks [][]byte
	for b := range w.Blocks() {
		blocks = append(blocks, b)
	}
	return blocks
}

// file makes a file of blocks.
func file(blocks [][]byte) []byte {
	out := recording.AppendHeader(nil)
	for _, b := range blocks {
		out = recording.AppendBlock(out, 0, b)
	}
	return recording.AppendEnd(out)
}

// A recording that follows settings as they change and states as they come.
func TestReplayFollowsSettings(t *testing.T) {
	r := newRig(t, "delay")
	r.run(3*time.Second, 3000, 10, true)
	w := recording.NewWriter()
	if err := r.tun.Record(w, "test", r.now); err != nil {
		t.Fatal(err)
	}
	r.run(3*time.Second, 3000, 10, true)
	if err := r.tun.Reconfigure(testSettings("dql"), r.now); err != nil {
		t.Fatal(err)
	}
	r.run(3*time.Second, 3000, 10, true)
	r.tun.Hold("measuring")
	r.run(time.Second, 3000, 10, true)
	r.tun.Resume(r.now)
	r.run(3*time.Second, 4000, 10, true)
	if err := r.tun.Stop("stop"); err != nil {
		t.Fatal(err)
	}
	var blocks [][]byte
	for b := range w.Blocks() {
		blocks = append(blocks, b)
	}
	in, err := recording.NewReader(bytes.NewReader(file(blocks)))
	if err != nil {
		t.Fatal(err)
	}
	decided := map[string]int{}
	policy, states := "", []string{}
	err = Replay(in, "", func(e *Replayed) error {
		switch e.Kind {
		case recording.Policy:
			policy = e.Policy
		case recording.State:
			states = append(states, e.State)
		case recording.Decide:
			decided[policy]++
			if e.Inexact != "" || !recording.Same(e.Decision, e.Again) {
				t.Errorf("at %v: recorded %+v, now %+v %s", e.At, e.Decision, e.Again, e.Inexact)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if decided["delay"] < 10 || decided["dql"] < 20 {
		t.Errorf("decisions %v", decided)
	}
	if n := len(states); n < 4 || states[n-1] != string(Restored) {
		t.Errorf("states %v", states)
	}
}

// FuzzReplay: whatever a file says, going through it comes to an end.
func FuzzReplay(f *testing.F) {
	f.Add([]byte{}, []byte{}, uint8(0))
	f.Add([]byte{2 << 2, 3}, []byte{6 << 2, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, uint8(9))
	f.Fuzz(func(t *testing.T, a, b []byte, at uint8) {
		blocks := tapeOnce(t)
		i := int(at) % len(blocks)
		spoilt := append(append(append([][]byte{}, blocks[:i]...), a, b), blocks[i:]...)
		// One block with a piece of it replaced, besides.
		cut := len(blocks[i]) / 2
		spoilt = append(spoilt, append(append(bytes.Clone(blocks[i][:cut]), a...), blocks[i][min(len(blocks[i]), cut+len(a)):]...))
		in, err := recording.NewReader(bytes.NewReader(file(spoilt)))
		if err != nil {
			t.Fatal(err)
		}
		_ = Replay(in, "delay", func(*Replayed) error { return nil })
	})
}

var taped [][]byte

func tapeOnce(t *testing.T) [][]byte {
	if taped == nil {
		taped = tape(t, "delay", time.Second)
	}
	return taped
}

// witness keeps what a policy is shown.
type witness struct {
	policies.Policy
	seen *[]policies.Observation
}

func (s witness) Decide(o *policies.Observation) policies.Decision {
	kept := *o
	kept.Stations = slices.Clone(o.Stations)
	*s.seen = append(*s.seen, kept)
	return s.Policy.Decide(o)
}

// What the policy was shown is what a replay shows it: all of it, with rates from
// netlink, files that fail for a while, stations that leave and sleepers.
func TestReplayObservesAlike(t *testing.T) {
	r := newRig(t, "delay")
	r.k.files[staDir+"flags"] = "AUTH\n"
	r.run(3*time.Second, 0, 0, false) // the policy is not asked yet
	w := recording.NewWriter()
	mac := wlan.MAC{2, 0, 0, 0, 0x80, 1}
	rate := func(kbps uint64) {
		r.tun.NoteStations("wlan0", []nl80211.Station{{MAC: mac, TxRateKbps: kbps}, {MAC: wlan.MAC{9}, TxRateKbps: 7}}, r.now)
	}
	rate(866_700) // before the recording, which has to say so all the same
	if err := r.tun.Record(w, "test", r.now); err != nil {
		t.Fatal(err)
	}
	var seen []policies.Observation
	r.tun.policy = witness{r.tun.policy, &seen}
	r.run(2*time.Second, 3000, 10, true)
	rate(6_500)
	r.run(2*time.Second, 2500, 20, true)
	for name, err := range map[string]error{phyDir + "aqm": unix.EIO, staDir + "aql": unix.EIO, phyDir + "ath10k/num_pending_tx": unix.ENOENT} {
		r.k.fail["open "+name] = err
		r.tun.open() // readings of an open file do not fail here
		r.run(time.Second, 2500, 20, true)
		delete(r.k.fail, "open "+name)
		r.run(3*time.Second, 2600, 30, true)
	}
	r.k.files[staDir+"flags"] = "AUTH\nPS_STA\n"
	r.run(2*time.Second, 3000, 10, false)
	r.k.fail["open "+staDir+"aqm"] = unix.EIO // it has left
	r.tun.Rescan()
	r.run(2*time.Second, 3000, 10, false)
	r.tun.StopRecording(w)
	var blocks [][]byte
	for b := range w.Blocks() {
		blocks = append(blocks, b)
	}

	in, err := recording.NewReader(bytes.NewReader(file(blocks)))
	if err != nil {
		t.Fatal(err)
	}
	var again []policies.Observation
	err = Replay(in, "", func(e *Replayed) error {
		if e.Kind == recording.Decide {
			kept := *e.Observation
			kept.Stations = slices.Clone(kept.Stations)
			again = append(again, kept)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) < 60 {
		t.Errorf("%d observations", len(seen))
	}
	// The same times, if by another clock's zone.
	sameTime := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
	if diff := cmp.Diff(seen, again, cmpopts.EquateEmpty(), sameTime); diff != "" {
		t.Errorf("observations (-seen +again):\n%s", diff)
	}
	rates := map[uint64]bool{}
	asleep := false
	for _, o := range seen {
		for _, st := range o.Stations {
			rates[st.RateKbps] = true
			asleep = asleep || st.Asleep
		}
	}
	if !rates[866_700] || !rates[6_500] || !asleep {
		t.Errorf("rates %v, asleep %v: not all was seen", rates, asleep)
	}
}
