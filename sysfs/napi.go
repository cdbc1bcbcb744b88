package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"airtuned/tree"
)

// How a radio's NAPI is polled.
const (
	NAPISoftirq        = "softirq"         // in softirq context, on whatever CPU the interrupt came to
	NAPIThreaded       = "threaded"        // by kernel threads, switched on through the netdev
	NAPIDriverThreaded = "driver-threaded" // by kernel threads the driver asked for
	NAPIUnknown        = "unknown"
)

// NAPI is how a radio's frames are received and its completions handled.
type NAPI struct {
	Mode string
	// Settable is set when the netdev's threaded file is worth a try: there is
	// one, the driver is not known to keep its NAPI elsewhere, and a second CPU
	// can take the work. Whether it does anything only trying tells.
	Settable bool
	// Reason is one plain sentence on the above, without a full stop.
	Reason string
	// Owner is the netdev the NAPI is registered with, e.g. "wlan0" or "a hidden
	// netdev of ath10k_pci"; "" when there is none or it is not known.
	Owner string
	// Threads are the kernel threads that poll it.
	Threads []Thread
	// Ambiguous is set when the mode rests on threads that other radios' NAPIs
	// could own just as well: hidden netdevs share one name.
	Ambiguous bool
}

// The names of the netdevs that drivers hide (net/core/dev.c): init_dummy_netdev
// gave none, alloc_netdev_dummy of Linux 6.10 and later gives "dummy#".
var hiddenNames = []string{"", "dummy#"}

// ReadNAPI finds out how the NAPI of radio d is polled, from the driver it has,
// the threads in /proc and its netdevs' threaded files. It never writes.
//
// The threaded file of a wireless netdev says nothing by itself: drivers
// register NAPI with a hidden netdev, which has no name, index or file, and may
// thread it on their own. Threads are the only evidence then.
func ReadNAPI(sys, proc tree.FS, d Device) NAPI {
	threads, err := NAPIThreads(proc)
	switch driverOf(d.Driver).napi {
	case napiNone:
		return NAPI{Mode: NAPISoftirq, Reason: d.Driver + " uses no NAPI: there is nothing to thread"}
	case napiNameless, napiPhyNamed:
		return hiddenNAPI(sys, d, threads, err)
	}
	return netdevNAPI(sys, proc, d, threads, err)
}

// hiddenNAPI is for drivers known to keep NAPI on a hidden netdev.
func hiddenNAPI(sys tree.FS, d Device, threads []Thread, err error) NAPI {
	n := NAPI{Owner: "a hidden netdev of " + d.Driver}
	why := d.Driver + " keeps its NAPI on a hidden netdev; "
	if len(d.Interfaces) > 0 {
		why += "/sys/class/net/" + d.Interfaces[0] + "/threaded cannot reach it"
	} else {
		why += d.Phy + " has no netdev of its own either"
	}
	if err != nil {
		n.Mode, n.Reason = NAPIUnknown, why+", and whether it is threaded cannot be told: "+err.Error()
		return n
	}
	if own := threadsNamed(threads, phyNames(sys, d)...); len(own) > 0 {
		return n.driverThreaded(d.Driver+" threads its NAPI itself", own)
	}
	shared := threadsNamed(threads, hiddenNames...)
	if driverOf(d.Driver).napi == napiPhyNamed {
		shared = nil // its threads would have borne the phy's name
	}
	if len(shared) == 0 {
		n.Mode, n.Reason = NAPISoftirq, why
		if threadsItself(d) {
			n.Reason += "; the driver threads it since Linux 6.4, once the radio is up, but no such thread is running"
		}
		return n
	}
	rivals := sharing(sys, d)
	n.Ambiguous = len(rivals) > 0
	self := slices.IndexFunc(rivals, threadsItself)
	switch {
	case threadsItself(d):
		n = n.driverThreaded(d.Driver+" threads its NAPI itself", shared)
		if n.Ambiguous {
			n.Reason += ", though " + rivals[0].Phy + " hides a netdev of the same name"
		}
	case len(rivals) == 0:
		n = n.driverThreaded(d.Driver+" seems to thread its NAPI, as no other radio hides a netdev of that name", shared)
	case self >= 0:
		n.Mode = NAPISoftirq
		n.Reason = fmt.Sprintf("%s; thread %s is taken to be that of %s, whose driver threads its NAPI", why, shared[0].Name, rivals[self].Phy)
	default:
		n.Mode = NAPIUnknown
		n.Reason = fmt.Sprintf("%s, and whether thread %s is its own or that of %s cannot be told", why, shared[0].Name, rivals[0].Phy)
	}
	return n
}

