#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Threads of programs in virtual time: locks, conditions, clocks and verbs, with exact times; what is told of
# those that spin, and of what is not served. $3: the module "threads".
threads=$(realpath "$3")
. "$(dirname "$0")/lib.sh"

scenario() { # WHAT
	cat <<END
version: 1
topology: {kind: star, hosts: 3}
programs: [{run: "$threads", name: it, hosts: "h[0-1]", args: [$1]}]
END
}

for what in locks conditions other_locks values clocks verbs left; do
	scenario $what >it.yaml
	for count in 1 2; do
		expect 0 run it.yaml --json --threads $count
		holds out 'all(k["ended"] and k["result"] == 0 for k in r["programs"][0]["ranks"])'
		python3 -c 'import json; r = json.load(open("out")); print(r["digest"], r["time_ps"])' >"$what.$count"
	done
	cmp -s $what.1 $what.2 || fail "$what: another run on two threads"
	[ "$what" != left ] || [ ! -s err ] || fail "a thread has outlived its program"
done

# Whoever waits for what never comes is no rank that has ended.
scenario never >it.yaml
expect 1 run it.yaml --json
holds out 'r["programs"][0]["unfinished"] == 2'

scenario spin >it.yaml
expect 3 run it.yaml --out spin
grep -qE '^verbena: h[01]: program it thread [1-4] spins at .*spins' err || fail "a thread that spins is not named"
holds spin/result.json 'r["partial"] is True'
scenario alarm >it.yaml
expect 3 run it.yaml --json
grep -qxE 'verbena: h[01]: program it calls alarm\(\), which is not served in virtual time' err || fail "alarm: another line"
scenario stranger >it.yaml
expect 3 run it.yaml --json
grep -qE '^verbena: h[01]: a thread that program it has not made with pthread_create\(\) calls the adapter at ' err ||
	fail "a thread of the system's: another line"
