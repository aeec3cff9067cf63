#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Makes crc_table.inc: `python3 crc_table.py > crc_table.inc`. Row k, column b: what byte b does to
# the register of a reflected CRC-32 (IEEE 802.3) once k bytes of zeros have followed it.
POLY = 0xEDB88320
ROWS = 16


def step(crc):
    for _ in range(8):
        crc = crc >> 1 ^ (POLY if crc & 1 else 0)
    return crc


row = [step(b) for b in range(256)]
first = row
print("/* SPDX-License-Identifier: BSD-2-Clause */")
print("/* Made by crc_table.py. */")
for _ in range(ROWS):
    print("{")
    for at in range(0, 256, 8):
        print("\t" + " ".join(f"0x{v:08x}," for v in row[at:at + 8]))
    print("},")
    row = [v >> 8 ^ first[v & 255] for v in row]
