package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airtuned/cmd/airtuned/internal/status"
	"airtuned/cmd/airtuned/internal/term"
	"airtuned/host"
	"airtuned/tuner"
)

func newDetect(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "detect",
		Short: "List the radios, what can be tuned on them and why not",
		Long: `List the radios of this machine, what can be tuned on each and, where something
cannot, why not. Nothing is changed. Exits 3 when there is no radio.`,
		Example: `  sudo airtuned detect
  sudo airtuned detect --json | jq '.radios[].chip'
  airtuned detect --sys F/sys --debugfs F/debug --proc F/proc --no-netlink`,
		GroupID: groupTry,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			d, err := a.detect(file)
			if err != nil {
				return err
			}
			if len(d.Radios) == 0 {
				return a.noRadio(d)
			}
			if a.json {
				return a.emit(d)
			}
			printDetection(a.stdout, d)
			return nil
		},
	}
	addConfig(cmd, &file)
	return cmd
}

// detection is the document of detect.
type detection struct {
	tuner.Detection
	Host host.Status `json:"host"`
}

// detect looks at radios and machine under the configuration's settings.
func (a *app) detect(file string) (detection, error) {
	c, err := loadConfig(file)
	if err != nil {
		return detection{}, err
	}
	env, done := a.env()
	defer done()
	d, err := tuner.Detect(env, c.SettingsFor)
	return detection{d, host.Look(hostEnv(env), c.HostSettings())}, err
}

// noRadio is how a command ends on a machine without radios.
func (a *app) noRadio(d any) error {
	return &failure{
		exit: exitNoRadio, code: "no-radio", result: d,
		err:  fmt.Errorf("no Wi-Fi radio in %s/class/ieee80211", a.sys),
		next: "load its driver, or see the effect with airtuned demo",
	}
}

// printDetection shows one card per radio.
func printDetection(w io.Writer, d detection) {
	t := term.Look(w)
	for i, r := range d.Radios {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, status.RadioTitle(t, r))
		row := func(label, text string) {
			for _, l := range status.CardRow(t, label, text) {
				fmt.Fprintln(w, l)
			}
		}
		row("interfaces", status.Interfaces(r))
		row("device", r.Path)
		row("AQL limits", aqlText(t, r.AQL, hasWarning(d.Warnings, r.Phy, tuner.WarnAQLBlind)))
		row("queue", queueText(r.Queue))
		row("NAPI", napiText(r.NAPI))
		if len(r.Features) > 0 {
			row("features", featuresText(r.Features))
		}
		row("policy", r.Policy)
		for _, wn := range d.Warnings {
			if wn.Radio == r.Phy && wn.Message != r.AQL.Reason {
				row("", t.Paint(term.Yellow, "! "+wn.Code+": ")+term.Safe(wn.Message))
			}
		}
	}
	for _, wn := range d.Warnings {
		if wn.Radio == "" {
			fmt.Fprintf(w, "\n%s%s\n", t.Paint(term.Yellow, "! "+wn.Code+": "), term.Safe(wn.Message))
		}
	}
	fmt.Fprintln(w)
	for _, l := range status.HostText(t, d.Host) {
		fmt.Fprintln(w, l)
	}
	next := "Next: airtuned tune --dry-run shows what one shot would change, airtuned run keeps it right."
	if !tunable(d.Detection) {
		next = "Nothing here can be tuned now; airtuned run would observe only. See the effect with airtuned demo."
	}
	fmt.Fprintln(w)
	for _, l := range wrapped(t, next) {
		fmt.Fprintln(w, l)
	}
}

// wrapped is text in lines where a person looks, and in one elsewhere.
func wrapped(t term.Terminal, text string) []string {
	if !t.TTY {
		return []string{text}
	}
	return term.Wrap(text, t.Width-1)
}

func hasWarning(ws []tuner.Warning, phy, code string) bool {
	return slices.ContainsFunc(ws, func(w tuner.Warning) bool { return w.Radio == phy && w.Code == code })
}

func aqlText(t term.Terminal, q tuner.AQL, blind bool) string {
	var s string
	switch {
	case q.Writable && q.Reason == "" && blind:
		s = t.Paint(term.Yellow, "can be written") + ", but see below"
	case q.Writable && q.Reason == "":
		s = t.Paint(term.Green, "can be tuned")
	case q.Writable:
		s = t.Paint(term.Yellow, "can be written") + ", but " + term.Safe(q.Reason)
	default:
		s = t.Paint(term.Red, "cannot be tuned") + ": " + term.Safe(q.Reason)
	}
	if len(q.Limits) > 0 {
		s += "; now " + status.LimitsText(q.Limits) + " us (low/high)"
		if q.ThresholdUs > 0 {
			s += fmt.Sprintf(", threshold %d us", q.ThresholdUs)
		}
	}
	return s
}

func queueText(q tuner.Queue) string {
	switch q.Source {
	case tuner.SourceFrames:
		if q.BPF != nil && q.Max == 0 {
			return "counted by BPF, which has seen no frame yet"
		}
		s := fmt.Sprintf("%d of %d frames in driver and firmware", q.Pending, q.Max)
		if q.BPF != nil {
			s += ", counted by BPF"
		}
		return s
	case tuner.SourceAirtime:
		why := "this kernel does not count the frames"
		if q.BPF != nil {
			why += ", nor does BPF: " + term.Safe(q.BPF.Reason)
		}
		return fmt.Sprintf("%d us of airtime in driver and firmware (%s)", q.Pending, why)
	}
	if q.BPF != nil {
		return "this kernel does not show it, and BPF does not count: " + term.Safe(q.BPF.Reason)
	}
	return "this kernel does not show it"
}

// featuresText names what a patched kernel offers, with the present values.
func featuresText(f tuner.Features) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, f[name]))
	}
	return strings.Join(parts, ", ")
}

func napiText(n tuner.NAPI) string {
	s := n.Mode
	if n.Settable {
		s += ", can be set"
	}
	if n.Reason != "" {
		s += ": " + term.Safe(n.Reason)
	}
	return s
}

// tunable reports whether the daemon would set the limits of any of the radios.
func tunable(d tuner.Detection) bool {
	for _, r := range d.Radios {
		blind := hasWarning(d.Warnings, r.Phy, tuner.WarnAQLBlind) && !r.Features.Has(tuner.FeatureQueue)
		if r.AQL.Writable && r.AQL.Reason == "" && r.Policy != "observe" && !blind {
			return true
		}
	}
	return false
}
