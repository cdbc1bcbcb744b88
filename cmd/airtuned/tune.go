package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airtuned/cmd/airtuned/internal/term"
	"airtuned/debugfs"
	"airtuned/policies"
	"airtuned/tuner"
)

// changes is the document of tune and restore.
type changes struct {
	Changes []tuner.Change `json:"changes"`
}

func newTune(a *app) *cobra.Command {
	var file, policy, radio string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Set the limits once, without a daemon",
		Long: `Set each radio's limits once, to where the policy starts, and leave them there.
The values found are recorded first: airtuned restore puts them back.

While the daemon runs, it is asked to do it, and then leaves the radio alone
until it is restarted or airtuned resume lets it go on.

Exits 3 when no radio can be tuned, 4 when it is not permitted.`,
		Example: `  sudo airtuned tune --dry-run
  sudo airtuned tune --policy static --radio wlan0
  sudo airtuned tune --radio QCA9984 --json`,
		GroupID: groupTune,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if policy != "" && !slices.Contains(policies.Names(), policy) {
				return usagef("", "unknown policy %q, want one of %s", policy, strings.Join(policies.Names(), ", "))
			}
			c, err := loadConfig(file)
			if err != nil {
				return err
			}
			env, done := a.env()
			defer done()
			release, err := func() {}, tuner.Locked(a.state)
			if !dryRun {
				release, err = tuner.Lock(a.state)
			}
			if errors.Is(err, tuner.ErrLocked) {
				ask := map[string]any{"policy": policy, "radio": radio, "dry_run": dryRun}
				return a.askForChanges(cmd.Context(), err, "tune", ask, afterTune(dryRun))
			}
			if err != nil {
				return stateError(err)
			}
			defer release()
			d, err := tuner.Detect(env, c.SettingsFor)
			if err != nil {
				return err
			}
			if len(d.Radios) == 0 {
				return a.noRadio(d)
			}
			radios, err := tuner.Select(d.Radios, radio)
			if err != nil {
				return err
			}
			var all []tuner.Change
			var errs []error
			for _, r := range radios {
				s := c.SettingsFor(r)
				if policy != "" {
					s.Policy = policy
				}
				got, err := tuner.TuneOnce(env, r, s, dryRun, time.Now())
				all = append(all, got...)
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", r.Phy, err))
				}
			}
			err = errors.Join(errs...)
			if err == nil && policy != "observe" && !anyPossible(all) {
				err = nothingToTune(radios, d.Warnings)
			}
			err = a.finishChanges(all, err, afterTune(dryRun))
			a.warnBlind(radios, d.Warnings, all)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&policy, "policy", "", "`POLICY` instead of the configured one: "+strings.Join(policies.Names(), ", "))
	f.StringVar(&radio, "radio", "", "only the radio `SEL`: a device path, phy, interface or chip")
	f.BoolVar(&dryRun, "dry-run", false, "say what would change, change nothing")
	addConfig(cmd, &file)
	completeFlag(cmd, "policy", policies.Names())
	return cmd
}

// stateError is about a state directory that cannot be used.
func stateError(err error) error {
	f := classify(err)
	return &failure{exit: f.exit, code: f.code, err: err, next: "run it as root, or name another directory with --state DIR"}
}

// undoTune is the next step after a tune.
const undoTune = "airtuned restore puts the original values back"

func afterTune(dryRun bool) string {
	if dryRun {
		return "airtuned tune without --dry-run does it; nothing was changed"
	}
	return undoTune
}

// warnBlind says, below the changes, where they will do nothing for now.
func (a *app) warnBlind(radios []tuner.Radio, warnings []tuner.Warning, all []tuner.Change) {
	if a.json || !anyPossible(all) {
		return
	}
	for _, w := range warnings {
		if w.Code == tuner.WarnAQLBlind && slices.ContainsFunc(radios, func(r tuner.Radio) bool { return r.Phy == w.Radio }) {
			fmt.Fprintf(a.stdout, "! %s: the firmware reports no tx rates, so these limits do nothing for now; airtuned detect tells more\n", term.Safe(w.Radio))
		}
	}
}

