# SPDX-License-Identifier: BSD-2-Clause
"""Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015; Zhu et al., ECN or Delay,
CoNEXT 2016."""
import random
from functools import cache
from math import exp, log1p, sqrt

from lab import Run, jain, row, runs

CLOS = """version: 1
topology: {kind: clos, pods: 2, leaves: 2, spines: 2, cores: 2, hosts_per_leaf: 5, host_rate: 40Gbps, fabric_rate: 40Gbps, delay: 500ns}
switch: {buffer: 12MB, alpha: 1, pfc: {priorities: [3]}%s}
nic: {mtu: 1024, cc: %s, ack_every: 16}
traffic: [{class: f, pattern: incast, to: h0, from: [h5, h10, h15, h1], size: 4GB}]
"""
ECN = ", ecn: {kmin: 5KB, kmax: 200KB, pmax: 1%}"
SENDERS = ["h5", "h10", "h15", "h1"]


def shares(first, second):
    """Gb/s of each sender between two instants of one run, 10 ms apart at least."""
    time = second.result["time_ps"] - first.result["time_ps"]
    return [(second.host(h, "tx_bytes_phy") - first.host(h, "tx_bytes_phy")) * 8e3 / time for h in SENDERS]


@row("D1", "Fig. 3: of four senders to one host the one under the same ToR gets more than the mean of "
     "the others (20 seeds; the cure is D3)",
     "one endless WRITE a sender instead of messages of 4 MB; 40 to 60 ms, when all buffers are full", hard=True)
def unfair():
    scenario = CLOS % ("", "none")
    more = []
    for seed in range(1, 21):
        a, b = runs([(scenario, {"seed": seed, "until": t}) for t in ("40ms", "60ms")])
        share = shares(a, b)
        more.append(share[3] / (sum(share[:3]) / 3))
    above = sum(m > 1 for m in more)
    more.sort()
    return f"in {above} of 20 seeds; median ratio {more[10]:.2f}", above >= 15


@row("D3", "Fig. 8: with DCQCN each gets 10 Gb/s of 40 +-10 %, Jain >= 0.98 in the last half of 100 ms",
     hard=True)
def fair():
    scenario = CLOS % (ECN, "dcqcn")
    share = shares(*runs([(scenario, {"until": t}) for t in ("50ms", "100ms")]))
    found = ", ".join(f"{s:.2f}" for s in share)
    return (f"{found} Gb/s, Jain {jain(share):.4f}",
            all(9 <= s <= 11 for s in share) and jain(share) >= .98)


@row("D5", "Sec. 4: t_PFC = 24.47 KB static; with beta = 8 and Kmin under 21.75 KB the first mark comes before "
     "the first pause for any number of ports; static and Kmin = 120 KB: the pause comes first",
     hard=True)
def thresholds():
    buffer, n, flight = 12e6, 32, 22.4e3
    static = (buffer - 8 * n * flight) / (8 * n)
    dynamic = 8 * (buffer - 8 * n * flight) / (8 * n * 9)
    good = abs(static - 24475) < 10 and abs(dynamic - 21755.6) < 10
    common = """version: 1
topology: {kind: star, hosts: 32, host_rate: 40Gbps, delay: 500ns}
nic: {mtu: 1024, cc: dcqcn, ack_every: 16}
traffic: [{class: i, pattern: incast, to: h0, from: "h[1-%d]", size: 10MB}]
"""
    all_priorities = "pfc: {priorities: [0, 1, 2, 3, 4, 5, 6, 7], headroom: 22400B}"
    marked_first = common + "switch: {buffer: 12MB, alpha: 1, " + all_priorities + ", ecn: {kmin: 21700B, kmax: 21700B, pmax: 100%%}}\n"
    paused_first = common + "switch: {buffer: 12MB, xoff: 24475B, " + all_priorities + ", ecn: {kmin: 120KB, kmax: 120KB, pmax: 100%%}}\n"
    marks, pauses = [], []
    for k in (2, 3, 4, 8, 16, 31):
        r = first_pause(marked_first % k)
        marks.append(r is None or r > 0)
    for k in (2, 3, 4):
        pauses.append(first_pause(paused_first % k) == 0)
    return (f"{static / 1e3:.2f} KB and {dynamic / 1e3:.2f} KB; mark first in {sum(marks)} of {len(marks)}, "
            f"pause first in {sum(pauses)} of {len(pauses)} incasts", good and all(marks) and all(pauses))


def first_pause(scenario):
    """Marks before the first pause; None: there is no pause. By halving the time of the end."""
    low, high = 0, 3_000_000  # ns
    last = Run(scenario, until=f"{high}ns").result
    if last["pfc"]["pause_sent"] == 0:
        return None
    while high - low > 100:
        middle = (low + high) // 2
        result = Run(scenario, until=f"{middle}ns").result
        if result["pfc"]["pause_sent"] > 0:
            high, last = middle, result
        else:
            low = middle
    return last["ecn"]["marked"]


