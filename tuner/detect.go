package tuner

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"airtuned/debugfs"
	"airtuned/nl80211"
	"airtuned/sysfs"
	"airtuned/tree"
	"airtuned/wlan"
)

// Codes of warnings, as in Warning.Code, besides those of debugfs.Cause.
const (
	WarnNoWireless     = "no-wireless"
	WarnUnreadable     = "unreadable"
	WarnBlocked        = "blocked"
	WarnNoNetlink      = "no-netlink"
	WarnAQLUnsupported = "aql-unsupported"
	WarnAQLUnknown     = "aql-unknown"
	WarnAQLBlind       = "aql-blind"
	WarnAQLDisabled    = "aql-disabled"
	WarnUnknownChip    = "unknown-chip"
	WarnBus            = "bus-bound"
	WarnMesh           = "mesh"
	WarnFourAddr       = "four-address"
	WarnVirtualTime    = "virtual-time"
)

// Detect finds every radio and what can be tuned on it. What cannot be found
// out is in the warnings; an error means that the system could not be looked
// at at all.
func Detect(env Env, choose Chooser) (Detection, error) {
	return (&Detector{Env: env, Choose: choose, Within: detectWithin}).Detect()
}

// Detector detects radios again and again. They are looked at side by side, so
// that one that blocks in the kernel hides no other. That one is not looked at
// again before the first look has ended: each holds a thread.
type Detector struct {
	Env    Env
	Choose Chooser
	// Within is how long a radio may take. Of one that takes longer only what
	// was found out by then is told.
	Within time.Duration

	looks map[string]*look // under way, by phy
}

// detectWithin is how long a radio may take that is detected once. ath10k holds
// all readers for 5 s while it flushes the queue of a dead client.
const detectWithin = 7 * time.Second

// look is the detection of one radio.
type look struct {
	// device gets what sysfs told, ended the rest.
	device chan sysfs.Device
	ended  chan detected
	known  *sysfs.Device
}

// detected is one radio as detected.
type detected struct {
	radio    Radio
	warnings []Warning
	err      error // there is no radio
}

// Detect is the function of that name.
func (d *Detector) Detect() (Detection, error) {
	out := Detection{Radios: []Radio{}, Warnings: []Warning{}}
	phys, err := sysfs.Phys(d.Env.Sys)
	if errors.Is(err, sysfs.ErrNoWireless) {
		out.Warnings = append(out.Warnings, Warning{"", WarnNoWireless, "no wireless driver is loaded: " + err.Error()})
		return out, nil
	}
	if err != nil {
		return out, err
	}
	air, err := readNetlink(d.Env.Netlink)
	if err != nil {
		out.Warnings = append(out.Warnings, Warning{"", WarnNoNetlink, err.Error()})
	}
	_, debugErr := debugfs.Phys(d.Env.Debug)
	if debugErr != nil && len(phys) > 0 {
		out.Warnings = append(out.Warnings, Warning{"", debugfs.CauseOf(debugErr).String(), explain(debugErr)})
	}
	var errs []error
	for i, found := range d.lookAt(phys, air, debugErr) {
		if found.err != nil {
			if !errors.Is(found.err, fs.ErrNotExist) && !errors.Is(found.err, unix.ENODEV) {
				errs = append(errs, found.err)
				out.Unread = append(out.Unread, phys[i])
			}
			continue
		}
		if found.radio.Path == "" {
			out.Unread = append(out.Unread, phys[i])
		} else {
			found.radio.Policy = d.Choose(found.radio).Policy
			out.Radios = append(out.Radios, found.radio)
		}
		out.Warnings = append(out.Warnings, found.warnings...)
	}
	sort.Slice(out.Radios, func(i, j int) bool { return out.Radios[i].Path < out.Radios[j].Path })
	if err := errors.Join(errs...); err != nil {
		if len(out.Radios) == 0 {
			return out, err
		}
		out.Warnings = slices.Insert(out.Warnings, 0, Warning{"", WarnUnreadable, strings.ReplaceAll(err.Error(), "\n", "; ")})
	}
	return out, nil
}

// lookAt looks at radios side by side.
func (d *Detector) lookAt(phys []string, air airwaves, debugErr error) []detected {
	if d.looks == nil {
		d.looks = map[string]*look{}
	}
	for _, phy := range phys {
		if d.looks[phy] != nil {
			continue
		}
		l := &look{device: make(chan sysfs.Device, 1), ended: make(chan detected, 1)}
		d.looks[phy] = l
		go func() {
			dev, err := sysfs.DeviceOf(d.Env.Sys, phy)
			if err != nil {
				l.ended <- detected{err: err}
				return
			}
			l.device <- dev
			r, warnings := detectRadio(d.Env, dev, air, debugErr)
			l.ended <- detected{radio: r, warnings: warnings}
		}()
	}
	timeout := time.NewTimer(d.Within)
	defer timeout.Stop()
	all := make([]detected, len(phys))
	late := false
	for i, phy := range phys {
		l := d.looks[phy]
		if !late {
			select {
			case all[i] = <-l.ended:
				delete(d.looks, phy)
				continue
			case <-timeout.C:
				late = true
			}
		}
		select {
		case all[i] = <-l.ended:
			delete(d.looks, phy)
		default:
			all[i] = d.blocked(phy, l)
		}
	}
	return all
}

