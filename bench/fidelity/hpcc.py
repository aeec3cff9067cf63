# SPDX-License-Identifier: BSD-2-Clause
"""Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019; results page and simulator of its authors
(hpcc-group.github.io, alibaba-edu/High-Precision-Congestion-Control)."""
from functools import cache

from lab import Run, each, middle, part, row, runs

ECN_25G = ", ecn: {kmin: 100KB, kmax: 400KB, pmax: 20%}"
STAR = """version: 1
topology: {kind: star, hosts: %d, host_rate: 25Gbps, delay: 1150ns}
switch: {buffer: 16MB, alpha: 1/8, pfc: {priorities: [3]}%s}
nic: {mtu: 1024, cc: %s, ack_every: 1}
"""

# Two tiers of 25 and 100 Gb/s as on the test bed; more of the flows under 3 KB, so that their tail is known soon.
RACKS = """version: 1
topology: {kind: leaf_spine, leaves: 4, spines: 1, hosts_per_leaf: 8, host_rate: 25Gbps, fabric_rate: 100Gbps, delay: 1100ns}
switch: {buffer: 32MB, alpha: 1/8, pfc: {priorities: [3]}%s}
nic: {mtu: 1024, cc: %s, ack_every: 1}
traffic:
  - {class: web, cdf: websearch, load: %s}
  - {class: small, cdf: small.cdf, load: 0.3%%}
until: 12ms
"""


def small(run):
    return [f for f in run.flows if f["class"] == "small" and f["status"] == "ok" and int(f["start_ps"]) > 3e9]


@cache
def tail_of_small(control, ecn, load):
    """99th percentile of the slowdown of flows of 1 to 3 KB and median of their idle time in us, by seed."""
    text = RACKS % (ecn, control, load)
    found = runs([(text, {"seed": s, "files": (("small.cdf", "1000 0\n3000 100\n"),)}) for s in range(1, 21)])
    return ([part((float(f["slowdown"]) for f in small(r)), .99) for r in found],
            [middle(int(f["ideal_ps"]) / 1e6 for f in small(r)) for r in found])


def tails(load):
    """With DCQCN and with HPCC."""
    return tail_of_small("dcqcn_nv", ECN_25G, load), tail_of_small("hpcc", "", load)


TAIL = ("Test bed, WebSearch, 99th percentile of the slowdown of flows under 3 KB with DCQCN and HPCC: 11.2 and 2.38 at 30 % load, "
        "53.9 and 2.70 at 50 %; ")
RACKS_ARE = ("32 hosts with one port, 8 a rack; DCQCN in the form of the adapters (dcqcn_nv); 9 ms; 0.3 % more load of flows of 1 to "
             "3 KB, without which there are too few; no time in hosts. ")


@row("H1", "WebSearch, p99 slowdown under 3 KB, DCQCN against HPCC", "30 %: 11.2 and 2.38; 50 %: 53.9 and 2.70 (>= 3 and 8 times as much)",
     TAIL + "at least 3 and 8 times as much with DCQCN (sign test: in 15 of 20 seeds). Whether the figures themselves come out is H1-30.", RACKS_ARE,
     hard=True)
def websearch():
    found, short, good = [], [], True
    for load, least in (("30%", 3), ("50%", 8)):
        (dcqcn, _), (hpcc, _) = tails(load)
        above = sum(d / h >= least for d, h in zip(dcqcn, hpcc))
        short.append(f"{load}: {middle(dcqcn):.1f} and {middle(hpcc):.2f}, in {above} of 20")
        found.append(f"{load}: {middle(dcqcn):.1f} and {middle(hpcc):.2f}, {least} times as much in {above} of 20 seeds")
        good = good and above >= 15
    return "; ".join(short), good, "; ".join(found)


PUBLISHED_TAILS = {"30%": (11.2, 2.38), "50%": (53.9, 2.70)}


@row("H1-30", "the same figures themselves, within 30 %", "30 %: 11.2 and 2.38; 50 %: 53.9 and 2.70 (+-30 %)",
     TAIL + "each of the four within 30 % (median of 20 seeds). The order and the factors are H1.",
     RACKS_ARE + "The idle time of such a flow says what the difference is in time: HPCC lacks about the same, 9 and 10 us, at both loads; hosts and their "
     "adapters add some, which is not modelled and was not measured here. DCQCN is too high at 30 % and too low at 50 %: no time that is added to all "
     "explains both.")
