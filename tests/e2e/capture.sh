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
import struct

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
import csv, json, struct, sys, zlib

exec(open("frames.py").read())

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
if command -v tshark >/dev/null; then
	tshark -r one.pcapng -Y 'infiniband.bth.opcode == 129' 2>/dev/null | grep -q . ||
		fail "tshark sees no CNP"
	[ -z "$(tshark -r one.pcapng -Y '_ws.malformed' 2>/dev/null)" ] || fail "tshark: malformed"
fi
