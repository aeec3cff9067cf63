#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# counted.sh BINARY...: sim_run(), sim_run_begin() and sim_finish(), by whose names bench/run counts, survive as functions that
# somebody calls in what is optimised as a whole.
set -eu
command -v nm >/dev/null && command -v objdump >/dev/null || {
	echo "no nm or no objdump"
	exit 77
}
for binary in "$@"; do
	for name in sim_run sim_run_begin sim_finish; do
		nm "$binary" | grep -qE " [tT] $name(\.|\$)" || {
			echo "no $name in $(basename "$binary")"
			exit 1
		}
		objdump -d --no-show-raw-insn "$binary" | grep -qE "(call|bl|brasl).*<${name}[>.]" || {
			echo "nobody calls $name in $(basename "$binary")"
			exit 1
		}
	done
done
