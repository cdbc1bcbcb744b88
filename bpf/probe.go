package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Why programs could not be attached, besides errors of the kernel's own. All
// last as long as the driver stays loaded.
var (
	ErrNotLoaded  = errors.New("ath10k_core is not loaded")
	ErrNoBTF      = errors.New("the kernel does not tell its types (BTF)")
	ErrTypes      = errors.New("this ath10k is not as expected")
	ErrPermission = errors.New("not permitted to load BPF programs: it takes CAP_SYS_ADMIN and the system call bpf")
	ErrRefused    = errors.New("the kernel refused")
	ErrRadios     = fmt.Errorf("more than %d radios", maxRadios)
)

const module = "ath10k_core"

// Counts is what the driver said last about one radio.
type Counts struct {
	// Pending is the number of frames in driver and firmware, Max how many
	// there may be: then the driver stops all queues. Max is 0 until the first
	// frame since Add was sent or completed, and Pending not known.
	Pending, Max int
	// Stops is how often the driver did so since Add.
	Stops uint64
}

// Probe is programs attached to ath10k_core. While it is, that module cannot be
// unloaded; the radios' own, such as ath10k_pci, can. Methods but Counts are
// not for several goroutines at once.
type Probe struct {
	objects *ebpf.Collection
	links   []link.Link
	slots   *ebpf.Memory
	taken   [maxRadios]bool
}

// Attach loads the programs and attaches them to the driver. It takes some
// tenths of a second, for all the kernel's types are looked through.
func Attach() (p *Probe, err error) {
	// What that took is not needed again.
	defer debug.FreeOSMemory()
	types, err := loadTypes("/sys")
	if err != nil {
		return nil, err
	}
	offsets, err := findOffsets(types)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTypes, err)
	}
	p = &Probe{}
	defer func() {
		if err != nil {
			p.Close()
			p, err = nil, explain(err)
		}
	}()
	// The library takes it for a missing function if the types of modules are
	// out of reach.
	if h, err := btf.NewHandleFromID(1); err != nil {
		return p, fmt.Errorf("get the kernel's types: %w", err)
	} else {
		h.Close()
	}
	spec := programs(offsets)
	if p.objects, err = ebpf.NewCollection(spec); err != nil {
		return p, fmt.Errorf("load BPF programs: %w", err)
	}
	if p.slots, err = p.objects.Maps["slots"].Memory(); err != nil {
		return p, fmt.Errorf("map a BPF map: %w", err)
	}
	for name, prog := range p.objects.Programs {
		l, err := link.AttachTracing(link.TracingOptions{Program: prog, AttachType: spec.Programs[name].AttachType})
		if err != nil {
			return p, fmt.Errorf("attach to %s: %w", name, err)
		}
		p.links = append(p.links, l)
	}
	return p, nil
}

// loadTypes loads the types of the driver, be it a module or built in.
func loadTypes(sys string) (*btf.Spec, error) {
	if _, err := os.Stat(sys + "/module/" + module); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotLoaded, err)
	}
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("%w: it has no CONFIG_DEBUG_INFO_BTF: %w", ErrNoBTF, err)
	}
	types, err := btf.LoadKernelModuleSpec(module)
	switch {
	case err == nil:
		return types, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s: %w", ErrNoBTF, module, err)
	}
	if _, ofBuiltIn := kernel.AnyTypeByName(incPending); ofBuiltIn == nil {
		return kernel, nil
	}
	return nil, fmt.Errorf("%w: %s was built without, or the kernel without CONFIG_DEBUG_INFO_BTF_MODULES: %w", ErrNoBTF, module, err)
}

// explain gives an error of the kernel a meaning. The library's text for EPERM
// speaks of limits that kernels with BTF of modules do not have.
func explain(err error) error {
	if errors.Is(err, unix.EPERM) {
		return ErrPermission
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// Add has the programs count for the radio whose directory in sysfs has that
// inode, and returns its slot.
func (p *Probe) Add(inode uint64) (slot int, err error) {
	for slot, taken := range p.taken {
		if !taken {
			p.taken[slot] = true
			p.set(slot, inode)
			return slot, nil
		}
	}
	return 0, ErrRadios
}

// Remove frees a slot.
func (p *Probe) Remove(slot int) {
	p.set(slot, 0)
	p.taken[slot] = false
}

// set gives a slot to a radio. First to none, so that nobody writes to it while
// it is cleared.
func (p *Probe) set(slot int, id uint64) {
	var b [slotSize]byte
	at := int64(slot * slotSize)
	p.slots.WriteAt(b[:8], at) // cannot fail: the range is in the map
	p.slots.WriteAt(b[:], at)
	binary.NativeEndian.PutUint64(b[:], id)
	p.slots.WriteAt(b[:8], at)
}

// Counts returns what is known of a slot's radio.
func (p *Probe) Counts(slot int) Counts {
	var b [slotSize]byte
	p.slots.ReadAt(b[:], int64(slot*slotSize)) // cannot fail: the range is in the map
	i32 := func(at int) int { return int(int32(binary.NativeEndian.Uint32(b[at:]))) }
	return Counts{i32(slotPending), i32(slotMax), binary.NativeEndian.Uint64(b[slotStops:])}
}

// Close detaches the programs.
func (p *Probe) Close() {
	for _, l := range p.links {
		l.Close()
	}
	if p.objects != nil {
		p.objects.Close() // unmaps the slots
	}
	*p = Probe{}
}
