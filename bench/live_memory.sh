#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# live_memory.sh BENCH_WORK: what a flow under way takes, as bench/run measures it ("live"), its place in
# the result included: with queue pairs of its own, and where flows from one host to another share one.
set -eu
work=$1

# rss WORK SCALE: KiB
rss() {
	"$work" "$1" --scale "$2" | sed -n 's/.*"rss_mib": \([0-9]*\)\.\([0-9]\).*/\1 \2/p' |
		{ read -r mib tenth && echo $((mib * 1024 + tenth * 1024 / 10)); }
}

# bound WORK FEW MANY MOST: with 1/FEW and 1/MANY of a million flows; bytes a flow
bound() {
	few=$(rss "$1" "$2")
	many=$(rss "$1" "$3")
	bytes=$(((many - few) * 1024 / (1000000 / $3 - 1000000 / $2)))
	echo "$1: $bytes bytes a flow"
	[ "$bytes" -le "$4" ] || {
		echo "$1: more than $4 bytes a flow"
		exit 1
	}
}

bound live 100 10 1536
bound livep 10 2 512
