#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs bpf's tests in Debian's kernels under QEMU, as they come from the
# packages: the verifier of each takes the programs, they are attached to the real
# ath10k_core, and a stand-in (standin.c) calls its functions, as there is no
# hardware.
#
#   test.sh [VERSION...]     6.1 6.12 if none is given
#
# Packages are kept in ~/.cache/airtuned/bpf (or under AIRTUNED_CACHE). Needs
# qemu-system-x86, kmod, and what builds kernel modules.

set -eu -o pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${AIRTUNED_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/airtuned}/bpf
say() { echo "bpf-test: $*" >&2; }

need() {
	local p missing=()
	for p; do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || missing+=("$p")
	done
	((${#missing[@]})) || return 0
	((EUID == 0)) || { say "please run, as root: apt-get install ${missing[*]}"; return 1; }
	DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install --no-install-recommends -y \
		"${missing[@]}" >&2
}

# release VERSION is the newest kernel of Debian's that is of that version.
release() {
	case $1 in
	6.1) apt-cache depends linux-image-amd64 ;;
	*) apt-cache depends "linux-image-$1-amd64" ;;
	esac | sed -n 's/.*Depends: linux-image-\(.*\)$/\1/p' | head -1
}

# unpack RELEASE puts the kernel's packages into $tree, if they are not there.
unpack() {
	local p
	tree=$cache/$1
	[[ ! -e $tree/complete ]] || return 0
	say "fetching Linux $1"
	rm -rf "$tree" && mkdir -p "$tree/debs"
	(
		cd "$tree/debs"
		apt-get -qq download "linux-image-$1" "linux-headers-$1" \
			$(apt-cache depends "linux-headers-$1" | sed -n 's/.*Depends: \(linux-\(headers\|kbuild\).*\)/\1/p') 2>/dev/null
	)
	for p in "$tree"/debs/*.deb; do dpkg-deb -x "$p" "$tree"; done
	rm -r "$tree/debs"
	# Only what is needed of 400 MB.
	find "$tree"/lib/modules/*/kernel -type f -name '*.ko*' \
		! -path '*/net/*' ! -path '*/lib/*' ! -path '*/crypto/*' ! -path '*/drivers/ptp/*' ! -path '*/drivers/pps/*' \
		! -path '*/drivers/bus/mhi/*' ! -path '*/drivers/soc/*' -delete
	find "$tree" -name '*.ko.xz' -exec xz -d {} +
	depmod -b "$tree" "$1" 2>/dev/null
	touch "$tree/complete"
}

# build_standin RELEASE makes the stand-in for it.
build_standin() {
	local headers=$tree/usr/src/linux-headers-$1 kbuild
	cp "$here/standin.c" "$work/"
	echo 'obj-m := standin.o' >"$work/Kbuild"
	# The headers name their other half by where it is once installed.
	kbuild=$(echo "$tree"/usr/lib/linux-kbuild-*)
	cp -r "$headers" "$work/headers"
	grep -rlE '/usr/(src|lib)/linux-' "$work/headers" --include=Makefile --include=*.mk 2>/dev/null |
		xargs -r sed -i "s|/usr/src/linux-|$tree/usr/src/linux-|g; s|/usr/lib/linux-kbuild|$tree/usr/lib/linux-kbuild|g"
	rm -rf "$work/headers/scripts" "$work/headers/tools"
	ln -s "$kbuild/scripts" "$work/headers/scripts"
	[[ ! -d $kbuild/tools ]] || ln -s "$kbuild/tools" "$work/headers/tools"
	nice make -s -C "$work/headers" M="$work" modules >"$work/make.log" 2>&1 || { cat "$work/make.log" >&2; return 1; }
}

# boot OPTION... runs what is in $work/root and prints what it says.
boot() {
	(cd "$work/root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd"
	timeout 300 nice qemu-system-x86_64 -M pc -cpu max -m 768 -smp 2 -accel tcg -nographic -no-reboot -nic none \
		-kernel "$tree"/boot/vmlinuz-* -initrd "$work/initrd" \
		-append "console=ttyS0 panic=-1 quiet loglevel=4 rdinit=/init $*" </dev/null | tr -d '\r' | tee "$work/console" |
		sed -n 's/^.*=== RUN/=== RUN/; /^=== RUN/,/^exit code/p'
	grep -qx PASS "$work/console" || { tail -60 "$work/console" >&2; return 1; }
}

run() {
	local r modules m
	r=$(release "$1")
	[[ $r ]] || { say "Debian has no Linux $1 here"; return 1; }
	unpack "$r"
	work=$(mktemp -d)
	build_standin "$r"
	mkdir -p "$work/root"/{dev,proc,sys,tmp,modules}
	CGO_ENABLED=0 go test -c -o "$work/root/init" "$here/.."
	modules=$(for m in mac80211_hwsim ath10k_core; do modprobe -d "$tree" -S "$r" --show-depends "$m"; done |
		awk '$1 == "insmod" && !seen[$2]++ {print $2}')
	for m in $modules; do
		cp "$m" "$work/root/modules/"
		basename "$m"
	done >"$work/root/modules/order"
	cp "$work/standin.ko" "$work/root/modules/"
	say "booting Linux $r"
	boot
	boot lockdown=confidentiality
	rm -rf "$work"
	work=
}

need qemu-system-x86 kmod cpio make gcc libc6-dev
work=
trap '[[ -z $work ]] || rm -rf "$work"' EXIT
mkdir -p "$cache"
(($#)) || set -- 6.1 6.12
for version; do run "$version"; done
