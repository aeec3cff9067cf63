#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# processes.sh PROGRAM RANKS [ARGUMENT...]: the program as processes, over UDP, each on a loopback address of its own.
set -eu
program=$1 ranks=$2
shift 2
net=127.$(($$ % 200 + 20)).$(($$ / 200 % 250))
pids=''
rank=$ranks
while [ "$rank" -gt 0 ]; do
	rank=$((rank - 1))
	VERBENA_ADDR=$net.$((rank + 2)) "$program" --rank "$rank" --size "$ranks" \
		--board "127.0.0.1:$((20000 + $$ % 20000))" -- "$@" &
	pids="$pids $!"
done
status=0
for pid in $pids; do
	wait "$pid" || status=1
done
exit $status
