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
control = bytes.fromhex("0180c200000152540012340188080101008900ff")
seed("pfc", PFC, control + bytes(40))
seed("pause", PFC, control[:14] + b"\0\1\x12\x34" + bytes(42))