def within():
    found, short, good = [], [], True
    for load, published in PUBLISHED_TAILS.items():
        off = []
        for (values, idle), expected in zip(tails(load), published):
            value = middle(values)
            off.append(f"{value:.{1 if expected > 10 else 2}f} ({100 * (value / expected - 1):+.0f} %)")
            found.append(f"{off[-1]} for {expected}, {(value - expected) * middle(idle):+.1f} us of {middle(idle):.1f} us idle")
            good = good and abs(value / expected - 1) <= .3
        short.append(f"{load}: {' and '.join(off)}")
    return f"{'; '.join(short)}", good, "; ".join(f"{load}, {who}: {text}" for (load, who), text in zip(
        [(load, who) for load in PUBLISHED_TAILS for who in ("DCQCN", "HPCC")], found))


# There the ACK of each marked packet is a CNP (rdma-hw.cc, ReceiveUdp()).
CONTROLS = {
    "HPCC": ("hpcc", ""),
    "DCQCN": ("dcqcn_hpcc, cnp_interval: 0s", ", ecn: {kmin: 400KB, kmax: 1600KB, pmax: 20%}"),
    "TIMELY": ("timely, cc_params: {delta: 100Mbps}", ""),
    "DCTCP": ("dctcp", ", ecn: {kmin: 300KB, kmax: 300KB, pmax: 100%}"),
}
CLOS = """version: 1
topology: {kind: clos, %s, host_rate: 100Gbps, fabric_rate: 400Gbps, delay: 1us}
switch: {buffer: 32MB, alpha: 1/8, pfc: {priorities: [3]}%s}
nic: {headers: ns3, mtu: 1000, cc: %s, ack_every: 1}
traffic: [{class: f, cdf: %s, load: %s, until: %s}]
until: %s
"""
FAT = "pods: 5, leaves: 4, spines: 4, cores: 16, hosts_per_leaf: 16"
SMALL = "pods: 2, leaves: 2, spines: 2, cores: 4, hosts_per_leaf: 8"


def hadoop(name, shape, seed):
    """95th percentiles: slowdown under 120 KB, and the round trip in us that a flow of one packet is; pauses."""
    control, ecn = CONTROLS[name]
    run = Run(CLOS % (shape, ecn, control, "fb_hadoop", "50%", "2ms", "3ms"), seed=seed)
    done = [f for f in run.flows if f["status"] == "ok" and int(f["start_ps"]) > 300e6]
    return (part((float(f["slowdown"]) for f in done if int(f["bytes"]) < 120000), .95),
            part((int(f["fct_ps"]) / 1e6 for f in done if int(f["bytes"]) <= 1000), .95), run.result["pfc"]["pause_sent"])


@row("H3", "FB_Hadoop at 50 %, p95 slowdown under 120 KB", "HPCC far below DCQCN, TIMELY and DCTCP (half at most)",
     "Simulation, FB_Hadoop at 50 %: the 95th percentile of the slowdown of flows under 120 KB is far lower with HPCC than "
     "with DCQCN, TIMELY and DCTCP (here: half of it at most; sign test: in 15 of 20 seeds against each).",
     "32 hosts in two pods of the same rates instead of 320; load for 2 ms of 3.", hard=True)
def beats_others():
    all_values = {name: each(lambda seed, name=name: hadoop(name, SMALL, seed)[0], range(1, 21)) for name in CONTROLS}
    hpcc, good = all_values.pop("HPCC"), True
    found, counts = [], []
    for name, values in all_values.items():
        above = sum(v > 2 * h for v, h in zip(values, hpcc))
        found.append(f"{name} {middle(values):.2f}, over twice that in {above}")
        counts.append(f"{name} {middle(values):.2f} ({above})")
        good = good and above >= 15
    return (f"HPCC {middle(hpcc):.2f}; {', '.join(counts)} of 20 seeds", good,
            f"HPCC {middle(hpcc):.2f}; {'; '.join(found)} of 20 seeds")


@row("H3b", "the same with all 320 hosts, p95 of the round trip", "HPCC 19.8 us (+-2.5), no pauses; slowdown far below the others'",
     "The same with all 320 hosts: 95th percentile of the round trip with HPCC 19.8 us (+-2.5), of 12 when idle; no pauses with HPCC; "
     "slowdown far below the others'.", "One seed, load for 2 ms of 3; the round trip is that of flows of one packet.")
def fat_tree():
    found = {name: hadoop(name, FAT, 1) for name in CONTROLS}
    slowdown, trip, pauses = found["HPCC"]
    text = "; ".join(f"{name} {f[0]:.2f}, {f[1]:.1f} us, {f[2]} pauses" for name, f in found.items())
    others = min(f[0] for name, f in found.items() if name != "HPCC")
    return (f"HPCC {slowdown:.2f}, {trip:.1f} us, {pauses} pauses; the others {others:.2f} and more",
            abs(trip - 19.8) <= 2.5 and pauses == 0 and all(f[0] > 2 * slowdown for n, f in found.items() if n != "HPCC"), text)


