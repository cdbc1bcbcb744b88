package replay

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/policies"
	"airtuned/recording"
	"airtuned/tree"
	"airtuned/wlan"
)

var start = time.Date(2026, 12, 1, 4, 0, 0, 0, time.UTC)

// air is a radio's folder in which one file cannot be read.
type air struct{ tree.FS }

func (a air) Open(name string) (tree.File, error) {
	if strings.HasSuffix(name, "num_pending_tx") {
		return nil, unix.EIO
	}
	return a.FS.Open(name)
}

// made is a recording of three windows under static, of which one decision is not
// static's.
func made(t *testing.T) []byte {
	t.Helper()
	w := recording.NewWriter()
	w.Begin([]byte(`{"version":"v1","kernel":"6.6","radio":{"phy":"phy0","path":"devices/x","chip":"QCA9984","driver":"ath10k_pci"}}`), start)
	params := policies.Params{Static: wlan.Uniform(1500, 24000)}
	static, err := policies.New("static", params)
	if err != nil {
		t.Fatal(err)
	}
	w.Policy("static", params, policies.Memory(static, start))
	// What senses opens and lists, in short.
	debug := w.Tree(air{tree.Dir("../../../../testdata/trees/qca9984-two-radios/debug")})
	for _, name := range []string{"aql_pending", "aqm", "queues", "ath10k/num_pending_tx"} {
		_, _ = tree.Read(debug, "ieee80211/phy0/"+name)
	}
	_, _ = debug.List("ieee80211/phy0")
	w.Opened("phy0")
	w.Scanned()
	w.State("tuning", "so it is")
	w.State("held", "a write failed")
	for i := range 3 {
		w.At(start.Add(time.Duration(i+1) * 200 * time.Millisecond))
		w.Sampled()
		w.Observed(200*time.Millisecond, wlan.KernelDefault, i == 0)
		d := static.Decide(&policies.Observation{})
		if i == 2 {
			d.Limits = wlan.Uniform(3000, 24000)
		}
		w.Decided(i == 0, d)
		w.Changed("aql_txq_limit/BE", "5000/12000", "1500/1500", "failed", "no")
	}
	w.End()
	file := recording.AppendHeader(nil)
	for b := range w.Blocks() {
		file = recording.AppendBlock(file, 0, b)
	}
	return recording.AppendEnd(file)
}

func TestRun(t *testing.T) {
	rep, err := Run(bytes.NewReader(made(t)), "kernel-default")
	if err != nil || rep.Damage != "" || len(rep.Radios) != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	r := rep.Radios[0]
	other := 0.6
	got := *r
	got.Rows, got.Readings = nil, 0
	got.logs, got.logsN, got.shown, got.again = 0, 0, [2]policies.Decision{}, false
	want := Radio{
		Phy: "phy0", Path: "devices/x", Chip: "QCA9984", Driver: "ath10k_pci", Version: "v1", Kernel: "6.6",
		Policy: "static", Other: "kernel-default", Start: start, DurationS: 0.6, Windows: 3,
		Failed:    []Fail{{"ieee80211/phy0/ath10k/num_pending_tx", unix.EIO.Error(), 1}},
		Decisions: 3, Identical: 2, FirstOther: &other,
		Ratio: 2.646, // the cube root of 10/3 * 10/3 * 5/3
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Radio{})); diff != "" {
		t.Errorf("radio (-want +got):\n%s", diff)
	}
	var rows []string
	for _, row := range r.Rows {
		s := fmt.Sprintf("%.1f %s", row.AtS, row.Note)
		if row.Recorded != nil {
			s += row.Recorded.text() + " beside " + row.Other.text()
		}
		rows = append(rows, s)
	}
	failed := "could not set aql_txq_limit/BE to 1500/1500: no"
	if diff := cmp.Diff([]string{
		"0.0 held: a write failed",
		"0.2 1500 beside 5000/12000", "0.2 " + failed,
		"0.4 " + failed,
		"0.6 3000 beside 5000/12000", "0.6 " + failed,
	}, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}

	text := strings.Join(rep.Lines(term.Terminal{Width: 200}), "\n")
	for _, want := range []string{
		"phy0  QCA9984 under policy static, recorded 2026-12-01T04:00:00Z for 0.6 s", "KERNEL-DEFAULT",
		"2 of 3 decisions of static are made again from the readings; the first that is not, at 0.6 s.",
		"kernel-default would have had the same limits in 0 of them; on average its limit of best effort is 2.65 times the recorded one.",
		"num_pending_tx could not be read: input/output error (1)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Without another policy, what is shown beside a decision is what the same policy
// decides now, where that differs.
func TestRunAlone(t *testing.T) {
	rep, err := Run(bytes.NewReader(made(t)), "")
	if err != nil {
		t.Fatal(err)
	}
	var beside []string
	for _, row := range rep.Radios[0].Rows {
		if row.Other != nil {
			beside = append(beside, row.Recorded.text()+" now "+row.Other.text())
		}
	}
	if diff := cmp.Diff([]string{"3000 now 1500"}, beside); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// A file that is cut tells what it has; one that is none, nothing.
func TestRunDamaged(t *testing.T) {
	file := made(t)
	rep, err := Run(bytes.NewReader(file[:len(file)-1]), "")
	if err != nil || !strings.Contains(rep.Damage, "cut") || len(rep.Radios) != 1 || rep.Radios[0].Decisions != 3 {
		t.Errorf("%+v, %v", rep, err)
	}
	if text := strings.Join(rep.Lines(term.Terminal{Width: 80}), "\n"); !strings.Contains(text, "the above is what came before") {
		t.Errorf("no word about the damage:\n%s", text)
	}
	if _, err := Run(strings.NewReader("something else"), ""); !errors.Is(err, recording.ErrFormat) {
		t.Errorf("something else: %v", err)
	}
	if _, err := Run(bytes.NewReader(file), "nosuch"); err == nil {
		t.Error("an unknown policy was taken")
	}
}
