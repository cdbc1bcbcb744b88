package sysfs

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"airtuned/tree"
)

// Thread is a kernel thread that polls one NAPI.
type Thread struct {
	PID int
	// Name is "napi/<netdev>-<id>" (net/core/dev.c, napi_kthread_create), cut at
	// 15 characters before Linux 5.17. The netdev's name is the one it had when
	// the thread was made.
	Name string
}

// polls reports whether the thread belongs to a netdev with that name, which
// may be empty: hidden netdevs had none before Linux 6.10.
func (t Thread) polls(netdev string) bool {
	const commLen = 15 // TASK_COMM_LEN-1
	prefix := "napi/" + netdev + "-"
	if len(t.Name) == commLen && strings.HasPrefix(prefix, t.Name) {
		return true // cut within the netdev's name
	}
	id, ok := strings.CutPrefix(t.Name, prefix)
	if !ok {
		return false
	}
	_, err := strconv.ParseUint(id, 10, 32)
	return err == nil || id == "" && len(t.Name) == commLen
}

// ErrKernelThreadsHidden means that the kernel's threads cannot be seen in
// /proc: it belongs to another PID namespace or is mounted with hidepid.
var ErrKernelThreadsHidden = errors.New("no kernel threads to be seen")

// NAPIThreads lists the kernel threads that poll NAPIs, by rising PID. No
// process of user space is taken for one, whatever its name.
func NAPIThreads(proc tree.FS) ([]Thread, error) {
	if text(proc, "2/comm") != "kthreadd" {
		return nil, fmt.Errorf("%w at %s", ErrKernelThreadsHidden, proc)
	}
	names, err := proc.List(".")
	if err != nil {
		return nil, fmt.Errorf("look for NAPI threads: %w", err)
	}
	var threads []Thread
	for _, name := range names {
		pid, err := strconv.ParseUint(name, 10, 31)
		if err != nil {
			continue
		}
		comm := text(proc, name+"/comm")
		if strings.HasPrefix(comm, "napi/") && isKernelThread(text(proc, name+"/stat")) {
			threads = append(threads, Thread{int(pid), comm})
		}
	}
	sort.Slice(threads, func(i, j int) bool { return threads[i].PID < threads[j].PID })
	return threads, nil
}

// ThreadTicks is for how long a thread has run, in ticks of USER_HZ.
func ThreadTicks(proc tree.FS, pid int) (uint64, error) {
	stat, err := tree.ReadString(proc, strconv.Itoa(pid)+"/stat")
	if err != nil {
		return 0, err
	}
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 13 {
		return 0, fmt.Errorf("stat of thread %d: too few fields: %q", pid, stat)
	}
	user, err := strconv.ParseUint(f[11], 10, 64)
	system, err2 := strconv.ParseUint(f[12], 10, 64)
	return user + system, errors.Join(err, err2)
}

// isKernelThread reads a /proc/PID/stat line, "64 (name) S 2 0 0 0 -1 2129984 ...":
// a child of kthreadd with the flag PF_KTHREAD (fs/proc/array.c, do_task_stat).
func isKernelThread(stat string) bool {
	const pfKthread = 0x00200000
	// The name may hold anything, brackets and blanks included.
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 7 || f[1] != "2" {
		return false
	}
	flags, err := strconv.ParseUint(f[6], 10, 32)
	return err == nil && flags&pfKthread != 0
}
