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

# Of such a run everything that is known up to there can be asked for.
cat >cut.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3, delay: 100us}
switch: {pfc: {priorities: [3]}}
nic: {retransmit: selective, window: 32768}
traffic: [{class: long, pattern: incast, to: h2, from: "h[0-1]", size: 8MB}]
faults: [{link: h0-s0, sender: h0, loss: 1%}]
memory: 64KiB
END
expect 3 run cut.yaml --out cut
digest=$(digest_of out)
told="^verbena: cut: the run could not go on at .*memory for packets under way is used up; the scenario's key memory .*this is of the run up to there$"
for command in "explain cut --why cure" "explain cut --why pfc" "explain cut --why slow 0" "report cut --out page"; do
	# shellcheck disable=SC2086
	expect 0 $command
	[ "$(wc -l <err)" = 1 ] && grep -q "$told" err || fail "$command: another line"
done
grep -q "<strong>Cut short.</strong>" page/report.html || fail "the report does not say that it is partial"
expect 0 diff cut cut
grep -q "the digest, too: $digest$" out || fail "not up to where the run was"
[ "$(grep -c "$told" err)" = 2 ] && [ "$(wc -l <err)" = 2 ] || fail "diff: other lines"
expect 1 diff cut cut.yaml --set memory=64MiB

# A limit that is in the way is named. (Sanitizers do not begin below it.)
# shellcheck disable=SC3045 # every shell here has it
if (ulimit -v 700000 && "$verbena" --version) >out 2>err; then
	# shellcheck disable=SC3045 # as above
	(ulimit -v 700000 && expect 3 run cut.yaml --json)
	grep -q '^verbena: cut.yaml: Cannot allocate memory; this process may have addresses for 683 MiB (ulimit -v), and a run reserves more' err ||
		fail "a limit of addresses is not named"
fi

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
