#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A run that needs more memory for packets under way than the scenario gives it ends with status 3 and one
# line; what was measured is kept, and is partial. With enough of it the run is whole. So it is with what
# adapters know of packets under way that may be lost; and who lives and loses nothing needs next to none.
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

cat >lossy.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3, delay: 100us}
nic: {retransmit: selective, window: 32768}
traffic: [{class: long, pattern: incast, to: h2, from: "h[0-1]", size: 8MB}]
faults: [{link: h0-s0, sender: h0, loss: 1%}]
END
for threads in 1 2; do
	expect 3 run lossy.yaml --threads $threads --json --set memory=64KiB
	[ "$(wc -l <err)" = 1 ] || fail "lossy --threads $threads: not one line"
	grep -q '^verbena: .*memory for packets under way is used up.*key memory' err ||
		fail "lossy --threads $threads: another line"
	expect 0 run lossy.yaml --threads $threads --json --set memory=2MiB
	holds out 'r["flows"]["completed"] == 2'
done

cat >live.yaml <<'END'
version: 1
topology: {kind: star, hosts: 9}
nic: {retransmit: selective, window: 32768}
traffic: [{class: live, pattern: incast, to: h8, from: "h[0-7]", size: 32MB, repeat: 250}]
until: 300us
END
python3 - "$verbena" <<'END' || fail "flows that lose nothing take memory for a window"
import os, sys
if os.fork() == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execv(sys.argv[1], [sys.argv[1], "run", "live.yaml", "--json"])
status, usage = os.wait3(0)[1:]
print(status, usage.ru_maxrss)
sys.exit(status != 0 or usage.ru_maxrss > 150000)
END
