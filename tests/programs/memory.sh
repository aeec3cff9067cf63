#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# memory.sh HOST_SIM_INCAST: where the packets under way need more memory than they may have, the run
# ends in good order, with -ENOMEM, on one thread and on two; with enough it does not.
set -eu
# What programs that are abandoned half-way had allocated is nobody's any more.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
export ASAN_OPTIONS
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
for threads in 1 2; do
	for memory in 5000 20000 80000; do
		status=0
		timeout 60 "$1" --size 4 --threads $threads --memory $memory >"$dir/out" 2>"$dir/err" -- \
			bytes=1000000 || status=$?
		[ $status = 3 ] && grep -q 'ret: -12' "$dir/err" && continue
		echo "exit status $status with $memory bytes and $threads threads"
		cat "$dir/err"
		exit 1
	done
	timeout 60 "$1" --size 4 --threads $threads --memory 100000000 -- bytes=1000000 >"$dir/out" 2>&1
done
