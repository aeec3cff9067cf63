# SPDX-License-Identifier: BSD-2-Clause
"""DCQCN of its paper alone with one queue, packet by packet and as a fluid: what rows about its queue are held
against. B 10 MB, T 55 us, F 5, R_AI 40 Mb/s, N 50 us, K 55 us, g 1/256; all in floating point."""
import random
from collections import deque
from heapq import heapify, heappop, heappush, heapreplace
from math import exp, expm1, log1p, sqrt

PACKET = 1106 * 8
AI, HYPER, BYTES, TIMER, STAGES, PACING, DECAY, GAIN = 40e6, 200e6, 10e6, 55e-6, 5, 50e-6, 55e-6, 1 / 256


class Sender:
    """The reaction point."""

    def __init__(self, rate, line, phase):
        self.rate = self.target = rate
        self.line, self.alpha, self.moved, self.times, self.counts = line, .1, 0, 0, 0
        self.alpha_at, self.timer_at = phase, phase

    def rise(self):
        least, most = sorted((self.times, self.counts))
        if most >= STAGES:
            self.target += (least - STAGES) * HYPER if least > STAGES else AI
        self.target = min(self.target, self.line)
        self.rate = (self.rate + self.target) / 2

    def advance(self, now):
        while self.alpha_at <= now or self.timer_at <= now:
            if self.alpha_at <= self.timer_at:
                self.alpha *= 1 - GAIN
                self.alpha_at += DECAY
            else:
                self.times += 1
                self.rise()
                self.timer_at += TIMER

    def cut(self, now):
        self.advance(now)
        self.target = self.rate
        self.rate = max(self.rate * (1 - self.alpha / 2), 10e6)
        self.alpha += (1 - self.alpha) * GAIN
        self.times = self.counts = self.moved = 0
        self.alpha_at, self.timer_at = now + DECAY, now + TIMER

    def gap(self, now):
        """To the next packet, of the one that starts."""
        self.advance(now)
        gap = PACKET / self.rate
        self.moved += PACKET / 8
        if self.moved >= BYTES:
            self.moved -= BYTES
            self.counts += 1
            self.rise()
        return gap


def packets(line, count, kmin, kmax, pmax, mark="dequeue", begin=.05, end=1, way=.5e-6):
    """Mean queue in KB and CNPs a packet of so many senders at a switch, @way of cable each, from @begin to @end.
    @mark: by the queue that a packet leaves behind (dequeue), by that which it finds (enqueue), or by the one it
    leaves behind, but its mark is as old when it leaves as one of its arrival would be (late). A packet on the wire
    is not in the queue."""
    draw = random.Random(count)

    def marks(length):
        return length > kmin and (length > kmax or draw.random() < pmax * (length - kmin) / (kmax - kmin))
    senders = [Sender(line / count, line, draw.random() * TIMER) for _ in range(count)]
    events = [(draw.random() * PACKET / line * count, i, False) for i in range(count)]
    heapify(events)
    told = [-1] * count  # when the last CNP of each leaves or is to leave
    queue, free, look, lengths, looks, sent, cnps = deque(), 0, begin, 0, 0, 0, 0
    there, back = way + PACKET / line, 2 * way + 2 * 98 * 8 / line
    to_switch = way + PACKET / line
    while events[0][0] < end:
        now, i, is_cnp = events[0]
        if is_cnp:
            heappop(events)
            senders[i].cut(now)
            cnps += now > begin
            continue
        heapreplace(events, (now + senders[i].gap(now), i, False))
        arrival = now + to_switch
        sent += now > begin
        while queue and queue[0][0] <= arrival:
            while look < queue[0][0]:
                lengths, looks, look = lengths + len(queue), looks + 1, look + 5e-6
            left, flow, came, is_marked = queue.popleft()
            if not (is_marked if mark == "enqueue" else marks(len(queue) * PACKET / 8e3)):
                continue
            marked = left + there + (left - came if mark == "late" else 0)
            if marked > told[flow]:
                told[flow] = max(marked, told[flow] + PACING)
                heappush(events, (max(now, told[flow] + back), flow, True))
        while look < arrival:
            lengths, looks, look = lengths + len(queue), looks + 1, look + 5e-6
        begins = max(arrival, free)
        free = begins + PACKET / line
        queue.append((begins, i, arrival, mark == "enqueue" and marks(len(queue) * PACKET / 8e3)))
    return lengths * PACKET / 8e3 / looks, cnps / sent


def probabilities(p, rate):
    """Of the fluid model at a mark share and a rate in packets/s: a, its form for alpha, b, c, d, e."""
    timer = TIMER * rate
    count = BYTES * 8 / PACKET
    if p < 1e-12:
        return 0, 0, 1 / count, 1 / count, 1 / timer, 1 / timer
    if p >= 1:
        return 1, 1, 0, 0, 0, 0
    stay = log1p(-p)
    b, d = (p * exp(stay * x) / -expm1(stay * x) for x in (count, timer))
    return (-expm1(stay * PACING * rate), -expm1(stay * DECAY * rate),
            b, b * exp(STAGES * stay * count), d, d * exp(STAGES * stay * timer))


def fixed_point(line, count):
    """p* of the fluid model."""
    rate, ai = line / count / PACKET, AI / PACKET

    def balance(p):
        a, alpha, b, c, d, e = probabilities(p, rate)
        return a * a * alpha - PACING * PACING * (b + d) * (c + e) * ai * rate
    low, high = 1e-7, .5
    for _ in range(200):
        middle = sqrt(low * high)
        low, high = (middle, high) if balance(middle) < 0 else (low, middle)
    return low


def fluid(line, count, kmin, kmax, pmax, delay, end=.3, step=1e-6):
    """Mean queue in KB of the fluid model over the second half, where marks and rates act @delay later."""
    capacity, ai = line / PACKET, AI / PACKET
    rate = target = 1.05 * capacity / count
    alpha, queue, total, steps = .1, kmin * 8e3 / PACKET, 0, int(end / step)
    past = deque([(0, rate)] * max(1, round(delay / step)))
    for i in range(steps):
        length = queue * PACKET / 8e3
        past.append((0 if length <= kmin else 1 if length > kmax else pmax * (length - kmin) / (kmax - kmin), rate))
        p, r = past.popleft()
        a, marked, b, c, d, e = probabilities(p, r)
        down = rate * alpha * a / (2 * PACING)
        rate, target = (rate + step * ((target - rate) / 2 * r * (b + d) - down),
                        min(capacity, target + step * (ai * r * (c + e) - (target - rate) * a / PACING)))
        alpha += step * GAIN / DECAY * (marked - alpha)
        queue = max(0, queue + step * (count * rate - capacity))
        total += length * (i >= steps // 2)
    return total / (steps - steps // 2)
