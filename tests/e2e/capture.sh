#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --pcap: every frame of every host port, whole, in order, PFC included; the same bytes with two threads.
. "$(dirname "$0")/lib.sh"

cat >pause.yaml <<'END'
version: 1
name: pause
topology: {kind: star, hosts: 5}
switch: {buffer: 400KiB, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}, pfc: {priorities: [3, 0]}}
nic: {mtu: 1024, cc: dcqcn, ip: 4}
traffic: [{class: incast, pattern: incast, to: h0, size: 100KB}]
programs: [{run: write_once, hosts: [h1, h2]}]
END
expect 0 run pause.yaml --json --out out_1 --pcap one.pcapng
# The packets of a program hold the addresses of its memory.
expect 0 run pause.yaml --json --set 'programs=[]' --pcap alone.pcapng
expect 0 run pause.yaml --json --set 'programs=[]' --threads 2 --pcap two.pcapng
cmp alone.pcapng two.pcapng || fail "another capture with two threads"
expect 0 run pause.yaml --json --set nic.ip=6 --pcap six.pcapng

cat >frames.py <<'END'
import struct, zlib

def icrc(frame):
    f = bytearray(frame[14:])
    ip = 20 if frame[12:14] == b"\x08\0" else 40
    end = ip + struct.unpack_from(">H", f, ip + 4)[0]
    want = f[end - 4:end]
    if ip == 20:
        f[1] = f[8] = f[10] = f[11] = 0xff
    else:
        f[0] |= 0x0f; f[1] = f[2] = f[3] = 0xff; f[7] = 0xff
    f[ip + 6] = f[ip + 7] = 0xff
    f[ip + 12] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(f[:end - 4]))) == bytes(want)

