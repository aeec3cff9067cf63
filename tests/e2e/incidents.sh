#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Every incident shows what it says, its cure does not, and the key that the incident names as its knob,
# turned alone, makes the difference. By name from anywhere.
. "$(dirname "$0")/lib.sh"

# What becomes of its packets and flows is said: by its own words, or as what every incident of the kind has.
told() { # FILE: of out
	python3 - "$1" <<'END' || fail "$1: does not say all that happens"
import json, re, sys
words = " ".join(line[1:].strip() for line in open(sys.argv[1]) if line.startswith("#"))
result = json.load(open("out"))
drops, flows = sum(result["drops"].values()), result["flows"]
untold = []
if drops and not re.search(r"\b(drop|lost|los[es]|loses|loss)", words):
    untold.append(f"{drops} packets are dropped")
if flows["failed"] > flows["unfinished"] and not re.search(r"\b(dies?|died|fails?)\b", words):
    untold.append(f"{flows['failed'] - flows['unfinished']} flows fail")
if flows["unfinished"] and not re.search(r"\b(for good|for ever|never|not one|nobody|not done|not end)", words):
    untold.append(f"{flows['unfinished']} flows do not end")
for line in untold:
    print(f"{sys.argv[1]}: {line}")
sys.exit(1 if untold else 0)
END
}

count=0
for file in "$root"/traces/incidents/*.yaml; do
	name=$(basename "$file" .yaml)
	case $name in *-cure) continue ;; esac
	[ -f "$root/traces/incidents/$name-cure.yaml" ] || fail "$name: no cure"
	grep -q '^# Seen: ' "$file" && grep -q '^# Why: ' "$file" && grep -q '^# Cure: ' "$file" ||
		fail "$name: a story that is not told"
	expect 0 run "$name" --json
	holds out "r['scenario'] == '$name' and len(r['expect']) > 0"
	told "$file"
	expect 0 run "$name-cure" --json
	holds out "len(r['expect']) > 0"
	told "${file%.yaml}-cure.yaml"
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
# A name that is nearly one, of an incident and of a profile, is answered with that one.
for command in run check report topo "explain --why pfc"; do
	# shellcheck disable=SC2086
	expect 2 $command pfc_strom
	grep -qx 'pfc_strom: file: found no such file: "pfc_strom", expected a file that can be read, or a known incident such as "pfc_storm"' err &&
		[ "$(wc -l <err)" = 1 ] || fail "$command: another line"
done
expect 2 incidents victm-cure
grep -qx 'verbena: found "victm-cure", expected a known incident such as "victim-cure"' err || fail "another incident"
expect 2 profiles conectx4
grep -qx 'verbena: found "conectx4", expected a known profile such as "connectx4"' err || fail "another profile"
expect 2 run zzzzzzzzz
grep -qx 'zzzzzzzzz: file: found no such file: "zzzzzzzzz", expected a file that can be read' err || fail "a name like none"
printf 'version: 1\nprofiles: [msn2070]\ntopology: {kind: star, hosts: 2}\n' >near.yaml
expect 2 check near.yaml
grep -qx 'near.yaml:2: profiles: found "msn2070", expected a known profile such as "msn2700"' err || fail "another profile of a scenario"

# A repository that was moved, with what was built in it: its own incidents come first.
mkdir -p moved/build moved/traces/incidents
cp "$verbena" moved/build/verbena
cp "$root/traces/incidents/incast.yaml" moved/traces/incidents/nowhere_else.yaml
expect_of_moved() { # STATUS ARG...
	want=$1
	shift
	status=0
	moved/build/verbena "$@" >out 2>err || status=$?
	[ "$status" = "$want" ] || fail "a repository that was moved: exit $status"
}
expect_of_moved 0 run nowhere_else --json
expect_of_moved 0 incidents
grep -q '^nowhere_else ' out || fail "a repository that was moved: no list of its incidents"
