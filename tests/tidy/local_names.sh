#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Functions of one file carry its module in their names: no two files of the product have one of the same
# name, so that a debugger, a profile and a search show one place.
set -eu
cd "$ROOT"
found=$(find util transport sim models tools -name '*.c' -exec awk '
	/^static / && match($0, /[a-z_0-9]+\(/) {
		name = substr($0, RSTART, RLENGTH - 1)
		if (name != "__attribute__" && !seen[FILENAME, name]++) print name, FILENAME
	}' {} + | sort)
[ "$(printf '%s\n' "$found" | wc -l)" -gt 1000 ] || {
	echo "found too few functions: a poor test"
	exit 1
}
printf '%s\n' "$found" | awk '
	$1 == last { print $1 ": in " file " and in " $2; bad = 1 }
	{ last = $1; file = $2 }
	END { exit bad }'
