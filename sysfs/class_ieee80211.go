package sysfs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"airtuned/tree"
)

// Device is one radio: a wiphy and the device that carries it.
type Device struct {
	// Path identifies the radio: its device's path below /sys, e.g.
	// "devices/pci0000:00/0000:00:00.0/0000:01:00.0". Unlike the phy's name and
	// index it survives a reload and a rename. Where one device carries several
	// wiphys (dual-band mt76) the second and further ones, by phy index, which
	// is the order the driver registers them in, have "#1", "#2"... appended:
	// DevicePath has the bare path.
	Path string
	// Phy is the wiphy's current name: phy0, wl0, radio0.
	Phy string
	// PhyIndex is the kernel's number of the wiphy, which renaming does not
	// change; -1 when unknown.
	PhyIndex int
	// Interfaces are the netdevs of the wiphy, sorted. There may be none.
	Interfaces []string
	// Driver is the name of the device's driver, "" without one.
	Driver string
	// Stack is what the driver is built on.
	Stack Stack
	// Bus is pci, ahb, snoc, sdio, usb, platform or other.
	Bus string
	// Chip is the chip's family name in upper case as ath10k has it, or as
	// the driver at hand names the id; "" when unknown.
	Chip string
	// Family is the ath10k firmware's: "10.2.4", "10.4", "tlv"; else "".
	Family string
	// MaxPending is the default of ath10k's max_num_pending_tx in frames, 0
	// when unknown. It is what the driver's source says, not a reading:
	// firmware with peer flow control has 2500.
	MaxPending int
	// IRQs are the device's interrupt numbers, sorted, as far as sysfs tells:
	// PCI only.
	IRQs []int
}

// DevicePath is Path without the suffix that tells wiphys on one device apart.
func (d Device) DevicePath() string {
	p, _, _ := strings.Cut(d.Path, "#")
	return p
}

// IsATH10K reports whether ath10k drives the radio, on whatever bus.
func (d Device) IsATH10K() bool { return strings.HasPrefix(d.Driver, "ath10k_") }

// ErrNoWireless means that the kernel has no wireless devices at all: cfg80211
// is neither built in nor loaded.
var ErrNoWireless = errors.New("no class/ieee80211: cfg80211 is not loaded")

// Devices lists the radios of class/ieee80211, sorted by path. One that
// vanishes while it is looked at is left out. An error on one radio hides no
// other: the list holds those that could be read even then. Without
// class/ieee80211 the error is ErrNoWireless.
//
// Source: net/wireless/sysfs.c.
func Devices(sys tree.FS) ([]Device, error) {
	phys, err := Phys(sys)
	if err != nil {
		return nil, err
	}
	return readDevices(sys, phys, netdevsByPhy(sys))
}

// Phys lists the names of the radios there are.
func Phys(sys tree.FS) ([]string, error) {
	phys, err := sys.List("class/ieee80211")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w (%w)", ErrNoWireless, err)
	}
	if err != nil {
		return nil, fmt.Errorf("list radios: %w", err)
	}
	return phys, nil
}

// DeviceOf is the one of Devices with that phy, DeviceAt the one with that
// path. They touch no file of any other device: whoever holds those holds up
// nobody here. Without it the error is fs.ErrNotExist.
func DeviceOf(sys tree.FS, phy string) (Device, error) {
	dir, err := resolve(sys, "class/ieee80211/"+phy)
	var dev string
	if err == nil {
		dev, err = deviceOf(sys, dir)
	}
	if err != nil {
		return Device{}, unread(sys, phy, err)
	}
	return deviceOn(sys, dev, phy, func(d Device) bool { return d.Phy == phy })
}

// DeviceAt is described with DeviceOf.
func DeviceAt(sys tree.FS, path string) (Device, error) {
	dev, _, _ := strings.Cut(path, "#")
	return deviceOn(sys, dev, "", func(d Device) bool { return d.Path == path })
}

// deviceOn finds a radio on a device; phy is one that is known to be on it.
func deviceOn(sys tree.FS, dev, phy string, want func(Device) bool) (Device, error) {
	phys, err := sys.List(dev + "/ieee80211")
	if phy != "" && !slices.Contains(phys, phy) { // a wiphy without a device
		phys, err = []string{phy}, nil
	}
	if err != nil {
		return Device{}, err
	}
	netdevs, _ := sys.List(dev + "/net")
	devices, err := readDevices(sys, phys, netdevsOf(sys, netdevs))
	devices = slices.DeleteFunc(devices, func(d Device) bool { return !want(d) })
	switch {
	case len(devices) > 0:
		return devices[0], nil
	case err != nil:
		return Device{}, err
	}
	return Device{}, fs.ErrNotExist
}

func readDevices(sys tree.FS, phys []string, netdevs map[string][]string) ([]Device, error) {
	var devices []Device
	var errs []error
	for _, phy := range phys {
		d, err := readDevice(sys, phy, netdevs)
		if err == nil {
			devices = append(devices, d)
		} else if err = unread(sys, phy, err); !gone(err) {
			errs = append(errs, err)
		}
	}
	makeUnique(devices)
	return devices, errors.Join(errs...)
}

