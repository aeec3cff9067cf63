# SPDX-License-Identifier: BSD-2-Clause
"""Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016; Hu et al., Deadlocks in Datacenter
Networks, HotNets 2016."""
from math import ceil

from lab import Run, middle, row, runs

STORM = """version: 1
topology: {kind: fat_tree, k: 4, host_rate: 10Gbps, fabric_rate: 10Gbps}
switch: {buffer: 4MB, alpha: 1/4, pfc: {priorities: [3]%s}}
nic: {mtu: 4096, timeout: 0}
traffic:
  - {class: others, pattern: all_to_all, hosts: "h[4-15]", size: 4GB}
  - {class: blocked, pattern: incast, to: h0, size: 4MB}
faults: [{link: h0-p0e0, sender: h0, pause: [3], from: 1ms}]
"""


@row("L2", "one NIC pauses for ever", "all stops; with a switch watchdog the others go on as before (>= 99 %)",
     "Sec. 4.3: one NIC that pauses for ever stops the whole fabric; with a switch watchdog (200 ms) those "
     "that have nothing to do with it go on as before (>= 99 %).",
     "A fat tree of 16 hosts at 10 Gb/s: 12 of them all-to-all, and all send 4 MB to the one that pauses; what the 12 "
     "send from 600 to 650 ms, against the same without a storm.", hard=True)
def storm():
    dog = ", watchdog: {detection: 200ms, restoration: 200ms, poll: 100ms}"
    calm = STORM.split("faults:", maxsplit=1)[0] % ""
    all_runs = runs([(text, {"until": t}) for text in (calm, STORM % "", STORM % dog) for t in ("600ms", "650ms")])

    def rate(a, b):
        moved = sum(b.host(f"h{i}", "tx_bytes_phy") - a.host(f"h{i}", "tx_bytes_phy") for i in range(4, 16))
        return moved * 8e3 / (b.result["time_ps"] - a.result["time_ps"])
    usual, without, cured = rate(*all_runs[:2]), rate(*all_runs[2:4]), rate(*all_runs[4:])
    return (f"{usual:.1f} Gb/s without a storm, {without:.1f} in it, {cured:.1f} with a watchdog",
            without < usual / 1000 and cured >= .99 * usual)


@row("L5", "routing loop of n switches, rate B, TTL k", "deadlock above n B / k, none below (+-5 %)",
     "HotNets'16, sec. 3: a routing loop of n switches with rate B and TTL k: deadlock above n B / k, none below (+-5 %); n = 2, 3, 4, TTL 8, 16, "
     "64; below for 1 s, above for 80 ms.",
     "Two hosts of half that rate each at the first switch; where n does not divide k, the first link carries t = ceil(k / n) turns, so the threshold is "
     "B / t. One host in their place is not enough where t = 2: its packets and those of the ring then come to the first link at the same rate and have "
     "equal parts of its queue; above B / 2 the host's part comes to the threshold first, the host alone is paused, down to B / 2, and the ring's port "
     "never is for long enough to fill the switch before it. With t > 2, or where two hosts share the rate, the ring has the greatest part, its port is "
     "paused first and nobody slows the hosts: what is in the ring grows until it stands still. A rate-limited queue pair on a full link, other cables, "
     "seeds and packets do not change that.", hard=True)
def loop():
    cases = [(n, ttl) for n in (2, 3, 4) for ttl in (8, 16, 64)]
    below = runs([(ring(n, ttl, .95, 2), {"until": "1s"}) for n, ttl in cases])
    calm = sum(r.result["pfc"]["pause_sent"] == 0 and r.result["drops"]["ttl"] > 0 for r in below)
    above, one = ([case for case in cases if is_stuck(ring(*case, 1.05, hosts))] for hosts in (2, 1))
    twice = [sum(is_stuck(ring(n, 2 * n, 1.05, hosts)) for n in (2, 3, 4)) for hosts in (2, 1)]
    quiet = [case for case in cases if case not in one]
    short = f"no pause below in {calm} of 9; deadlock above in {len(above)} of 9"
    return (short, calm == 9 and above == cases and quiet == [(4, 8)] and twice == [3, 0],
            f"{short}; from one host in {len(one)}, not for {quiet}; TTL 2 n: in {twice[0]} of 3, from one host in {twice[1]}")


