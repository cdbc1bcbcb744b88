#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Boots Debian with systemd as PID 1, on a kernel of the lab as a process, with
# one radio of mac80211_hwsim, and runs inside.sh in it.
#
#   test.sh DEB [RELEASE]    RELEASE: bookworm (default), trixie, ...
#
# airtuned-web is tested, too, where its package is beside DEB.
#
# It needs root, debootstrap and Debian's mirror (else it exits with 77); the root
# file system is kept in AIRTUNED_DEBIAN_CACHE (default ~/.cache/airtuned/debian).

set -eu -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
deb=${1:?usage: test.sh DEB [RELEASE]} release=${2:-bookworm}
cache=${AIRTUNED_DEBIAN_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/airtuned/debian}

if ((EUID != 0)) || ! command -v debootstrap >/dev/null; then
	echo "please run, as root: apt-get install debootstrap, then this again" >&2
	exit 1
fi
if [[ ! -e $cache/$release/etc/debian_version ]]; then
	mkdir -p "$cache"
	rm -rf "$cache/$release.new"
	debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus "$release" "$cache/$release.new" >"$cache/$release.log" || {
		tail -n 3 "$cache/$release.log" >&2
		echo "there is no Debian to test with: is its mirror in reach?" >&2
		exit 77
	}
	mv "$cache/$release.new" "$cache/$release"
fi
kernel=$(lab/kernel/build.sh)/linux

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
cp -a "$cache/$release" "$root"
cp "$deb" "$root/root/airtuned.deb"
cp "${deb/airtuned_/airtuned-web_}" "$root/root/airtuned-web.deb" 2>/dev/null || true
cp packaging/debian/inside.sh "$root/root/"
cat >"$root/etc/systemd/system/test.service" <<'EOF'
[Unit]
After=multi-user.target dbus.service
[Service]
Type=oneshot
ExecStart=/bin/bash -c '/root/inside.sh /root/airtuned.deb >/root/log 2>&1; echo $? >/root/rc'
ExecStopPost=/bin/systemctl --no-block poweroff
EOF
ln -s ../test.service "$root/etc/systemd/system/multi-user.target.wants/test.service"
rm -f "$root"/etc/systemd/system/getty.target.wants/*
: >"$root/etc/fstab"

# On virtual time, so that a slow machine is no slower inside.
# hostfs lets a root user of the guest do what this process may.
timeout "${TIMEOUT:-900}" "$kernel" mem=384M root=/dev/root rootfstype=hostfs rootflags="$root" rw \
	time-travel=inf-cpu quiet systemd.show_status=no mac80211_hwsim.radios=1 con=null con0=null,fd:1 systemd.mask=systemd-udev-trigger.service \
	>"$work/console" 2>&1 </dev/null || true
if [[ ! -e $root/root/rc ]]; then
	tail -n 40 "$work/console" >&2
	echo "the machine did not get to the end" >&2
	[[ ! -e $root/root/log ]] || cat "$root/root/log" >&2
	exit 1
fi
cat "$root/root/log"
exit "$(cat "$root/root/rc")"
