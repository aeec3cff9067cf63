#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The headers of packets in report.html are those that captures have, byte by byte: at the hosts' ports and at a
# link between switches, where marks, telemetry and a lower time to live make them others; and in a page that has
# not grown by half.
. "$(dirname "$0")/lib.sh"

cat >chain.yaml <<'END'
version: 1
topology:
  hosts: [a, b, sink]
  switches: [near, far]
  links:
    - {a: [a, b], b: near, delay: 500ns}
    - {a: near, b: far, delay: 500ns}
    - {a: far, b: sink, rate: 10Gbps, delay: 500ns}
switch: {buffer: 1MiB, alpha: 1/4, pfc: {}, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}}
nic: {mtu: 1024, cc: dcqcn}
traffic: [{class: in, pattern: incast, to: sink, from: [a, b], size: 100KB}]
END
cat >compare.py <<'END'
"""compare.py DIR PCAP NODE...: what starts at NODEs, in the page and in the capture"""
import json, re, struct, sys

base, pcap, nodes = sys.argv[1], sys.argv[2], sys.argv[3:]
text = open(base + "/report.html", encoding="utf-8").read()
packets = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])["packets"]
AFTER_BTH = {6: 16, 7: 0, 8: 0, 10: 16, 17: 4, 0x81: 16}  # WRITEs, ACK, CNP


def frames():
    """(interface, whether it left there, bytes), of an Enhanced Packet Block each"""
    blocks, at, names = open(pcap, "rb").read(), 0, []
    while at < len(blocks):
        kind, length = struct.unpack_from("<II", blocks, at)
        body = blocks[at + 8:at + length - 4]
        if kind == 1:  # an interface: its name is option 2
            code, size = struct.unpack_from("<HH", body, 8)
            assert code == 2, code
            names.append(body[12:12 + size].decode())
        if kind == 6:
            number, _, _, size = struct.unpack_from("<IIII", body)
            option = 20 + (size + 3) // 4 * 4
            assert struct.unpack_from("<HH", body, option) == (2, 4)
            flags, = struct.unpack_from("<I", body, option + 4)
            yield names[number], flags & 3 == 2, body[20:20 + size]
        at += length


def unpacked(text):
    return re.sub(r"\((\d+)\)", lambda zeros: "00" * int(zeros[1]), text)


def stripped(frame):
    """Without payload: from Ethernet to UDP, BTH to the last header and the ICRC"""
    assert frame[12:14] == b"\x08\0" and frame[14] == 0x45
    icrc = 14 + int.from_bytes(frame[16:18], "big") - 4
    end = 54 + AFTER_BTH[frame[42]] + (44 if frame[50] & 0x40 else 0)
    return frame[:42].hex(), (frame[42:end] + frame[icrc:icrc + 4]).hex()


sent = [(name.split(" of ")[-1], frame) for name, left, frame in frames() if left and frame[12:14] == b"\x08\0"]
seen = set()
for flow in packets["flows"]:
    h, ends = flow["headers"], (flow["requester_qpn"], flow["responder_qpn"])
    for node in nodes:
        found = [(unpacked(h["nets"][n]), unpacked(h["transports"][t])) for port, n, t in zip(flow["port"], h["net"], h["transport"])
                 if packets["port_node"][port] == node and
                 (not sys.argv[2].startswith("link") or packets["port_link"][port].startswith("far-near"))]
        wanted = [stripped(frame) for name, frame in sent if name == node and int.from_bytes(frame[47:50], "big") in ends]
        assert len(found) == len(wanted), (node, len(found), len(wanted))
        for i, pair in enumerate(zip(found, wanted)):
            assert pair[0] == pair[1], (node, i, pair)
            seen.add((pair[0][0][30:32], int(pair[0][1][:2], 16), pair[0][0][44:46], int(pair[0][1][16:18], 16) & 0x40))

if pcap.startswith("link"):
    assert any(int(tos, 16) & 3 == 3 for tos, _, _, _ in seen) or any(told for *_, told in seen), "a poor test"
    assert "3f" in {ttl for _, _, ttl, _ in seen}, "a poor test"
assert {6, 7, 17} <= {op for _, op, _, _ in seen}, "a poor test"
grown = len(text) / len(re.sub(r',"headers":\{"nets".*?\]\}', "", text))
assert 1 < grown < 1.5, grown
print("%d kinds of headers; they make the page %.2f times as large" % (len(seen), grown))
END
for cc in dcqcn hpcc; do
	expect 0 report chain.yaml --set nic.cc=$cc --flows 0,1 --out page
	expect 0 run chain.yaml --set nic.cc=$cc --quiet --out run --pcap hosts.pcapng
	python3 compare.py page hosts.pcapng a b sink || fail "$cc: not what hosts sent"
	expect 0 run chain.yaml --set nic.cc=$cc --quiet --out run --pcap link.pcapng --pcap-port far-near
	python3 compare.py page link.pcapng near far || fail "$cc: not what went between switches"
done
