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

# What each meson.build names, by the folder where it lies.
grep -E '(^|/)meson\.build$' "$dir/all" | xargs grep -H . >"$dir/meson"
grep -E '\.([ch]|inc)$' "$dir/all" | xargs grep -hE '^#include "' >"$dir/includes"
# included: of the files that come in, those whose name somebody includes
included() {
	sed -E 's/.*"(.*\/)?([^"/]+)".*/\2/' "$dir/includes" | sort -u >"$dir/names"
	awk -F/ 'NR == FNR { is[$0] = 1; next } $NF in is' "$dir/names" -
}
# NAME.c is named in the meson.build of its folder, or with a folder in front of it, or its name without
# test_ or fuzz_ is one of a list that builds such files.
grep -E '\.c$' "$dir/all" >"$dir/sources"
grep -oE "^[^:]*|'[^']*'" "$dir/meson" | awk -F/ '
	NR == FNR && /^[^'"'"']/ { folder = $0; sub(/\/?meson\.build$/, "", folder); next }
	NR == FNR { gsub(/'"'"'/, ""); named[folder, $0] = 1; if (NF > 1) with_folder[$NF] = 1; short[$0] = 1; next }
	{
		place = $0
		sub(/\/?[^\/]*$/, "", place)
		name = $NF
		sub(/\.c$/, "", name)
		sub(/^(test|fuzz)_/, "", name)
		if (!((place, $NF) in named) && !($NF in with_folder) && !(name in short))
			print
	}' - "$dir/sources" >"$dir/unnamed"
included <"$dir/unnamed" >"$dir/included"
comm -23 "$dir/unnamed" "$dir/included" >"$dir/dead"
say "in no meson.build" <"$dir/dead"
grep -E '\.(h|inc)$' "$dir/all" | grep -vE '^(include/|tests/matrix/cmocka\.h)' >"$dir/unnamed"
included <"$dir/unnamed" >"$dir/included"
comm -23 "$dir/unnamed" "$dir/included" >"$dir/dead"
say "included nowhere" <"$dir/dead"
grep -E '(\.(orig|old|rej|bak|swp|o|a)|~|_new\.[ch])$' "$dir/all" >"$dir/dead"
say "left behind" <"$dir/dead"

# A function of a header is mentioned three times at least: where it is declared, where it is defined,
# where somebody calls it. An inline one twice.
grep -E '\.([ch]|inc)$' "$dir/all" | xargs cat | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort | uniq -c >"$dir/words"
# called MOST: those of the heads of functions that come in, of which there is no more than that
called() {
	grep -vE '^(typedef|enum|struct [a-z0-9_]+ \{)' | grep -oE '\b[a-z][a-z0-9_]*\(' | tr -d '(' | sort -u |
		awk -v most="$1" 'NR == FNR { count[$2] = $1; next } count[$1] <= most' "$dir/words" -
}
grep -E '\.h$' "$dir/all" | grep -v '^tests/matrix/cmocka\.h$' | xargs grep -hE '^[a-z]' >"$dir/heads"
{
	grep '^static inline' "$dir/heads" | called 1
	grep -v '^static inline' "$dir/heads" | called 2
} >"$dir/dead"
say "a function that nobody calls" <"$dir/dead"

grep -E '\.[ch]$' "$dir/all" | xargs awk 'FNR == 801 { print FILENAME }' >"$dir/dead"
say "over 800 lines" <"$dir/dead"
{
	grep -E '\.([ch]|py)$' "$dir/all"
	own_scripts
} | sort -u >"$dir/sources"
xargs awk 'FNR <= 5 && /SPDX-License-Identifier: BSD-2-Clause/ { print FILENAME; nextfile }' <"$dir/sources" |
	sort -u >"$dir/licensed"
comm -23 "$dir/sources" "$dir/licensed" >"$dir/dead"
say "no SPDX line" <"$dir/dead"
# The patterns are in pieces so that this file does not hold what it looks for.
grep -vE '^(tests/fuzz/corpus|LICENSE)' "$dir/all" |
	xargs grep -nE "\\b(TO""DO|FIX""ME|X""XX|HA""CK)\\b" >"$dir/dead"
say "a promise: do it, or say where it stands" <"$dir/dead"
exit $bad
