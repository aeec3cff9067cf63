#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# toy.sh COMPARE HOST_TOY_PROGRAM SIZE DROP_EVERY: the same reports with and without loss.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
timeout 20 "$2" --size "$3" >"$dir/plain" || exit 1
timeout 20 "$2" --size "$3" --drop-every "$4" >"$dir/loss" || exit 1
"$1" "$dir/plain" "$dir/loss"