func (n NAPI) driverThreaded(who string, threads []Thread) NAPI {
	n.Mode, n.Threads = NAPIDriverThreaded, threads
	n.Reason = fmt.Sprintf("%s: %s is running (PID %d)", who, threads[0].Name, threads[0].PID)
	return n
}

// netdevNAPI is for drivers not known: their netdevs' files may mean something.
func netdevNAPI(sys, proc tree.FS, d Device, threads []Thread, threadsErr error) NAPI {
	if own := threadsNamed(threads, phyNames(sys, d)...); len(own) > 0 {
		return NAPI{Owner: "a hidden netdev of " + driverName(d)}.driverThreaded(driverName(d)+" threads its NAPI itself", own)
	}
	if len(d.Interfaces) == 0 {
		return NAPI{Mode: NAPIUnknown, Reason: d.Phy + " has no netdev, so there is no threaded file to look at"}
	}
	var off string // a netdev that has the file, at 0
	var errs []error
	for _, iface := range d.Interfaces {
		on, err := Threaded(sys, iface)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !on:
			off = iface
		case threadsErr != nil:
			return NAPI{Mode: NAPIUnknown, Owner: iface, Reason: "threaded of " + iface + " reads 1, but whether it is cannot be told: " + threadsErr.Error()}
		default:
			own := threadsNamed(threads, iface)
			if len(own) == 0 {
				return NAPI{Mode: NAPIUnknown, Owner: iface, Reason: "threaded of " + iface + " reads 1, but no thread napi/" + iface + "-* is running"}
			}
			return NAPI{
				Mode: NAPIThreaded, Owner: iface, Threads: own, Settable: CPUs(sys, proc) > 1,
				Reason: fmt.Sprintf("threaded of %s reads 1: %s is running (PID %d)", iface, own[0].Name, own[0].PID),
			}
		}
	}
	if off == "" {
		err := errors.Join(errs...)
		if errors.Is(err, fs.ErrNotExist) {
			return NAPI{Mode: NAPISoftirq, Reason: "this kernel has no threaded file for " + d.Interfaces[0] + "; Linux 5.12 and later have it"}
		}
		return NAPI{Mode: NAPIUnknown, Reason: err.Error()}
	}
	n := NAPI{Mode: NAPISoftirq}
	switch cpus := CPUs(sys, proc); cpus {
	case 0:
		n.Reason = "how many CPUs there are is not known, and a NAPI thread needs a second one"
	case 1:
		n.Reason = "there is one CPU: a NAPI thread would only add switches to the work"
	default:
		n.Settable = true
		n.Reason = "where " + driverName(d) + " keeps its NAPI is not known; writing threaded of " + off + " will tell"
	}
	return n
}

// phyNames are the names of hidden netdevs that tell whose they are: that of
// the wiphy, from the time before it was renamed, or of one on the same device,
// as of mt76, or the same after "ath10k_", as OpenWrt forks have it.
func phyNames(sys tree.FS, d Device) []string {
	phys := []string{d.Phy}
	if d.PhyIndex >= 0 {
		phys = append(phys, "phy"+strconv.Itoa(d.PhyIndex))
	}
	siblings, _ := sys.List(d.DevicePath() + "/ieee80211")
	for _, s := range siblings {
		phys = append(phys, s)
		if i := text(sys, d.DevicePath()+"/ieee80211/"+s+"/index"); i != "" {
			phys = append(phys, "phy"+i)
		}
	}
	if d.IsATH10K() {
		for _, p := range slices.Clone(phys) {
			phys = append(phys, "ath10k_"+p)
		}
	}
	return phys
}

// sharing lists the other radios whose drivers hide a netdev of the same name
// as d's.
func sharing(sys tree.FS, d Device) []Device {
	all, _ := Devices(sys) // those that cannot be read compete with nobody
	return slices.DeleteFunc(all, func(o Device) bool {
		return o.DevicePath() == d.DevicePath() || driverOf(o.Driver).napi != napiNameless
	})
}

// threadsItself is true of WCN3990 since Linux 6.4 (ath10k/snoc.c,
// ath10k_snoc_hif_start), and of no other ath10k.
func threadsItself(d Device) bool { return d.Driver == "ath10k_snoc" }

func threadsNamed(threads []Thread, netdevs ...string) []Thread {
	var found []Thread
	for _, t := range threads {
		if slices.ContainsFunc(netdevs, t.polls) {
			found = append(found, t)
		}
	}
	return found
}

func driverName(d Device) string {
	if d.Driver == "" {
		return "the driver"
	}
	return d.Driver
}