def is_stuck(scenario):
    a, b = runs([(scenario, {"until": t}) for t in ("60ms", "80ms")])
    return a.result["drops"]["ttl"] == b.result["drops"]["ttl"]


def ring(n, ttl, share, host_count):
    """So many hosts at the first switch have together @share of the rate that is the threshold."""
    rate = int(share * 40e9 / ceil(ttl / n) / host_count)
    links = [f"{{a: s{i}, b: s{(i + 1) % n}, rate: 40Gbps}}" for i in range(n if n > 2 else 1)]
    links += [f"{{a: h{i}, b: s0, rate: {rate}bps}}" for i in range(host_count)]
    links.append(f"{{a: victim, b: s{n - 1}, rate: 40Gbps}}")
    ways = [f"{{at: s{i}, to: victim, via: s{(i + 1) % n}}}" for i in range(n)]
    return f"""version: 1
topology: {{hosts: ["h[0-{host_count - 1}]", victim], switches: "s[0-{n - 1}]", links: [{', '.join(links)}]}}
routing: {{ways: [{', '.join(ways)}]}}
switch: {{buffer: 2MB, xoff: 40KB, pfc: {{priorities: [3]}}}}
nic: {{mtu: 1024, ttl: {ttl}, timeout: 0, window: 8388607}}
traffic: [{{class: f, pattern: incast, to: victim, size: 8GB}}]
"""


@row("L1", "each 256th packet lost, messages of 4 MB", "go-back-0 delivers nothing (link > 95 % busy); go-back-N (255 - W) / 256",
     "Sec. 4.1: of the packets each 256th is lost; 4 MB messages: go-back-0 keeps the link busy (> 95 %) and "
     "delivers nothing, go-back-N gets (255 - W) / 256 (+-2 %).",
     "WRITEs in packets of 1,024 bytes, one message of 4 MB, one of 100 MB; W: packets between a loss and its NAK.",
     hard=True)
def livelock():
    losses = ", ".join(str(256 * i) for i in range(1, 450))
    text = """version: 1
topology: {hosts: [a, b], switches: [s], links: [{a: a, b: s, rate: 40Gbps}, {a: b, b: s, rate: 40Gbps}]}
nic: {mtu: 1024, retransmit: %s, timeout: 14, ack_every: 16}
traffic: [{class: f, pattern: incast, to: b, from: a, size: %s}]
faults: [{link: s-b, sender: s, drop_nth: [%s]}]
until: %s
"""
    zero, n = runs([(text % ("go_back_0", "4MB", losses, "20ms"), {}), (text % ("go_back_n", "100MB", losses, "1s"), {})])
    busy = zero.host("a", "tx_bytes_phy") * 8e3 / zero.result["time_ps"] / 40
    packet, nak, delay = 1106 * 8 / 40, 86 * 8 / 40, 1000  # bits at 40 Gb/s in ns
    behind = ceil((2 * packet + 2 * nak + 4 * delay) / packet)
    packets = 100e6 / 1024
    expected = packets * packet / ((255 - behind) / 256) * 1e3
    took = int(n.flows[0]["end_ps"] or 0)
    return (f"go-back-0: {zero.result['flows']['completed']} messages at {100 * busy:.1f} %; "
            f"go-back-N: {took / expected:.4f} of the formula's time",
            zero.result["flows"]["completed"] == 0 and busy > .95 and abs(took / expected - 1) <= .02)


RING = """version: 1
topology:
  hosts: [ha, hb, hc, hd, b, c]
  switches: [sa, sb, sc, sd]
  links:
    - {a: [sa, sc], b: [sb, sd], rate: 40Gbps, delay: 100ns}
    - {a: [ha], b: sa, rate: 40Gbps, delay: 100ns}
    - {a: [hb], b: sb, rate: 40Gbps, delay: 100ns}
    - {a: [hc, c], b: sc, rate: 40Gbps, delay: 100ns}
    - {a: [hd], b: sd, rate: 40Gbps, delay: 100ns}
    - {a: b, b: sb, rate: %s, delay: 100ns}
routing: {ways: [{at: sa, to: hd, via: sb}, {at: sb, to: hd, via: sc}, {at: sc, to: hb, via: sd}, {at: sd, to: hb, via: sa}]}
switch: {buffer: 2MB, xoff: 40KB, pfc: {priorities: [3]}}
nic: {mtu: 1024, timeout: 0, ack_priority: 6}
traffic:
  - {class: first, pattern: incast, to: hd, from: ha, size: 4GB, spread: 10us}
  - {class: second, pattern: incast, to: hb, from: hc, size: 4GB, spread: 10us}
"""
THIRD = "  - {class: third, pattern: incast, to: c, from: b, size: 4GB, start: 1ms, spread: 10us}\n"


