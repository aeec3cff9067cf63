#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The seam of transport/verbs: the front (the ibv_ functions) knows no adapter, the adapter's side (local*.c, guard.c)
# nothing of the front's, and what goes between them as bytes (bytes*.c, values.c, cursor.c, ring.c) neither.
# Seen in the symbols that an object needs and in all that its source includes. provider.c alone joins them.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
bad=0
cd "$ROOT" || exit 1
# unknown FILE SYMBOLS HEADERS
unknown() {
	# shellcheck disable=SC2086
	$CC $CFLAGS -O2 -fno-pie -U_FORTIFY_SOURCE -I. -c "$1" -o "$dir/o" -MD -MF "$dir/d" || exit 1
	found=$(nm -u "$dir/o" | awk '{print $2}' | grep -xE "$2"
		tr ' ' '\n' <"$dir/d" | grep -xE "$3")
	[ -z "$found" ] || {
		echo "$1 knows:"
		echo "$found"
		bad=1
	}
}
adapter='transport/hca/(device|cq|internal)\.h|transport/verbs/(world|local)\.h'
for file in transport/verbs/*.c; do
	case ${file##*/} in
	provider.c) ;;
	local*.c | guard.c) unknown "$file" 'ibv_.*|vrb_(queue|events|device)_.*' 'transport/verbs/internal\.h' ;;
	bytes*.c | values.c | cursor.c | ring.c | table.c)
		unknown "$file" 'hca_.*|ibv_.*|vrb_(local|queue|events|device|on)_.*' \
			"transport/verbs/internal\\.h|$adapter"
		;;
	*) unknown "$file" 'hca_.*|vrb_(local|bytes|guard|on|world).*' "$adapter" ;;
	esac
done
exit $bad
