//go:build (!mips && !mipsle) || full

package host

import (
	"strings"

	"airtuned/sysfs"
	"airtuned/tree"
)

// owners says who else places the network's work, and who moves interrupts;
// empty for nobody.
//
// OpenWrt's packet steering writes rps_cpus and the affinity of NAPI threads
// (netifd, /etc/init.d/packet_steering).
func owners(env Env) (all, irqs string) {
	if env.Etc != nil {
		text, _ := tree.ReadString(env.Etc, "config/network")
		if packetSteering(text) && startsAtBoot(env.Etc, "packet_steering") {
			all = "OpenWrt's packet steering places the network's work (network.globals.packet_steering)"
		}
	}
	if sysfs.Running(env.Proc, "irqbalance") {
		irqs = "irqbalance moves interrupts"
	}
	return all, irqs
}

// startsAtBoot reports whether a service of OpenWrt's is enabled: rc.d holds a
// link S<order><name>. Where there is no rc.d, the setting decides alone.
func startsAtBoot(etc tree.FS, service string) bool {
	links, err := etc.List("rc.d")
	if err != nil {
		return true
	}
	for _, l := range links {
		if strings.HasPrefix(l, "S") && strings.TrimLeft(l[1:], "0123456789") == service {
			return true
		}
	}
	return false
}

// packetSteering reports whether a UCI text of /etc/config/network switches
// packet steering on: option packet_steering, not 0, in a section globals.
func packetSteering(uci string) bool {
	globals, on := false, false
	for line := range strings.Lines(uci) {
		f := strings.Fields(line)
		for i := range f {
			f[i] = strings.Trim(f[i], `'"`)
		}
		switch {
		case len(f) < 2:
		case f[0] == "config":
			globals = f[1] == "globals"
		case globals && len(f) == 3 && f[0] == "option" && f[1] == "packet_steering":
			on = f[2] != "0" && f[2] != ""
		}
	}
	return on
}
