package debugfs

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// What a file that is not there means depends on what is around it. The errors
// of this package wrap one of these where an errno does not tell.
var (
	// ErrNotMounted: there is no debugfs at the root of the tree.
	ErrNotMounted = errors.New("debugfs is not mounted")
	// ErrNoWireless: debugfs is there, but cfg80211 has no folder in it.
	ErrNoWireless = errors.New("no wireless subsystem in debugfs")
	// ErrNotBuilt: the radio's folder has none of mac80211's files.
	ErrNotBuilt = errors.New("no mac80211 files in debugfs")
	// ErrAbsent: this file is not there, though its neighbours are.
	ErrAbsent = errors.New("not offered by this kernel and driver")
	// ErrGone: the radio, interface or station has left.
	ErrGone = errors.New("gone")
	// ErrLimit: a value that the kernel takes but must not be given.
	ErrLimit = errors.New("refused")
)

// Cause is why a file could not be read or written, as far as it matters for
// what to do next.
type Cause int

// The causes.
const (
	Unknown      Cause = iota // something else, or no error
	NotMounted                // debugfs is not mounted
	NoWireless                // debugfs has no ieee80211 folder: cfg80211 is not loaded
	NotBuilt                  // the kernel lacks CONFIG_MAC80211_DEBUGFS, or the driver is not a mac80211 one
	Absent                    // this kernel or driver does not have that file; a folder just created may still get it
	Lockdown                  // EPERM: kernel lockdown (Secure Boot)
	NotPermitted              // EACCES: not root, or without CAP_DAC_OVERRIDE
	ReadOnly                  // EROFS: mounted or sandboxed read-only
	Gone                      // the radio, interface or station has left
	Rejected                  // the value was refused
	Down                      // the interface must be up for this
	Garbled                   // the text makes no sense
)

var causes = [...]struct{ code, advice string }{
	Unknown:      {"unknown", ""},
	NotMounted:   {"not-mounted", "mount it: mount -t debugfs debugfs /sys/kernel/debug (a kernel without CONFIG_DEBUG_FS or started with debugfs=off has none)"},
	NoWireless:   {"no-wireless", "load the driver of the radio (see dmesg and lspci -k); cfg80211 is not loaded"},
	NotBuilt:     {"no-mac80211-debugfs", "use a kernel with CONFIG_MAC80211_DEBUGFS (Debian's have it off, OpenWrt's on); drivers that do not use mac80211 cannot be tuned"},
	Absent:       {"absent", "needs a newer kernel, another driver, or CONFIG_ATH10K_DEBUGFS for files under ath10k/"},
	Lockdown:     {"lockdown", "kernel lockdown forbids it: turn Secure Boot off, or start the kernel without lockdown="},
	NotPermitted: {"not-permitted", "run it as root, with CAP_DAC_OVERRIDE (the kernel wants it even of root)"},
	ReadOnly:     {"read-only", "remount debugfs read-write; in a systemd unit, leave ProtectKernelTunables off"},
	Gone:         {"gone", "nothing to do: the radio, interface or station has left"},
	Rejected:     {"rejected", "check the value: 0 < low <= high, in microseconds"},
	Down:         {"down", "bring the interface up"},
	Garbled:      {"garbled", "please report the file's text and the kernel version"},
}

// String is the cause as a short code for logs and JSON, e.g. "not-mounted".
func (c Cause) String() string {
	if c < 0 || int(c) >= len(causes) {
		c = Unknown
	}
	return causes[c].code
}

// Advice is the next step for the user, or "" if there is none to give.
func (c Cause) Advice() string {
	if c < 0 || int(c) >= len(causes) {
		c = Unknown
	}
	return causes[c].advice
}

// causeOf is in order of precedence: what this package found out comes before
// the errno it wraps.
var causeOf = []struct {
	err   error
	cause Cause
}{
	{ErrNotMounted, NotMounted},
	{ErrNoWireless, NoWireless},
	{ErrNotBuilt, NotBuilt},
	{ErrAbsent, Absent},
	{ErrGone, Gone},
	{ErrLimit, Rejected},
	{ErrFormat, Garbled},
	{unix.EPERM, Lockdown}, // fs/debugfs/file.c, debugfs_locked_down
	{unix.EACCES, NotPermitted},
	{unix.EROFS, ReadOnly},
	{unix.EIO, Gone}, // fs/debugfs/file.c, debugfs_file_get of a removed file
	{unix.ENODEV, Gone},
	{unix.EINVAL, Rejected},
	{unix.ERANGE, Rejected},
	{unix.ENETDOWN, Down},
	{fs.ErrNotExist, Absent},
}

// CauseOf classifies an error of this package, or of a tree.FS.
func CauseOf(err error) Cause {
	if err == nil {
		return Unknown
	}
	for _, c := range causeOf {
		if errors.Is(err, c.err) {
			return c.cause
		}
	}
	return Unknown
}
