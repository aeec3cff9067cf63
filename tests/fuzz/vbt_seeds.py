#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Recordings (docs/recording.md): seeds of corpus/vbt, and the bad ones of tests/bad, each with what must be said of it.
# `python3 vbt_seeds.py` in this folder.
import os
import struct

PROCESS, END, OPEN, CREATE_PD, DESTROY, CREATE_CQ, CREATE_QP, RECV, POLL, WHOLE = 1, 2, 3, 5, 6, 13, 20, 25, 28, 29


def record(kind, at, body=b"", handle=0, process=0):
    padding = -(24 + len(body)) % 8
    return struct.pack("<IHHQQ", 24 + len(body) + padding, kind, process, at, handle) + body + bytes(padding)


def process_of(number, at, gids=1):
    body = (b"prog".ljust(64, b"\0") + b"boot".ljust(40, b"\0") + struct.pack("<QQII", 10 ** 18, 7 + number, 100, gids) +
            (bytes(10) + b"\xff\xff\x7f\0\0" + bytes([number])) * gids)
    return record(PROCESS, at, body, process=number)


def completion(status, opcode):
    return struct.pack("<BQIIIIIIIIHHBB", 0, 1, status, opcode, 0, 64, 0, 77, 0, 0, 0, 0, 0, 0)


HEAD = b"vrbcalls" + struct.pack("<II", 1, 0)
QP = struct.pack("<I6Q5IBI", 2, 0x1000000, 0x3000001, 0x3000001, 0, 0, 0, 8, 8, 1, 1, 0, 0, 77)
CALLS = [record(OPEN, 10), record(CREATE_PD, 11, handle=0x1000000),
         record(CREATE_CQ, 12, struct.pack("<IQQBI", 8, 0, 0, 0, 8), 0x3000001), record(CREATE_QP, 13, QP, 0x4000002),
         record(RECV, 14, struct.pack("<BQIQII", 0, 1, 1, 4096, 64, 9), 0x4000002),
         record(POLL, 15, completion(5, 0), 0x3000001), record(DESTROY, 16, handle=0x4000002), record(END, 17)]
WHOLE_FILE = HEAD + process_of(0, 10) + b"".join(CALLS) + record(WHOLE, 17)

GOOD = {"whole": WHOLE_FILE, "cut": WHOLE_FILE[:-30], "empty": HEAD + record(WHOLE, 0), "zeros": WHOLE_FILE[:-24] + bytes(64),
        "two": HEAD + process_of(0, 10) + process_of(1, 11, 8) + record(OPEN, 12, process=1)}

BAD = {
    "vbt_magic": (b"vrbcallz" + WHOLE_FILE[8:], '1: file: found "vrbcallz", expected a recording of verbena exec --record, '
                  'which begins with "vrbcalls"'),
    "vbt_nothing": (b"", '1: file: found nothing, expected a recording of verbena exec --record, which begins with "vrbcalls"'),
    "vbt_short": (HEAD[:12], "1: file: found 12 bytes, expected 16 bytes and records"),
    "vbt_version": (b"vrbcalls" + struct.pack("<II", 2, 0) + WHOLE_FILE[16:],
                    "1: version: found 2, expected 1, the version of recordings that is known here"),
    "vbt_length": (HEAD + process_of(0, 10) + struct.pack("<IHHQQ", 20, OPEN, 0, 10, 0),
                   f"2: length: found 20 at byte {16 + len(process_of(0, 10))}, expected 16 to 1024 bytes, a multiple of 8"),
    "vbt_long": (HEAD + struct.pack("<IHHQQ", 1032, OPEN, 0, 10, 0) + bytes(1100),
                 "1: length: found 1032 at byte 16, expected 16 to 1024 bytes, a multiple of 8"),
    "vbt_kind": (HEAD + record(30, 10), "1: record: found 24 bytes of kind 30 at byte 16, expected a record of a known kind, "
                 "with its fields and nothing behind them"),
    "vbt_fields": (HEAD + record(CREATE_CQ, 10, bytes(8)), "1: record: found 32 bytes of kind 13 at byte 16, expected a record "
                   "of a known kind, with its fields and nothing behind them"),
    "vbt_behind": (HEAD + record(OPEN, 10, bytes(8)), "1: record: found 32 bytes of kind 3 at byte 16, expected a record of a "
                   "known kind, with its fields and nothing behind them"),
    "vbt_padding": (HEAD + process_of(0, 10) + record(CREATE_CQ, 12, struct.pack("<IQQBI", 8, 0, 0, 0, 8) + b"\1", 1),
                    f"2: record: found 56 bytes of kind 13 at byte {16 + len(process_of(0, 10))}, expected a record of a known "
                    "kind, with its fields and nothing behind them"),
    "vbt_gids": (HEAD + process_of(0, 10, 9), f"1: record: found {len(process_of(0, 10, 9))} bytes of kind 1 at byte 16, "
                 "expected a record of a known kind, with its fields and nothing behind them"),
    "vbt_time": (HEAD + process_of(0, 10) + record(OPEN, 9),
                 "2: time: found 9 ns, expected no less than that of the record before, 10 ns"),
    "vbt_first": (HEAD + process_of(1, 10), "1: process: found the first record of 1, expected that of 0, the next one"),
    "vbt_process": (HEAD + process_of(0, 10) + record(OPEN, 10, process=1),
                    "2: process: found 1, expected one of the 1 that were named so far"),
    "vbt_more": (WHOLE_FILE + record(WHOLE, 17), "11: record: found one more, expected none behind that which says that the "
                 "file is whole"),
}

os.makedirs("corpus/vbt", exist_ok=True)
for name, data in list(GOOD.items()) + [(name, data) for name, (data, _) in BAD.items()]:
    with open("corpus/vbt/" + name, "wb") as file:
        file.write(data)
for name, (data, said) in BAD.items():
    with open(f"../bad/{name}.vbt", "wb") as file:
        file.write(data)
    with open(f"../bad/{name}.err", "w", encoding="ascii") as file:
        file.write(f"{name}.vbt:{said}\n")
