#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs cost on mac80211's own files: in a small Linux under QEMU, on a radio of
# mac80211_hwsim. Its clock counts instructions, one for a nanosecond, so that
# every run says the same, whatever else the machine does. hwsim sends nothing for
# its stations, so the texts that were read are those of idle ones; the loop is
# given those of busy ones instead.
#
#	real.sh COST [OPTION...]
#
# COST is the program; options are its own. The kernel is built once, from Debian's
# sources (AIRTUNED_LAB_SOURCE, default linux-source-6.12), seven minutes on two CPUs,
# and kept in ~/.cache/airtuned/cost (AIRTUNED_CACHE). Needs qemu-system-x86, hostapd,
# cpio and what lab/kernel/build.sh needs.

set -eu -o pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cost=$1
shift
source_package=${AIRTUNED_LAB_SOURCE:-linux-source-6.12}
source_tar=/usr/src/$source_package.tar.xz
cache=${AIRTUNED_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/airtuned}/cost

packages=("$source_package" qemu-system-x86 hostapd cpio mawk gcc libc6-dev make flex bison bc libelf-dev xz-utils)
missing=()
for p in "${packages[@]}"; do
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || missing+=("$p")
done
if ((${#missing[@]})); then
	if ((EUID != 0)); then
		echo "cost: please run, as root: apt-get install --no-install-recommends ${missing[*]}" >&2
		exit 1
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get -qq -o DPkg::Lock::Timeout=300 update >&2
	apt-get -qq -o DPkg::Lock::Timeout=300 install --no-install-recommends -y "${missing[@]}" >&2
fi
kernel=$cache/$(cat "$source_tar" "$here/config.fragment" | sha256sum | cut -c1-16)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ ! -e $kernel ]]; then
	mkdir -p "$cache" "$work/linux"
	tar -C "$work/linux" --strip-components=1 -xf "$source_tar"
	(
		cd "$work/linux"
		make -s tinyconfig
		scripts/kconfig/merge_config.sh -m .config "$here/config.fragment"
		make -s olddefconfig
		nice make -s -j"$(nproc)" bzImage
	) >"$work/build.log" 2>&1 || { tail -30 "$work/build.log" >&2; exit 1; }
	cp "$work/linux/arch/x86/boot/bzImage" "$kernel"
	rm -rf "$work/linux"
fi

root=$work/root
mkdir -p "$root"/{bin,dev,proc,sys,tmp,run,lib/firmware,usr/bin,usr/sbin}
install "$cost" "$root/init"
gcc -O2 -static -o "$root/pread" "$here/contenders/pread.c"
for program in /bin/sh /usr/bin/awk /bin/sleep /usr/sbin/hostapd; do
	install -D "$(readlink -f "$program")" "$root$program"
	ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
		[[ -e $root$library ]] || install -D "$library" "$root$library"
	done
done
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd"
timeout 1200 nice qemu-system-x86_64 -M pc -cpu max -accel tcg -icount shift=0,sleep=off -m 512 -smp 1 -nographic -no-reboot -nic none \
	-kernel "$kernel" -initrd "$work/initrd" \
	-append "console=ttyS0 panic=-1 quiet loglevel=2 rdinit=/init mac80211_hwsim.radios=1 PATH=/bin:/usr/bin:/usr/sbin -- -guest $*" </dev/null |
	tr -d '\r' | sed -n 's/.*goos:/goos:/; /^goos/,$p' | tee "$work/out"
grep -q '^#' "$work/out"
! grep -q MISSED "$work/out"
