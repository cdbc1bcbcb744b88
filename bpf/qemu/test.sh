#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs bpf's tests in Debian's kernels under QEMU, as they come from the
# packages: the verifier of each takes the programs, they are attached to the real
# ath10k_core, a stand-in (standin.c) calls its functions with counts of its own,
# and then the whole driver sends frames, on radios that lab/target emulates.
#
#   test.sh [VERSION...]     6.1 6.12 if none is given
#
# Packages are kept in ~/.cache/airtuned/bpf (or under AIRTUNED_CACHE), and with
# each a stamp named after a hash of all that went in: passed is passed. Needs
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

# unpack RELEASE VERSION puts the kernel into $tree, if it is not there.
unpack() {
	local p m
	tree=$cache/$1
	[[ ! -e $tree/complete ]] || return 0
	say "fetching Linux $1"
	rm -rf "$tree" && mkdir -p "$tree/debs"
	(
		cd "$tree/debs"
		apt-get -qq download "linux-image-$1" "linux-headers-$1" "linux-source-$2" \
			$(apt-cache depends "linux-headers-$1" | sed -n 's/.*Depends: \(linux-\(headers\|kbuild\).*\)/\1/p') 2>/dev/null
	)
	# The emulated radios are built with the driver's own headers.
	[[ $(cd "$tree/debs" && dpkg-deb -f linux-source-* Version) == $(cd "$tree/debs" && dpkg-deb -f linux-image-* Version) ]] ||
		{ say "Linux $1 and linux-source-$2 are not of the same version"; return 1; }
	for p in "$tree"/debs/*.deb; do dpkg-deb -x "$p" "$tree"; done
	mkdir "$tree/source"
	tar -C "$tree/source" --strip-components=1 -xf "$tree/usr/src/linux-source-$2.tar.xz" --wildcards \
		'*/drivers/net/wireless/ath/*.h'
	# What is needed of half a gigabyte.
	depmod -b "$tree" "$1"
	mkdir "$tree/modules"
	for m in mac80211_hwsim ath10k_core; do modprobe -d "$tree" -S "$1" --show-depends "$m"; done |
		awk '$1 == "insmod" && !seen[$2]++ {print $2}' |
		while read -r m; do
			cp "$m" "$tree/modules/"
			m=${m##*/}
			[[ $m != *.xz ]] || xz -d "$tree/modules/$m"
			echo "${m%.xz}" >>"$tree/modules/order"
		done
	rm -r "$tree/debs" "$tree/lib" "$tree"/usr/src/*.xz
	touch "$tree/complete"
}

# build_modules RELEASE makes the stand-in and the emulated radios for it.
build_modules() {
	local headers=$tree/usr/src/linux-headers-$1 kbuild ath=$tree/source/drivers/net/wireless/ath
	cp "$here/standin.c" "$here"/../../lab/target/*.[ch] "$work/"
	cat >"$work/Kbuild" <<-END
		obj-m := standin.o ath10k_emu.o
		ath10k_emu-y := target.o wmi.o htt.o air.o
		ccflags-y := -I$ath/ath10k -I$ath
		CFLAGS_target.o := -include $here/pc.h
	END
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
	timeout 600 nice qemu-system-x86_64 -M pc -cpu max -m 768 -smp 2 -accel tcg -nographic -no-reboot -nic none \
		-kernel "$tree"/boot/vmlinuz-* -initrd "$work/initrd" \
		-append "console=ttyS0 panic=-1 quiet loglevel=2 rdinit=/init $*" </dev/null | tr -d '\r' | tee "$work/console" |
		sed -n 's/^.*=== RUN/=== RUN/; /^=== RUN/,/^exit code/p'
	grep -qx PASS "$work/console" || { tail -60 "$work/console" >&2; return 1; }
}

run() {
	local r stamp
	r=$(release "$1")
	if [[ ! -e $cache/$r/complete && $EUID == 0 ]]; then # there may be a newer one
		apt-get -qq -o DPkg::Lock::Timeout=300 update >&2
		r=$(release "$1")
	fi
	[[ $r ]] || { say "Debian has no Linux $1 here"; return 1; }
	unpack "$r" "$1"
	stamp=$tree/passed-$(cd "$here/.." && (cat *.go qemu/* ../lab/target/*.[ch]; grep cilium ../go.mod) | sha256sum | cut -c1-16)
	if [[ -e $stamp ]]; then
		say "Linux $r: passed before"
		return
	fi
	work=$(mktemp -d)
	build_modules "$r"
	mkdir -p "$work/root"/{dev,proc,sys,tmp}
	cp -r "$tree/modules" "$work/standin.ko" "$work/ath10k_emu.ko" "$work/root/"
	mv "$work/root"/*.ko "$work/root/modules/"
	bash "$here/../../lab/target/firmware.sh" "$work/root/lib/firmware"
	CGO_ENABLED=0 go test -c -o "$work/root/init" "$here/.."
	CGO_ENABLED=0 go build -tags bpf -o "$work/root/airtuned" "$here/../../cmd/airtuned"
	say "booting Linux $r"
	boot
	boot lockdown=confidentiality
	rm -rf "$work" "$tree"/passed-*
	touch "$stamp"
	work=
}

need qemu-system-x86 kmod cpio make gcc libc6-dev
work=
trap '[[ -z $work ]] || rm -rf "$work"' EXIT
mkdir -p "$cache"
(($#)) || set -- 6.1 6.12
for version; do run "$version"; done
