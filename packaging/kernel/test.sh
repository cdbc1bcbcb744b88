#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Holds the patches of this folder against Debian's packages of Linux sources:
# they apply without fuzz, in series and each alone on those it builds on, are
# clean to checkpatch.pl --strict, and compile without a warning (W=1) that was not
# there before: mac80211 and ath10k with all its buses, with and without debugfs.
#
#   test.sh [VERSION...]     6.1 6.12 if none is given
#   test.sh --series VERSION print the patches for it, in order
#
# Passed is passed: a stamp in ~/.cache/airtuned/kernel-patches (or under
# AIRTUNED_CACHE) is named after a hash of all that went in. Needs 3 GB meanwhile.

set -eu -o pipefail
shopt -s nullglob
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${AIRTUNED_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/airtuned}/kernel-patches
say() { echo "kernel-patches: $*" >&2; }

# series VERSION: what is the same for all, and what is for this one.
series() {
	local p
	for p in "$here"/*.patch "$here"/linux/*.patch "$here/linux-$1"/*.patch; do
		echo "${p##*/} $p"
	done | sort | cut -d' ' -f2
}

# What a patch needs beyond the first, which has a helper that others use.
needs() {
	case ${1##*/} in
	0004-*) echo 0003 ;;
	esac
}

apply() { patch -d "$tree" -p1 -F0 --no-backup-if-mismatch -s "$@"; }

