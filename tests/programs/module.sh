#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# module.sh COMPARE HOST_SIM_PROGRAM HOST_SIM MODULE SIZE: the same reports and the same digest where the
# program is linked in and where it is a module, found by name and given by path.
set -eu
compare=$1 linked=$2 host=$3 module=$4 size=$5
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

# run NAME COMMAND...: reports to $dir/NAME, prints the digest
run() {
	name=$1
	shift
	timeout 60 "$@" --quiet --size "$size" >"$dir/$name" 2>"$dir/err" || {
		cat "$dir/err" >&2
		exit 1
	}
	sed -n 's/^digest: \([0-9a-f]*\).*/\1/p' "$dir/err"
}

digest=$(run linked "$linked")
[ "$(run path "$host" --program "$module")" = "$digest" ]
[ "$(run name "$host" --program "$(basename "$module" .so)")" = "$digest" ]
"$compare" "$dir/linked" "$dir/path" "$dir/name"
if "$host" --program no-such-program 2>"$dir/err"; then exit 1; fi
grep -q 'no program "no-such-program"' "$dir/err"
if "$host" --program "$0" 2>/dev/null; then exit 1; fi
echo "digest $digest"
sha256sum "$module"
