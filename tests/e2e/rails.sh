#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Machines of four adapters, one on each rail: a flow that is alone on its way takes as long as its
# packets take over store-and-forward links one after the other, to the picosecond, on each rail and
# across rails.
. "$(dirname "$0")/lib.sh"

cat >one.yaml <<'END'
version: 1
topology: {kind: rail, servers: 2, rails: 4, spines: 1, nics: 4}
traffic:
  - {class: own, pattern: ring, rails: yes, size: 100KB}
  - {class: across, pattern: incast, to: h1.nic3, from: "h0.nic1", size: 100KB, start: 50us}
  - {class: inside, pattern: incast, to: h0.nic2, from: "h0", size: 5000B, start: 100us}
END
expect 0 run one.yaml --out run
python3 - <<'END' || fail "times on rails"
import csv

RATE_PS, DELAY = 80, 1000000  # a byte at 100 Gb/s; a link
MTU, ETHERNET = 4096, 8 + 12 + 14 + 4  # preamble, gap, header, check sequence
ROCE = ETHERNET + 20 + 8 + 12 + 4  # IPv4, UDP, BTH, ICRC
RETH, AETH = 16, 4

def over(links, packets, start):
    """When the last of these has come, which are at hand at start."""
    at = [start] * len(packets)
    for _ in range(links):
        free = 0
        for i, size in enumerate(packets):
            free = max(free, at[i]) + size * RATE_PS
            at[i] = free + DELAY
    return at[-1]

def write(links, size):
    packets = [min(MTU, size - done) + ROCE for done in range(0, size, MTU)]
    packets[0] += RETH
    return over(links, [ROCE + AETH], over(links, packets, 0))

flows = list(csv.DictReader(open("run/flows.csv")))
# One leaf a rail: two links on a rail, four by way of the spine.
links = {"own": 2, "across": 4, "inside": 4}
ways = sorted((f["class"], f["src"], f["dst"]) for f in flows)
nic = lambda h, n: h if n == 0 else f"{h}.nic{n}"
assert ways == sorted([("own", nic(a, n), nic(b, n)) for a, b in (("h0", "h1"), ("h1", "h0")) for n in range(4)] +
                      [("across", "h0.nic1", "h1.nic3"), ("inside", "h0", "h0.nic2")]), ways
for f in flows:
    wanted = write(links[f["class"]], int(f["bytes"]))
    assert int(f["fct_ps"]) == wanted, (f, wanted)
END
