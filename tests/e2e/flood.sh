#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Hosts that a switch forgets: what a run, its captures, traces and explanations say of copies. A packet of 1024
# bytes takes 1106 on the wire.
. "$(dirname "$0")/lib.sh"

says() { # PATTERN
	grep -qE "$1" out || {
		cat out
		fail "no line like \"$1\""
	}
}

cat >star.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
switch: {unknown: flood}
nic: {mtu: 1024, timeout: 0}
traffic: [{class: a, pattern: incast, from: h0, to: h2, size: 8KiB}]
programs: [{run: datagrams, hosts: [h0, h2]}]
faults: [{switch: s0, forget: h2}]
END
expect 0 run star.yaml --out star
digest=$(digest_of out)
packets=$(python3 -c 'import json; print(json.load(open("star/result.json"))["floods"]["packets"])')
[ "$packets" -gt 8 ] || fail "$packets packets flooded"
says "^floods    $packets packets, $((2 * packets)) more copies, $((2 * packets)) discarded by others\$"
holds star/result.json 'set(r["floods"]) == {"packets", "copies", "discarded"} and set(r["drops"].values()) == {0}'
! grep -q unknown out || fail "nothing is dropped, and it says so"
expect 0 run star.yaml --quiet --threads 3 --out star --pcap star.pcapng
[ "$(digest_of out)" = "$digest" ] || fail "another digest with threads and a capture"
# h1 and h3 see what is for h2, with its addresses.
PACKETS=$packets python3 - <<'END' || fail "other frames at others"
import collections, os, struct
data, at, names = open("star.pcapng", "rb").read(), 0, []
seen = collections.Counter()
while at < len(data):
    kind, length = struct.unpack_from("<II", data, at)
    if kind == 1:
        names.append(data[at + 20:at + 20 + struct.unpack_from("<H", data, at + 18)[0]].decode().split()[0])
    if kind == 6:
        port, _, _, size, _ = struct.unpack_from("<5I", data, at + 8)
        frame = data[at + 28:at + 28 + size]
        src, dst = (".".join(map(str, frame[i:i + 4])) for i in (26, 30))
        if src == "10.0.0.1":
            seen[names[port], dst, frame[:6].hex()] += 1
    at += length
macs = {mac for _, _, mac in seen}
assert len(macs) == 1 and {dst for _, dst, _ in seen} == {"10.0.0.3"}, seen
packets = int(os.environ["PACKETS"])
assert {host: n for (host, _, _), n in seen.items()} == {h: packets for h in ("h0", "h1", "h2", "h3")}, seen
END
expect 0 run star.yaml --quiet --trace all
grep -c ' s0 > h[13]  .* of h2, .*, a copy of a flood$' out | grep -qx "$((2 * packets))" || fail "copies are not told"
! grep -q ' s0 > h2  .* a copy of a flood' out || fail "h2's own is said to be a copy"
# The way of a flow is that of the packets that its receiver took.
expect 0 explain star.yaml 0 --why slow
says '^  at s0 towards h2: '
! grep -q 'towards h[13]' out || fail "a flow goes where its copies go"
expect 0 explain star.yaml --why drop
says "^s0 sent $packets frames for hosts whose port it had forgotten out of every other port: $((2 * packets)) more copies\\.\$"
says '^Nothing was dropped\.$'
expect 0 report star.yaml --flows 0 --out ladder

# Its programs wait for what never comes.
expect 1 run star.yaml --set switch.unknown=drop --set until=1ms --out dropped
dropped=$(python3 -c 'import json; print(json.load(open("dropped/result.json"))["drops"]["unknown"])')
[ "$dropped" -ge 8 ] || fail "$dropped packets dropped"
says "^drops     buffer 0, .*, watchdog 0, unknown $dropped\$"
! grep -q '^floods' out || fail "floods of nothing"
grep -q "$dropped for hosts that a switch had forgotten" dropped/report.html || fail "the report does not say why"
expect 0 explain dropped --why drop
says "^s0 dropped $dropped frames for hosts whose port it had forgotten\\.\$"

expect 0 explain flooding --why deadlock
says '^There is a deadlock: 4 ports wait for each other, priority 3\.$'
says '^leaf[01] has sent [0-9]* frames for hosts whose port it had forgotten out of every other port: the copies wait there, too\.$'
expect 0 explain flooding --why cure
says '^1\. Lossless packets are flooded$'
says '^    switch\.unknown: found flood, try flood_lossy$'
tr -s ' \n' ' ' <out | grep -q 'leaf1 had forgotten by which port h3 is reached, and sent ' || fail "another switch or host"

# Each copy takes room by itself, and so headroom: what is asked for counts all that a packet becomes, here seven.
cat >burst.yaml <<'END'
version: 1
topology: {kind: star, hosts: 8}
switch: {unknown: flood, pfc: {priorities: [3]}, buffer: 4MB, xoff: 20KB}
faults: [{switch: s0, forget: h0, from: 10us, until: 1ms}]
traffic: [{class: two, pattern: incast, from: [h1, h2], to: h0, size: 1MB}]
until: 2ms
END
expect 0 run burst.yaml --json
holds out 'r["drops"]["buffer"] > 0'
expect 0 explain burst.yaml --why cure
tr -s ' \n' ' ' <out >flat
one=$(sed -n 's/.* bring up to \([0-9.]*\) KB until it is obeyed .*/\1/p' flat)
grep -qF "took the room of as many packets as ports that it left by: 7, $(echo "$one" | awk '{printf "%.0f", 7 * $1}') KB in all." flat ||
	fail "not seven times $one KB: $(cat flat)"
expect 0 run burst.yaml --json --set "switch.pfc.headroom=$(sed -n 's/.* switch\.pfc\.headroom: found auto, try \([0-9]*KB\) .*/\1/p' flat)"
holds out 'r["drops"]["buffer"] == 0'
