#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# coverage.sh [BUILD]: how many lines of the packet path the corpora of the fuzzers reach with queue pairs that live:
# a line a file, and sums. BUILD (build-coverage) is made if it is not there. Exit status 1: less than 85 % of any
# sum; 77: no gcov here.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build-coverage}
least=85
# gcov reads what its own compiler wrote.
command -v gcc >/dev/null && command -v gcov >/dev/null || { echo "no gcc with gcov here"; exit 77; }
[ -e "$build/build.ninja" ] || CC=gcc meson setup "$build" "$root" -Db_coverage=true -Doptimization=0 >/dev/null
ninja -C "$build" tests/fuzz/replay_wire_parse tests/fuzz/replay_hca_input >/dev/null
find "$build" -name '*.gcda' -exec rm -f {} +
for target in wire_parse hca_input; do
	"$build/tests/fuzz/replay_$target" "$root/tests/fuzz/corpus/$target" >/dev/null
done

# lines FILE...: "LINES REACHED FILE" of sources, headers with code in them included
lines() {
	for file in "$@"; do
		objects=$build/lib$(dirname "$file" | tr / _).a.p
		data=$objects/$(echo "$file" | tr / _).gcda
		[ ! -e "$data" ] || (cd "$build" && gcov -n -o "$objects" "$data" 2>/dev/null)
	done | awk '
		/^File / { name = $2; gsub(/\047/, "", name); sub(/^.*transport\//, "transport/", name) }
		/^Lines executed:/ && name ~ /^transport\// {
			split($0, part, /[:% ]+/)
			of[name] = $NF > of[name] ? $NF : of[name]
			reached[name] = part[3] > reached[name] ? part[3] : reached[name]
		}
		END { for (name in of) printf "%d %.1f %s\n", of[name], of[name] * reached[name] / 100, name }'
}

# judge NAME PATTERN FILE...: prints, and judges the sum of those files whose names match
judge() {
	name=$1 pattern=$2
	shift 2
	lines "$@" | grep -E " ($pattern)\$" | sort -k 3 | awk -v name="$name" -v least="$least" '
		{ printf "%5.1f %%  %4d  %s\n", $1 ? 100 * $2 / $1 : 100, $1, $3; of += $1; reached += $2 }
		END { printf "%5.1f %%  %4d  %s\n", of ? 100 * reached / of : 0, of, name; exit !of || 100 * reached < least * of }'
}
cd "$root"
status=0
judge "wire, but for files of captures" 'transport/wire/[^p][a-z]*\.c|transport/wire/p(attern|fc)\.c' transport/wire/*.c || status=1
judge "requests and their answers" 'transport/hca/(responder|respond|uc|ud|ooo|copy|mw|request)\.[ch]' \
	transport/hca/responder.c transport/hca/respond.c transport/hca/uc.c transport/hca/ud.c transport/hca/ooo.c \
	transport/hca/copy.c transport/hca/mw.c || status=1
judge "requests and answers to them at the other end" 'transport/hca/(requester|completer|recover|retry|unreliable)\.c' \
	transport/hca/requester.c transport/hca/completer.c transport/hca/recover.c transport/hca/retry.c \
	transport/hca/unreliable.c || status=1
exit $status
