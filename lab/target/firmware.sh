#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes the files that the emulated radios' kernel looks for, into the folder
# that is given: firmware without a program, which only says what interface it
# speaks, and a regulatory database in which 5 GHz may be used.
#
#   firmware.sh DIR                 plain 10.4 firmware
#   firmware.sh DIR flow-control    with peer flow control: 2500 frames, not 1424

set -eu
dir=$1
features=$((1 << 3 | 1 << 12 | 1 << 16 | 1 << 17 | 1 << 19)) # no-p2p mfp allows-mesh-bcast no-ps non-bmi
[[ ${2-} != flow-control ]] || ((features |= 1 << 13))

# bytes SIZE VALUE prints a number, most significant byte first; le least.
bytes() {
	local i
	for ((i = $1 - 1; i >= 0; i--)); do printf "\\x$(printf %02x $(($2 >> 8 * i & 255)))"; done
}
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
} >"$dir/ath10k/QCA9984/hw1.0/firmware-5.bin"

# net/wireless/reg.c, struct fwdb_header and what it points to. Pointers count
# words of four bytes.
rule() { # LOW HIGH WIDTH, MHz; 23 dBm
	bytes 1 16
	bytes 1 0
	bytes 2 2300
	bytes 4 $(($1 * 1000))
	bytes 4 $(($2 * 1000))
	bytes 4 $(($3 * 1000))
}
{
	printf RGDB
	bytes 4 20
	printf 00
	bytes 2 6
	printf US
	bytes 2 6
	bytes 4 0 # no more countries
	bytes 4 0
	bytes 1 4 # at 6: three rules, no DFS
	bytes 1 3
	bytes 2 0
	bytes 2 9
	bytes 2 13
	bytes 2 17
	bytes 2 0
	rule 2402 2472 40
	rule 5170 5330 160
	rule 5490 5850 160
} >"$dir/regulatory.db"