// blocked is what can be told of a radio whose look has not ended.
func (d *Detector) blocked(phy string, l *look) detected {
	select {
	case dev := <-l.device:
		l.known = &dev
	default:
	}
	var r Radio
	driver := ""
	if l.known != nil {
		r, driver = radioOf(*l.known), l.known.Driver
	}
	r.AQL.Reason = fmt.Sprintf("reading its files has blocked in the kernel for %v: see dmesg, reload the %s driver", d.Within, orElse(driver, "radio's"))
	return detected{radio: r, warnings: []Warning{{phy, WarnBlocked, r.AQL.Reason}}}
}

// radioOf is what sysfs tells of a radio.
func radioOf(dev sysfs.Device) Radio {
	r := Radio{
		Path: dev.Path, Phy: dev.Phy, Driver: dev.Driver, Bus: dev.Bus, Chip: dev.Chip,
		Interfaces: []Interface{},
		AQL:        AQL{Limits: map[string]wlan.Limit{}},
		Queue:      Queue{Source: SourceNone},
		NAPI:       NAPI{Mode: sysfs.NAPIUnknown},
	}
	for _, name := range dev.Interfaces {
		r.Interfaces = append(r.Interfaces, Interface{Name: name})
	}
	r.Index = dev.PhyIndex
	return r
}

// detectAt is Detect for one radio, and its phy's index. It touches no file of
// any other radio in debugfs: one that blocks there blocks nobody else. The
// error is fs.ErrNotExist if the radio is not there.
func detectAt(env Env, path string) (Radio, int, error) {
	dev, err := findDevice(env, path)
	if err != nil {
		return Radio{}, -1, err
	}
	air, _ := readNetlink(env.Netlink) // Detect has warned
	_, debugErr := debugfs.Phys(env.Debug)
	r, _ := detectRadio(env, dev, air, debugErr)
	return r, dev.PhyIndex, nil
}

// findDevice finds a radio by its device path. That others cannot be read does
// not matter.
func findDevice(env Env, path string) (sysfs.Device, error) {
	if dev, err := sysfs.DeviceAt(env.Sys, path); err == nil {
		return dev, nil
	}
	devices, err := sysfs.Devices(env.Sys)
	i := slices.IndexFunc(devices, func(d sysfs.Device) bool { return d.Path == path })
	switch {
	case i >= 0:
		return devices[i], nil
	case err != nil:
		return sysfs.Device{}, fmt.Errorf("find %s: %w", path, err)
	}
	return sysfs.Device{}, fmt.Errorf("find %s: %w", path, fs.ErrNotExist)
}

// airwaves is what netlink said about all radios, by name of wiphy.
type airwaves struct {
	known      bool
	wiphys     map[string]nl80211.Wiphy
	interfaces map[int][]nl80211.Interface // by index of wiphy
	firmware   func(ifname string) (string, error)
}

func readNetlink(n Netlink) (airwaves, error) {
	if n == nil {
		return airwaves{}, nil
	}
	wiphys, err := n.Wiphys()
	if err != nil {
		return airwaves{}, fmt.Errorf("list wiphys through nl80211: %w", err)
	}
	interfaces, err := n.Interfaces()
	if err != nil {
		return airwaves{}, fmt.Errorf("list interfaces through nl80211: %w", err)
	}
	a := airwaves{true, map[string]nl80211.Wiphy{}, map[int][]nl80211.Interface{}, n.Firmware}
	for _, w := range wiphys {
		a.wiphys[w.Name] = w
	}
	for _, i := range interfaces {
		a.interfaces[i.Wiphy] = append(a.interfaces[i.Wiphy], i)
	}
	return a, nil
}

