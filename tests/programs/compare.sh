#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# compare.sh A B ...: whether all files hold the same multiset of report lines, and any at all.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
first=$1
[ -s "$first" ] || { echo "$first: no reports"; exit 1; }
LC_ALL=C sort "$first" >"$dir/first"
shift
for other in "$@"; do
	LC_ALL=C sort "$other" >"$dir/other" || exit 1
	cmp -s "$dir/first" "$dir/other" && continue
	echo "$first and $other differ (rank peer qp wr_id status opcode byte_len hash):"
	diff "$dir/first" "$dir/other" | head -20
	exit 1
done
