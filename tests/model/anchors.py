#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints the constants of the anchors in this folder. Knows nothing of the program: bytes on the
wire from the standards (preamble 8, Ethernet 14, VLAN 4, IPv4 20, IPv6 40, UDP 8, BTH 12, RETH 16,
AETH 4, ICRC 4, FCS 4, gap 12), times as exact rationals, rounded up for each packet."""
from fractions import Fraction
from math import ceil, floor, sqrt

G = 10**9
US = 10**6


def wire(payload, extra=0, v6=False, vlan=False):
    return 8 + 14 + (4 if vlan else 0) + (40 if v6 else 20) + 8 + 12 + 4 + 4 + 12 + extra + (payload + 3) // 4 * 4


def t(size, rate):
    return ceil(Fraction(size * 8 * 10**12, rate))


def sizes(op, n, mtu, **kw):
    parts = [mtu] * (max(n - 1, 0) // mtu) + [n - max(n - 1, 0) // mtu * mtu]
    return [wire(p, 16 if op == "WRITE" and i == 0 else 0, **kw) for i, p in enumerate(parts)]


def a2(links, mtu, op, n, **kw):
    through = [0] * len(links)
    for size in sizes(op, n, mtu, **kw):
        before = 0
        for k, (rate, _) in enumerate(links):
            before = through[k] = max(before, through[k]) + t(size, rate)
    there = through[-1] + sum(d for _, d in links)
    ack = wire(0, 4, **kw)
    return there + sum(t(ack, rate) + d for rate, d in links)


L100 = (100 * G, US)
CASES = [
    ([L100], 1024, "WRITE", 1024, {}),
    ([L100], 2048, "WRITE", 10 * 2048, {}),
    ([L100], 4096, "SEND", 100 * 4096, {}),
    ([L100] * 2, 1024, "SEND", 7 * 1024 + 1, {}),
    ([L100] * 2, 2048, "WRITE", 3 * 2048, {}),
    ([L100] * 2, 4096, "WRITE", 50 * 4096 + 333, {}),
    ([L100] * 4, 1024, "WRITE", 64 * 1024, {}),
    ([L100] * 4, 2048, "SEND", 5 * 2048 + 2047, {}),
    ([L100] * 4, 4096, "WRITE", 1, {}),
    ([L100] * 2, 4096, "WRITE", 20 * 4096 + 10, {"v6": True}),
    ([L100] * 2, 4096, "WRITE", 20 * 4096 + 10, {"vlan": True}),
    ([L100] * 2, 1024, "SEND", 9 * 1024 + 5, {"v6": True, "vlan": True}),
    ([(100 * G, US), (25 * G, 2 * US), (400 * G, US // 2)], 4096, "WRITE", 40 * 4096 + 77, {}),
    ([(10 * G, US), (100 * G, 3 * US)], 2048, "SEND", 12 * 2048, {}),
    ([(106250000000, US)] * 4, 4096, "WRITE", 30 * 4096 + 1000, {}),
    ([(106250000000, US), (100 * G, US)], 1024, "WRITE", 0, {}),
]
print("A2: completion, ps")
for links, mtu, op, n, kw in CASES:
    print("  ", mtu, op, n, kw, len(links), a2(links, mtu, op, n, **kw))

def cut(links, mtu, op, n, latency, **kw):
    """A switch between links of rates r1 >= r2 sends on once the first 62 bytes (82: IPv6) are in."""
    head = 82 if kw.get("v6") else 62

    def trip(packets, rates):
        free, end = [0] * len(rates), 0
        for size in packets:
            begin = end = 0
            for k, rate in enumerate(rates):
                early = k > 0 and rates[k - 1] >= rate and size > head
                there = begin + t(head, rates[k - 1]) if early else end
                begin = max(there, free[k])
                end = free[k] = begin + t(size, rate)
        return end

    rates = [rate for rate, _ in links]
    delays = sum(d for _, d in links) + latency * (len(links) - 1)
    return trip(sizes(op, n, mtu, **kw), rates) + trip([wire(0, 4, **kw)], rates[::-1]) + 2 * delays


print("A2, cut-through: completion, ps; equal rates: t_first + (n-2) t + t_l + (h-1) t_header")
for links, mtu, op, n, latency, kw in [
    ([L100] * 2, 4096, "WRITE", 50 * 4096 + 333, 0, {}),
    ([L100] * 4, 1024, "WRITE", 64 * 1024, 0, {}),
    ([L100] * 4, 4096, "WRITE", 1, 300000, {}),
    ([L100] * 4, 2048, "SEND", 5 * 2048 + 2047, 500000, {}),
    ([L100] * 2, 4096, "WRITE", 20 * 4096 + 10, 0, {"v6": True}),
    ([(100 * G, US), (25 * G, 2 * US), (400 * G, US // 2)], 4096, "WRITE", 40 * 4096 + 77, 200000, {}),
    ([(10 * G, US), (100 * G, 3 * US)], 2048, "SEND", 12 * 2048, 0, {}),
    ([(106250000000, US)] * 4, 4096, "WRITE", 30 * 4096 + 1000, 0, {}),
]:
    print("  ", mtu, op, n, latency, kw, len(links), cut(links, mtu, op, n, latency, **kw))
h, n = 4, 64
assert cut([L100] * 4, 1024, "WRITE", 64 * 1024, 0) == (
    t(wire(1024, 16), 100 * G) + (n - 1) * t(wire(1024), 100 * G) + (h - 1) * t(62, 100 * G) + h * US
    + t(wire(0, 4), 100 * G) + (h - 1) * t(62, 100 * G) + h * US)

print("A3: one link of 100 Gb/s, 1 us; W packets between a loss and its NAK; N packets in ps")
full, nak = t(4178, 100 * G), t(86, 100 * G)
W = ceil(Fraction(2 * full + 2 * US + nak, full)) - 1
print("   W", W)
for D in (64, 100, 1000):
    print("   1 of", D, 20000 * full * D // (D - 1 - W))
for ppm in (1000, 5000, 10000):
    p = Fraction(ppm, 10**6)
    print("   p", ppm, "ppm", floor(100000 * full * (1 + p * W) / (1 - p)))

print("A3, selective: a RETH in every packet; 1 - p")
irn = t(4178 + 16, 100 * G)
for ppm in (1000, 5000, 10000, 50000):
    print("   p", ppm, "ppm", floor(100000 * irn / (1 - Fraction(ppm, 10**6))))
print("   READ, p 1000 ppm", floor(100000 * t(4178, 100 * G) / (1 - Fraction(1, 1000))))
for D in (64, 100):
    print("   1 of", D, 100000 * irn * D // (D - 1))

print("A4: tries of 4000 messages of m packets, each packet lost with p")
for m, ppm in ((100, 5000), (40, 20000)):
    print("   m", m, "p", ppm, "ppm", round(4000 / (1 - ppm / 10**6)**m))
print("   1 of 64: the longest message that ends is of", 64 - 1 - W, "packets")

print("A8: 100G into 25G, 1 us each, window of w packets: the queue behind a frame, share of 60000")
loop = t(4178, 100 * G) + t(4178, 25 * G) + t(86, 25 * G) + t(86, 100 * G) + 4 * US
slow = t(4178, 25 * G)
for w in (35, 60, 90):
    q = (w - ceil(Fraction(loop, slow))) * 4178
    share = Fraction(2, 10) * (q - 100000) / 300000
    n = 60000
    print("   w", w, "q", q, "marks", round(n * share), "+-", ceil(2.576 * sqrt(n * share * (1 - share))))

print("A9: 1000 packets, all marked but the first and the last, every", slow, "ps")
for interval in (50 * US, 4 * US):
    print("   N", interval, (998 - 1) // ceil(Fraction(interval, slow)) + 1)

print("A10: (255/256)^k * 2^48")
for k in (1, 2, 10, 100, 1000, 3000):
    print("  ", k, floor(Fraction(255, 256)**k * 2**48))

print("A13: 10000 packets under a window, 2000 READs; ps")
rtt = full + nak + 2 * US
for w in (1, 2, 4, 16):
    print("   w", w, 10000 * max(full, Fraction(rtt, w)))
for k, size in ((1, 4096), (2, 4096), (4, 4096), (1, 16384), (4, 16384)):
    n = size // 4096
    answer = sum(t(4178 + (4 if i in (0, n - 1) else 0), 100 * G) for i in range(n))
    rtt = t(98, 100 * G) + answer + 2 * US
    print("   READ", k, size, 2000 * max(answer, Fraction(rtt, k)))

print("A14: 2T (retry + 1); rnr: (retry + 1) round trips and retry waits of 60 us; sends in 10 ms")
for n, retry in ((1, 0), (4, 3), (8, 7)):
    print("   n", n, "retry", retry, 2 * 4096000 * 2**n * (retry + 1))
rtt = t(wire(64), 100 * G) + nak + 2 * US
print("   rnr 3:", 4 * rtt + 3 * 60 * US, "rnr 7:", floor(Fraction(10000 * US, rtt + 60 * US)) + 1)

print("A15: 10^9 payload / wire")
for mtu in (1024, 2048, 4096):
    print("  ", mtu, mtu * 10**9 // wire(mtu))

print("D12: RC/C at 4 us and at 304 us")
alpha = Fraction(255, 256)**4
cut = 1 - alpha / 2
print("  ", float(cut), float((cut + 1) / 2))
