#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes seeds for fuzz_nic_peer: what a peer of each kind does, honest and not. Usage: nic_peer_seeds.py FOLDER"""
import pathlib
import sys

(TURN, PACKET, WHOLE, HEAD, BYTE, INDEX, BELL, CLOSE, KNOCK, DOOR, TAKE, POST, RECV, POLL) = range(14)
RC, SHARES, UC, UD, OTHERS = range(5)
READABLE, WRITABLE, ATOMIC, GONE, DOMAIN, SOURCE = 2, 3, 4, 6, 7, 1
HELLO = [0]  # the first time that a ring is needed: no lie
LENGTHS = {0: 0, 8: 1, 256: 2, 257: 3, 255: 4, 4096: 5, 64: 6, 1: 7}


def recv(qp):
    return [RECV, qp]


def post(qp, opcode, pieces=1):
    return [POST, qp | opcode << 4, pieces - 1]


def packet(opcode, qp, length=0, memory=None, at=0, dma=None, word=None, rest=(), kind=PACKET):
    flags = LENGTHS[length] | 16 | (64 if dma is not None else 0)
    out = [kind, opcode, flags, qp]
    if memory is not None:
        out += [memory, at >> 8, at & 255]
    if dma is not None:
        out += [dma >> 8, dma & 255]
    if word is not None:
        out += list(word.to_bytes(4, 'big'))
    return out + list(rest)


def first(step, tail=(0,)):  # the hello is asked for behind the packet, its last byte is the class
    return step + HELLO + list(tail)


def answer(opcode, qp, psn, word, length=0, rest=()):
    return [PACKET, opcode, LENGTHS[length] | 16, qp, psn] + list(word.to_bytes(4, 'big')) + list(rest)


