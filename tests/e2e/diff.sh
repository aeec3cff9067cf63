#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena diff: nothing between equal runs, and the first event that is not the same between others.
. "$(dirname "$0")/lib.sh"

cat >a.yaml <<'END'
version: 1
topology: {kind: star, hosts: 6}
switch: {buffer: 1MiB, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}, pfc: {}}
nic: {mtu: 1024, cc: dcqcn}
traffic:
  - {class: incast, pattern: incast, to: h0, size: 100KB}
  - {class: ring, pattern: ring, size: 20KB, priority: 4}
programs: [{run: pingpong_write, hosts: [h2, h4]}]
END
events() { # FILE: as the trace has them
	expect 0 run "$1" --quiet --out traced --trace all
	grep '^[0-9]*\.[0-9]\{6\} us  ' out
}
events a.yaml >a.trace

expect 0 diff a.yaml a.yaml
expect 0 run a.yaml --quiet --out a --threads 2
digest=$(digest_of out)
expect 0 diff a a.yaml
grep -qx "all $(wc -l <a.trace) events are the same; the digest, too: $digest" out || fail "not the same"

# The 30th frame of h3 is lost: nothing differs before that, and what A does next at h3 is another frame.
cat a.yaml - >b.yaml <<'END'
faults: [{link: h3-s0, sender: h3, drop_nth: [30]}]
END
events b.yaml >b.trace
expect 0 run b.yaml --quiet --out b
expect 1 diff a b
same=$(cmp a.trace b.trace | sed 's/.*line //')
next=$(tail -n +"$same" a.trace | grep -m 1 -E ' us  h3 > s0  | s0 > h3  stops')
grep -q "^the first $((same - 1)) events are the same; then, at .* us, at h3:" out || fail "not after $((same - 1)) events"
[ "$(sed -n 's/^A //p' out)" = "$next" ] || fail "another event of A"
[ "$(sed -n 's/^B //p' out)" = "$(sed -n "${same}p" b.trace)" ] || fail "another event of B"
sed -n "${same}p" b.trace | grep -q ' h3 > s0  DROP of .*: lost by a fault of the link$' || fail "another loss"
sed -n 's/^  \([0-9]\)/\1/p' out >context
[ "$(wc -l <context)" -ge 4 ] || fail "no context"
while IFS= read -r line; do
	head -n $((same - 1)) a.trace | tail -n 64 | grep -qFx "$line" || fail "not from before: $line"
done <context
expect 1 diff b a
[ "$(sed -n 's/^B //p' out)" = "$next" ] || fail "A and B are one"

# Of the side whose next event is elsewhere the next at that node is shown, or until when there is none.
cat >two.yaml <<'END'
version: 1
topology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 2}
traffic:
  - {class: near, pattern: incast, to: h1, from: h0, size: 100KB}
  - {class: far, pattern: incast, to: h3, from: h2, size: 100KB}
END
events two.yaml >two.trace
for fault in "drop_nth: [5]" "drop_nth: [25]" "loss: 100%, from: 2us"; do
	(cat two.yaml && echo "faults: [{link: h0-leaf0, sender: h0, $fault}]") >lost.yaml
	events lost.yaml >lost.trace
	expect 1 diff two.yaml lost.yaml
	same=$(cmp two.trace lost.trace | sed 's/.*line //')
	[ "$(sed -n 's/^B //p' out)" = "$(sed -n "${same}p" lost.trace)" ] || fail "$fault: another event of B"
	sed -n "${same}p" lost.trace | grep -q ' us  h0 > leaf0  DROP of ' || fail "$fault: not the loss"
	there=$(tail -n +"$same" two.trace | grep -m 1 ' us  h0 > ' || true)
	case $there in
	*" us  "*) [ "$(sed -n 's/^A //p' out)" = "$there" ] || fail "$fault: another event of A: $(cat out)" ;;
	*) grep -qx 'A nothing at h0 until [0-9]*\.[0-9]* us' out || fail "$fault: there is something: $(cat out)" ;;
	esac
	expect 1 diff lost.yaml two.yaml
	[ "$(sed -n 's/^A //p' out)" = "$(sed -n "${same}p" lost.trace)" ] || fail "$fault: A and B are one"
done

# What differs may be nothing that a line of the trace tells.
expect 0 run a.yaml --quiet --out plain --set nic.cc=none
expect 1 diff a plain
grep -q '^the first event is not the same, at 0\.000000 us, at h[0-9]:$' out || fail "not from the first on"
[ "$(sed -n 's/^A //p' out)" = "$(sed -n 's/^B //p' out)" ] || fail "another difference than ECN"
grep -qx '  the ECN field is 2 in A and 0 in B' out || fail "nothing about ECN"
tail -n 1 out | grep -qx 'the scenarios are not the same' || fail "nothing about the scenarios"

# One of them ends before the other; other seeds, other topologies.
expect 1 run a.yaml --quiet --out cut --until 20us
expect 1 diff cut a
grep -qx 'A nothing more' out || fail "the shorter one goes on"
expect 0 run a.yaml --quiet --out seed --seed 2
expect 1 diff a seed
tail -n 1 out | grep -qx 'the seeds are 1 and 2' || fail "nothing about the seeds"
expect 0 run a.yaml --quiet --out set --set topology.hosts=7
expect 1 diff a set
grep -q '^the topologies are not the same: ' out || fail "nothing about the topologies"

for args in "a" "a nowhere" "a ." "a a.yaml a"; do
	# shellcheck disable=SC2086
	expect 2 diff $args
	[ -s err ] && [ ! -s out ] || fail "diff $args: no line"
done
