package daemon

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"airtuned/daemon/config"
	"airtuned/daemon/control"
	"airtuned/host"
	"airtuned/policies"
	"airtuned/tuner"
)

// selector is the parameter of methods that are about radios; empty for all.
type selector struct {
	Radio string `json:"radio"`
}

// changes is the result of methods that change knobs.
type changes struct {
	Changes []tuner.Change `json:"changes"`
}

// methods is the control interface.
//
//	status                    {version, uptime_s, config_error, radios: [status], host}
//	radios                    {radios: [as detected], warnings}
//	history {radio?}          {radios: [{path, columns, windows}]}
//	policy  {radio?, policy?, for?} {radios: [{path, phy, policy}], policies}; setting one is a change
//	tune    {radio?, policy?, dry_run?}  {changes}; holds the radio until resume
//	hold    {radio?, reason?} {}
//	resume  {radio?}          {}
//	restore {radio?}          {changes}; keeps originals until resume
//	reload                    {config}
//	record  {radio?}          {radios: [{path, phy}]}, then notifications {radio, block}
func (d *daemon) methods() map[string]control.Method {
	methods := map[string]control.Method{
		"status":  {Call: d.callStatus},
		"radios":  {Call: d.callRadios},
		"history": {Call: d.callHistory},
		"policy":  {Call: d.callPolicy}, // says itself who may change it
		"tune":    {Change: true, Call: d.callTune},
		"hold":    {Change: true, Call: d.callHold},
		"resume":  {Change: true, Call: d.callResume},
		"restore": {Change: true, Call: d.callRestore},
		"reload":  {Change: true, Call: d.callReload},
		"record":  {Change: true, Stream: d.callRecord},
	}
	// The socket may be open before the radios were looked for: with socket
	// activation a client is what starts the daemon.
	for name, m := range methods {
		if m.Call == nil {
			continue // it waits itself
		}
		call := m.Call
		m.Call = func(ctx context.Context, c control.Call) (any, error) {
			select {
			case <-d.found:
				return call(ctx, c)
			case <-ctx.Done():
				return nil, control.Errorf(control.CodeBusy, "the daemon is still looking for radios; try again")
			}
		}
		methods[name] = m
	}
	return methods
}

func (d *daemon) callStatus(ctx context.Context, c control.Call) (any, error) {
	if err := c.Decode(&struct{}{}); err != nil {
		return nil, err
	}
	d.lookAtTCP(ctx)
	d.mu.Lock()
	refused := d.refused
	d.mu.Unlock()
	return struct {
		Version     string         `json:"version"`
		UptimeS     float64        `json:"uptime_s"`
		ConfigError string         `json:"config_error"`
		Radios      []tuner.Status `json:"radios"`
		Host        host.Status    `json:"host"`
	}{d.Version, math.Round(time.Since(d.started).Seconds()*10) / 10, refused, d.statuses(ctx), *d.host.last.Load()}, nil
}

