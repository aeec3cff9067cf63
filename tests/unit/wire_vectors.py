#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Frames for the wire tests, made by hand here with zlib's CRC and none of our C code:
# `python3 wire_vectors.py roce > wire_roce.inc`, `python3 wire_vectors.py link > wire_link.inc`.
import struct
import sys
import zlib

MAC_A, MAC_B = bytes.fromhex("525400123401"), bytes.fromhex("525400123402")
V4_A, V4_B = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
V6_A = bytes.fromhex("fe80000000000000505400fffe123401")
V6_B = bytes.fromhex("fe80000000000000505400fffe123402")
ONES = b"\xff"


def checksum(b):
    s = sum(struct.unpack(f">{len(b) // 2}H", b))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


def bth(opcode, qpn, psn, length=0, se=0, migreq=0, pkey=0xFFFF, fecn=0, becn=0, ack=0):
    pad = -length % 4
    return struct.pack(">BBHII", opcode, se << 7 | migreq << 6 | pad << 4, pkey,
                       fecn << 31 | becn << 30 | qpn, ack << 31 | psn)


def frame(transport, payload, v6, vlan=None, tos=0, ttl=64, ip_id=0, flow=0, sport=0xC000):
    body = transport + payload + bytes(-len(payload) % 4)
    udp_len = 8 + len(body) + 4
    udp = struct.pack(">HHHH", sport, 4791, udp_len, 0)
    if v6:
        ip = struct.pack(">IHBB", 6 << 28 | tos << 20 | flow, udp_len, 17, ttl) + V6_A + V6_B
        masked = b"\x6f" + 3 * ONES + ip[4:7] + ONES + ip[8:]
    else:
        ip = struct.pack(">BBHHHBBH", 0x45, tos, 20 + udp_len, ip_id, 0x4000, ttl, 17, 0)
        ip += V4_A + V4_B
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        masked = ip[:1] + ONES + ip[2:8] + ONES + ip[9:10] + 2 * ONES + ip[12:]
    covered = 8 * ONES + masked + udp[:6] + 2 * ONES + body[:4] + ONES + body[5:]
    eth = MAC_B + MAC_A
    if vlan is not None:
        eth += struct.pack(">HH", 0x8100, vlan)
    eth += b"\x86\xdd" if v6 else b"\x08\x00"
    out = eth + ip + udp + body + struct.pack("<I", zlib.crc32(covered))
    return out + bytes(max(0, 60 - len(out)))


def array(name, data):
    print(f"static const uint8_t {name}[{len(data)}] = {{")
    for at in range(0, len(data), 12):
        print("\t" + " ".join(f"0x{b:02x}," for b in data[at:at + 12]))
    print("};")


text = b"verbena"
reth = struct.pack(">QII", 0x7F0123456789ABCD, 0x01020304, 0x11223344)
atomic = struct.pack(">QIQQ", 0x7F0123456789ABC8, 0x01020304, 0x1111222233334444,
                     0x5555666677778888)
aeth = struct.pack(">I", 0x1F << 24 | 0xABCDEF)



def roce():
    # As rxe sends it: a running IP identification, fixed source port, default partition.
    array("v4_send_only", frame(bth(0x04, 0x000011, 0xFEDCBA, 7, se=1, ack=1), text, False,
                                ip_id=0x1C46, sport=63102))
    array("v6_write_only_imm", frame(bth(0x2B, 0x123456, 9, 5) + reth + b"\xde\xad\xbe\xef",
                                     b"\x01\x02\x03\x04\x05", True, vlan=0x6064, tos=0x6A,
                                     flow=0x54321, ttl=63, sport=49481))
    array("v4_ack", frame(bth(0x11, 0xABCDEF, 0xFFFFFF) + aeth, b"", False, tos=0x6A, ip_id=0xFFFF,
                          ttl=63))
    array("v4_read_request", frame(bth(0x0C, 0x12, 0, ack=1) + reth, b"", False, vlan=5))
    array("v6_compare_swap", frame(bth(0x13, 0x12, 0x800000, ack=1) + atomic, b"", True, ttl=255))
    array("v4_cnp", frame(bth(0x81, 0x000012, 0, becn=1) + bytes(16), b"", False, tos=48 << 2))
    array("v4_ud_send_only", frame(bth(0x64, 1, 77, 8, migreq=1, pkey=0x8001, fecn=1) +
                                   struct.pack(">II", 0x80010000, 0x000001), b"datagram", False))
    array("v4_empty_send", frame(bth(0x24, 3, 4), b"", False))  # padded to 60 bytes


def nd(message, dst, group, src=V6_A):
    ip = struct.pack(">IHBB", 6 << 28, len(message), 58, 255) + src + dst
    pseudo = src + dst + struct.pack(">II", len(message), 58)
    message = message[:2] + struct.pack(">H", checksum(pseudo + message)) + message[4:]
    return (b"\x33\x33" + dst[12:] if group else MAC_B) + MAC_A + b"\x86\xdd" + ip + message


def link():
    arp = struct.pack(">HHBB", 1, 0x0800, 6, 4)
    array("arp_request", 6 * ONES + MAC_A + b"\x08\x06" + arp + b"\0\1" + MAC_A + V4_A + bytes(6) +
          V4_B + bytes(18))
    array("arp_reply", MAC_B + MAC_A + b"\x81\0\x60\x64\x08\x06" + arp + b"\0\2" + MAC_A + V4_A +
          MAC_B + V4_B + bytes(14))
    group = bytes.fromhex("ff0200000000000000000001ff") + V6_B[13:]
    array("nd_solicitation", nd(struct.pack(">BBHI", 135, 0, 0, 0) + V6_B + b"\1\1" + MAC_A,
                                group, True))
    array("nd_advertisement", nd(struct.pack(">BBHI", 136, 0, 0, 0x60000000) + V6_A + b"\2\1" + MAC_A,
                                 V6_B, False))
    array("nd_probe", nd(struct.pack(">BBHI", 135, 0, 0, 0) + V6_B, group, True, bytes(16)))


print("/* SPDX-License-Identifier: BSD-2-Clause */")
print("/* Made by wire_vectors.py. */")
{"roce": roce, "link": link}[sys.argv[1]]()
