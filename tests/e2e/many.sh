#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Very many of something in a scenario: it takes time in proportion, or is refused. Processor time is
# compared with that of little, so that it does not matter how fast the machine is.
. "$(dirname "$0")/lib.sh"

cpu() { # STATUS ARG...: hundredths of a second that verbena takes, its children's included, in $took
	took=$(python3 - "$verbena" "$@" <<'END'
import resource, subprocess, sys
with open("out", "w") as out, open("err", "w") as err:
    status = subprocess.run([sys.argv[1]] + sys.argv[3:], stdout=out, stderr=err).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(max(1, int(100 * (used.ru_utime + used.ru_stime))) if status == int(sys.argv[2]) else f"exit{status}")
END
	)
	case $took in exit*) fail "verbena $2 $3: $took, expected $1" ;; esac
}

head='version: 1\ntopology: {kind: star, hosts: 3}\n'
blocks() { # COUNT
	printf '%btraffic:\n' "$head"
	seq "$1" | sed 's/.*/  - {class: c&, pattern: incast, to: h0, from: h1, size: 1KB}/'
}
blocks 10000 >blocks.yaml
expect 0 check blocks.yaml
grep -q ' 10000 flows,' out || fail "not all blocks"
blocks 10001 >blocks.yaml
expect 2 run blocks.yaml --json
[ "$(cat err)" = 'blocks.yaml:4: traffic: found 10001 of them, expected at most 10000' ] || fail "blocks: another line"

# Keys that nobody knows: the first thousand are told, with what is near; the rest costs little more than
# reading it.
{
	printf '%bexpect:\n' "$head"
	seq 300000 | sed 's/.*/  - key&/'
} >texts.yaml
cpu 2 check texts.yaml
grep -qx 'texts.yaml:4: expect: found 300000 of them, expected at most 10000' err || fail "texts: another line"
few=$took
unknown() { # FILE TIMES: what it says is a thousand lines, in TIMES what reading as much takes
	cpu 2 check "$1"
	[ "$(wc -l <err)" = 1000 ] || fail "$1: not a thousand lines"
	[ "$took" -lt $((few * $2 + 50)) ] || fail "$1: $took hundredths of a second, $few to read as much"
}
{
	printf '%b' "$head"
	seq 300000 | sed 's/.*/seef&: 1/'
} >keys.yaml
unknown keys.yaml 5
{
	printf '%bnic:\n' "$head"
	seq 300000 | sed 's/.*/  seef&: 1/'
} >inside.yaml
unknown inside.yaml 4

# Expectations.
expects() { # COUNT
	printf '%btraffic: [{class: c, pattern: incast, to: h0, size: 1KB}]\nexpect:\n' "$head"
	seq "$1" | sed 's/.*/  - .drops.buffer <= & and .fct.c.p99_ps < (&|s)/'
}
expects 1 >one.yaml
judges_expectations one.yaml || {
	echo "SKIP: the rest: built without libjq"
	exit 0
}
cpu 0 run one.yaml --json
one=$took
expects 1000 >expects.yaml
cpu 0 run expects.yaml --json
holds out 'len(r["expect"]) == 1000 and all(e["held"] for e in r["expect"])'
[ "$took" -lt $((one * 100)) ] || fail "1000 expectations: $took hundredths of a second, $one for one"
sed -i 's/buffer/bufer/' expects.yaml
expect 2 run expects.yaml --json
[ "$(wc -l <err)" -le 120 ] || fail "a line for each of very many"
grep -q 'found many errors before it: it was not tried, expected fewer at once' err || fail "not told that it gave up"