func detectRadio(env Env, dev sysfs.Device, air airwaves, debugErr error) (Radio, []Warning) {
	r := radioOf(dev)
	var warnings []Warning
	warn := func(code, format string, args ...any) {
		warnings = append(warnings, Warning{r.Phy, code, fmt.Sprintf(format, args...)})
	}

	wiphy, onAir := air.wiphys[dev.Phy]
	interfaces := map[string]Interface{}
	for _, i := range air.interfaces[wiphy.Index] {
		if onAir && i.Name != "" {
			interfaces[i.Name] = Interface{Type: i.Type, FourAddr: i.FourAddr}
		}
	}
	names := slices.Clone(dev.Interfaces)
	for name := range interfaces {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	r.Interfaces = []Interface{}
	for _, name := range names {
		i := interfaces[name]
		i.Name = name
		i.Index, _ = sysfs.IfIndex(env.Sys, name)
		r.Interfaces = append(r.Interfaces, i)
		if r.Firmware == "" && air.known {
			// Older drivers have no version to tell: then it stays unknown.
			r.Firmware, _ = air.firmware(name)
		}
	}

	napi := sysfs.ReadNAPI(env.Sys, env.Proc, dev)
	r.NAPI = NAPI{Mode: napi.Mode, Settable: napi.Settable, Reason: napi.Reason}

	phy := debugfs.NewPhy(env.Debug, dev.Phy)
	if debugErr == nil {
		debugErr = phy.Built()
		if debugErr != nil {
			warn(debugfs.CauseOf(debugErr).String(), "%s", explain(debugErr))
		}
	}
	r.AQL, warnings = detectAQL(env, dev, phy, debugErr, warnings)
	if onAir {
		supported := wiphy.AQL
		r.AQL.Supported = &supported
	} else if debugErr == nil {
		r.AQL.Supported = aqlFromStations(phy)
	}
	switch {
	case r.AQL.Supported != nil && !*r.AQL.Supported:
		r.AQL.Reason = orElse(r.AQL.Reason, fmt.Sprintf("the %s driver does not use AQL: limits have no effect", orElse(r.Driver, "radio's")))
		warn(WarnAQLUnsupported, "%s", r.AQL.Reason)
	case r.AQL.Supported == nil && debugErr == nil && !setsAQL(dev.Driver):
		r.AQL.Reason = orElse(r.AQL.Reason, fmt.Sprintf("without netlink it cannot be known whether the %s driver uses AQL", orElse(r.Driver, "radio's")))
		warn(WarnAQLUnknown, "%s", r.AQL.Reason)
	}
	if debugErr == nil || debugfs.CauseOf(debugErr) == debugfs.NotBuilt {
		r.Queue = detectQueue(env.Debug, phy, r.AQL.Supported)
		r.Features = detectFeatures(phy, r.Queue.BPF != nil)
		r.NAPI = r.patchedNAPI()
	}
	if dev.IsATH10K() {
		if dev.Chip == "" {
			warn(WarnUnknownChip, "an ath10k radio with an id not known here: it gets the default profile")
		}
		if dev.Family == "tlv" {
			next := "airtuned observes until it sees otherwise; " + adviceQueue
			if r.Features.Has(FeatureQueue) {
				next = "airtuned limits frames instead (tx_queue_limit) until it sees otherwise"
			}
			warn(WarnAQLBlind, "firmware of %s reports no tx rates: AQL counts no airtime, and its limits do nothing; %s", orElse(dev.Chip, "this family"), next)
		}
	}
	r.VirtualTime = debugErr == nil && virtualTime(phy)
	if r.VirtualTime {
		warn(WarnVirtualTime, "this kernel schedules airtime by virtual time, which starves stations of some ath10k firmware: no limit goes below %v; Linux before 5.14 or from 6.0 on does not", wideMin)
	}
	if r.IsMesh() {
		warn(WarnMesh, "each peer of a mesh carries many users: airtuned observes unless the configuration names a policy for this radio")
	}
	if r.IsFourAddr() {
		warn(WarnFourAddr, "a 4-address link carries many hosts behind one station: no limit goes below %v", wideMin)
	}
	if dev.Bus == "sdio" || dev.Bus == "usb" {
		warn(WarnBus, "on %s the bus is the bottleneck, not the air: airtuned observes unless the configuration says otherwise", strings.ToUpper(dev.Bus))
	}
	return r, warnings
}

func detectAQL(env Env, dev sysfs.Device, phy *debugfs.Phy, debugErr error, warnings []Warning) (AQL, []Warning) {
	a := AQL{Limits: map[string]wlan.Limit{}}
	if debugErr != nil {
		a.Reason = explain(debugErr)
		return a, warnings
	}
	limits, err := phy.AQLTxqLimit()
	if err != nil {
		a.Reason = explain(err)
		return a, append(warnings, Warning{dev.Phy, debugfs.CauseOf(err).String(), a.Reason})
	}
	for _, ac := range wlan.ACs {
		if limits.Has[ac] {
			a.Limits[ac.String()] = limits.Limits[ac]
		}
	}
	// Not readable under lockdown; then it is simply not known.
	a.ThresholdUs, _ = phy.AQLThreshold()
	if err := tree.CanWrite(env.Debug, "ieee80211/"+dev.Phy+"/aql_txq_limit"); err != nil {
		a.Reason = explain(err)
		return a, append(warnings, Warning{dev.Phy, debugfs.CauseOf(err).String(), a.Reason})
	}
	a.Writable = true
	if on, err := phy.AQLEnable(); err == nil && !on {
		a.Reason = "AQL is switched off for all radios (aql_enable is 0): limits have no effect until it is 1 again"
		warnings = append(warnings, Warning{dev.Phy, WarnAQLDisabled, a.Reason})
	}
	return a, warnings
}

// aqlFromStations tells from a station's folder whether the driver uses AQL:
// the file aql is there only if it does (net/mac80211/debugfs_sta.c,
// ieee80211_sta_debugfs_add). Without a station it cannot be known, and one that
// has just left has no files either.
func aqlFromStations(phy *debugfs.Phy) (has *bool) {
	eachStation(phy, func(netdev string, mac wlan.MAC) bool {
		_, err := phy.StationAQL(netdev, mac)
		if debugfs.CauseOf(err) == debugfs.Absent {
			_, err = phy.StationAQL(netdev, mac)
		}
		macs, _ := phy.Stations(netdev)
		if err == nil || debugfs.CauseOf(err) == debugfs.Absent && slices.Contains(macs, mac) {
			known := err == nil
			has = &known
		}
		return has == nil
	})
	return has
}

// virtualTime tells from a station's airtime file, which has no deficit then,
// whether airtime is scheduled by virtual time (net/mac80211 of 5.14 to 5.19
// and some backports).
func virtualTime(phy *debugfs.Phy) (yes bool) {
	eachStation(phy, func(netdev string, mac wlan.MAC) bool {
		a, err := phy.StationAirtime(netdev, mac)
		yes = err == nil && !a.HasDeficit
		return err != nil
	})
	return yes
}

// eachStation calls f with each station of a radio until it returns false.
func eachStation(phy *debugfs.Phy, f func(netdev string, mac wlan.MAC) bool) {
	netdevs, err := phy.Netdevs()
	if err != nil {
		return
	}
	for _, netdev := range netdevs {
		macs, err := phy.Stations(netdev)
		if err != nil {
			continue
		}
		for _, mac := range macs {
			if !f(netdev, mac) {
				return
			}
		}
	}
}

func detectQueue(debug tree.FS, phy *debugfs.Phy, supported *bool) Queue {
	byBPF := queueBPF(debug, phy.Name())
	q := Queue{Source: SourceNone, BPF: byBPF}
	max, err := phy.MaxNumPendingTx()
	if err == nil {
		q.Pending, err = phy.NumPendingTx()
	}
	if err == nil || byBPF != nil && byBPF.Counting {
		q.Source, q.Max = SourceFrames, max
		return q
	}
	if supported == nil || *supported {
		if p, err := phy.AQLPending(); err == nil {
			q.Source, q.Pending = SourceAirtime, int(p.TotalUs)
		}
	}
	return q
}

// adviceQueue is what helps where AQL is blind.
const adviceQueue = "a kernel patch would let it limit frames instead (docs/kernel-patches.md, tx_queue_limit)"

// detectFeatures reads what a patched kernel offers. Frames that BPF counts are
// no file of the kernel's.
func detectFeatures(phy *debugfs.Phy, byBPF bool) Features {
	f := Features{}
	number := func(name string, read func() (int, error)) {
		if v, err := read(); err == nil {
			f[name] = v
		}
	}
	if !byBPF {
		number(FeaturePending, phy.NumPendingTx)
		number(FeatureMax, phy.MaxNumPendingTx)
	}
	number(FeatureQueue, phy.TxQueueLimit)
	number(FeaturePacing, phy.TxSkPacingShift)
	number(FeatureWake, phy.TxWakePercent)
	number(FeatureThreaded, func() (int, error) {
		on, err := phy.NapiThreaded()
		return boolInt(on), err
	})
	return f
}

// queueBPF asks a debugfs that counts frames itself (package bpf).
func queueBPF(debug tree.FS, phy string) *QueueBPF {
	counter, ok := debug.(interface {
		BPF(phy string) (counting bool, stops uint64, err error)
	})
	if !ok {
		return nil
	}
	counting, stops, err := counter.BPF(phy)
	switch {
	case err != nil:
		return &QueueBPF{Reason: err.Error()}
	case counting:
		return &QueueBPF{Counting: true, Stops: stops}
	}
	return nil
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// setsAQL reports whether a driver is known to set NL80211_EXT_FEATURE_AQL:
// ath10k (ath10k_mac_register, every chip) and mt76 do, no other in 5.10 to 7.3.
func setsAQL(driver string) bool {
	return strings.HasPrefix(driver, "ath10k_") || strings.HasPrefix(driver, "mt7")
}
