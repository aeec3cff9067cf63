#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gcc, -O3, all of it linked as one: what the digests of record come from, and sim_run(), which
# benchmarks count by its name, survives as one function that somebody calls. All else of a release is
# in the everyday suites, since that is how the tree is built.
. "$(dirname "$0")/lib.sh"
need gcc nm objdump
export CC=gcc
configure -Dbuildtype=release -Doptimization=3 -Db_lto=true
# shellcheck disable=SC2046
compile $(golden_programs)
golden
for program in "$build"/tests/programs/sim_*; do
	[ -f "$program" ] || continue
	nm "$program" | grep -q ' [tT] sim_run$' || {
		echo "no sim_run in $(basename "$program")"
		exit 1
	}
	objdump -d --no-show-raw-insn "$program" | grep -qE '(call|bl|brasl).*<sim_run>' || {
		echo "nobody calls sim_run in $(basename "$program")"
		exit 1
	}
done
