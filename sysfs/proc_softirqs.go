package sysfs

import "airtuned/tree"

// ParseSoftIRQs reads /proc/softirqs: how often each kind of softirq ran, by
// CPU. The network's are NET_RX, which NAPI is, and NET_TX.
//
// Source: fs/proc/softirqs.c, show_softirqs: "      NET_RX:      22683      26919".
func ParseSoftIRQs(s string) (CPUTable, error) { return parseCPUTable("softirqs", s) }

// ReadSoftIRQs is ParseSoftIRQs on the file.
func ReadSoftIRQs(proc tree.FS) (CPUTable, error) {
	return readCPUTable(proc, "softirqs", ParseSoftIRQs)
}