def fixed_point(rate, n, packet=1106):
    """p* of the fluid model: R_AI 40 Mb/s, B 10 MB, T 55 us, F 5, tau 50 us; packets of @packet bytes."""
    capacity, ai, count = rate / packet / 8, 40e6 / packet / 8, 10e6 / packet
    r, tau, tau_alpha, timer, stages = capacity / n, 50e-6, 55e-6, 55e-6, 5

    def stays(p, x):
        return exp(x * log1p(-p))

    def balance(p):
        a, alpha = 1 - stays(p, tau * r), 1 - stays(p, tau_alpha * r)
        b = p * stays(p, count) / (1 - stays(p, count))
        d = p * stays(p, timer * r) / (1 - stays(p, timer * r))
        c, e = b * stays(p, stages * count), d * stays(p, stages * timer * r)
        return a * a * alpha - tau * tau * (b + d) * (c + e) * ai * r
    low, high = 1e-7, .5
    for _ in range(200):
        middle = sqrt(low * high)
        low, high = (middle, high) if balance(middle) < 0 else (low, middle)
    return low


def one_flow(rate, n, share, seconds=6, packet=1106):
    """The paper's algorithm, flow by flow and in floating point, where a packet in 1 / @share is marked: mean
    rate and CNPs a packet. N = K = T = 50, 55, 55 us."""
    draw = random.Random(1)
    rc = rt = rate / n
    alpha, now, last, data, moved, cnps = .1, 0, -1, 0, 0, 0
    timer_at, alpha_at, times, counts = 55e-6, 55e-6, 0, 0
    need = draw.expovariate(1)
    while now < seconds:
        hazard, blocked = share * rc / 8 / packet, max(0, last + 50e-6 - now)
        steps = (blocked + need / hazard, alpha_at - now, timer_at - now, (10e6 - data) * 8 / rc)
        step = min(steps)
        need -= hazard * max(0, step - blocked)
        moved, data, now = moved + rc * step, data + rc * step / 8, now + step
        if step == steps[0]:
            rt, rc, alpha = rc, max(rc - rc * alpha / 2, 10e6), alpha + (1 - alpha) / 256
            cnps, last, times, counts, data, need = cnps + 1, now, 0, 0, 0, draw.expovariate(1)
            timer_at, alpha_at = now + 55e-6, now + 55e-6
            continue
        if step == steps[1]:
            alpha, alpha_at = alpha * 255 / 256, now + 55e-6
            continue
        if step == steps[2]:
            times, timer_at = times + 1, now + 55e-6
        else:
            counts, data = counts + 1, 0
        if max(times, counts) >= 5:
            rt += (min(times, counts) - 5) * 200e6 if min(times, counts) > 5 else 40e6
        rt = min(rt, rate)
        rc = (rc + rt) / 2
    return moved / now, cnps * packet * 8 / moved


@cache
def cnps_of(rate, n):
    """CNPs a packet at which one of n flows has its share of the rate."""
    low, high = 1e-5, .2
    for _ in range(16):
        middle = sqrt(low * high)
        low, high = (middle, high) if one_flow(rate, n, middle)[0] > rate / n else (low, middle)
    return one_flow(rate, n, low)[1]


def settled(n, kmin, kmax, pmax):
    """Mean queue in KB, CNPs and marks a packet over 50 to 200 ms; and what the model says of the queue."""
    scenario = f"""version: 1
topology: {{kind: star, hosts: {n + 1}, host_rate: 40Gbps, delay: 500ns}}
switch: {{buffer: 12MB, alpha: 8, pfc: {{priorities: [3]}}, ecn: {{kmin: {kmin}KB, kmax: {kmax}KB, pmax: {pmax}}}}}
nic: {{mtu: 1024, cc: dcqcn, ack_every: 16}}
traffic: [{{class: f, pattern: incast, to: h0, size: 4GB}}]
"""
    all_runs = runs([(scenario, {"until": f"{t}ms"}) for t in range(50, 201, 10)])
    first, last = all_runs[0], all_runs[-1]
    queue = sum(r.port("s0", "h0", 3, "queue_bytes") for r in all_runs) / len(all_runs) / 1e3
    marks, sent = ((last.port("s0", "h0", 3, c) - first.port("s0", "h0", 3, c)) for c in ("marked", "sent_packets"))
    cnps = last.result["cnp"]["sent"] - first.result["cnp"]["sent"]
    p = fixed_point(40e9, n)
    return queue, kmin + p / pmax * (kmax - kmin), cnps / sent, marks / sent, p


def settle(cases):
    found, good = [], True
    for n, kmin, kmax, pmax in cases:
        queue, expected, cnps, _, _ = settled(n, kmin, kmax, pmax)
        answer = cnps_of(40e9, n)
        found.append(f"N={n}: {queue:.1f} KB ({expected:.1f}), {cnps:.5f} ({answer:.5f})")
        good = good and abs(queue / expected - 1) <= .25 and abs(cnps / answer - 1) <= .1
    return "; ".join(found), good


