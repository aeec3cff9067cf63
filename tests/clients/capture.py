# SPDX-License-Identifier: BSD-2-Clause
"""What a capture of "verbena exec --pcap" holds, read without any of Verbena's code: how many RoCEv2 packets a host has
sent, how many of them carry data of a message, and how many bytes of it. Sources of the numbers: pcapng as of
draft-ietf-opsawg-pcapng; opcodes and headers as of IBTA 9.2.1 and table 38; UDP port 4791 of IBTA annex A17."""
import mmap
import os
import socket
import struct

ROCE_PORT = 4791
BTH, ICRC = 12, 4
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
LINK_ETHERNET, LINK_RAW = 1, 101
RC, UC, UD, XRC = 0x00, 0x20, 0x60, 0xA0
READ_REQUEST, ATOMIC_ANSWER, COMPARE_SWAP, FETCH_ADD = 12, 18, 19, 20
# Of each operation that carries data, the extension headers: RETH 16, immediate 4, AETH 4, invalidate 4.
DATA = {0: 0, 1: 0, 2: 0, 3: 4, 4: 0, 5: 4, 6: 16, 7: 0, 8: 0, 9: 4, 10: 16, 11: 20, 13: 4, 14: 0, 15: 4, 16: 4,
        22: 4, 23: 4}
ATOMIC_BYTES = 8
BEHIND = {RC: 0, UC: 0, UD: 8, XRC: 4}  # DETH, XRCETH; an answer of XRC has none


class Sent:
    """Of one host: all packets, those with data, and its bytes; what is for queue pair 1 is no data."""

    def __init__(self):
        self.packets = self.data = self.bytes = self.atomics = 0


def blocks(raw):
    at = 0
    while at + 12 <= len(raw):
        kind, size = struct.unpack_from("<II", raw, at)
        assert size >= 12 and size % 4 == 0 and at + size <= len(raw), f"a block of {size} bytes at {at}"
        assert struct.unpack_from("<I", raw, at + size - 4)[0] == size, f"the end of the block at {at}"
        yield kind, at + 8, size - 12
        at += size
    assert at == len(raw), f"{len(raw) - at} bytes behind the last block"


def count(sent, raw, at, udp_bytes):
    opcode, flags = raw[at], raw[at + 1]
    family, operation = opcode & 0xE0, opcode & 0x1F
    if family not in BEHIND or raw[at + 5:at + 8] == b"\0\0\1":
        return
    if operation in (COMPARE_SWAP, FETCH_ADD):
        sent.data += 1
        sent.atomics += 1
        sent.bytes += ATOMIC_BYTES
    elif operation in DATA:
        answers = 13 <= operation <= 16
        sent.data += 1
        sent.bytes += udp_bytes - 8 - BTH - ICRC - DATA[operation] - (0 if answers else BEHIND[family]) - (flags >> 4 & 3)


def read(path, address):
    """What the host of this IPv4 address has sent, by the capture in the file."""
    sent, host, links = Sent(), socket.inet_aton(address), []
    if os.path.getsize(path) == 0:
        return sent
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        for kind, at, _ in blocks(raw):
            if kind == SECTION:
                links = []
            elif kind == INTERFACE:
                links.append(struct.unpack_from("<H", raw, at)[0])
            elif kind == PACKET:
                interface, _, _, captured, _ = struct.unpack_from("<IIIII", raw, at)
                ip = at + 20 + (14 if links[interface] == LINK_ETHERNET else 0)
                udp = ip + (raw[ip] & 15) * 4
                if raw[ip] >> 4 != 4 or raw[ip + 9] != 17 or raw[ip + 12:ip + 16] != host or captured < 40:
                    continue
                _, port, length = struct.unpack_from(">HHH", raw, udp)
                if port == ROCE_PORT:
                    sent.packets += 1
                    count(sent, raw, udp + 8, length)
    return sent
