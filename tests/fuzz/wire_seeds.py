#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seeds of corpus/wire_parse from the tables of the unit tests; the first byte names the parser (see
# fuzz_wire_parse.c). `python3 wire_seeds.py` in this folder.
import re

FRAME, FRAME_WITH_ICRC, UDP, BTH, NEIGH, PFC = range(6)


def seed(name, parser, data):
    with open(f"corpus/wire_parse/{name}", "wb") as f:
        f.write(bytes([parser]) + data)


def tables(path):
    for name, body in re.findall(r"(\w+)\[\d+\] = {(.*?)}", open(path).read(), re.S):
        yield name, bytes(int(v, 16) for v in re.findall(r"0x(\w\w)", body))


for name, data in tables("../unit/wire_roce.inc"):
    eth = 18 if data[12] == 0x81 else 14
    bth = eth + (28 if name.startswith("v4") else 48)
    end = bth - 8 + int.from_bytes(data[bth - 4:bth - 2], "big")
    seed(name, FRAME, data)
    seed(name + "_any_icrc", FRAME_WITH_ICRC, data[:end - 4] + bytes(4) + data[end:])
    seed(name + "_bth", BTH, data[bth:end - 4])
    seed(name + "_udp", UDP, data[bth:end])
for name, data in tables("../unit/wire_link.inc"):
    seed(name, NEIGH, data)


def bth(opcode, extensions=b"", payload=b"", flags=0, byte4=0, byte8=0):
    pad = -len(payload) % 4
    return (bytes([opcode, flags | pad << 4]) + b"\xff\xff" + bytes([byte4]) + b"\0\0\x11" +
            bytes([byte8]) + b"\xff\xff\xfe" + extensions + payload + bytes(pad))


# In-band telemetry (bit 6 of byte 8): count, then five hops: rate code, ns, bytes, queue.
hops = [code << 61 | ns << 37 | sent << 17 | queue
        for code, ns, sent, queue in ((4, 0xfffff0, 0xfffff, 0), (4, 0x10, 3, 0x1ffff), (7, 1, 2, 3))]
telemetry = bytes([3, 0, 0, 0]) + b"".join(h.to_bytes(8, "big") for h in hops) + bytes(16)
reth = (0x1000).to_bytes(8, "big") + b"\0\0\1\2" + (300).to_bytes(4, "big")
aeth, nak = b"\x1f\0\0\7", b"\x60\0\0\7"
for name, packet in {
        "int_write_first": bth(0x06, reth + telemetry, b"x" * 256, byte8=0x40),
        "int_write_only": bth(0x0a, reth + telemetry, b"x" * 3, byte8=0xc0),
        "int_ack": bth(0x11, aeth + telemetry, byte8=0x40),
        "int_no_hops": bth(0x11, aeth + bytes(44), byte8=0x40),
        "int_six_hops": bth(0x11, aeth + bytes([6]) + telemetry[1:], byte8=0x40),
        "irn_write_middle": bth(0xc7, reth, b"y" * 256),
        "irn_write_last_imm": bth(0xc9, reth + b"\0\0\0\x2a", b"y" * 5, flags=0x80),
        "irn_send_first": bth(0xc0, b"\0\0\0\5\0\0\1\0", b"z" * 256),
        "irn_send_only_inv": bth(0xd7, b"\0\0\0\6\0\0\0\0\0\0\1\2", b"z" * 9),
        "irn_nak": bth(0xd1, nak + b"\0\0\0\3\xff\xff\xff\xfe"),
        "irn_nak_int": bth(0xd1, nak + b"\0\0\0\3\0\0\0\1" + telemetry, byte8=0x40),
        "cnp": bth(0x81, bytes(16), byte4=0x40),
        "cnp_fecn": bth(0x81, bytes(16), byte4=0xc0),
}.items():
    seed(name + "_bth", BTH, packet)
    seed(name + "_udp", UDP, packet + bytes(4))
control = bytes.fromhex("0180c200000152540012340188080101008900ff")
seed("pfc", PFC, control + bytes(40))
seed("pause", PFC, control[:14] + b"\0\1\x12\x34" + bytes(42))
seed("pfc_all", PFC, control[:16] + b"\0\xff" + b"\xff\xff" * 8 + bytes(26))
seed("pfc_resume", PFC, control[:16] + b"\0\x08" + bytes(42))
seed("pfc_upper_byte", PFC, control[:16] + b"\1\x08" + bytes(42))
seed("pfc_short", PFC, control[:16] + b"\0\x08" + bytes(12))
