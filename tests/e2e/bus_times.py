# SPDX-License-Identifier: BSD-2-Clause
"""How long bursts take on lanes and ways of machines, in closed form: in ps. Lanes without DLLPs."""

PS, NS = 10**12, 1000


def up(a, b):
    return -(-a // b)


class Pcie:
    """Packets of at most 256 bytes, reads of @mrrs."""

    def __init__(self, gen, width=16, mrrs=512):
        # GT/s of each lane, and 128b/130b.
        self.bits, self.mrrs = {3: 8, 4: 16, 5: 32}[gen] * 10**9 * width * 128, mrrs

    def time(self, bytes_):
        return up(bytes_ * 8 * 130 * PS, self.bits)

    def wire(self, kind, bytes_):
        if kind == "request":
            return up(bytes_, self.mrrs) * 24
        return bytes_ + up(bytes_, 256) * (24 if kind == "write" else 20)

    def head(self, kind, bytes_):
        return self.wire(kind, 1 if kind == "request" else min(bytes_, 256))

    def rate(self, kind):
        """Bytes a second of large transfers."""
        return PS * 4096 / self.time(self.wire(kind, 4096))


class Upi:
    """200 Gb/s, packets of 64 bytes with 16 around them."""

    def time(self, bytes_):
        return up(bytes_ * 8 * PS, 200 * 10**9)

    def wire(self, kind, bytes_):
        return up(bytes_, 64) * 16 + (0 if kind == "request" else bytes_)

    def head(self, kind, bytes_):
        return self.wire(kind, 1 if kind == "request" else min(bytes_, 64))


def way(hops, kind, bytes_):
    """From the start on the first lane until it is done with at the last part: @hops are lanes, each with its delay
    and the latency of the part behind it. The next lane begins once the head is through the part, or so late that
    the tail is not missed."""
    start = 0
    for i, (lane, delay, latency) in enumerate(hops):
        head = start + lane.time(lane.head(kind, bytes_)) + delay + latency
        tail = start + lane.time(lane.wire(kind, bytes_)) + delay + latency
        if i + 1 == len(hops):
            return tail
        following = hops[i + 1][0]
        start = max(head, tail - following.time(following.wire(kind, bytes_)))
    return start
