//go:build ignore

// Strip makes a fixture from the types (section .BTF) of a kernel and its
// ath10k_core: the functions that package bpf attaches to, and of each struct
// on its way the fields that it reads, where they are.
//
//	objcopy --dump-section .BTF=core.btf ath10k_core.ko /dev/null
//	objcopy --dump-section .BTF=vmlinux.btf vmlinux /dev/null
//	go run strip.go vmlinux.btf core.btf 6.1.btf
package main

import (
	"bytes"
	"log"
	"os"
	"slices"

	"github.com/cilium/ebpf/btf"
)

var (
	functions = []string{"ath10k_htt_tx_inc_pending", "ath10k_htt_tx_dec_pending", "ath10k_mac_tx_lock"}
	fields    = map[string][]string{
		"ath10k_htt":   {"ar", "max_num_pending_tx", "num_pending_tx"},
		"ath10k":       {"hw"},
		"ieee80211_hw": {"wiphy"},
		"wiphy":        {"dev"},
		"device":       {"kobj"},
		"kobject":      {"sd"},
		"kernfs_node":  {"id"},
	}
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: strip VMLINUX.BTF MODULE.BTF OUT.BTF")
	}
	kernel, err := btf.LoadSpecFromReader(bytes.NewReader(read(os.Args[1])))
	check(err)
	types, err := btf.LoadSplitSpecFromReader(bytes.NewReader(read(os.Args[2])), kernel)
	check(err)
	s := stripper{}
	var keep []btf.Type
	for _, name := range functions {
		var f *btf.Func
		check(types.TypeByName(name, &f))
		keep = append(keep, s.strip(f))
	}
	b, err := btf.NewBuilder(keep, nil)
	check(err)
	out, err := b.Marshal(nil, nil)
	check(err)
	check(os.WriteFile(os.Args[3], out, 0o644))
}

// stripper holds the copies made so far: structs point at each other.
type stripper map[btf.Type]btf.Type

func (s stripper) strip(t btf.Type) btf.Type {
	if c, ok := s[t]; ok {
		return c
	}
	switch t := t.(type) {
	case *btf.Func:
		c := *t
		c.Type = s.strip(t.Type)
		return &c
	case *btf.FuncProto:
		c := *t
		c.Params = slices.Clone(t.Params)
		for i := range c.Params {
			c.Params[i].Type = s.strip(c.Params[i].Type)
		}
		return &c
	case *btf.Pointer:
		c := *t
		c.Target = s.strip(t.Target)
		return &c
	case *btf.Struct:
		c := *t
		s[t] = &c
		c.Members = nil
		for _, m := range t.Members {
			if slices.Contains(fields[t.Name], m.Name) {
				m.Type = s.strip(m.Type)
				c.Members = append(c.Members, m)
			}
		}
		return &c
	}
	return t
}

func read(name string) []byte {
	b, err := os.ReadFile(name)
	check(err)
	return b
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
