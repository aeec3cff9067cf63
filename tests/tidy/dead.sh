#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# No dead files: each .c is in a meson.build (or is an include, or a script's argument), each header is
# included, nothing is a copy left behind. No .c or .h over 800 lines, a licence line in each source
# and script, and no words that promise instead of doing.
. "$(dirname "$0")/files.sh"
cd "$ROOT" || exit 1
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
own_files >"$dir/all"
bad=0
# say WHAT: whatever comes in is wrong
say() {
	while IFS= read -r line; do echo "$line: $1"; done >"$dir/said"
	[ ! -s "$dir/said" ] || { cat "$dir/said" && bad=1; }
}

grep -E '(^|/)meson\.build$' "$dir/all" | xargs cat >"$dir/meson"
grep -E '\.([ch]|inc)$' "$dir/all" | xargs grep -hE '^#include "' >"$dir/includes"
# NAME.c is named, or its name without test_ or fuzz_ is one of a list that builds such files.
for file in $(grep -E '\.c$' "$dir/all"); do
	name=$(basename "$file")
	short=${name%.c}
	short=${short#test_} short=${short#fuzz_}
	grep -qE "['/]$name'|'$short'" "$dir/meson" || grep -qF "/$name\"" "$dir/includes" ||
		echo "$file"
done | cat >"$dir/dead"
say "in no meson.build" <"$dir/dead"
for file in $(grep -E '\.(h|inc)$' "$dir/all"); do
	grep -qE "\"(.*/)?$(basename "$file")\"" "$dir/includes" || echo "$file"
done | grep -vE '^(include/|tests/matrix/cmocka\.h)' >"$dir/dead"
say "included nowhere" <"$dir/dead"
grep -E '(\.(orig|old|rej|bak|swp|o|a)|~|_new\.[ch])$' "$dir/all" >"$dir/dead"
say "left behind" <"$dir/dead"

for file in $(grep -E '\.[ch]$' "$dir/all"); do
	[ "$(wc -l <"$file")" -le 800 ] || echo "$file"
done >"$dir/dead"
say "over 800 lines" <"$dir/dead"
{
	grep -E '\.([ch]|py)$' "$dir/all"
	own_scripts
} | while IFS= read -r file; do
	head -n 5 "$file" | grep -q 'SPDX-License-Identifier: BSD-2-Clause' || echo "$file"
done >"$dir/dead"
say "no SPDX line" <"$dir/dead"
# The patterns are in pieces so that this file does not hold what it looks for.
grep -vE '^(tests/fuzz/corpus|LICENSE)' "$dir/all" |
	xargs grep -nE "\\b(TO""DO|FIX""ME|X""XX|HA""CK)\\b" >"$dir/dead"
say "a promise: do it, or say where it stands" <"$dir/dead"
exit $bad
