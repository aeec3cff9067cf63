#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# switch.rewrite: a packet has its new DSCP on every link behind the switch, in captures as in the pauses of
# the next switch, and checksums that are right; the first rule holds; what explains follows the change.
. "$(dirname "$0")/lib.sh"

says() { # PATTERN
	grep -qE "$1" out || {
		cat out
		fail "no line like \"$1\""
	}
}

cat >two.yaml <<'END'
version: 1
topology:
  hosts: [a, b, c, sink]
  switches: [near, far]
  links:
    - {a: [a, b, c], b: near}
    - {a: near, b: far}
    - {a: far, b: sink, rate: 10Gbps}
switch: {buffer: 1MiB, xoff: 60KB, pfc: {priorities: [3, 4, 5]}}
switches:
  - names: near
    rewrite:
      - {in: a, out: far, values: [24], dscp: 32}
      - {in: [a-near, b], values: [24], dscp: 40}
      - {in: a, values: [0], dscp: 8}
nic: {mtu: 1024}
traffic: [{class: in, pattern: incast, from: [a, b, c], to: sink, size: 300KB}]
programs: [{run: datagrams, hosts: [a, sink]}]
END
expect 0 run two.yaml --quiet --out two --pcap hosts.pcapng
digest=$(digest_of out)
expect 0 run two.yaml --quiet --threads 2
[ "$(digest_of out)" = "$digest" ] || fail "another digest with two threads"
expect 0 run two.yaml --quiet --out link --pcap link.pcapng --pcap-port far-near
[ "$(digest_of out)" = "$digest" ] || fail "a capture changes the digest"
python3 - <<'END' || fail "not the DSCPs of the rules, or a check that is wrong"
import collections, struct, zlib

def frames(path):
    data, at, names = open(path, "rb").read(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 1:
            names.append(data[at + 20:at + 20 + struct.unpack_from("<H", data, at + 18)[0]].decode())
        if kind == 6:
            port, _, _, size, _ = struct.unpack_from("<5I", data, at + 8)
            yield names[port], data[at + 28:at + 28 + size]
        at += length

def checks(frame):
    words = struct.unpack_from(">10H", frame, 14)
    total = sum(words)
    total = (total & 0xffff) + (total >> 16)
    ip = bytearray(frame[14:14 + struct.unpack_from(">H", frame, 16)[0]])
    want = bytes(ip[-4:])
    for i in (1, 8, 10, 11, 26, 27, 32):
        ip[i] = 0xff
    return (total & 0xffff) + (total >> 16) == 0xffff and \
        struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(ip[:-4]))) == want

hosts = {f"10.0.0.{i + 1}": name for i, name in enumerate(["a", "b", "c", "sink"])}
sent, received, ud = (collections.defaultdict(set) for _ in range(3))
for path, into in ("hosts.pcapng", sent), ("link.pcapng", received):
    for port, frame in frames(path):
        if frame[12:14] == b"\x88\x08":
            continue
        assert checks(frame), frame.hex()
        src = hosts[".".join(map(str, frame[26:30]))]
        dst = hosts[".".join(map(str, frame[30:34]))]
        if frame[42] != 0x11:
            (ud if frame[42] >> 5 == 3 else into)[port.split()[0], src, dst].add(frame[15] >> 2)
ports = {p for p, _, _ in sent}
assert ports >= {"a", "b", "c", "sink"}, ports
assert all(sent[n, n, "sink"] == {24} for n in "abc"), sent
assert [sent["sink", n, "sink"] for n in "abc"] == [{32}, {40}, {24}], sent
assert {k[1]: v for k, v in received.items() if k[2] == "sink"} == {"a": {32}, "b": {40}, "c": {24}}, received
assert ud["sink", "a", "sink"] == {8} and ud["a", "a", "sink"] == {0}, ud
END
# far pauses near in each of the three priorities; near pauses each host in the one that it sends.
expect 0 explain two.yaml --why pfc
says '^  [0-9.]* us: near held [0-9]* bytes of priority 3 from b, '
says '^  [0-9.]* us: far held [0-9]* bytes of priority 5 from near, '
expect 0 run two.yaml --quiet --trace port=far-near,port=a-near,port=b-near
for q in 3 4 5; do
	grep -q "  far > near  PFC pause, priority $q" out || fail "far does not pause priority $q"
done
grep -q '  near > a  PFC pause, priority 3' out || fail "a is not paused in the priority that it sends"
grep -q '  near > a  PFC pause, priority 4' out && fail "a is paused in a priority that it does not send"

# Buffers that wait in a circle of two priorities.
sed 's/^switch:.*/switch: {buffer: 2MB, xoff: 40KB, pfc: {priorities: [3, 4]}}\nswitches: [{names: s1, rewrite: [{out: s2, values: [24], dscp: 32}]}, {names: s3, rewrite: [{out: s0, values: [32], dscp: 24}]}]/; /^expect/,$d' \
	"$root/traces/incidents/cyclic_buffers.yaml" >mixed.yaml
expect 0 explain mixed.yaml --why deadlock
says '^There is a deadlock: [0-9]* ports wait for each other, priority 3\.$'
says '^  s1 towards s2: [0-9]* bytes wait, paused by s2 since [0-9.]* us, priority 4$'
expect 0 explain "$root/traces/incidents/bounce-cure.yaml" --why deadlock
says '^There is no deadlock: '
