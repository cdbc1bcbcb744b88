// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only

package bpf

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// The functions of ath10k_core that tell of its queue. All run under
// htt->tx_lock, so that no two of a radio run at once
// (drivers/net/wireless/ath/ath10k/htt_tx.c and mac.c).
const (
	incPending = "ath10k_htt_tx_inc_pending" // (struct ath10k_htt *htt)
	decPending = "ath10k_htt_tx_dec_pending" // (struct ath10k_htt *htt)
	txLock     = "ath10k_mac_tx_lock"        // (struct ath10k *ar, int reason)
)

// maxRadios is how many radios can be told apart.
const maxRadios = 8

// A slot is what the programs and this process share of one radio, in the
// machine's byte order. Programs write to the slot whose id is their radio's:
// the id of the wiphy's node in sysfs, which is the inode of its directory
// there. A driver that comes back has a new wiphy and so another id; pointers
// of the one before lead nowhere.
const (
	slotID      = 0  // u64, 0 if the slot is free
	slotPending = 8  // s32
	slotMax     = 12 // s32
	slotStops   = 16 // u64
	slotSize    = 24
)

// offsets are where the programs find the fields, in bytes.
type offsets struct {
	ar, max, pending int16   // in struct ath10k_htt
	id               []int16 // of the loads from struct ath10k to the wiphy's id
}

// findOffsets reads the offsets from the types of the module, or of the kernel
// if the driver is built in.
func findOffsets(types *btf.Spec) (o offsets, err error) {
	for _, f := range []string{incPending, decPending, txLock} {
		var fn *btf.Func
		if err := types.TypeByName(f, &fn); err != nil {
			return o, fmt.Errorf("%s has no function of its own in this kernel: %w", f, err)
		}
	}
	var htt, ar *btf.Struct
	if err := types.TypeByName("ath10k_htt", &htt); err != nil {
		return o, fmt.Errorf("struct ath10k_htt: %w", err)
	}
	if err := types.TypeByName("ath10k", &ar); err != nil {
		return o, fmt.Errorf("struct ath10k: %w", err)
	}
	for _, f := range []struct {
		name string
		at   *int16
	}{{"ar", &o.ar}, {"max_num_pending_tx", &o.max}, {"num_pending_tx", &o.pending}} {
		at, field, err := fieldOf(htt, f.name)
		if err != nil {
			return o, err
		}
		if size, _ := btf.Sizeof(field); f.at != &o.ar && size != 4 {
			return o, fmt.Errorf("%s of struct ath10k_htt is of %d bytes, not 4", f.name, size)
		}
		*f.at = at
	}
	o.id, err = loads(ar, "hw", "wiphy", "dev.kobj.sd", "id")
	return o, err
}

// loads returns the offsets of the loads that lead from a struct along
// pointers: each path but the last ends at a pointer to the next one's struct.
func loads(t btf.Type, paths ...string) ([]int16, error) {
	var offsets []int16
	for i, path := range paths {
		offset := int16(0)
		for field := range strings.SplitSeq(path, ".") {
			s, ok := btf.UnderlyingType(t).(*btf.Struct)
			if !ok {
				return nil, fmt.Errorf("%s cannot be reached: %v is no struct", field, t)
			}
			at, ft, err := fieldOf(s, field)
			if err != nil {
				return nil, err
			}
			offset, t = offset+at, ft
		}
		offsets = append(offsets, offset)
		if i < len(paths)-1 {
			p, ok := btf.UnderlyingType(t).(*btf.Pointer)
			if !ok {
				return nil, fmt.Errorf("%s is no pointer but %v", path, t)
			}
			t = p.Target
		}
	}
	return offsets, nil
}

func fieldOf(s *btf.Struct, name string) (int16, btf.Type, error) {
	for _, m := range s.Members {
		if m.Name == name && m.BitfieldSize == 0 && m.Offset.Bytes() < 1<<15 {
			return int16(m.Offset.Bytes()), m.Type, nil
		}
	}
	return 0, nil, fmt.Errorf("struct %s has no field %s", s.Name, name)
}

// programs is what is loaded into the kernel: one map of one value, the slots,
// and one program for each function.
func programs(o offsets) *ebpf.CollectionSpec {
	// After the function has run, the count is the new one.
	count := func(function string) *ebpf.ProgramSpec {
		prog := asm.Instructions{
			asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord), // htt
			asm.LoadMem(asm.R2, asm.R6, o.ar, asm.DWord),
		}
		prog = append(prog, o.findSlot()...)
		return program(function, ebpf.AttachTraceFExit, append(prog,
			asm.LoadMem(asm.R4, asm.R6, o.pending, asm.Word).WithSymbol("found"),
			asm.StoreMem(asm.R3, slotPending, asm.R4, asm.Word),
			asm.LoadMem(asm.R4, asm.R6, o.max, asm.Word),
			asm.StoreMem(asm.R3, slotMax, asm.R4, asm.Word),
		))
	}
	stop := append(asm.Instructions{asm.LoadMem(asm.R2, asm.R1, 0, asm.DWord)}, o.findSlot()...)
	stop = append(stop,
		asm.LoadMem(asm.R4, asm.R3, slotStops, asm.DWord).WithSymbol("found"),
		asm.Add.Imm(asm.R4, 1),
		asm.StoreMem(asm.R3, slotStops, asm.R4, asm.DWord),
	)
	return &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{"slots": {
			Name: "airtuned", Type: ebpf.Array, Flags: mmapable,
			KeySize: 4, ValueSize: maxRadios * slotSize, MaxEntries: 1,
		}},
		Programs: map[string]*ebpf.ProgramSpec{
			incPending: count(incPending),
			decPending: count(decPending),
			txLock:     program(txLock, ebpf.AttachTraceFEntry, stop),
		},
	}
}

const mmapable = 1 << 10 // BPF_F_MMAPABLE

func program(function string, at ebpf.AttachType, prog asm.Instructions) *ebpf.ProgramSpec {
	return &ebpf.ProgramSpec{
		Name: strings.TrimPrefix(function, "ath10k_"),
		Type: ebpf.Tracing, AttachType: at, AttachTo: function,
		Instructions: append(prog, asm.Mov.Imm(asm.R0, 0).WithSymbol("done"), asm.Return()),
		// The verifier lets only such programs look into the kernel's structs.
		License: "GPL",
	}
}

// findSlot goes from R2, a struct ath10k, to its slot's address in R3 and on to
// "found", or to "done" if nobody asked for that radio. Each load is checked by
// the verifier against the kernel's types, and one from a bad address yields 0.
func (o offsets) findSlot() asm.Instructions {
	var prog asm.Instructions
	for _, at := range o.id {
		prog = append(prog, asm.LoadMem(asm.R2, asm.R2, at, asm.DWord))
	}
	prog = append(prog,
		asm.JEq.Imm(asm.R2, 0, "done"),
		asm.LoadMapValue(asm.R3, 0, 0).WithReference("slots"),
	)
	for i := range maxRadios {
		if i > 0 {
			prog = append(prog, asm.Add.Imm(asm.R3, slotSize))
		}
		prog = append(prog,
			asm.LoadMem(asm.R4, asm.R3, slotID, asm.DWord),
			asm.JEq.Reg(asm.R4, asm.R2, "found"),
		)
	}
	return append(prog, asm.Ja.Label("done"))
}
