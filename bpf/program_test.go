package bpf

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/google/go-cmp/cmp"
)

// typesOf loads a fixture.
func typesOf(t testing.TB, kernel string) *btf.Spec {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + kernel + ".btf")
	if err != nil {
		t.Fatal(err)
	}
	types, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func TestOffsets(t *testing.T) {
	for kernel, want := range map[string]offsets{
		"6.1":  {ar: 0, max: 360, pending: 364, id: []int16{936, 64, 424, 104}},
		"6.12": {ar: 0, max: 360, pending: 364, id: []int16{936, 64, 424, 96}},
	} {
		got, err := findOffsets(typesOf(t, kernel))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(offsets{})); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", kernel, err, diff)
		}
	}
}

// Each change makes the types others than the programs are for.
func TestOffsetsOfOtherDrivers(t *testing.T) {
	structOf := func(types []btf.Type, name string) *btf.Struct {
		i := slices.IndexFunc(types, func(t btf.Type) bool { return t.TypeName() == name })
		return types[i].(*btf.Struct)
	}
	member := func(s *btf.Struct, name string) *btf.Member {
		return &s.Members[slices.IndexFunc(s.Members, func(m btf.Member) bool { return m.Name == name })]
	}
	for _, tt := range []struct {
		name, want string
		change     func([]btf.Type)
	}{
		{"function inlined", incPending + " has no function of its own", func(types []btf.Type) {
			for _, t := range types {
				if f, ok := t.(*btf.Func); ok && f.Name == incPending {
					f.Name += ".isra.0"
				}
			}
		}},
		{"count renamed", "struct ath10k_htt has no field num_pending_tx", func(types []btf.Type) {
			member(structOf(types, "ath10k_htt"), "num_pending_tx").Name = "pending"
		}},
		{"count of another size", "is of 8 bytes", func(types []btf.Type) {
			member(structOf(types, "ath10k_htt"), "num_pending_tx").Type = &btf.Int{Size: 8}
		}},
		{"count in a bitfield", "has no field num_pending_tx", func(types []btf.Type) {
			member(structOf(types, "ath10k_htt"), "num_pending_tx").BitfieldSize = 31
		}},
		{"far away", "has no field hw", func(types []btf.Type) {
			member(structOf(types, "ath10k"), "hw").Offset = 8 << 15
		}},
		{"wiphy opaque", "no struct", func(types []btf.Type) {
			member(structOf(types, "ieee80211_hw"), "wiphy").Type = &btf.Pointer{Target: &btf.Fwd{Name: "wiphy"}}
		}},
		{"wiphy inside", "no pointer", func(types []btf.Type) {
			member(structOf(types, "ieee80211_hw"), "wiphy").Type = structOf(types, "wiphy")
		}},
		{"no such struct", "struct ath10k_htt", func(types []btf.Type) { structOf(types, "ath10k_htt").Name = "ath11k_htt" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all []btf.Type
			for typ, err := range typesOf(t, "6.12").All() {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, typ)
			}
			tt.change(all)
			b, err := btf.NewBuilder(all, nil)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := b.Marshal(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			types, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			if o, err := findOffsets(types); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %+v, error %v", o, err)
			}
		})
	}
}

// The programs are what they are for: no helper, no write but to the slots.
func TestProgramsOnlyLook(t *testing.T) {
	o, err := findOffsets(typesOf(t, "6.1"))
	if err != nil {
		t.Fatal(err)
	}
	spec := programs(o)
	for name, p := range spec.Programs {
		if p.AttachTo != name || p.Type != ebpf.Tracing {
			t.Errorf("%s: %v attached to %s", name, p.Type, p.AttachTo)
		}
		for i, ins := range p.Instructions {
			if ins.IsFunctionCall() || ins.IsBuiltinCall() {
				t.Errorf("%s: %v calls", name, ins)
			}
			if class := ins.OpCode.Class(); (class == asm.StClass || class == asm.StXClass) && (ins.Dst != asm.R3 || ins.Offset < slotPending) {
				t.Errorf("%s: %d: %v writes", name, i, ins)
			}
		}
	}
	if m := spec.Maps["slots"]; m.ValueSize != maxRadios*slotSize {
		t.Errorf("slots take %d bytes", m.ValueSize)
	}
}