check_style() {
	local p ignore bad=0
	for p; do
		# A tarball has no history to look commits up in, and whoever signs
		# these off is who sends them.
		ignore=UNKNOWN_COMMIT_ID
		# One line of its text is too long, but the lab's results are
		# filed under its bytes.
		[[ ${p##*/} != 0001-* ]] || ignore+=,COMMIT_LOG_LONG_LINE
		(cd "$tree" && perl scripts/checkpatch.pl --strict --no-signoff --terse --no-summary \
			--ignore "$ignore" "$p") || bad=1
	done
	return $bad
}

check_alone() {
	local p q
	for p; do
		[[ ${p##*/} != 0001-* ]] || continue
		rm -rf "$work/alone"
		mkdir -p "$work/alone/drivers/net/wireless/ath" "$work/alone/net"
		cp -r "$tree/drivers/net/wireless/ath/ath10k" "$work/alone/drivers/net/wireless/ath/"
		cp -r "$tree/net/mac80211" "$work/alone/net/"
		for q; do
			if [[ ${q##*/} == 0001-* || $q == "$p" || ${q##*/} == "$(needs "$p")"-* ]]; then
				patch -d "$work/alone" -p1 -F0 --no-backup-if-mismatch -s <"$q" ||
					{ say "${p##*/} does not apply alone"; return 1; }
			fi
		done
	done
}

configure() {
	cat >"$work/config" <<-END
		CONFIG_64BIT=y
		CONFIG_SMP=y
		CONFIG_MODULES=y
		CONFIG_PRINTK=y
		CONFIG_EXPERT=y
		CONFIG_COMPILE_TEST=y
		CONFIG_PCI=y
		CONFIG_NET=y
		CONFIG_INET=y
		CONFIG_WIRELESS=y
		CONFIG_CFG80211=m
		# CONFIG_CFG80211_REQUIRE_SIGNED_REGDB is not set
		CONFIG_CFG80211_CERTIFICATION_ONUS=y
		CONFIG_MAC80211=m
		CONFIG_MAC80211_MESH=y
		CONFIG_DEBUG_FS=$1
		CONFIG_NETDEVICES=y
		CONFIG_WLAN=y
		CONFIG_WLAN_VENDOR_ATH=y
		CONFIG_ATH10K=m
		CONFIG_ATH10K_PCI=m
		CONFIG_OF=y
		CONFIG_RESET_CONTROLLER=y
		CONFIG_ATH10K_AHB=y
		CONFIG_MMC=m
		CONFIG_ATH10K_SDIO=m
		CONFIG_USB_SUPPORT=y
		CONFIG_USB=m
		CONFIG_ATH10K_USB=m
		CONFIG_HWSPINLOCK=y
		CONFIG_QCOM_SMEM=m
		CONFIG_ATH10K_SNOC=m
		CONFIG_ATH10K_DEBUG=y
		CONFIG_ATH10K_DFS_CERTIFIED=y
	END
	if [[ $1 == y ]]; then
		cat >>"$work/config" <<-END
			CONFIG_CFG80211_DEBUGFS=y
			CONFIG_MAC80211_DEBUGFS=y
			CONFIG_ATH10K_DEBUGFS=y
			CONFIG_ATH10K_SPECTRAL=y
		END
	fi
	kernel KCONFIG_ALLCONFIG="$work/config" allnoconfig
	local line bad=0
	while read -r line; do
		[[ $line == CONFIG_*=n ]] && continue
		grep -qxF "$line" "$tree/.config" || { say "Kconfig did not accept: $line"; bad=1; }
	done <"$work/config"
	return $bad
}

kernel() { nice -n 10 make -C "$tree" -j"${JOBS:-1}" W=1 "$@" >>"$work/build.log" 2>&1; }

# warnings NAME compiles and files the warnings, without the lines they are at.
# Objects are made anew, for a warning shows only while compiling.
warnings() {
	local from
	find "$tree/drivers/net/wireless/ath/ath10k" "$tree/net/mac80211" -name '*.o' -delete
	from=$(($(stat -c %s "$work/build.log" 2>/dev/null || echo 0) + 1))
	kernel drivers/net/wireless/ath/ath10k/ net/mac80211/
	tail -c +"$from" "$work/build.log" | grep -E '(warning|error):' |
		sed -E 's/:[0-9]+(:[0-9]+)?:/:/' | sort -u >"$work/$1" || true
}

# Each function that one of the modules has from ath10k_core is exported there.
check_exports() {
	local dir=$tree/drivers/net/wireless/ath/ath10k o s bad=0
	nm "$dir/ath10k_core.o" >"$work/core.nm"
	for o in pci sdio usb snoc; do
		[[ -f $dir/ath10k_$o.o ]] || { say "no ath10k_$o.o"; return 1; }
		for s in $(nm -u "$dir/ath10k_$o.o" | awk '$2 ~ /^ath10k_/ {print $2}'); do
			grep -qE "__(ksymtab|export_symbol)_$s\$" "$work/core.nm" ||
				{ say "ath10k_$o has no $s"; bad=1; }
		done
	done
	return $bad
}

run() {
	local version=$1 package=linux-source-$1 tar=/usr/src/linux-source-$1.tar.xz patches p config new
	mapfile -t patches < <(series "$version")
	tree=$work/tree
	mkdir "$tree"
	say "$version: unpacking $(dpkg-query -W -f '${Package} ${Version}' "$package")"
	nice -n 10 tar -C "$tree" --strip-components=1 -xf "$tar"

	check_style "${patches[@]}"
	check_alone "${patches[@]}"
	say "$version: ${#patches[@]} patches, in style, and each applies alone; compiling without them, some minutes"
	for config in y n; do
		configure $config
		kernel modules_prepare
		warnings before.$config
	done
	for p in "${patches[@]}"; do apply <"$p"; done
	say "$version: compiling with them"
	for config in n y; do
		configure $config
		kernel modules_prepare
		warnings after.$config
		new=$(comm -13 "$work/before.$config" "$work/after.$config")
		if [[ -n $new ]]; then
			say "$version: new warnings (DEBUG_FS=$config):"
			echo "$new" >&2
			return 1
		fi
	done
	check_exports
	say "$version: ath10k (core, pci, ahb, snoc, sdio, usb) and mac80211 compile, $(wc -l <"$work/after.y") warnings, none of them new"
}

if [[ ${1:-} == --series ]]; then
	series "$2"
	exit
fi

job=
work=
cleanup() {
	[[ -z $job ]] || kill -- "-$job" 2>/dev/null || true
	wait
	[[ -z $work ]] || rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

((${#})) || set -- 6.1 6.12
for version; do
	need=(linux-source-"$version" gcc make flex bison bc libelf-dev libssl-dev perl patch xz-utils)
	missing=()
	for p in "${need[@]}"; do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || missing+=("$p")
	done
	if ((${#missing[@]})); then
		((EUID == 0)) || { say "please run, as root: apt-get install --no-install-recommends ${missing[*]}"; exit 1; }
		DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends -y "${missing[@]}" >&2
	fi

	mapfile -t patches < <(series "$version")
	key=$({ dpkg-query -W linux-source-"$version" gcc; cat "${BASH_SOURCE[0]}" "${patches[@]}"; } | sha256sum | cut -c1-16)
	mkdir -p "$cache"
	if [[ -e $cache/$version-$key ]]; then
		say "$version: passed before ($cache/$version-$key)"
		continue
	fi
	work=$(mktemp -d "$cache/.test.XXXXXX")
	# In the background, because "set -e" does not reach into a function whose
	# result is tested, and in a process group of its own, so that an
	# interrupted build leaves no compiler behind.
	set -m
	run "$version" &
	job=$!
	set +m
	if ! wait "$job"; then
		job=
		[[ ! -f $work/build.log ]] || { tail -n 5 "$work/build.log" >&2; cp "$work/build.log" "$cache/failed-$version.log"; }
		say "$version: failed (log, if it came that far: $cache/failed-$version.log)"
		exit 1
	fi
	job=
	cp "$work/after.y" "$cache/$version-$key"
	rm -rf "$work"
	work=
done
