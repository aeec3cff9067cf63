#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What must not change a run, byte by byte, and what must.
. "$(dirname "$0")/lib.sh"

expect 0 run small.yaml --json --out plain
plain=$(sed -n 's/.*"digest": "\(.*\)".*/\1/p' plain/result.json)

# same WHAT ARG...: as the plain run
same() {
	what=$1
	shift
	expect 0 run "$@" --json --out again
	for file in flows.csv ports.csv; do
		cmp -s "plain/$file" "again/$file" || fail "$what: another $file"
	done
	python3 - plain/result.json again/result.json <<'END' || fail "$what: another result.json"
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
a["wall_s"] = b["wall_s"] = 0
assert a == b, [(k, a[k], b[k]) for k in a if a[k] != b[k]]
END
	rm -r again
}

same "again" small.yaml
same "two threads" small.yaml --threads 2
same "three threads" small.yaml --threads 3
same "through bytes" small.yaml --through-wire
same "with a capture" small.yaml --pcap capture.pcapng
same "the same seed" small.yaml --seed 1
same "a default in words" small.yaml --set topology.delay=1us

# Cut off while packets are under way, whatever thread's memory they lie in.
for until in 7us 20us 50us; do
	expect 1 run small.yaml --json --until $until
	cut=$(sed -n 's/.*"digest": "\(.*\)".*/\1/p' out)
	for threads in 2 3; do
		expect 1 run small.yaml --json --until $until --threads $threads
		grep -q "\"$cut\"" out || fail "cut at $until, $threads threads: another digest"
	done
done

# Lines and lists in another order; units in other words.
cat >shuffled.yaml <<'END'
until: 10000us
programs:
  - hosts: [h1, h6, h3]
    run: ring
nic: {cc: dcqcn, mtu: 1024, ack_every: auto}
switch:
  pfc: {priorities: [3]}
  ecn: {pmax: 1/5, kmax: 80000B, kmin: 20KB}
  buffer: 1024KiB
traffic:
  - {pattern: ring, size: 20000B, class: ring}
  - {start: 5000ns, size: 0.1MB, from: [h7, h2, h3, h1, "h[4-6]"], to: h0, pattern: incast, class: incast}
name: small
topology: {hosts_per_leaf: 4, spines: 2, leaves: 2, kind: leaf_spine, host_rate: 0.1Tbps}
version: 1
END
same "shuffled" shuffled.yaml

# The world around it.
LC_ALL=C.UTF-8 LANG=tr_TR.UTF-8 same "another locale" small.yaml
TZ=Pacific/Apia same "another time zone" small.yaml
POSIXLY_CORRECT=1 same "another environment" small.yaml
# shellcheck disable=SC3045 # every shell here has it
(ulimit -s 1024 && same "a small stack" small.yaml)
(umask 077 && same "another umask" small.yaml)
mkdir elsewhere
(cd elsewhere && expect 0 run ../small.yaml --json --out ../again)
cmp -s plain/flows.csv again/flows.csv || fail "another folder: another flows.csv"
rm -r again
if command -v setarch >/dev/null && setarch -R true 2>/dev/null; then
	status=0
	setarch -R "$verbena" run small.yaml --json >fixed.json || status=$?
	holds fixed.json "r['digest'] == '$plain'"
fi

# differs WHAT ARG...
differs() {
	what=$1
	shift
	expect 0 run "$@" --json
	! grep -q "$plain" out || fail "$what: the same digest"
}
differs "another seed" small.yaml --seed 2
differs "a little longer" small.yaml --set traffic.ring.size=20001B
differs "a little later" small.yaml --set traffic.ring.start=1ps
differs "another buffer" small.yaml --set switch.buffer=2MiB
differs "another rank order" small.yaml --set 'programs.0.hosts=[h6, h1, h3]'