func (d *daemon) callRadios(ctx context.Context, c control.Call) (any, error) {
	if err := c.Decode(&struct{}{}); err != nil {
		return nil, err
	}
	out := tuner.Detection{Radios: []tuner.Radio{}, Warnings: []tuner.Warning{}}
	for _, s := range d.statuses(ctx) {
		out.Radios = append(out.Radios, s.Radio)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	out.Warnings = append(out.Warnings, d.warnings...)
	return out, nil
}

func (d *daemon) callHistory(ctx context.Context, c control.Call) (any, error) {
	var p selector
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	radios, err := d.pick(ctx, p.Radio)
	if err != nil {
		return nil, err
	}
	out := struct {
		Radios []tuner.Past `json:"radios"`
	}{[]tuner.Past{}}
	for _, r := range radios {
		ctx, cancel := context.WithTimeout(ctx, askWithin)
		past, err := ask(ctx, r, func(t *tuner.Tuner, now time.Time) (tuner.Past, error) { return t.History(now), nil })
		cancel()
		if err == nil { // else it is blocked, or gone
			out.Radios = append(out.Radios, past)
		}
	}
	return out, nil
}

func (d *daemon) callTune(ctx context.Context, c control.Call) (any, error) {
	var p struct {
		selector
		Policy string `json:"policy"`
		DryRun bool   `json:"dry_run"`
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	if err := checkPolicy(p.Policy); err != nil {
		return nil, err
	}
	return d.change(ctx, p.Radio, func(r *radio) ([]tuner.Change, error) {
		return ask(ctx, r, func(t *tuner.Tuner, now time.Time) ([]tuner.Change, error) {
			policy := p.Policy
			if policy == "" {
				policy = r.current.Policy
			}
			return t.Tune(policy, p.DryRun, now)
		})
	})
}

func (d *daemon) callRestore(ctx context.Context, c control.Call) (any, error) {
	var p selector
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	out, err := d.change(ctx, p.Radio, func(r *radio) ([]tuner.Change, error) {
		return ask(ctx, r, func(t *tuner.Tuner, _ time.Time) ([]tuner.Change, error) { return t.Restore("restored by command") })
	})
	if err != nil || p.Radio != "" {
		return out, err
	}
	own, err := askHost(ctx, d.host, func(h *host.Host) ([]tuner.Change, error) { return h.Restore("restored by command") })
	out.Changes = append(out.Changes, own...)
	return out, err
}

func (d *daemon) callHold(ctx context.Context, c control.Call) (any, error) {
	var p struct {
		selector
		Reason string `json:"reason"`
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	if p.Reason == "" {
		p.Reason = "held by command"
	}
	err := d.each(ctx, p.Radio, func(r *radio) error {
		_, err := ask(ctx, r, func(t *tuner.Tuner, _ time.Time) (struct{}, error) {
			t.Hold(p.Reason)
			return struct{}{}, nil
		})
		return err
	})
	if p.Radio == "" {
		err = errors.Join(err, d.tellHost(ctx, func(h *host.Host) { h.Hold(p.Reason) }))
	}
	return struct{}{}, err
}

func (d *daemon) callResume(ctx context.Context, c control.Call) (any, error) {
	var p selector
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	err := d.each(ctx, p.Radio, func(r *radio) error { return r.resume(ctx) })
	if p.Radio == "" {
		err = errors.Join(err, d.tellHost(ctx, (*host.Host).Resume))
	}
	return struct{}{}, err
}

func (d *daemon) callPolicy(ctx context.Context, c control.Call) (any, error) {
	var p struct {
		selector
		Policy string `json:"policy"`
		For    string `json:"for"`
	}
	if err := c.Decode(&p); err != nil {
		return nil, err
	}
	if err := checkPolicy(p.Policy); err != nil {
		return nil, err
	}
	loan, err := parseLoan(p.Policy, p.For)
	if err != nil {
		return nil, err
	}
	if (p.Policy != "" || p.For != "") && !c.MayChange {
		return nil, control.Errorf(control.CodeDenied, "changing the policy is for root only")
	}
	radios, err := d.pick(ctx, p.Radio)
	if err != nil {
		return nil, err
	}
	type entry struct {
		Path   string `json:"path"`
		Phy    string `json:"phy"`
		Policy string `json:"policy"`
	}
	out := struct {
		Radios   []entry  `json:"radios"`
		Policies []string `json:"policies"`
	}{[]entry{}, policies.Names()}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range radios {
		switch {
		case p.For != "":
			d.lend(r, p.Policy, loan)
		case p.Policy != "":
			r.endLoan()
			r.policy = p.Policy
			r.configure(r.want)
		}
		out.Radios = append(out.Radios, entry{r.path, r.seen.phy, r.want.Policy})
	}
	return out, nil
}

func (d *daemon) callReload(_ context.Context, c control.Call) (any, error) {
	if err := c.Decode(&struct{}{}); err != nil {
		return nil, err
	}
	if err := d.reload("asked to"); err != nil {
		return nil, control.Errorf(control.CodeConfiguration, "%v", err)
	}
	return map[string]string{"config": d.configFile()}, nil
}

func (d *daemon) configFile() string {
	if d.Config != "" {
		return d.Config
	}
	return config.DefaultPath
}

func checkPolicy(name string) error {
	if name != "" && !slices.Contains(policies.Names(), name) {
		return control.Errorf(control.CodeParams, "unknown policy %q (allowed: %s)", name, strings.Join(policies.Names(), ", "))
	}
	return nil
}

// pick returns the radios that a selector means.
func (d *daemon) pick(ctx context.Context, sel string) ([]*radio, error) {
	all := d.all()
	if sel == "" {
		return all, nil
	}
	var known []tuner.Radio
	for _, s := range d.statuses(ctx) {
		known = append(known, s.Radio)
	}
	meant, err := tuner.Select(known, sel)
	if err != nil {
		return nil, control.Errorf(control.CodeNoRadio, "%v", err)
	}
	return slices.DeleteFunc(all, func(r *radio) bool {
		return !slices.ContainsFunc(meant, func(m tuner.Radio) bool { return m.Path == r.path })
	}), nil
}

// each does something with the radios a selector means, all at once, so that
// one that is blocked does not cost the others their turn.
func (d *daemon) each(ctx context.Context, sel string, do func(*radio) error) error {
	radios, err := d.pick(ctx, sel)
	if err != nil {
		return err
	}
	errs := make([]error, len(radios))
	var wg sync.WaitGroup
	for i, r := range radios {
		wg.Go(func() {
			if err := do(r); errors.Is(err, context.DeadlineExceeded) {
				errs[i] = control.Errorf(control.CodeBusy, "%s is blocked in the kernel; try again", r.path)
			} else if err != nil {
				errs[i] = fmt.Errorf("%s: %w", r.path, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// change is each for what changes knobs.
func (d *daemon) change(ctx context.Context, sel string, do func(*radio) ([]tuner.Change, error)) (changes, error) {
	var mu sync.Mutex
	byPath := map[string][]tuner.Change{}
	err := d.each(ctx, sel, func(r *radio) error {
		c, err := do(r)
		mu.Lock()
		defer mu.Unlock()
		byPath[r.path] = c
		return err
	})
	if err != nil {
		return changes{}, err
	}
	out := changes{[]tuner.Change{}}
	for _, r := range d.all() {
		out.Changes = append(out.Changes, byPath[r.path]...)
	}
	return out, nil
}
