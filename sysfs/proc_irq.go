package sysfs

import (
	"fmt"
	"strconv"

	"airtuned/tree"
)

// IRQAffinity is the set of CPUs that an interrupt may come to.
//
// Source: /proc/irq/N/smp_affinity_list, kernel/irq/proc.c.
func IRQAffinity(proc tree.FS, irq int) ([]int, error) {
	return irqCPUs(proc, irq, "smp_affinity_list")
}

// EffectiveIRQAffinity is the set of CPUs that it does come to: most interrupt
// controllers pick one of those allowed. It is empty for one that never was on.
func EffectiveIRQAffinity(proc tree.FS, irq int) ([]int, error) {
	return irqCPUs(proc, irq, "effective_affinity_list")
}

func irqCPUs(proc tree.FS, irq int, file string) ([]int, error) {
	s, err := tree.ReadString(proc, irqFile(irq, file))
	if err != nil {
		return nil, fmt.Errorf("read where an interrupt comes to: %w", err)
	}
	cpus, err := ParseCPUList(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tree.Join(proc, irqFile(irq, file)), err)
	}
	return cpus, nil
}

// SetIRQAffinity changes which CPUs an interrupt may come to. The kernel
// answers EIO for interrupts that it places itself, and EINVAL when none of
// the CPUs is online.
func SetIRQAffinity(proc tree.FS, irq int, cpus []int) error {
	err := proc.Write(irqFile(irq, "smp_affinity_list"), []byte(FormatCPUList(cpus)))
	if err != nil {
		return fmt.Errorf("move an interrupt: %w", err)
	}
	return nil
}

func irqFile(irq int, file string) string { return "irq/" + strconv.Itoa(irq) + "/" + file }