def queue_of_burst(control, ecn):
    """Instants in us from the burst on and queue in bytes; the highest of all."""
    text = STAR % (9, ecn, control) + """traffic:
  - {class: long, pattern: incast, to: h0, from: h1, size: 4GB}
  - {class: burst, pattern: incast, to: h0, from: "h[2-8]", size: 1MB, start: 1ms}
until: 2ms
"""
    run = Run(text, series="1us")
    queue = [(int(s["time_ps"]) / 1e6 - 1000, int(s["queue_bytes"])) for s in run.series
             if s["node"] == "s0" and s["link"] == "h0-s0#0" and s["priority"] == "3"]
    return [q for q in queue if q[0] > 0], run.result["queue"]["max_bytes"]


@row("H6", "a long flow and a burst of seven, 25 Gb/s", "DCQCN about 550 KB (+-40 %); HPCC: gone as soon as the link can",
     "Test bed: a long flow and a burst of seven more to its host at 25 Gb/s: DCQCN builds about 550 KB (+-40 %); with HPCC "
     "the queue is gone as soon as the link can have sent it.",
     "Flows of 1 MB; adapters' DCQCN. New flows begin at line rate: 7 times 25 Gb/s for a round trip are 118 KB, for which the link "
     "needs 38 us, so that 'within two round trips' can only count from there.")
def burst():
    _, most = queue_of_burst("dcqcn_nv", ECN_25G)
    queue, peak = queue_of_burst("hpcc", "")
    gone = next(time for time, length in queue if time > 10 and length < 20000)
    needs = peak * 8 / 25e3 + 2 * 5.4
    return (f"DCQCN {most / 1e3:.0f} KB; HPCC {peak / 1e3:.0f} KB, under 20 KB after {gone:.0f} us (the link's {peak * 8 / 25e3:.0f})",
            abs(most / 550e3 - 1) <= .4 and gone <= needs)


@row("H8", "messages of 1 KB beside two elephants, median", "HPCC about 5.4 us; DCQCN over 35 us",
     "Test bed: messages of 1 KB beside two elephants to one host, base round trip 5.4 us: about that with HPCC, over 35 us with "
     "DCQCN (median).", "200 messages; adapters' DCQCN (in the paper's form, too; not in that of the HPCC simulator, where the queue swings "
     "to 0 between its cuts).")
def mice():
    found = {}
    for name, ecn in (("hpcc", ""), ("dcqcn_nv", ECN_25G), ("dcqcn", ECN_25G), ("dcqcn_hpcc", ECN_25G)):
        run = Run(STAR % (4, ecn, name) + """traffic:
  - {class: elephants, pattern: incast, to: h0, from: [h1, h2], size: 4GB}
  - {class: mice, pattern: incast, to: h0, from: h3, size: 1KB, start: 5ms, repeat: 200, every: 50us}
until: 16ms
""")
        found[name] = run.result["fct"]["mice"]["p50_ps"] / 1e6
    return (", ".join(f"{name} {time:.1f} us" for name, time in found.items()),
            found["hpcc"] <= 1.15 * 5.4 and found["dcqcn_nv"] > 35 and found["dcqcn"] > 35)


@row("H10", "WebSearch, eta 0.99 instead of 0.95, flows over 1 MB", "hardly another slowdown at 30 and 50 %, better at 70 %",
     "Results page: WebSearch with eta 0.99 instead of 0.95: hardly another slowdown at 30 and 50 % load (10 % counts), flows over "
     "1 MB better at 70 %.", "32 hosts in two pods, load for 8 ms; mean slowdown over 1 MB, 5 seeds, sign in 4 of them.")
def eta():
    found, good = [], True
    for load in ("30%", "50%", "70%"):
        change = []
        for seed in range(1, 6):
            means = []
            for value in ("0.95", "0.99"):
                run = Run(CLOS % (SMALL, "", f"hpcc, cc_params: {{eta: {value}}}", "websearch", load, "8ms", "20ms"), seed=seed)
                long = [float(f["slowdown"]) for f in run.flows if f["status"] == "ok" and int(f["bytes"]) > 1e6]
                means.append(sum(long) / len(long))
            change.append(means[1] / means[0] - 1)
        found.append(f"{load}: {100 * middle(change):+.1f} %, less in {sum(c < 0 for c in change)} of 5")
        good = good and (sum(c < 0 for c in change) >= 4 if load == "70%" else abs(middle(change)) < .1)
    return "; ".join(found), good
