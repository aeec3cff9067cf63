#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Each line of digests.txt is NAME DIGEST reason: TEXT, each name once, in order; and no digest ever
# changed, in any commit that is known here, with the reason of the digest before it. A commit that
# did is made good by a later reason, which names that commit: "… (798215b)".
set -eu
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0

record=${RECORD:-digests.txt}
if grep -nvE '^[a-z0-9_]+\.[a-z0-9_]+ [0-9a-f]{16,} reason: .{10,}$' "$record"; then
	echo "no NAME DIGEST reason: TEXT"
	bad=1
fi
cut -d' ' -f1 "$record" | LC_ALL=C sort -cu || bad=1

# check OLD NEW TITLE: digests that changed under the same reason, and are not made good
check() {
	awk -v new="$2" -v title="$3" -v all="$dir/all" '
		FILENAME == all {
			line = $0
			while (match(line, /\([0-9a-f]+\)/)) {
				named = substr(line, RSTART + 1, RLENGTH - 2)
				if (length(named) >= 7 && index(title, named) == 1) good[$1] = 1
				line = substr(line, RSTART + RLENGTH)
			}
			next
		}
		$1 in good { next }
		FILENAME == new { digest[$1] = $2; reason[$1] = substr($0, index($0, "reason:")); next }
		$1 in digest && digest[$1] != $2 && reason[$1] == substr($0, index($0, "reason:")) {
			print title ": " $1 " has another digest and the old reason"; bad = 1
		}
		END { exit bad }' "$dir/all" "$2" "$1" || bad=1
}

if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
	git log --reverse --format=%H -- digests.txt >"$dir/commits"
	: >"$dir/old"
	# Every reason that was ever given.
	while read -r commit; do
		git show "$commit:./digests.txt" 2>/dev/null || continue
	done <"$dir/commits" | cat - "$record" >"$dir/all"
	while read -r commit; do
		git show "$commit:./digests.txt" >"$dir/new" 2>/dev/null || continue
		[ ! -s "$dir/old" ] || check "$dir/old" "$dir/new" "$commit"
		cp "$dir/new" "$dir/old"
	done <"$dir/commits"
	[ ! -s "$dir/old" ] || check "$dir/old" "$record" "not committed"
fi
exit $bad
