#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Holds that the packages of "make dist" have in them what packaging/contents
# says, with these modes, that their scripts are scripts, and that a second build,
# from a copy elsewhere, makes the same bytes. --update writes packaging/contents.

set -eu -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
for tool in dpkg-deb rpm busybox; do
	command -v "$tool" >/dev/null || {
		echo "$tool is missing: apt-get install dpkg rpm busybox" >&2
		exit 1
	}
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# files reads the listing of tar and prints mode, owner, path and where a link goes.
files() { awk '$1 !~ /^d/ {sub(/^\.?\//, "", $6); print $1, $2, "/" $6, $7, $8}' | sed 's/ *$//' | sort -k3; }

# shell checks scripts, in the shell that OpenWrt and Alpine have.
shell() {
	local s
	for s; do
		head -n 1 "$s" | grep -q '^#!/.*sh' || { echo "$s is no script"; return 1; }
		busybox ash -n "$s"
	done
}

list_deb() {
	local dir=$work/${1##*/}
	dpkg-deb --fsys-tarfile "$1" | tar -tvf - | files
	dpkg-deb --control "$1" "$dir"
	echo "conffiles: $(paste -sd' ' "$dir/conffiles")"
	echo "scripts: $(cd "$dir" && echo post* pre*)"
	shell "$dir"/{postinst,prerm,postrm}
}

list_rpm() {
	rpm -qp --nosignature --qf '[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES}\n]' "$1" | sort -k3
	echo "config: $(rpm -qp --nosignature --qf '[%{FILENAMES} %{FILEFLAGS:fflags}\n]' "$1" | awk '$2 ~ /c/' | paste -sd' ')"
	echo "scripts: $(rpm -qp --nosignature --scripts "$1" | grep -o '^[a-z]* scriptlet' | paste -sd' ')"
}

list_apk() {
	# Three tars, of which only the last has its end.
	local dir=$work/${1##*/}
	mkdir "$dir"
	tar -C "$dir" --warning=no-unknown-keyword --ignore-zeros -xzf "$1" .PKGINFO .post-install .pre-deinstall .post-deinstall
	tar --warning=no-unknown-keyword --ignore-zeros -tvzf "$1" | files | grep -v ' /\.'
	echo "scripts: .post-install .pre-deinstall .post-deinstall"
	shell "$dir"/.*install
}

list_ipk() {
	local dir=$work/${1##*/}
	mkdir -p "$dir/control"
	tar -C "$dir" -xzf "$1"
	tar -tvzf "$dir/data.tar.gz" | files
	tar -C "$dir/control" -xzf "$dir/control.tar.gz"
	[[ ! -s $dir/control/conffiles ]] || echo "conffiles: $(paste -sd' ' "$dir/control/conffiles")"
	local scripts
	mapfile -t scripts < <(cd "$dir/control" && ls post* pre* 2>/dev/null)
	echo "scripts: ${scripts[*]:-none}"
	shell "${scripts[@]/#/$dir/control/}"
}

failed=0
check() {
	local kind=$1 name=$2 package=$3
	if [[ $update ]]; then
		mkdir -p packaging/contents
		"list_$kind" "$package" >"packaging/contents/$name.txt"
	elif "list_$kind" "$package" | diff "packaging/contents/$name.txt" -; then
		echo "$package: as it should be"
	else
		failed=1
	fi
}

update=
[[ ${1:-} != --update ]] || update=yes
check deb deb dist/airtuned_*_amd64.deb
check rpm rpm dist/airtuned-[0-9]*.x86_64.rpm
check apk apk dist/airtuned_*_x86_64.apk
check deb web-deb dist/airtuned-web_*_amd64.deb
check rpm web-rpm dist/airtuned-web-*.x86_64.rpm
check apk web-apk dist/airtuned-web_*_x86_64.apk
check ipk ipk dist/airtuned_*_mips_24kc.ipk
check ipk luci dist/luci-app-airtuned_*_all.ipk

# The same again, elsewhere and with other times.
mkdir "$work/copy"
git ls-files -z | tar -c --null -T - | tar -C "$work/copy" -x
find "$work/copy" -type f -exec touch -d '2001-02-03' {} +
read -ra made_with <dist/build/made-with
make -s -C "$work/copy" dist "${made_with[@]}" PLATFORMS="amd64 mips" DISTROS=amd64:amd64 IPKS=mips_24kc:mips >/dev/null
while read -r sum file; do
	if [[ $(sha256sum "dist/$file" | cut -d' ' -f1) == "$sum" ]]; then
		echo "$file: the same bytes twice"
	else
		echo "$file: other bytes the second time"
		failed=1
	fi
done <"$work/copy/dist/SHA256SUMS"
exit "$failed"
