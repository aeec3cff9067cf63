# SPDX-License-Identifier: BSD-2-Clause
"""Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018 (IRN)."""
from functools import cache

from lab import Run, each, middle, part, row, runs

# Half of the flows are one packet, 15 % are 200 KB to 3 MB (section 4.1); straight between.
SIZES = "32 0\n1000 50\n200000 85\n3000000 100\n"
# 240 KB an input port; with PFC 220 KB of it are the threshold.
LOSSY = "buffer: 1440KB, pfc: {priorities: [7], headroom: 1B}, classes: [{priorities: [3], xoff: 240KB}]"
LOSSLESS = "buffer: 1500KB, xoff: 220KB, pfc: {priorities: [3], headroom: auto}"
KINDS = {
    "irn": (LOSSY, "retransmit: selective, ack_every: 1"),
    "roce": (LOSSLESS, "timeout: 0, ack_every: message"),
    "roce without PFC": (LOSSY, "timeout: 5, ack_every: 1"),
}
FABRIC = """version: 1
topology: {kind: fat_tree, k: 6, host_rate: 40Gbps, fabric_rate: 40Gbps, delay: 2us}
switch: {%s}
nic: {mtu: 1024, %s}
"""
LOAD = FABRIC + """traffic: [{class: f, cdf: sizes.cdf, load: 65%%, until: %s}]
until: %s
"""
SAME = ("A fat tree of 54 hosts at 40 Gb/s; 65 % of payload is 70 % with headers; output queues, in which an input port "
        "has at most its 240 KB, instead of input queues served in turn; without congestion control")


@cache
def loaded(kind, seed, span, until):
    """Mean slowdown, mean and 99th percentile of the completion times, those of flows without an end until then."""
    run = Run(LOAD % (*KINDS[kind], span, until), seed=seed, files=(("sizes.cdf", SIZES),))
    end = run.result["time_ps"]
    times = [(int(f["end_ps"] or end) - int(f["start_ps"]), int(f["ideal_ps"])) for f in run.flows]
    all_times = [t for t, _ in times]
    return (sum(t / ideal for t, ideal in times) / len(times), sum(all_times) / len(all_times), part(all_times, .99))


def ratios(slow, fast, seed, span, until):
    return [s / f for s, f in zip(loaded(slow, seed, span, until), loaded(fast, seed, span, until))]


def signs(slow, fast):
    """Of 20 seeds how often each figure of @slow is above that of @fast; and the median of how much."""
    found = list(zip(*each(lambda seed: ratios(slow, fast, seed, "4ms", "12ms"), range(1, 21))))
    counts = [sum(r > 1 for r in values) for values in found]
    short = ", ".join(f"{count} ({middle(values):.2f})" for count, values in zip(counts, found))
    text = ", ".join(f"{what} in {count} (median {middle(values):.2f})" for what, count, values in
                     zip(("mean slowdown", "mean time", "99th percentile"), counts, found))
    return f"in {short} of 20 seeds (median)", all(c >= 15 for c in counts), f"more in so many of 20 seeds: {text}"


@row("I1", "RoCE with PFC against IRN without, no congestion control", "longer: mean slowdown, mean time, 99th percentile",
     "Sec. 4.2: RoCE with PFC takes longer than IRN without, in mean slowdown, mean and 99th percentile of "
     "completion times (sign test, 15 of 20 seeds; how much: I1b).", SAME + "; load for 4 ms.", hard=True)
def irn_beats_roce():
    return signs("roce", "irn")


@row("I1b", "the same, how much", "2.8 to 3.7 times as long (more than 1.5 counts)", "The same: 2.8 to 3.7 times as long; more than 1.5 counts.",
     SAME + "; load for 20 ms, one seed. Mean slowdown, mean time, 99th percentile.")
def how_much():
    found = ratios("roce", "irn", 1, "20ms", "60ms")
    return ", ".join(f"{r:.2f}" for r in found), all(r > 1.5 for r in found)


@row("I3", "RoCE (go-back-N) without PFC against with it", "1.5 to 3 times as long: mean slowdown, mean time, 99th percentile",
     "Sec. 4.2: RoCE (go-back-N) without PFC takes longer than with it: 1.5 to 3 times (sign test, 15 of 20 "
     "seeds).", SAME + "; load for 4 ms, end at 12 ms, where what has not ended counts as if it had.", hard=True)
def roce_needs_pfc():
    return signs("roce without PFC", "roce")


@row("I5", "incast of 150 MB from 10, 30, 50 senders: IRN to RoCE with PFC", "as long, within 2.5 % (+-5 % counts)",
     "Incast, 150 MB, striped over 10 to 50 senders to one: IRN without PFC takes as long as RoCE with it, within 2.5 % "
     "(+-5 % counts).", "Senders evenly over the fat tree of I1; 10, 30 and 50 of them. An adapter gives up after 7 timeouts without any news, "
     "IRN does not: by the seed none, one or two of the 50 do so, and are not counted.")
def incast():
    found = []
    for count in (10, 30, 50):
        senders = ", ".join(f"h{1 + i * 53 // count}" for i in range(count))
        traffic = f"traffic: [{{class: f, pattern: incast, to: h0, from: [{senders}], size: {150000000 // count}B}}]\n"
        both = runs([(FABRIC % KINDS[kind] + traffic, {}) for kind in ("irn", "roce")])
        times = [max(int(f["end_ps"] or 0) for f in run.flows) for run in both]
        found.append(times[0] / times[1])
    return ", ".join(f"{r:.3f}" for r in found), all(abs(r - 1) <= .05 for r in found)
