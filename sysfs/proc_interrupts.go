package sysfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"airtuned/tree"
)

// CPUTable is a table of counters with a column for each CPU online.
type CPUTable struct {
	CPUs []int
	Rows []CPURow
}

// CPURow is one row of a CPUTable. Label is what stands before the colon: the
// number of an interrupt, or a name.
type CPURow struct {
	Label string
	// Counts are since boot, in the order of the table's CPUs. Rows of another
	// kind (ERR) have fewer.
	Counts []uint64
	// Text is what follows the counters: chip, pin and the names of those who
	// handle the interrupt.
	Text string
}

// Row returns the row with that label, nil if there is none.
func (t CPUTable) Row(label string) *CPURow {
	for i := range t.Rows {
		if t.Rows[i].Label == label {
			return &t.Rows[i]
		}
	}
	return nil
}

// Handler reports whether an interrupt is handled under that name: shared ones
// have several ("uhci_hcd:usb1, ath10k_pci").
func (r CPURow) Handler(name string) bool {
	for part := range strings.SplitSeq(r.Text, ",") {
		f := strings.Fields(part)
		if len(f) > 0 && f[len(f)-1] == name {
			return true
		}
	}
	return false
}

var errNoHeader = errors.New("the first line names no CPUs")

// ParseInterrupts reads /proc/interrupts. Several interrupts may have the same
// handler: two radios of one driver do.
//
// Source: kernel/irq/proc.c, show_interrupts:
// " 44:    1203345          0   PCI-MSI 524288-edge      ath10k_pci".
func ParseInterrupts(s string) (CPUTable, error) { return parseCPUTable("interrupts", s) }

// ReadInterrupts is ParseInterrupts on the file.
func ReadInterrupts(proc tree.FS) (CPUTable, error) {
	return readCPUTable(proc, "interrupts", ParseInterrupts)
}

func readCPUTable(proc tree.FS, file string, parse func(string) (CPUTable, error)) (CPUTable, error) {
	b, err := tree.Read(proc, file)
	if err != nil {
		return CPUTable{}, err
	}
	return parse(string(b))
}

func parseCPUTable(what, s string) (CPUTable, error) {
	header, rest, _ := strings.Cut(s, "\n")
	var t CPUTable
	for _, f := range strings.Fields(header) {
		id, ok := strings.CutPrefix(f, "CPU")
		n, err := strconv.ParseUint(id, 10, 16)
		if !ok || err != nil || n >= maxCPU {
			return CPUTable{}, fmt.Errorf("%s: %w: %q", what, errNoHeader, header)
		}
		t.CPUs = append(t.CPUs, int(n))
	}
	if t.CPUs == nil {
		return CPUTable{}, fmt.Errorf("%s: %w: %q", what, errNoHeader, header)
	}
	for line := range strings.Lines(rest) {
		label, text, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		r := CPURow{Label: strings.TrimSpace(label)}
		for len(r.Counts) < len(t.CPUs) {
			text = strings.TrimLeft(text, " \t")
			word := text
			if i := strings.IndexAny(text, " \t\n"); i >= 0 {
				word = text[:i]
			}
			n, err := strconv.ParseUint(word, 10, 64)
			if err != nil {
				break
			}
			r.Counts = append(r.Counts, n)
			text = text[len(word):]
		}
		r.Text = strings.TrimSpace(text)
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}