@row("L6", "circle of buffers, with a third flow, with a slow third flow", "pauses but no deadlock; deadlock; none",
     "HotNets'16, sec. 3: four switches in a ring, two flows over three links each that close the circle of buffers: pauses, but no "
     "deadlock; with a third flow over one link: deadlock; with that one at 2 of 40 Gb/s: none (10 seeds).",
     "Links of 20 m, thresholds of 40 KB; with links of 200 m and the same thresholds the slow third flow is enough for a deadlock.")
def circle():
    found = []
    for text in (RING % "40Gbps", RING % "40Gbps" + THIRD, RING % "2Gbps" + THIRD):
        all_runs = runs([(text, {"seed": s, "until": t}) for s in range(1, 11) for t in ("20ms", "40ms")])
        stuck = sum(a.host("ha", "tx_bytes_phy") == b.host("ha", "tx_bytes_phy")
                    for a, b in zip(all_runs[::2], all_runs[1::2]))
        found.append((stuck, min(r.result["pfc"]["pause_sent"] for r in all_runs[::2])))
    return (f"{found[0][0]} (at least {found[0][1]} pauses in 20 ms), {found[1][0]} and {found[2][0]} of 10 seeds",
            found[0][0] == 0 and found[0][1] > 0 and found[1][0] == 10 and found[2][0] == 0)


PODSETS = """version: 1
topology: {kind: clos, pods: 2, leaves: 24, spines: 4, cores: 64, hosts_per_leaf: 8, host_rate: 40Gbps, fabric_rate: 40Gbps, delay: 500ns}
switch: {buffer: 12MB, alpha: 1/16, pfc: {priorities: [3]}}
nic: {mtu: 1024, timeout: 0}
traffic: [{class: f, file: flows.txt}]
"""


def podsets(size, until=None, seed=1):
    """Each of 192 hosts of a podset with one of the other, 8 connections each way."""
    pairs = [pair for i in range(192) for pair in ((i, 192 + i), (192 + i, i))] * 8
    lines = [str(len(pairs))] + [f"{a} {b} 3 100 {size} 0" for a, b in pairs]
    return Run(PODSETS, until=until, seed=seed, files=(("flows.txt", "\n".join(lines) + "\n"),))


@row("L8", "two podsets, 128 links of 40 Gb/s, about 3,000 connections", "3.0 of 5.12 Tb/s, 60 %, for ECMP's sake (55 to 66 % counts)",
     "Sec. 5.4: two podsets joined by 128 links of 40 Gb/s, about 3,000 connections: 3.0 of 5.12 Tb/s, 60 % (55 to 66 % counts), for ECMP's sake.",
     "3,072 connections of 384 hosts; each moves 1 MB, and the last end counts, as if they had to keep step: the fullest link decides. "
     "While all send without end and nobody waits, more gets through (second figure).")
def podset():
    found = []
    for seed in range(1, 4):
        last = max(int(f["end_ps"]) for f in podsets(1000000, seed=seed).flows)
        found.append(3072 * 977 * 1106 * 8e3 / last / 5120)
    a, b = (podsets(1000000000, until) for until in ("2ms", "3ms"))
    sent = [sum(int(p["sent_bytes"]) for p in r.ports if p["node"].startswith("c") and p["priority"] == "3") for r in (a, b)]
    free = (sent[1] - sent[0]) * 8e3 / (b.result["time_ps"] - a.result["time_ps"]) / 5120
    return f"{100 * middle(found):.1f} % (3 seeds), {100 * free:.0f} %", .55 <= middle(found) <= .66