// finishChanges prints what became of each knob, with the next step where
// there were changes, and decides how the command ends.
func (a *app) finishChanges(all []tuner.Change, err error, next string) error {
	doc := changes{all}
	if all == nil {
		doc.Changes = []tuner.Change{}
	}
	for _, c := range all {
		if c.Result == tuner.Failed && err == nil {
			f := &failure{exit: exitFailed, code: "failed", err: fmt.Errorf("%s: %s: %s", c.Phy, c.Knob, c.Reason)}
			if next == undoTune {
				f.next = undoTune
			}
			err = f
		}
	}
	if err != nil {
		if !a.json && len(all) > 0 {
			printChanges(a.stdout, all, "")
		}
		f := *classify(err)
		f.result = doc
		return &f
	}
	if a.json {
		return a.emit(doc)
	}
	printChanges(a.stdout, all, next)
	return nil
}

// anyPossible reports whether there was a knob to turn at all.
func anyPossible(all []tuner.Change) bool {
	return slices.ContainsFunc(all, func(c tuner.Change) bool { return c.Result != tuner.Unsupported })
}

// nothingToTune says why none of the radios can be tuned: by the code of the
// warning that detection gave, preferably one about permission.
func nothingToTune(radios []tuner.Radio, warnings []tuner.Warning) error {
	f := &failure{exit: exitNoRadio, code: "no-radio", next: "airtuned detect tells more"}
	reason := radios[0].AQL.Reason
	for _, w := range warnings {
		if w.Radio != "" && !slices.ContainsFunc(radios, func(r tuner.Radio) bool { return r.Phy == w.Radio }) {
			continue
		}
		forbidden := slices.Contains([]string{debugfs.Lockdown.String(), debugfs.NotPermitted.String(), debugfs.ReadOnly.String()}, w.Code)
		if forbidden && f.exit != exitNotPermitted {
			f.exit, f.code, reason = exitNotPermitted, w.Code, w.Message
		} else if f.code == "no-radio" {
			f.code = w.Code
			reason = cmp.Or(reason, w.Message)
		}
	}
	if reason == "" {
		reason = "the profile of " + radios[0].Phy + " only observes"
		f.code, f.next = "observe-only", "name a policy with --policy"
	}
	f.err = fmt.Errorf("no radio can be tuned: %s", reason)
	return f
}

// merged brings changes that differ only in the access category together. What
// all categories have in common is without their names.
func merged(all []tuner.Change) []tuner.Change {
	var out []tuner.Change
	for _, c := range all {
		if n := len(out) - 1; n >= 0 && strings.HasPrefix(c.Knob, limitKnob) && strings.HasPrefix(out[n].Knob, limitKnob) {
			same := c
			if same.Knob = out[n].Knob; same == out[n] {
				out[n].Knob += "," + strings.TrimPrefix(c.Knob, limitKnob)
				continue
			}
		}
		out = append(out, c)
	}
	for i := range out {
		out[i].Knob = strings.TrimSuffix(out[i].Knob, "/VO,VI,BE,BK")
	}
	return out
}

// limitKnob is how the knobs of a radio's limits begin; the access category
// follows.
const limitKnob = "aql_txq_limit/"

// categories is the legend where access categories are named.
const categories = "limits: low/high, us; VO: voice, VI: video, BE: best effort, BK: background"

// printChanges shows the changes as a table, and the next step.
func printChanges(w io.Writer, all []tuner.Change, next string) {
	t := term.Look(w)
	if len(all) == 0 {
		fmt.Fprintln(w, "Nothing to change.")
		return
	}
	tb := term.Table{Head: []string{"RADIO", "KNOB", ">FROM", ">TO", "RESULT", "WHY"}}
	all = merged(all)
	legend := ""
	for _, c := range all {
		switch {
		case c.Result == tuner.Unsupported || legend == categories:
		case strings.HasPrefix(c.Knob, limitKnob):
			legend = categories
		case c.Knob+"/" == limitKnob:
			legend = "limits: low/high, us of airtime"
		}
		style := term.Plain
		switch c.Result {
		case tuner.Applied:
			style = term.Green
		case tuner.Planned:
			style = term.Cyan
		case tuner.Unsupported:
			style = term.Yellow
		case tuner.Failed:
			style = term.Red
		}
		tb.Rows = append(tb.Rows, []string{term.Safe(c.Phy), term.Safe(c.Knob), c.From, c.To, t.Paint(style, string(c.Result)), term.Safe(c.Reason)})
	}
	for _, l := range tb.Lines(t) {
		fmt.Fprintln(w, l)
	}
	if legend != "" {
		fmt.Fprintln(w, t.Paint(term.Dim, legend))
	}
	if next != "" {
		fmt.Fprintln(w, "Next: "+next+".")
	}
}
