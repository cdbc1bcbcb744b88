#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Holds that two ways to run airtuned say the same, byte for byte.
#
#   cross.sh NATIVE OTHER    commands, such as "qemu-mips-static ./airtuned"

set -eu -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
native=$1 other=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# same ARGUMENT... runs both; exit codes count too.
same() {
	local rc
	rc=0; $native "$@" >"$work/native" 2>"$work/native.err" || rc=$?
	echo "exit $rc" >>"$work/native"
	rc=0; $other "$@" >"$work/other" 2>"$work/other.err" || rc=$?
	echo "exit $rc" >>"$work/other"
	cmp -s "$work/native" "$work/other" && cmp -s "$work/native.err" "$work/other.err" || {
		echo "$other $*: differs"
		diff "$work/native" "$work/other" | head -n 5
		diff "$work/native.err" "$work/other.err" | head -n 5
		exit 1
	}
}

trees=0
for tree in testdata/trees/*/; do
	[[ -d $tree/sys ]] || continue
	same detect --json --no-netlink --sys "$tree/sys" --debugfs "$tree/debug" --proc "$tree/proc" --state "$work/state"
	trees=$((trees + 1))
done
((trees > 0))
same config show --json
same demo --json --seed 1 --duration 2s
echo "$other: the same as $native on $trees machines, and in the demo"
