#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints the constants of tests/unit/test_cc_ack.c: published formulas of congestion controls in exact
rationals, knowing nothing of the program. Rates in bit/s, times in us."""
from fractions import Fraction as F
from math import sqrt

LINE = 100 * 10**9


def timely(rtts, patched, t_low=50, t_high=500, min_rtt=20, delta=10**7, hai=5):
    alpha, beta = F(7, 8), F(8, 1000) if patched else F(8, 10)
    rate, diff, last, calm = F(LINE), F(0), None, 0
    for rtt in rtts:
        rtt = F(rtt)
        if last is None:
            last = rtt
        else:
            diff = (1 - alpha) * diff + alpha * (rtt - last)
            last = rtt
            gradient = diff / min_rtt
            if rtt < t_low:
                rate, calm = rate + delta, 0
            elif rtt > t_high:
                rate, calm = rate * (1 - beta * (1 - t_high / rtt)), 0
            elif patched:
                w = min(F(1), max(F(0), 2 * gradient + F(1, 2)))
                rate = delta * (1 - w) + rate * (1 - beta * w * (rtt - t_low) / t_low)
            elif gradient <= 0:
                calm += 1
                rate += delta * (hai if calm >= hai else 1)
            else:
                calm = 0
                rate *= max(F(0), 1 - beta * gradient)
            rate = min(F(LINE), max(F(10**8), rate))
        print("  ", float(rtt), round(rate))


def swift(acks, cwnd, base=30, fs_range=20):
    """acks: (now, rtt), of one packet, or (now, rtt, packets)."""
    low, high = 1 / sqrt(100), 1 / sqrt(0.1)
    cut_at = None
    for now, rtt, packets in (a if len(a) == 3 else (*a, 1) for a in acks):
        target = base + min(fs_range, max(0.0, fs_range * (1 / sqrt(cwnd) - low) / (high - low)))
        if rtt < target:
            cwnd += packets / cwnd if cwnd >= 1 else packets
        elif cut_at is None or now - cut_at >= rtt:
            cwnd *= max(1 - 0.8 * (rtt - target) / rtt, 0.5)
            cut_at = now
        print("  ", now, rtt, "window", int(cwnd) if cwnd >= 1 else 1, "rate",
              LINE if cwnd >= 1 else round(cwnd * 1024 * 8 * 10**6 / rtt), "cwnd", round(cwnd, 3))


def dctcp(acks, g=F(1, 16), ai=615 * 10**6):
    """acks: (acked, sent, marked); one packet each, bytes as they grow."""
    rate, alpha, end, packets, marked, cut_end = F(LINE), F(1), 0, 0, 0, None
    for acked, sent, mark in acks:
        new = acked > end
        packets += 1
        marked += mark
        if new:
            alpha = (1 - g) * alpha + g * F(marked, packets)
            end, packets, marked = sent, 0, 0
        if cut_end is not None and acked > cut_end:
            cut_end = None
        if cut_end is None and mark:
            rate, cut_end = max(F(10**8), rate * (1 - alpha / 2)), sent
        elif cut_end is None and new:
            rate = min(F(LINE), rate + ai)
        print("  ", acked, sent, mark, round(rate))


def nv(cnps, until, clamp=0):
    """cnps: times in us; alpha every us, cuts 4 us apart, increase every 300 us."""
    rate = target = F(LINE)
    alpha, at, seen, inc_at, stage, raised, cut_at = 0, None, False, None, 0, False, 0
    for now in range(until + 1):
        while at is not None and at <= now:
            alpha = alpha * 1019 // 1024 + (5 if seen else 0)
            seen, at = False, at + 1
        if inc_at is not None and inc_at <= now:
            stage += 1
            raised = True
            target = min(F(LINE), target + (0 if stage <= 1 else 5 * 10**6))
            rate, inc_at = (rate + target) / 2, inc_at + 300
        if now in cnps:
            if at is None:
                alpha, at, cut_at = 1023, now + 1, now
            seen = True
            if now >= cut_at:
                if clamp or raised:
                    target = rate
                rate = max(rate * (1 - F(alpha, 2048)), rate / 2)
                stage, raised, inc_at, cut_at = 0, False, now + 300, now + 4
        if now in cnps or now in (until, 310, 610, 910):
            print("  ", now, round(rate), round(target))


print("TIMELY")
timely([60, 60, 70, 65, 60, 55, 54, 53, 52, 51, 40, 600, 400, 450], False)
print("TIMELY, below its low threshold after four calm updates")
timely([300, 310, 300, 290, 280, 270, 40, 50, 50, 50, 50, 50], False)
print("patched TIMELY")
timely([60, 60, 64, 62, 60, 55, 40, 600, 400, 402], True)
print("Swift, from a window of 100")
swift([(100, 25), (110, 25), (120, 60), (130, 60), (190, 90), (300, 400), (800, 900), (2000, 1900),
       (5000, 2900), (9000, 3900), (15000, 4900), (21000, 35), (21100, 35), (30000, 8000), (40000, 9000), (50000, 9500), (60000, 9600)], 100.0)
print("Swift, ACKs of many packets")
swift([(100, 25, 250), (110, 25, 160)], 100.0)
print("DCTCP")
dctcp([(1000, 5000, 1), (2000, 6000, 0), (5000, 9000, 1), (6000, 10000, 1), (7000, 11000, 1),
       (11000, 15000, 0), (16000, 20000, 0), (21000, 25000, 1)])
print("NVIDIA")
nv([10, 11, 14, 20, 400], 910)


def hpcc(acks, t_ns=10000, eta=F(95, 100), w_ai=62, max_stage=0):
    """acks: (acked, sent, time in ns, bytes sent in 128, queue in bytes) of one hop of 100 Gb/s."""
    first = F(LINE * t_ns, 8 * 10**9)
    window = ref = first
    use, last, end, stage = F(1), None, 0, 0
    for acked, sent, ns, units, queue in acks:
        if last is None:
            end = sent
        else:
            dt = (ns - last[0]) % 2**24
            bits = (units - last[1]) % 2**20 * 128 * 8
            u = F(bits * 10**9, dt * LINE) + F(min(queue, last[2]) * 8 * 10**9, LINE * t_ns)
            tau = min(dt, t_ns)
            use = use * (1 - F(tau, t_ns)) + u * F(tau, t_ns)
            if use >= eta or stage >= max_stage:
                window, new_stage = ref * eta / use + w_ai, 0
            else:
                window, new_stage = ref + w_ai, stage + 1
            window = min(first, max(F(1), window))
            if acked > end:
                ref, stage, end = window, new_stage, sent
        last = (ns, units, queue)
        print("  ", acked, sent, ns, units, queue, "window", float(window))


STEPS = [(1000, 100000, 16770000, 1048000, 40000), (50000, 150000, 16774000, 1048390, 50000),
         (100000, 200000, 784, 204, 60000), (101000, 201000, 5784, 692, 50000),
         (201001, 301000, 15784, 1660, 20000), (301000, 400000, 25784, 2500, 0),
         (301001, 400500, 30784, 2950, 0), (401000, 500000, 40784, 3300, 0),
         (501000, 600000, 50784, 3800, 0), (600500, 700000, 60784, 4300, 0)]
print("HPCC, no stages")
hpcc(STEPS)
print("HPCC, two stages")
hpcc(STEPS, max_stage=2)
