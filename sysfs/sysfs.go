// Package sysfs reads what /sys and /proc tell about radios: which there are,
// which chip and driver each has, its interfaces, where its NAPI runs, and a
// few facts about the machine. It knows no debugfs and no netlink, and the
// only thing it ever writes is a netdev's threaded file.
//
// Everything goes through tree.FS: `sys` is rooted at /sys, `proc` at /proc.
package sysfs

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"airtuned/tree"
)

// resolve follows every symbolic link in name and returns the path of what it
// ends at, relative to t's root. It only asks Readlink, so that it works on
// any tree, and never leaves the tree.
func resolve(t tree.FS, name string) (string, error) {
	const maxLinks = 40 // as the kernel, include/linux/namei.h MAXSYMLINKS
	var done []string
	rest := strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", &fs.PathError{Op: "resolve", Path: tree.Join(t, name), Err: errOutside}
			}
			done = done[:len(done)-1]
			continue
		}
		done = append(done, part)
		target, err := t.Readlink(path.Join(done...))
		if errors.Is(err, unix.EINVAL) || errors.Is(err, fs.ErrInvalid) {
			continue // not a link
		}
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			return "", &fs.PathError{Op: "resolve", Path: tree.Join(t, name), Err: errOutside}
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "resolve", Path: tree.Join(t, name), Err: unix.ELOOP}
		}
		done = done[:len(done)-1]
		rest = append(strings.Split(target, "/"), rest...)
	}
	return path.Join(done...), nil
}

var errOutside = errors.New("symbolic link leads out of the tree")

// linkBase is the last element of a symbolic link's target, "" without one:
// how sysfs tells a device's driver and subsystem.
func linkBase(t tree.FS, name string) string {
	target, err := t.Readlink(name)
	if err != nil {
		return ""
	}
	return path.Base(target)
}

// text is a file's text without the white space around it, "" when it cannot
// be read: for attributes that not every device has.
func text(t tree.FS, name string) string {
	s, err := tree.ReadString(t, name)
	if err != nil {
		return ""
	}
	return s
}

// gone tells the errors of a device that is not, or no longer, there.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV)
}
