#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes the file that the emulated radios' kernel looks for, in the folder that
# is given: firmware without a program, which only says what interface it speaks.
#
#   firmware.sh DIR                 plain 10.4 firmware: firmware-5.bin
#   firmware.sh DIR flow-control    with peer flow control, so that the queue
#                                   holds 2500 frames, not 1424: firmware-6.bin,
#                                   which ath10k prefers

set -eu
dir=$1
features=$((1 << 3 | 1 << 12 | 1 << 16 | 1 << 17 | 1 << 19)) # no-p2p mfp allows-mesh-bcast no-ps non-bmi
file=firmware-5.bin
if [[ ${2-} == flow-control ]]; then
	((features |= 1 << 13))
	file=firmware-6.bin
fi

# le SIZE VALUE prints a number, least significant byte first.
le() {
	local i
	for ((i = 0; i < $1; i++)); do printf "\\x$(printf %02x $(($2 >> 8 * i & 255)))"; done
}

# element ID STRING, element ID -SIZE NUMBER: of struct ath10k_fw_ie.
element() {
	le 4 "$1"
	if [[ $2 == -* ]]; then
		le 4 "${2#-}"
		le 4 "$3"
	else
		le 4 ${#2}
		printf %s "$2"
		printf '\0%.0s' $(seq 1 $(((4 - ${#2} % 4) % 4)))
	fi
}

mkdir -p "$dir/ath10k/QCA9984/hw1.0"
{
	printf 'QCA-ATH10K\0\0'
	element 0 emulated-10.4
	element 2 -3 $features
	element 3 -4 0 # image
	element 5 -4 6 # WMI as 10.4
	element 6 -4 4 # HTT as 10.4
} >"$dir/ath10k/QCA9984/hw1.0/$file"
