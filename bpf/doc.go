// Package bpf counts the frames that ath10k has handed to its firmware on a
// kernel as it comes, where no file in debugfs tells: BPF programs on the
// driver's own functions note num_pending_tx each time it changes, in memory
// that this process shares. A sample is then a load, without a system call.
//
// The kernel needs BTF, its own and that of ath10k_core, from which the places
// of all fields are read; neither a compiler nor headers are needed. Routers'
// kernels have no BTF, and the binary for them does not link this package: only
// a build with the tag bpf does (docs/bpf.md).
//
// Nothing in the kernel is changed, and no limit set.
package bpf
