#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every incident shows what it says, its cure does not, and the key that the incident names as its knob,
# turned alone, makes the difference. By name from anywhere.
. "$(dirname "$0")/lib.sh"

count=0
for file in "$root"/traces/incidents/*.yaml; do
	name=$(basename "$file" .yaml)
	case $name in *-cure) continue ;; esac
	[ -f "$root/traces/incidents/$name-cure.yaml" ] || fail "$name: no cure"
	grep -q '^# Seen: ' "$file" && grep -q '^# Why: ' "$file" && grep -q '^# Cure: ' "$file" ||
		fail "$name: a story that is not told"
	expect 0 run "$name" --json
	holds out "r['scenario'] == '$name' and len(r['expect']) > 0"
	expect 0 run "$name-cure" --json
	holds out "len(r['expect']) > 0"
	set --
	for knob in $(sed -n 's/^# knob: //p' "$file"); do
		set -- "$@" --set "$knob"
	done
	[ $# -gt 0 ] || fail "$name: no knob"
	expect 1 run "$name" "$@" --json
	count=$((count + 1))
done
echo "$count incidents"
[ "$count" -ge 20 ] || fail "too few"
# The name is still that of the incident where its results lie in a folder of that name.
expect 0 run watchdog --quiet --out watchdog
expect 0 run watchdog --quiet --out watchdog
expect 0 explain watchdog --why drop
expect 2 run no_such_incident
