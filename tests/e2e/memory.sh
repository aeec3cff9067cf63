#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A run that needs more memory for packets under way than the scenario gives it ends with status 3 and one
# line; what was measured is kept, and is partial. With enough of it the run is whole.
. "$(dirname "$0")/lib.sh"

cat >tight.yaml <<'END'
version: 1
topology: {kind: star, hosts: 9}
programs: [{run: incast_write, hosts: "h[0-8]", args: [bytes=300000]}]
memory: 64KiB
END
for threads in 1 2; do
	expect 3 run tight.yaml --threads $threads --out tight
	[ "$(wc -l <err)" = 1 ] || fail "--threads $threads: not one line"
	grep -q '^verbena: .*memory for packets under way is used up.*key memory' err ||
		fail "--threads $threads: another line"
	holds tight/result.json 'r["partial"] is True'
	expect 3 run tight.yaml --threads $threads --json
	holds out 'r["partial"] is True'
	expect 0 run tight.yaml --threads $threads --json --set memory=64MiB
	holds out 'r["partial"] is False'
done
