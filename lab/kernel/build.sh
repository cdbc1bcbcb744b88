#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the lab's User Mode Linux kernels from one of Debian's packages of Linux
# sources and prints the folder they are in:
#
#   linux               with MAC80211_DEBUGFS and num_pending_tx in debugfs
#   linux-patched       with all patches of packaging/kernel
#   linux-stock         without any of them, like OpenWrt's kernels
#   linux-nodebugfs     without MAC80211_DEBUGFS either, like Debian's own
#   build.log, config, config-nodebugfs
#
# The folder is named after a hash of everything that goes in, so a second run
# with the same inputs only prints it. Nothing is written inside the repository.
#
#   build.sh            build if need be
#   build.sh --path     print the folder, or fail if it has not been built
#   build.sh --keep     leave the source tree beside the result
#
# AIRTUNED_LAB_SOURCE: the package (default: linux-source-6.1). What its kernel
# needs beyond the others is in patches/PACKAGE.
# AIRTUNED_LAB_PATCHES: numbers of the patches that linux-patched has ("0001 0005";
# default: all).
# AIRTUNED_LAB_CACHE: where to keep them (default: ~/.cache/airtuned/lab).

set -eu -o pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${AIRTUNED_LAB_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/airtuned/lab}
source_package=${AIRTUNED_LAB_SOURCE:-linux-source-6.1}
source_tar=/usr/src/$source_package.tar.xz

# The build, then what the tests run inside.
packages=($source_package gcc libc6-dev make flex bison bc libelf-dev kmod patch xz-utils util-linux
	iproute2 iw ethtool hostapd wpasupplicant iperf iputils-ping procps)

mode=${1:-build}
case $mode in
build | --path | --keep) ;;
*)
	echo "usage: ${0##*/} [--path | --keep]" >&2
	exit 2
	;;
esac

say() { echo "lab: $*" >&2; }

missing=()
for p in "${packages[@]}"; do
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || missing+=("$p")
done
if ((${#missing[@]})); then
	if ((EUID != 0)) || [[ $mode == --path ]]; then
		say "please run, as root: apt-get install --no-install-recommends ${missing[*]}"
		exit 1
	fi
	say "installing ${missing[*]}"
	apt() { DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >&2; }
	apt install --no-install-recommends -y "${missing[@]}" ||
		{ apt update && apt install --no-install-recommends -y "${missing[@]}"; }
fi

patches=("$here"/patches/*.patch)
if [[ -d $here/patches/$source_package ]]; then
	patches+=("$here/patches/$source_package"/*.patch)
fi
# What airtuned asks of the kernel, which users do not have yet: what every kernel here
# but linux-stock has, and what only linux-patched has.
ours=("$here"/../../packaging/kernel/*.patch)
mapfile -t more < <("$here/../../packaging/kernel/test.sh" --series "${source_package#linux-source-}" |
	grep -vxF "$(realpath "${ours[@]}")")
if [[ -n ${AIRTUNED_LAB_PATCHES:-} ]]; then
	chosen=()
	for number in $AIRTUNED_LAB_PATCHES; do
		for p in "${more[@]}"; do
			[[ ${p##*/} != "$number"-* ]] || chosen+=("$p")
		done
	done
	more=("${chosen[@]}")
fi
target=$here/../target

# The time stamp and names of the build are not the machine's, so that equal
# inputs give equal kernels.
um() {
	make -C "$tree" ARCH=um KBUILD_BUILD_TIMESTAMP=@0 KBUILD_BUILD_USER=lab \
		KBUILD_BUILD_HOST=airtuned LOCALVERSION= "$@"
}

# apply FRAGMENT puts its lines into .config and checks that Kconfig kept them.
apply() {
	local line wrong=0
	cat "$1" >>"$tree/.config"
	um olddefconfig
	while read -r line; do
		case $line in
		CONFIG_*) grep -qxF "$line" "$tree/.config" && continue ;;
		"# CONFIG_"*" is not set")
			line=${line#\# }
			! grep -q "^${line%% *}=" "$tree/.config" && continue
			;;
		*) continue ;;
		esac
		say "Kconfig did not accept: $line"
		wrong=1
	done <"$1"
	return $wrong
}

