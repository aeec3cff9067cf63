#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# proc.sh COMPARE HOST_TOY_PROGRAM HOST_PROC_PROGRAM SIZE: the same reports from threads over the toy
# world and from processes over UDP.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
timeout 20 "$2" --size "$4" >"$dir/toy" || exit 1
"$(dirname "$0")/procs.sh" "$3" "$4" >"$dir/proc" || exit 1
"$1" "$dir/toy" "$dir/proc"
