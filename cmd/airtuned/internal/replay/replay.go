// Package replay goes through a recording and says where a policy decides
// otherwise than the one that was recorded.
package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/policies"
	"airtuned/recording"
	"airtuned/tuner"
	"airtuned/wlan"
)

// Report is what a replay came to. Its JSON form is a contract.
type Report struct {
	Radios []*Radio `json:"radios"`
	// Damage says what is wrong with the file; what is told is what came before.
	Damage string `json:"damage"`
}

// Radio is one radio of a recording.
type Radio struct {
	Phy     string `json:"phy"`
	Path    string `json:"path"`
	Chip    string `json:"chip"`
	Driver  string `json:"driver"`
	Version string `json:"version"` // of the airtuned that recorded
	Kernel  string `json:"kernel"`
	// Policy is the one that was in charge last, Other the one that was asked.
	Policy string `json:"policy"`
	Other  string `json:"other"`

	Start     time.Time `json:"start"`
	DurationS float64   `json:"duration_s"`
	// Windows were observed; LostWindows are missing from the recording.
	Windows     int    `json:"windows"`
	LostWindows uint64 `json:"lost_windows"`
	Readings    int    `json:"readings"`
	Failed      []Fail `json:"failed"`

	// Decisions were made, Identical of them are made again by the recorded
	// policy. Where not, FirstOther is the first; Inexact says why that may be.
	Decisions  int      `json:"decisions"`
	Identical  int      `json:"identical"`
	FirstOther *float64 `json:"first_other_s"`
	Inexact    string   `json:"inexact"`
	// Agreed counts the other policy's that are for the same limits, and Ratio is
	// the mean of its best-effort limit over the recorded one's, 0 without any.
	Agreed int     `json:"agreed"`
	Ratio  float64 `json:"ratio"`
	// Rows are what there is to see.
	Rows []Row `json:"rows"`

	index int
	logs  float64
	logsN int
	shown [2]policies.Decision // by side
	again bool                 // a row was shown since the beginning
}

// Fail is a file that could not be read, and how often not.
type Fail struct {
	File  string `json:"file"`
	Error string `json:"error"`
	Count int    `json:"count"`
}

// Row is a decision that one side or the other changed, or a change of state.
type Row struct {
	AtS float64 `json:"at_s"`
	// What the decision was about.
	Active         int     `json:"active"`
	PendingUs      int64   `json:"pending_us"`
	BacklogPackets int64   `json:"backlog_packets"`
	Mbps           float64 `json:"mbps"`
	Recorded       *Answer `json:"recorded"`
	Other          *Answer `json:"other"`
	// Note is for what is no decision.
	Note string `json:"note,omitempty"`
}

// Answer is a decision in short.
type Answer struct {
	Write bool `json:"write"`
	// Limits of best effort, and how many stations have their own.
	LowUs    uint32 `json:"low_us"`
	HighUs   uint32 `json:"high_us"`
	Stations int    `json:"stations"`
	Reason   string `json:"reason"`
}

func answer(d policies.Decision) *Answer {
	be := d.Limits.AC[wlan.BE]
	return &Answer{d.Write, be.LowUs, be.HighUs, len(d.Stations), d.Reason}
}

func (a *Answer) text() string {
	if !a.Write {
		return "untouched"
	}
	s := fmt.Sprint(a.LowUs)
	if a.HighUs != a.LowUs {
		s += fmt.Sprint("/", a.HighUs)
	}
	if a.Stations > 0 {
		s += fmt.Sprintf(" +%d", a.Stations)
	}
	return s
}

// alike reports whether two decisions are for the same limits.
func alike(a, b policies.Decision) bool {
	a.Reason = b.Reason
	return recording.Same(a, b)
}

