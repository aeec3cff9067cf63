#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every scenario of traces/: good, complete, and together they show pauses, marks and losses.
. "$(dirname "$0")/lib.sh"

# Beside a sanitizer ranks share their variables, of which one of them has some.
shared=
! is_sanitized || shared=gpudirect
count=0 paused=0 marked=0 alone=0
for file in "$root"/traces/*.yaml; do
	name=$(basename "$file" .yaml)
	expect 0 check "$file"
	[ ! -s err ] || fail "$name: warnings"
	[ "$name" != "$shared" ] || continue
	expect 0 run "$file" --json
	cp out "$name.json"
	holds "$name.json" "r['scenario'] == '$name' and r['partial'] is False"
	holds "$name.json" 'r["flows"]["failed"] == 0'
	# One stays within a machine.
	[ "$name" = memory_ages ] || holds "$name.json" 'r["packet_hops"] > 1000'
	holds "$name.json" 'all(p["failed"] + p["unfinished"] == 0 for p in r["programs"])'
	case $name in
	loss) holds loss.json 'r["drops"]["fault"] > 0 and r["drops"]["icrc"] > 0 and r["flows"]["packets_retransmitted"] > 0' ;;
	*) holds "$name.json" 'set(r["drops"].values()) == {0}' ;;
	esac
	count=$((count + 1))
	! (holds "$name.json" 'r["pfc"]["pause_sent"] > 0') >/dev/null || paused=$((paused + 1))
	! (holds "$name.json" 'r["ecn"]["marked"] > 0 and r["cnp"]["handled"] > 0') >/dev/null ||
		marked=$((marked + 1))
	grep -q 'file:' "$file" || alone=$((alone + 1))
done
echo "$count scenarios, $paused with pauses, $marked with marks, $alone self-contained"
[ $count -ge 8 ] && [ $paused -ge 2 ] && [ $marked -ge 3 ] && [ $((2 * alone)) -ge $count ] ||
	fail "too few"
holds default.json 'r["pfc"]["pause_sent"] > 0 and r["ecn"]["marked"] > 0 and len(r["programs"]) >= 2'
holds default.json 'r["fct"]["incast"]["count"] == 16 and r["fct"]["background"]["count"] > 100'
