package sysfs

import "airtuned/tree"

// KernelRelease is the running kernel's release, e.g. "6.12.117", "" when it
// cannot be read.
func KernelRelease(proc tree.FS) string { return text(proc, "sys/kernel/osrelease") }

// BootID is a random name of this boot, "" when it cannot be read.
func BootID(proc tree.FS) string { return text(proc, "sys/kernel/random/boot_id") }