// Run replays a recording. With the name of another policy, that one is asked as
// well. An error is one about the beginning of the file or the policy's name;
// what is wrong further on is in the report.
func Run(file io.Reader, other string) (Report, error) {
	rep := Report{Radios: []*Radio{}}
	if _, err := policies.New(other, policies.Params{}); other != "" && err != nil {
		return rep, err
	}
	r, err := recording.NewReader(file)
	if err != nil {
		return rep, err
	}
	radios := map[*recording.Radio]*Radio{}
	err = tuner.Replay(r, other, func(e *tuner.Replayed) error {
		radio := radios[e.Event.Radio]
		if radio == nil {
			radio = &Radio{Other: other, Failed: []Fail{}, Rows: []Row{}, Start: e.Event.Radio.Now, index: e.Event.Radio.Index}
			radios[e.Event.Radio] = radio
			rep.Radios = append(rep.Radios, radio)
		}
		radio.take(e)
		return nil
	})
	if err != nil {
		rep.Damage = err.Error()
	}
	if err != nil && !errors.Is(err, recording.ErrCut) && !errors.Is(err, recording.ErrFormat) {
		return rep, err
	}
	slices.SortFunc(rep.Radios, func(a, b *Radio) int { return a.index - b.index })
	for _, radio := range rep.Radios {
		if radio.logsN > 0 {
			radio.Ratio = math.Round(math.Exp(radio.logs/float64(radio.logsN))*1000) / 1000
		}
	}
	return rep, nil
}

func (r *Radio) take(e *tuner.Replayed) {
	at := math.Round(e.At.Seconds()*1000) / 1000
	r.DurationS = at
	switch e.Kind {
	case recording.Begin:
		var about tuner.About
		if json.Unmarshal(e.About, &about) == nil {
			r.Phy, r.Path, r.Chip, r.Driver = about.Radio.Phy, about.Radio.Path, about.Radio.Chip, about.Radio.Driver
			r.Version, r.Kernel = about.Version, about.Kernel
		}
	case recording.Policy:
		if r.Policy != "" && r.Policy != e.Policy {
			r.Rows = append(r.Rows, Row{AtS: at, Note: "the policy is " + e.Policy + " now"})
		}
		r.Policy = e.Policy
		r.Inexact = e.Inexact
	case recording.Lost:
		r.LostWindows += e.Windows
		r.Rows = append(r.Rows, Row{AtS: at, Note: fmt.Sprintf("%d windows are missing here", e.Windows)})
	case recording.State:
		if e.State != string(tuner.Tuning) && e.Reason != "" {
			r.Rows = append(r.Rows, Row{AtS: at, Note: e.State + ": " + e.Reason})
		}
	case recording.Change:
		if e.Result == string(tuner.Failed) || e.Result == string(tuner.Unsupported) {
			r.Rows = append(r.Rows, Row{AtS: at, Note: "could not set " + e.Knob + " to " + e.To + ": " + e.Reason})
		}
	case recording.Reading:
		r.Readings++
		if e.Err != nil {
			r.failed(strings.TrimSuffix(e.Name, "/"), e.Err.Error())
		}
	case recording.Observe:
		r.Windows++
	case recording.Decide:
		r.decide(e, at)
	}
}

func (r *Radio) failed(file, err string) {
	i := slices.IndexFunc(r.Failed, func(f Fail) bool { return f.File == file && f.Error == err })
	if i < 0 {
		r.Failed = append(r.Failed, Fail{file, err, 1})
		return
	}
	r.Failed[i].Count++
}

func (r *Radio) decide(e *tuner.Replayed, at float64) {
	r.Decisions++
	identical := recording.Same(e.Decision, e.Again)
	if identical {
		r.Identical++
	} else if r.FirstOther == nil {
		r.FirstOther = &at
	}
	beside := e.Other
	switch {
	case r.Other == "":
		beside = e.Again
	case alike(e.Decision, e.Other):
		r.Agreed++
	}
	if mine, theirs := e.Decision.Limits.AC[wlan.BE].LowUs, e.Other.Limits.AC[wlan.BE].LowUs; e.Decision.Write && e.Other.Write && mine > 0 && theirs > 0 {
		r.logs += math.Log(float64(theirs) / float64(mine))
		r.logsN++
	}
	if r.again && alike(e.Decision, r.shown[0]) && alike(beside, r.shown[1]) {
		return
	}
	r.again, r.shown = true, [2]policies.Decision{e.Decision, beside}
	o := e.Observation
	row := Row{
		AtS: at, Active: o.Active(), PendingUs: int64(o.Pending.Mean + 0.5), BacklogPackets: int64(o.Backlog.Mean + 0.5),
		Mbps:     math.Round(float64(o.TxBytes)*8/max(float64(o.Window.Microseconds()), 1)*10) / 10,
		Recorded: answer(e.Decision),
	}
	if r.Other != "" || !identical {
		row.Other = answer(beside)
	}
	r.Rows = append(r.Rows, row)
}