def seeds():
    send = first(packet(4, RC, 64))
    yield 'send', recv(RC) + send + [TURN, POLL]
    yield 'shares', recv(SHARES) + recv(SHARES) + first(packet(4, SHARES, 64)) + packet(0x17, SHARES, 8, word=5) + [0, TURN, POLL]
    yield 'message', (recv(RC) + first(packet(0, RC, 256)) + packet(1, RC, 256) + [0] + packet(2, RC, 8) + [0, TURN, POLL])
    for name, area in (('writable', WRITABLE), ('readable', READABLE), ('atomic', ATOMIC), ('source', SOURCE),
                       ('gone', GONE), ('domain', DOMAIN), ('lands', 5)):
        yield 'write_' + name, first(packet(0x0a, RC, 64, area)) + [TURN] + packet(0x0a, UC, 64, area) + [0, TURN]
        yield 'read_' + name, first(packet(0x0c, RC, 0, area, dma=64)) + [TURN, DOOR, 0, TURN, TURN, TAKE, 9]
        yield 'add_' + name, first(packet(0x14, RC, 0, area, rest=(1,))) + [TURN] + packet(0x13, SHARES, 0, area, rest=(1,)) + [0, TURN]
    yield 'write_past', first(packet(0x0a, RC, 64, WRITABLE, at=2047)) + [TURN]
    yield 'write_gap', first(packet(0x0a, RC, 64, 5, at=192)) + [TURN]
    yield 'write_long', first(packet(6, RC, 256, WRITABLE, dma=2048)) + packet(7, RC, 256) + [0] + packet(8, RC, 256) + [0, TURN]
    yield 'others', first(packet(4, OTHERS, 0)) + packet(0x0a, OTHERS, 64, WRITABLE) + [0, TURN]
    yield 'datagram', recv(UD) + first(packet(0x64, UD, 64)) + packet(0x65, UD, 8, word=1) + [0, TURN, POLL]
    yield 'uc', recv(UC) + first(packet(0x24, UC, 64)) + packet(0x2b, UC, 8, WRITABLE, word=9) + [0, TURN, POLL]
    yield 'whole', recv(RC) + packet(4, RC, 64, kind=WHOLE) + [0, 0, TURN] + packet(4, RC, 64, kind=WHOLE) + [1, 3, TURN]
    yield 'whole_long', packet(4, RC, 64, kind=WHOLE) + [2, 255, 255, 0, TURN, TURN]
    yield 'head', [HEAD, 0, 64, 0, 32, 0] + [4, 0, 255, 255] + [TURN] + [HEAD, 255, 255, 60] + [0] * 57 + [TURN]
    yield 'posts', sum((post(q, o) for q in (RC, SHARES, UC, UD) for o in range(8)), []) + [TURN, DOOR, 0, TURN, TURN, TAKE, 60, TURN]
    talk = post(RC, 0) + [TURN, DOOR, 0, TURN, TURN]
    yield 'read_secret', talk + first(packet(0x0c, RC, 0, 5, dma=64)) + [TURN, TURN]
    yield 'answered', talk + first(answer(0x11, RC, 7, 0x1f000001)) + [TURN, POLL]
    yield 'nak', talk + first(answer(0x11, RC, 0, 0x60000000)) + answer(0x11, RC, 0, 0x20000000) + [0, TURN, POLL]
    yield 'refused', talk + first(answer(0x11, RC, 0, 0x62000000)) + [TURN, POLL]
    reads = post(RC, 3, 2) + post(RC, 4) + [TURN, DOOR, 0, TURN, TURN]
    yield 'read_answer', reads + first(answer(0x0d, RC, 0, 0x1f000001, 256)) + answer(0x0f, RC, 1, 0x1f000001, 64) + [0, TURN, POLL]
    yield 'atomic_answer', reads + first(answer(0x10, RC, 0, 0x1f000001, 64)) + answer(0x12, RC, 2, 0x1f000002) + [0, TURN, POLL]
    # All 128 places are full before the index is a lie: more than were sent, or fewer than before.
    full = talk + post(RC, 1, 16) + post(UC, 1, 16) + post(UC, 1, 16) + [TURN, TURN, TURN, TURN]
    for name, index in (('more', 0x00000200), ('huge', 0xffffffff), ('half', 0x80000000)):
        yield 'index_' + name, full + [INDEX, 5] + list(index.to_bytes(4, 'big')) + [TURN, TURN] + post(UC, 0) + [TURN, TURN]
    yield 'full', full + [TURN, TAKE, 63, TURN, TURN]
    yield 'sleeps', first(packet(4, RC, 8)) + [INDEX, 0x0b, INDEX, 0x0a, BELL, 4, BELL, 0xfe] + [7] * 8 + [TURN, TURN]
    yield 'closed', first(packet(4, RC, 8)) + [CLOSE, 0, TURN] + packet(4, RC, 8) + [0, TURN, TURN, CLOSE, 2] + send + [TURN]
    yield 'liar', packet(4, RC, 8) + [14, 0, TURN, TURN] + [CLOSE, 2] + packet(4, RC, 8) + [15, 0, TURN, TURN]
    yield 'knocks', sum(([KNOCK, c] + [0x76] * 32 + [TURN, TURN] for c in (3, 2, 0, 0x7f, 0x63)), [])
    yield 'door_lies', post(RC, 0) + [TURN, DOOR, 7, TURN, TURN] + post(UC, 0) + [TURN, DOOR, 6, TURN, CLOSE, 1, TURN]
    yield 'scribbles', send + sum(([BYTE, v, 0, v, v, TURN] for v in range(0, 250, 17)), [])
    yield 'gsi', first(packet(0x64, 0xf1, 64)) + packet(4, 0xf2, 8, rest=(9, 9, 9)) + [0, TURN]
    yield 'cnp', first(packet(0x81, RC)) + packet(0x11, RC, rest=(0, 0, 0, 0, 0)) + [0, TURN]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, steps in seeds():
        (folder / name).write_bytes(bytes(steps))


main()