// unread is the error about a radio that could not be read. One that seems gone
// and is still listed is not: its files are in trouble.
func unread(sys tree.FS, phy string, err error) error {
	if !gone(err) {
		return fmt.Errorf("read radio %s: %w", phy, err)
	}
	if phys, listErr := Phys(sys); listErr != nil && !gone(listErr) || slices.Contains(phys, phy) {
		return fmt.Errorf("read radio %s, which is listed: %v", phy, err)
	}
	return err
}

// makeUnique sorts devices and tells those with the same path apart.
func makeUnique(devices []Device) {
	sort.Slice(devices, func(i, j int) bool {
		a, b := &devices[i], &devices[j]
		return cmp.Or(strings.Compare(a.Path, b.Path), a.PhyIndex-b.PhyIndex, strings.Compare(a.Phy, b.Phy)) < 0
	})
	nth := 0
	for i := 1; i < len(devices); i++ {
		if devices[i].Path != devices[i-1].DevicePath() {
			nth = 0
			continue
		}
		nth++
		devices[i].Path += "#" + strconv.Itoa(nth)
	}
}

func readDevice(sys tree.FS, phy string, netdevs map[string][]string) (Device, error) {
	class := "class/ieee80211/" + phy
	dir, err := resolve(sys, class)
	if err != nil {
		return Device{}, err
	}
	dev, err := deviceOf(sys, dir)
	if err != nil {
		return Device{}, err
	}
	// A link that could not be followed leads to no device.
	if !strings.HasPrefix(dev, "devices/") {
		return Device{}, fmt.Errorf("%s is no device", tree.Join(sys, dev))
	}
	if _, err := sys.List(dev); err != nil {
		return Device{}, err
	}
	d := Device{
		Path:       dev,
		Phy:        phy,
		PhyIndex:   phyIndex(sys, dir, phy),
		Interfaces: netdevs[dir],
		Driver:     boundDriver(sys, dev),
		IRQs:       irqs(sys, dev),
	}
	d.Stack = driverOf(d.Driver).stack
	d.Bus = busOf(sys, dev, d.Driver)
	d.Chip = chipOf(sys, dev, d.Bus)
	if d.IsATH10K() {
		d.Family, d.MaxPending = ath10kFirmware(d.Chip, d.Bus)
	}
	// Only what is still there was read as a whole.
	if again, err := resolve(sys, class); err != nil {
		return Device{}, err
	} else if again != dir {
		return Device{}, fs.ErrNotExist
	}
	return d, nil
}

// deviceOf is the path of the device that carries the wiphy in dir. A wiphy
// without a device is its own.
func deviceOf(sys tree.FS, dir string) (string, error) {
	dev, err := resolve(sys, dir+"/device")
	if err == nil && dev == dir+"/device" {
		return "", fmt.Errorf("%s is no link to a device", tree.Join(sys, dev))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return dev, err
	}
	if _, err := sys.Readlink(dir + "/device"); err == nil {
		return "", fs.ErrNotExist // the link dangles: the device is going
	}
	parent := path.Dir(dir)
	if dev := path.Dir(parent); path.Base(parent) == "ieee80211" && path.Base(dev) != "virtual" && strings.HasPrefix(dev, "devices/") {
		return dev, nil
	}
	return dir, nil
}

func phyIndex(sys tree.FS, dir, phy string) int {
	for _, s := range []string{text(sys, dir+"/index"), strings.TrimPrefix(phy, "phy")} {
		if n, err := strconv.ParseUint(s, 10, 31); err == nil {
			return int(n)
		}
	}
	return -1
}

// netdevsByPhy maps the path of each wiphy to the sorted names of its netdevs.
func netdevsByPhy(sys tree.FS) map[string][]string {
	names, err := sys.List("class/net")
	if err != nil {
		return nil // no netdev can be told: the radios are still there
	}
	return netdevsOf(sys, names)
}

// netdevsOf is netdevsByPhy for some of them.
func netdevsOf(sys tree.FS, names []string) map[string][]string {
	m := make(map[string][]string)
	for _, name := range names {
		if phy, err := resolve(sys, "class/net/"+name+"/phy80211"); err == nil {
			m[phy] = append(m[phy], name)
		}
	}
	return m
}

// irqs lists the interrupts of a PCI device
// (Documentation/ABI/testing/sysfs-bus-pci).
func irqs(sys tree.FS, dev string) []int {
	names, _ := sys.List(dev + "/msi_irqs")
	names = append(names, text(sys, dev+"/irq"))
	var nums []int
	for _, s := range names {
		if n, err := strconv.ParseUint(s, 10, 31); err == nil && n > 0 {
			nums = append(nums, int(n))
		}
	}
	sort.Ints(nums)
	return slices.Compact(nums)
}
