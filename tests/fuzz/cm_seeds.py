#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Seeds of corpus/cm and corpus/cm_mad: connections as programs and peers make them, in the steps of fuzz_cm.c.
# `python3 cm_seeds.py` in this folder.
import os
import struct

CREATE, DESTROY, BIND_IP, RESOLVE_IP, ROUTE, _, CONNECT, LISTEN, ACCEPT, REJECT, DISCONNECT, INIT, GET = range(13)
SET_OPTION, NOTIFY, MIGRATE, QUERY = 14, 15, 18, 19
COLLECT, EVENT = bytes([5]), bytes([7])


def command(number, length, changes):
    """A command of zeros but for (offset, bytes)."""
    single = [(at + i, b) for at, value in changes for i, b in enumerate(value) if b]
    return (bytes([0, 0]) + struct.pack(">HBB", length, number, len(single)) +
            b"".join(struct.pack(">HB", at, b) for at, b in single))


def message(attr, changes):
    single = [(24 + at + i, b) for at, value in changes for i, b in enumerate(value)]
    return bytes([3, attr, len(single)]) + b"".join(struct.pack("BB", at, b) for at, b in single)


def wait(seconds):
    return bytes([6, seconds])


def create(space, kind, uid=b"\x01"):
    return command(CREATE, 24, [(0, uid), (8, b"\x01"), (16, struct.pack("<H", space)), (18, bytes([kind]))])


def sockaddr(last, port):
    return struct.pack("<H", 2) + struct.pack(">H", port) + bytes([127, 0, 0, last])


def bind(handle, port):
    return command(BIND_IP, 44, [(8, sockaddr(1, port)), (36, struct.pack("<I", handle))])


def route(handle, port):
    return (command(RESOLVE_IP, 64, [(28, sockaddr(2, port)), (56, struct.pack("<I", handle))]) + EVENT +
            command(ROUTE, 8, [(0, struct.pack("<I", handle))]) + EVENT)


def listen(handle):
    return command(LISTEN, 8, [(0, struct.pack("<I", handle)), (4, b"\x02")])


def conn(number, handle, id_at):
    at = 0 if number == CONNECT else 8
    changes = [(at, b"\x11\x02"), (at + 271, b"\x01"), (id_at, struct.pack("<I", handle))]
    return command(number, 296, changes + ([(0, b"\x05")] if number == ACCEPT else []))


SERVICE = b"\x00\x00\x00\x00\x01\x06\x1c\x06"
REQ = message(0x10, [(0, b"\x00\x00\x00\x07"), (8, SERVICE), (33, b"\x01\x02"), (140, b"\x00\x40\x11\x22")])
SIDR = message(0x17, [(0, b"\x00\x00\x00\x07"), (8, b"\x00\x00\x00\x00\x01\x11\x1c\x06"), (16, b"\x00\x40\x11\x22")])
SEEDS = {
    "server": create(0x106, 2) + bind(0, 7174) + listen(0) + REQ + EVENT + conn(ACCEPT, 1, 280) + COLLECT +
    message(0x14, [(0, b"\x00\x00\x00\x07"), (4, b"\x00\x00\x80\x01")]) + EVENT +
    command(DISCONNECT, 4, [(0, b"\x01")]) + COLLECT + message(0x16, [(0, b"\x00\x00\x00\x07"), (4, b"\x00\x00\x80\x01")]) +
    wait(3) + EVENT,
    "untold": create(0x106, 2) + bind(0, 7174) + listen(0) + REQ + command(DESTROY, 16, [(0, b"\x01"), (8, b"\x00")]) + COLLECT,
    "child_first": create(0x106, 2) + bind(0, 7174) + listen(0) + REQ +
    command(DESTROY, 16, [(0, b"\x01"), (8, b"\x01")]) + EVENT,
    "client": create(0x106, 2) + route(0, 7174) + conn(CONNECT, 0, 280) + COLLECT + wait(1) + COLLECT +
    message(0x13, [(0, b"\x00\x00\x00\x09"), (4, b"\x00\x00\x40\x00"), (13, b"\x03\x03")]) + EVENT +
    command(INIT, 16, [(0, b"\x01"), (8, b"\x00"), (12, b"\x02")]) + command(ACCEPT, 296, [(280, b"\x00")]) + COLLECT +
    message(0x15, [(0, b"\x00\x00\x00\x09"), (4, b"\x00\x00\x40\x00"), (9, b"\x02\x11")]) + EVENT,
    "overdue": create(0x106, 2) + route(0, 7174) + conn(CONNECT, 0, 280) + (wait(1) + COLLECT) * 18 + EVENT,
    "refused": create(0x106, 2) + route(0, 7174) + conn(CONNECT, 0, 280) + COLLECT +
    message(0x12, [(4, b"\x00\x00\x40\x00"), (11, b"\x08")]) + EVENT,
    "datagram": create(0x111, 4) + bind(0, 7174) + listen(0) + SIDR + EVENT + conn(ACCEPT, 1, 280) + COLLECT + SIDR + COLLECT,
    "moved": create(0x106, 2) + route(0, 7174)[:-1] + bytes([1, 1]) + command(MIGRATE, 16, [(0, b"\x01"), (12, b"\x03")])[2:] +
    bytes([15]) + wait(0xfe),
    "nobody": REQ + COLLECT + message(0x15, [(0, b"\x00\x00\x00\x07"), (4, b"\x12\x34\x56\x78")]) + COLLECT,
    "options": create(0x106, 2) + b"".join(
        command(SET_OPTION, 24, [(0, b"\x05"), (16, bytes([n])), (20, bytes([size]))]) for n in range(5) for size in (1, 4)) +
    b"".join(command(QUERY, 16, [(0, b"\x01"), (12, bytes([o]))]) for o in range(4)),
}


def main():
    for folder in ("cm", "cm_mad"):
        os.makedirs(f"corpus/{folder}", exist_ok=True)
    for name, steps in SEEDS.items():
        with open(f"corpus/cm/{name}", "wb") as f:
            f.write(steps)
    for attr in range(0x10, 0x19):
        with open(f"corpus/cm_mad/attr_{attr:02x}", "wb") as f:
            f.write(bytes([1, 7, 2, 3]) + bytes(range(4, 17)) + bytes([attr]) + bytes((i * 7) & 0xff for i in range(18, 256)))


main()