@row("D8", "CoNEXT'16 fluid model at 40 Gb/s: the mean queue of N long flows is q* (+-25 %; Kmin 40 KB, Kmax 200 KB, "
     "Pmax 10 %, N = 2 to 16; paper set 5/200/1 %, N = 4); CNPs a packet as the paper's algorithm alone gives "
     "them (+-10 %)", "16 samples of the queue, 10 ms apart", hard=True)
def settles():
    return settle([(n, 40, 200, .1) for n in (2, 4, 8, 16)] + [(4, 5, 200, .01)])


@row("D8b", "the same for N = 2 and 8 with the paper set, N = 32 with the other",
     "the fluid model has no bunches of marks and no queue that cannot go below 0; where one cut moves the queue by "
     "more than q*, or several marks meet one CNP, the mean lies above. CNPs a packet agree with the algorithm "
     "played flow by flow, which has both")
def hardly_settles():
    return settle([(2, 5, 200, .01), (8, 5, 200, .01), (32, 40, 200, .1)])


@row("D6", "K:1 incasts of long flows at 40 Gb/s, paper set, K = 2 to 20: the link is full (>= 97 % from 10 ms on), nothing is dropped; queue "
     "under about 100 KB (here: highest of 6 samples)", "held but for the queue, which with these thresholds cannot stay below: the "
     "fluid model has 94 KB for 8 flows, 123 KB for 10, and from 16 on more than Kmax")
def many_to_one():
    found, good = [], True
    for k in (2, 4, 8, 16, 20):
        text = f"""version: 1
topology: {{kind: star, hosts: {k + 1}, host_rate: 40Gbps, delay: 500ns}}
switch: {{buffer: 12MB, alpha: 8, pfc: {{priorities: [3]}}, ecn: {{kmin: 5KB, kmax: 200KB, pmax: 1%}}}}
nic: {{mtu: 1024, cc: dcqcn, ack_every: 16}}
traffic: [{{class: f, pattern: incast, to: h0, size: 4GB}}]
"""
        all_runs = runs([(text, {"until": f"{t}ms"}) for t in range(10, 61, 10)])
        first, last = all_runs[0], all_runs[-1]
        queue = max(r.port("s0", "h0", 3, "queue_bytes") for r in all_runs) / 1e3
        moved = last.port("s0", "h0", 3, "port_sent_bytes") - first.port("s0", "h0", 3, "port_sent_bytes")
        use = moved * 8e3 / (last.result["time_ps"] - first.result["time_ps"]) / 40
        drops = last.result["drops"]["buffer"]
        found.append(f"K={k}: {100 * use:.1f} %, {queue:.0f} KB, {drops} drops")
        good = good and use >= .97 and drops == 0 and queue < 100
    return "; ".join(found), good


MAX_MIN = """version: 1
topology: {hosts: [d, a1, a2, b1, b2, b3], switches: [s], links: [{a: d, b: s}, {a: [a1, a2], b: s, rate: 10Gbps}, {a: [b1, b2, b3], b: s}]}
switch: {buffer: 64MB%s}
nic: {mtu: 1024, cc: %s, ack_every: %d}
traffic: [{class: f, pattern: incast, to: d, size: 4GB}]
"""


def fill(control, ecn, ack_every, share):
    """Two senders have 10 Gb/s, three 100 Gb/s, all to one of 100 Gb/s: water-filling gives 10, 10, and 26.7 each;
    @share of it."""
    a, b = runs([(MAX_MIN % (ecn, control, ack_every), {"until": t}) for t in ("100ms", "200ms")])
    time = b.result["time_ps"] - a.result["time_ps"]
    rates = [(b.host(h, "tx_bytes_phy") - a.host(h, "tx_bytes_phy")) * 8e3 / time for h in ("a1", "a2", "b1", "b2", "b3")]
    ideal = [10, 10] + [(100 * share - 20) / 3] * 3
    return ", ".join(f"{r:.2f}" for r in rates), all(abs(r / i - 1) <= .05 for r, i in zip(rates, ideal))


@row("A12", "static flows without PFC get their max-min shares (+-5 %): 10, 10, 26.7, 26.7, 26.7 Gb/s with DCQCN", hard=True)
def max_min():
    return fill("dcqcn", ", ecn: {kmin: 40KB, kmax: 200KB, pmax: 10%}", 16, 1)


@row("A12b", "the same with HPCC, times eta = 0.95: 10, 10, 25, 25, 25 Gb/s",
     "W_AI by the rule W_init (1 - eta) / N: 56 KB * 0.05 / 5 = 560 bytes; with a twentieth of it flows whose ACKs keep step "
     "with one another keep unequal shares", hard=True)
def max_min_hpcc():
    return fill("hpcc, cc_params: {w_ai: 560B}", "", 1, .95)
