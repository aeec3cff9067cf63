#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# counted.sh BENCH_WORK: sim_run(), which bench/run counts by its name, survives as one function that somebody
# calls in what is optimised as a whole.
set -eu
command -v nm >/dev/null && command -v objdump >/dev/null || {
	echo "no nm or no objdump"
	exit 77
}
nm "$1" | grep -q ' [tT] sim_run$' || {
	echo "no sim_run in $(basename "$1")"
	exit 1
}
objdump -d --no-show-raw-insn "$1" | grep -qE '(call|bl|brasl).*<sim_run>' || {
	echo "nobody calls sim_run in $(basename "$1")"
	exit 1
}
