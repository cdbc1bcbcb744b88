package sysfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"airtuned/tree"
)

// ThreadAffinity is the set of CPUs that a thread may run on.
//
// Source: /proc/PID/status, fs/proc/array.c, task_cpus_allowed.
func ThreadAffinity(proc tree.FS, pid int) ([]int, error) {
	name := strconv.Itoa(pid) + "/status"
	b, err := tree.Read(proc, name)
	if err != nil {
		return nil, fmt.Errorf("read where a thread may run: %w", err)
	}
	cpus, err := parseCPUsAllowed(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", tree.Join(proc, name), err)
	}
	return cpus, nil
}

func parseCPUsAllowed(status string) ([]int, error) {
	for line := range strings.Lines(status) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return ParseCPUList(list)
		}
	}
	return nil, errors.New("no line Cpus_allowed_list")
}

// SetThreadAffinity changes that set, with sched_setaffinity(2): /proc has no
// file for it. Kernel threads have all capabilities: a process that has not needs
// CAP_SYS_NICE (security/commoncap.c, cap_safe_nice).
func SetThreadAffinity(pid int, cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(pid, &set); err != nil {
		return fmt.Errorf("place thread %d: %w", pid, err)
	}
	return nil
}

// Running reports whether a process of that name runs.
func Running(proc tree.FS, comm string) bool {
	names, _ := proc.List(".")
	for _, name := range names {
		if name[0] >= '1' && name[0] <= '9' && text(proc, name+"/comm") == comm {
			return true
		}
	}
	return false
}