def frames(path):
    data, at, names = open(path, "rb").read(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        if kind == 1:
            names.append(data[at + 20:at + 20 + struct.unpack_from("<H", data, at + 18)[0]].decode()
                         if struct.unpack_from("<H", data, at + 16)[0] == 2 else "?")
        if kind == 6:
            port, high, low, size, _ = struct.unpack_from("<5I", data, at + 8)
            options = data[at + 28 + (size + 3) // 4 * 4:at + length - 4]
            way = None
            while options:
                code, n = struct.unpack_from("<HH", options)
                if code == 2:
                    way = struct.unpack_from("<I", options, 4)[0] & 3
                options = options[4 + (n + 3) // 4 * 4:]
            yield names[port], high << 32 | low, way, data[at + 28:at + 28 + size]
        at += length
END
python3 - out_1 one.pcapng six.pcapng <<'END' || fail "not what ports.csv says"
import csv, json, struct, sys

exec(open("frames.py").read())

IN, OUT = 1, 2
ports = [p for p in csv.DictReader(open(sys.argv[1] + "/ports.csv")) if p["priority"] == "0"]
sent = {p["node"]: int(p["port_sent_packets"]) for p in ports if p["kind"] == "host"}
received = {p["peer"]: int(p["port_sent_packets"]) for p in ports if p["kind"] == "switch"}
result = json.load(open(sys.argv[1] + "/result.json"))
for path in sys.argv[2:]:
    last, seen, pauses, ce, cnps, flying = 0, {}, 0, 0, 0, {}
    for name, at, way, frame in frames(path):
        assert at >= last
        last = at
        seen[name, way] = seen.get((name, way), 0) + 1
        if frame[12:14] == b"\x88\x08":
            pauses += 1
            assert len(frame) == 60 and frame[:6] == bytes.fromhex("0180c2000001")
            continue
        assert frame[12:14] == (b"\x08\0" if path == "one.pcapng" else b"\x86\xdd")
        assert icrc(frame), frame.hex()
        ecn = frame[15] & 3 if path == "one.pcapng" else frame[15] >> 4 & 3
        ce += ecn == 3
        # What comes is what was sent, but for traffic class and hop limit, which no ICRC covers.
        same = frame[:14] + (frame[26:] if path == "one.pcapng" else frame[18:21] + frame[22:])
        flying[same] = flying.get(same, 0) + (1 if way == OUT else -1)
        cnps += frame[42 if path == "one.pcapng" else 62] == 0x81 and way == OUT
    assert set(flying.values()) == {0}
    if path == "one.pcapng":
        assert {n: seen[n, OUT] for n in sent} == sent, (seen, sent)
        assert {n: seen[n, IN] for n in received} == received, (seen, received)
        assert pauses == result["pfc"]["pause_sent"] + result["pfc"]["resume_sent"] > 0
        assert ce == result["ecn"]["marked"] > 0, (ce, result["ecn"])
        assert cnps == result["cnp"]["sent"] > 0
END
# In a VLAN all have its tag, with the priority as PCP and the DSCP of that priority.
expect 0 run pause.yaml --json --set 'programs=[]' --set nic.vlan=100 --set nic.ack_priority=5 \
	--set 'nic.dscp=[0, 8, 16, 26, 32, 40, 46, 56]' --pcap tag.pcapng
python3 - <<'END' || fail "not the tags and DSCPs of their priorities"
import collections, struct
exec(open("frames.py").read())

seen = collections.Counter()
for name, at, way, frame in frames("tag.pcapng"):
    if frame[12:14] != b"\x88\x08":
        assert frame[12:14] == b"\x81\0" and frame[16:18] == b"\x08\0"
        tag = struct.unpack_from(">H", frame, 14)[0]
        assert tag & 0xfff == 100
        seen[{0x81: "CNP", 0x11: "ACK"}.get(frame[46], "data"), tag >> 13, frame[19] >> 2] += 1
assert set(seen) == {("CNP", 6, 46), ("ACK", 5, 40), ("data", 3, 26)}, seen
END
# The names of hosts behind their addresses, as "topo" has them; those of switches behind their MACs.
expect 0 topo pause.yaml --addresses
cp out addresses
python3 - <<'END' || fail "other names than topo says"
import socket, struct
data, at, names, ports = open("one.pcapng", "rb").read(), 0, {}, []
while at < len(data):
    kind, length = struct.unpack_from("<II", data, at)
    if kind == 1:
        ports.append(data[at + 20:at + 20 + struct.unpack_from("<H", data, at + 18)[0]].decode())
    if kind == 4:
        p = at + 8
        while True:
            of, size = struct.unpack_from("<HH", data, p)
            if of == 0:
                break
            n = {1: 4, 2: 16, 3: 6}[of]
            value, name = data[p + 4:p + 4 + n], data[p + 4 + n:p + 4 + size]
            assert name[-1] == 0
            names[of, value] = name[:-1].decode()
            p += 4 + (size + 3) // 4 * 4
    assert kind != 6 or names
    at += length
rows = [l.split() for l in open("addresses").read().splitlines() if l]
hosts, switches = rows[1:rows.index(["switch", "interface", "MAC"])], rows[rows.index(["switch", "interface", "MAC"]) + 1:]
mac = lambda text: bytes(int(b, 16) for b in text.split(":"))
assert len(hosts) == 5 and [r[0] for r in switches] == ["s0"], rows
for name, port, m, ip, gid in hosts:
    assert ports[int(port)] == name and gid == "::ffff:" + ip
    assert names[1, socket.inet_aton(ip)] == names[3, mac(m)] == name
assert names[3, mac(switches[0][2])] == "s0" and len(names) == 11
END
expect 0 topo pause.yaml --addresses --set nic.ip=6
grep -q '^h0  *0  02:00:00:00:00:01  fd00::1  *fd00::1$' out || fail "another IPv6 address"
# Over UC the last packet has 4 bytes more, its immediate, which is 0; the others have what they have.
expect 0 run pause.yaml --json --set 'programs=[]' --set nic.transport=uc --pcap uc.pcapng
python3 - <<'END' || fail "other packets over UC"
exec(open("frames.py").read())
seen = {}
for name, at, way, frame in frames("uc.pcapng"):
    if way == 2 and frame[12:14] == b"\x08\0" and frame[42] >> 5 == 1:
        length = 14 + 20 + 8 + 12 + 4 + {0x26: 16 + 1024, 0x27: 1024, 0x29: 4 + 100000 % 1024}[frame[42]]
        assert len(frame) == length, (hex(frame[42]), len(frame))
        assert frame[42] != 0x29 or frame[54:58] == bytes(4)
        seen[frame[42]] = seen.get(frame[42], 0) + 1
assert seen == {0x26: 4, 0x27: 4 * 96, 0x29: 4}, seen
END
[ ! -e "$root/docs/verbena.1" ] || grep -q 'has 4 bytes more than on RC' "$root/docs/verbena.1" || fail "the manual is silent"
# The first bytes of each frame, and its length; nothing else changes.
expect 0 run pause.yaml --json --set 'programs=[]' --pcap short.pcapng --pcap-snaplen 64
expect 0 run pause.yaml --json --set 'programs=[]' --threads 2 --pcap short2.pcapng --pcap-snaplen 64
cmp short.pcapng short2.pcapng || fail "another short capture with two threads"
python3 - <<'END' || fail "not the beginnings of all frames"
import struct
def blocks(path):
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at:at + length]
        at += length
short, whole = list(blocks("short.pcapng")), list(blocks("alone.pcapng"))
assert len(short) == len(whole)
cut = 0
for (kind, s), (_, w) in zip(short, whole):
    if kind == 1:
        assert struct.unpack_from("<I", s, 12)[0] == 64 and struct.unpack_from("<I", w, 12)[0] == 0
    elif kind == 6:
        size, length = struct.unpack_from("<II", s, 20)
        assert length == struct.unpack_from("<I", w, 24)[0] and size == min(64, length)
        assert s[8:20] == w[8:20] and s[28:28 + size] == w[28:28 + size]
        assert s[28 + (size + 3) // 4 * 4:-4] == w[28 + (length + 3) // 4 * 4:-4]
        cut += size < length
    else:
        assert s == w
assert cut > 100
END
# More frames than are held at once, with telemetry, which the ICRC covers: all, whole and in order.
cat >many.yaml <<'END'
version: 1
topology: {kind: star, hosts: 8}
nic: {mtu: 1024, cc: hpcc}
traffic: [{pattern: permutation, size: 2200KB}]
END
expect 0 run many.yaml --json --out out_many --pcap many.pcapng
python3 - <<'END' || fail "not all of many frames"
import csv
exec(open("frames.py").read())
ports = [p for p in csv.DictReader(open("out_many/ports.csv")) if p["priority"] == "0"]
want = {(p["node"], 2): int(p["port_sent_packets"]) for p in ports if p["kind"] == "host"}
want |= {(p["peer"], 1): int(p["port_sent_packets"]) for p in ports if p["kind"] == "switch"}
last, seen, telemetry = 0, {}, set()
for name, at, way, frame in frames("many.pcapng"):
    assert at >= last
    last = at
    seen[name, way] = seen.get((name, way), 0) + 1
    assert icrc(frame), frame.hex()
    # Behind the headers, BTH and an ACK's AETH, 44 bytes, the first of them the hops: the switch writes.
    telemetry.add((frame[42], len(frame), way, frame[58 if frame[42] == 0x11 else 54]))
assert {t for t in telemetry if t[0] in (7, 0x11)} == {
    (7, 1126, 2, 0), (7, 1126, 1, 1), (0x11, 106, 2, 1), (0x11, 106, 1, 1)}, telemetry
assert seen == want, (seen, want)
# Of each there are 128 bytes, of those with telemetry more; 4 MiB are held.
assert sum(seen.values()) * 128 > 2 * (4 << 20), seen
END
# A large file is given blocks ahead, and keeps none that it does not need.
[ "$(stat -c %s many.pcapng)" -gt $((4 << 20)) ] || fail "many.pcapng is no large file"
[ $(($(stat -c '%b * %B - %s' many.pcapng))) -lt $((1 << 20)) ] || fail "a capture keeps blocks that it does not need"
rm many.pcapng
for bytes in 63 65536 0 128B ""; do
	expect 2 run pause.yaml --json --pcap no.pcapng --pcap-snaplen "$bytes"
	grep -qF "verbena run: --pcap-snaplen: found \"$bytes\", expected bytes from 64 to 65535" err && [ ! -e no.pcapng ] ||
		fail "a snaplen of \"$bytes\""
done
expect 2 run pause.yaml --json --pcap-snaplen 64
if command -v tshark >/dev/null; then
	tshark -N mn -r one.pcapng -Y 'infiniband.bth.opcode == 129' 2>/dev/null | grep -q 'h0 → h[1-4] ' ||
		fail "tshark sees no names"
	[ "$(tshark -r short.pcapng -T fields -e frame.cap_len 2>/dev/null | sort -un | tail -n 1)" = 64 ] ||
		fail "tshark sees longer frames"
	tshark -r one.pcapng -Y 'infiniband.bth.opcode == 129' 2>/dev/null | grep -q . ||
		fail "tshark sees no CNP"
	[ -z "$(tshark -r one.pcapng -Y '_ws.malformed' 2>/dev/null)" ] || fail "tshark: malformed"
fi
