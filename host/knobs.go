//go:build (!mips && !mipsle) || full

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"airtuned/debugfs"
	"airtuned/policies/placement"
	"airtuned/sysfs"
	"airtuned/tree"
)

// How the names of knobs begin, or what they are. A set of CPUs is a list like
// "0-1", an empty one "none".
const (
	knobThreaded = "threaded/"      // + interface
	knobRadio    = "napi_threaded/" // + phy, of ath10k with the patch for it
	knobAffinity = "affinity/"      // + a thread's name
	knobIRQ      = "irq/"           // + number + /affinity
	knobRPS      = "rps/"           // + interface + /rx-N
)

const noCPUs = "none"

var errNotTaken = errors.New("the kernel did not take the value")

// get returns a knob's present value. The error is fs.ErrNotExist where what it
// belongs to is gone.
func (env Env) get(knob string) (string, error) {
	switch rest := ""; {
	case cut(knob, knobThreaded, &rest):
		return onOff(sysfs.Threaded(env.Sys, rest))
	case cut(knob, knobRadio, &rest):
		if !tree.Exists(env.Sys, "class/ieee80211/"+rest) {
			return "", fmt.Errorf("knob %s: %w", knob, fs.ErrNotExist)
		}
		on, err := debugfs.NewPhy(env.Debug, rest).NapiThreaded()
		if err != nil { // not %w: debugfs may be what is missing, and the radio is there
			err = fmt.Errorf("knob %s: %v", knob, err)
		}
		return onOff(on, err)
	case cut(knob, knobAffinity, &rest):
		threads, err := env.threads(rest)
		if err != nil {
			return "", err
		}
		return cpuList(sysfs.ThreadAffinity(env.Proc, threads[0].PID))
	case cut(knob, knobIRQ, &rest):
		n, err := irqNumber(rest)
		if err != nil {
			return "", err
		}
		return cpuList(sysfs.IRQAffinity(env.Proc, n))
	case cut(knob, knobRPS, &rest):
		iface, queue, _ := strings.Cut(rest, "/")
		return cpuList(sysfs.RPS(env.Sys, iface, queue))
	case knob == placement.KnobOutputBytes:
		n, err := sysfs.TCPLimitOutputBytes(env.Proc)
		return strconv.FormatInt(n, 10), err
	}
	return "", fmt.Errorf("unknown knob %q", knob)
}

// set writes a knob and reads it back.
func (env Env) set(knob, value string) error {
	if err := env.write(knob, value); err != nil {
		return err
	}
	got, err := env.get(knob)
	if err != nil {
		return fmt.Errorf("read back %s: %w", knob, err)
	}
	if got != value {
		return fmt.Errorf("%w: wrote %s, reads %s", errNotTaken, value, got)
	}
	return nil
}

func (env Env) write(knob, value string) error {
	rest := ""
	switch {
	case cut(knob, knobThreaded, &rest):
		err := sysfs.SetThreaded(env.Sys, env.Proc, rest, value == "1")
		if errors.Is(err, sysfs.ErrThreadNotSeen) {
			return nil // it is looked for later, when it shall have its place
		}
		return err
	case cut(knob, knobRadio, &rest):
		return debugfs.NewPhy(env.Debug, rest).SetNapiThreaded(value == "1")
	case knob == placement.KnobOutputBytes:
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return fmt.Errorf("knob %s: bad value %q", knob, value)
		}
		return sysfs.SetTCPLimitOutputBytes(env.Proc, n)
	}
	var cpus []int
	if value != noCPUs {
		var err error
		if cpus, err = sysfs.ParseCPUList(value); err != nil {
			return fmt.Errorf("knob %s: bad value %q", knob, value)
		}
	}
	switch {
	case cut(knob, knobAffinity, &rest):
		threads, err := env.threads(rest)
		for _, t := range threads {
			err = errors.Join(err, env.Place(t.PID, cpus))
		}
		return err
	case cut(knob, knobIRQ, &rest):
		n, err := irqNumber(rest)
		if err != nil {
			return err
		}
		return sysfs.SetIRQAffinity(env.Proc, n, cpus)
	case cut(knob, knobRPS, &rest):
		iface, queue, _ := strings.Cut(rest, "/")
		return sysfs.SetRPS(env.Sys, iface, queue, cpus)
	}
	return fmt.Errorf("unknown knob %q", knob)
}

// threads are the NAPI threads of a name. Hidden netdevs share theirs, and then
// their threads share a fate.
func (env Env) threads(name string) ([]sysfs.Thread, error) {
	all, err := sysfs.NAPIThreads(env.Proc)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(all, func(t sysfs.Thread) bool { return t.Name != name })
	if len(own) == 0 {
		return nil, fmt.Errorf("thread %s: %w", name, fs.ErrNotExist)
	}
	return own, nil
}

func cut(s, prefix string, rest *string) (found bool) {
	*rest, found = strings.CutPrefix(s, prefix)
	return found
}

func irqNumber(rest string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSuffix(rest, "/affinity"), 10, 31)
	if err != nil {
		return 0, fmt.Errorf("bad interrupt %q", rest)
	}
	return int(n), nil
}

func onOff(on bool, err error) (string, error) {
	if on {
		return "1", err
	}
	return "0", err
}

func cpuList(cpus []int, err error) (string, error) {
	if err == nil && len(cpus) == 0 {
		return noCPUs, nil
	}
	return sysfs.FormatCPUList(cpus), err
}