build() {
	tar -C "$tree" --strip-components=1 -xf "$source_tar"
	local p
	for p in "${patches[@]}" "${ours[@]}"; do
		patch -d "$tree" -p1 <"$p"
	done

	local ath10k=$tree/drivers/net/wireless/ath/ath10k
	mkdir "$ath10k/emu"
	cp "$target"/{Kconfig,Makefile,*.[ch]} "$ath10k/emu/"
	echo 'obj-$(CONFIG_ATH10K_EMU) += emu/' >>"$ath10k/Makefile"
	echo 'source "drivers/net/wireless/ath/ath10k/emu/Kconfig"' >>"$ath10k/Kconfig"
	cat "$target/Kconfig.um" >>"$tree/arch/um/drivers/Kconfig"
	"$target/firmware.sh" "$tree/emu-firmware"

	um defconfig
	apply "$here/config.fragment"
	um -j"$(nproc)" linux
	cp "$tree/.config" "$out/config"
	strip -o "$out/linux" "$tree/linux"

	for p in "${more[@]}"; do
		patch -d "$tree" -p1 -F0 <"$p"
	done
	um -j"$(nproc)" linux
	strip -o "$out/linux-patched" "$tree/linux"

	for ((i = ${#more[@]} - 1; i >= 0; i--)); do
		patch -d "$tree" -p1 -R <"${more[i]}"
	done
	for p in "${ours[@]}"; do
		patch -d "$tree" -p1 -R <"$p"
	done
	um -j"$(nproc)" linux
	strip -o "$out/linux-stock" "$tree/linux"

	printf '# CONFIG_%s is not set\n' MAC80211_DEBUGFS ATH10K_DEBUGFS >"$work/fragment"
	apply "$work/fragment"
	um -j"$(nproc)" linux
	cp "$tree/.config" "$out/config-nodebugfs"
	strip -o "$out/linux-nodebugfs" "$tree/linux"
}

key=$({
	dpkg-query -W "$source_package"
	uname -m
	declare -f um apply build
	cat "$here/config.fragment" "${patches[@]}" "${ours[@]}" "${more[@]}" "$target"/{Kconfig*,Makefile,firmware.sh,*.[ch]}
} | sha256sum | cut -c1-16)
result=$cache/$key

if [[ -d $result ]]; then
	echo "$result"
	exit
elif [[ $mode == --path ]]; then
	say "no kernel in $result: run ${BASH_SOURCE[0]}"
	exit 1
fi

mkdir -p "$cache"
exec 9>"$cache/lock"
flock -n 9 || { say "waiting for another build in $cache"; flock 9; }
if [[ -d $result ]]; then
	echo "$result"
	exit
fi

# Only the holder of the lock builds: what is left here was interrupted.
rm -rf "$cache"/.build.*
work=$(mktemp -d "$cache/.build.XXXXXX")
chmod 755 "$work"
job=
cleanup() {
	[[ -z $job ]] || kill -- "-$job" 2>/dev/null || true
	wait
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
tree=$work/tree
out=$work/out
mkdir "$tree" "$out"

say "building four kernels from $source_package in $cache, some minutes; follow it with: tail -f $work/out/build.log"
# In the background, because "set -e" does not reach into a function whose
# result is tested, and in a process group of its own (set -m), so that an
# interrupted build leaves no compiler behind.
set -m
build >"$out/build.log" 2>&1 </dev/null &
job=$!
set +m
if ! wait "$job"; then
	job=
	tail -n 30 "$out/build.log" >&2
	cp "$out/build.log" "$cache/failed.log"
	say "the build failed; the whole log is $cache/failed.log"
	exit 1
fi
job=
if [[ $mode == --keep ]]; then mv "$tree" "$out/tree"; fi
mv "$out" "$result"
say "built"
echo "$result"
