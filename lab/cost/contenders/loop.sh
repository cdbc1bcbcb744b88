#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The loop as one writes it into rc.local, with as few processes as it takes: one
# awk for each sample, one more at the end of a window, and a sleep (of nothing).
#
#	loop.sh PHY SAMPLES SAMPLES_PER_WINDOW
cd "$1" || exit 1
i=0
while [ "$i" -lt "$2" ]; do
	i=$((i + 1))
	pending=$(awk '/^total/ { us = $2 } /fq_backlog/ { backlog = $3 } FILENAME == "queues" && /0x0*1\// { stopped = 1 }
		END { print us, backlog, stopped }' aql_pending aqm queues ath10k/num_pending_tx)
	if [ $((i % $3)) = 0 ]; then
		bytes=$(awk '/^[0-9]/ { backlog += $4; bytes += $10 } /^TX/ { us += $2 } /^Q limit/ { limit[FILENAME] = $8 }
			END { printf "%d %.0f %.0f\n", backlog, bytes, us }' \
			aql_txq_limit netdev:*/stations/*/aqm netdev:*/stations/*/aql netdev:*/stations/*/airtime)
	fi
	sleep 0
done
echo "$pending $bytes"