// Lines are the report for people.
func (rep Report) Lines(t term.Terminal) []string {
	var lines []string
	for i, r := range rep.Radios {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, r.lines(t)...)
	}
	if rep.Damage != "" {
		lines = append(lines, "", t.Paint(term.Yellow, "! ")+term.Safe(rep.Damage)+"; the above is what came before.")
	}
	return lines
}

func (r *Radio) lines(t term.Terminal) []string {
	what := r.Chip
	if what == "" {
		what = r.Driver
	}
	lines := []string{
		fmt.Sprintf("%s  %s under policy %s, recorded %s for %.1f s", t.Paint(term.Bold, term.Safe(r.Phy)), term.Safe(what), term.Safe(r.Policy), r.Start.UTC().Format(time.RFC3339), r.DurationS),
		fmt.Sprintf("by airtuned %s on Linux %s: %d readings, %d windows, %d decisions", term.Safe(r.Version), term.Safe(r.Kernel), r.Readings, r.Windows, r.Decisions),
		"",
	}
	tb := term.Table{Head: []string{">s", ">STATIONS", ">PENDING us", ">BACKLOG", ">Mb/s", ">LIMIT us", "", "WHY"}}
	if r.Other != "" {
		tb.Head[6] = ">" + strings.ToUpper(r.Other)
	}
	for _, row := range r.Rows {
		cells := []string{fmt.Sprintf("%.1f", row.AtS), "", "", "", "", "", "", term.Safe(row.Note)}
		if row.Recorded != nil {
			copy(cells[1:], []string{
				fmt.Sprint(row.Active), fmt.Sprint(row.PendingUs), fmt.Sprint(row.BacklogPackets), fmt.Sprintf("%.1f", row.Mbps), row.Recorded.text(),
			})
			cells[7] = term.Safe(row.Recorded.Reason)
			if row.Other != nil {
				cells[6] = row.Other.text()
				if row.Other.text() != row.Recorded.text() {
					cells[6] = t.Paint(term.Yellow, cells[6])
				}
				if row.Other.Reason != row.Recorded.Reason {
					cells[7] += " / " + term.Safe(row.Other.Reason)
				}
			}
		}
		tb.Rows = append(tb.Rows, cells)
	}
	if len(tb.Rows) > 0 {
		lines = append(lines, tb.Lines(t)...)
		lines = append(lines, "")
	}
	for _, f := range r.Failed {
		lines = append(lines, fmt.Sprintf("%s could not be read: %s (%d)", term.Safe(f.File), term.Safe(f.Error), f.Count))
	}
	if r.LostWindows > 0 {
		lines = append(lines, fmt.Sprintf("%d windows are missing: they were not stored in time.", r.LostWindows))
	}
	for _, s := range r.summary() {
		lines = append(lines, term.Wrap(s, t.Width-1)...)
	}
	return lines
}

// summary is what it comes to, in sentences.
func (r *Radio) summary() []string {
	if r.Decisions == 0 {
		return []string{"The policy was not asked: see the states above."}
	}
	var out []string
	switch {
	case r.Identical == r.Decisions:
		out = append(out, fmt.Sprintf("All %d decisions of %s are made again from the readings.", r.Decisions, r.Policy))
	default:
		s := fmt.Sprintf("%d of %d decisions of %s are made again from the readings; the first that is not, at %.1f s.", r.Identical, r.Decisions, r.Policy, *r.FirstOther)
		if r.Inexact != "" {
			s += " That was to be expected: " + r.Inexact + "."
		} else {
			s += " The law of this airtuned may not be that of " + r.Version + "."
		}
		out = append(out, s)
	}
	if r.Other == "" {
		return out
	}
	s := fmt.Sprintf("%s would have had the same limits in %d of them", r.Other, r.Agreed)
	if r.Ratio > 0 {
		s += fmt.Sprintf("; on average its limit of best effort is %.2f times the recorded one", r.Ratio)
	}
	return append(out, s+".",
		"It saw what the recorded limits brought about, not what its own would have: this says what it would do at each moment, not how it would have done.")
}
