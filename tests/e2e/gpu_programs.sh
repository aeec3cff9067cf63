#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs of GPUs and adapters together, each to an arithmetic that is written down here once more: ping-pong from GPU
# to GPU, direct and staged; latency by distance; the phases of a DMA transfer; WRITEs over four adapters.
. "$(dirname "$0")/lib.sh"

# machine PROGRAM HOSTS ARGS [GEN [LATENCY]]: an adapter, and a GPU at each distance from it
machine() {
	cat <<END
version: 1
topology: {kind: star, hosts: 2, delay: 500ns}
machine:
  memory: cpu0
  parts:
    - {name: cpu0, kind: socket, latency: ${5:-90ns}}
    - {name: cpu1, kind: socket, latency: 70ns, numa: 1}
    - {name: sw0, kind: switch, latency: 110ns}
    - {name: sw1, kind: switch, latency: 110ns}
    - {name: nic0, kind: nic, tags: 256}
    - {name: gpu0, kind: gpu, memory: 256MiB, latency: 150ns, tags: 256}
    - {name: gpu1, kind: gpu, memory: 64MiB, latency: 150ns, tags: 256}
    - {name: gpu2, kind: gpu, memory: 64MiB, latency: 150ns, tags: 256}
    - {name: gpu3, kind: gpu, memory: 64MiB, latency: 150ns, tags: 256}
  lanes:
    - {a: cpu0, b: cpu1, kind: upi, rate: 200Gbps, payload: 64B, overhead: 16B, delay: 50ns, ph: 1024, pd: 4096, nph: 1024}
    - {a: cpu0, b: sw0, gen: 5, dllps: no, mrrs: 4KiB, delay: 3ns}
    - {a: sw0, b: sw1, gen: 5, dllps: no, mrrs: 4KiB, delay: 3ns}
    - {a: sw0, b: nic0, gen: 5, dllps: no, mrrs: 4KiB, delay: 3ns}
    - {a: sw0, b: gpu0, gen: ${4:-5}, dllps: no, mrrs: 4KiB, delay: 3ns}
    - {a: sw1, b: gpu1, gen: 5, dllps: no, mrrs: 4KiB, delay: 3ns}
    - {a: cpu0, b: gpu2, gen: 5, dllps: no, mrrs: 4KiB, delay: 3ns}
    - {a: cpu1, b: gpu3, gen: 5, dllps: no, mrrs: 4KiB, delay: 3ns}
programs: [{run: $1, hosts: [$2], args: [$3]}]
END
}
# play NAME LINES: what NAME.yaml's program says, in NAME.said; that ends well
play() {
	expect 0 run "$1.yaml" --out "$1" --json
	cat out err | sed -n "s/^[a-z_]*, rank [0-9]: \\($2\\)/\\1/p" >"$1.said"
	[ -s "$1.said" ] || fail "$1: nothing is said"
}
PYTHONPATH=$root/tests/e2e PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
cat >arithmetic.py <<'END'
from bus_times import NS, PS, Pcie, Upi, up, way

# 100 Gb/s, packets of 4096 bytes: Ethernet with preamble and gap 38, IPv4, UDP, BTH and ICRC 44.
NETWORK = 100e9 / 8 * 4096 / (4096 + 38 + 44)

def said(name):
    return [line.split() for line in open(name + ".said")]
END

# ---- ping-pong ----
for bytes in 4194304 8388608; do
	machine gpu_pingpong "h0, h1" "\"bytes=$bytes\", \"rounds=2\"" >direct.yaml
	play direct 'pingpong .*'
	machine gpu_pingpong "h0, h1" "\"bytes=$bytes\", \"rounds=2\", \"staged=1\"" >staged.yaml
	play staged 'pingpong .*'
	machine gpu_pingpong "h0, h1" "\"bytes=$bytes\", \"rounds=2\", \"staged=1\", \"chunk=262144\"" >chunks.yaml
	play chunks 'pingpong .*'
	for name in direct staged chunks; do
		cat "$name.said" >>"$name.both"
	done
done
machine gpu_pingpong "h0, h1" '"bytes=300000", "rounds=2", "staged=1", "chunk=70000"' >odd.yaml
play odd 'pingpong .*'
same_by_ways odd
for name in direct staged; do
	machine gpu_pingpong "h0, h1" "$([ $name = direct ] || echo '"staged=1"')" >small.yaml
	play small 'pingpong .*'
	cp small.said "$name.small"
done
same_by_ways small
python3 - <<'END' || fail "ping-pong takes another time than the arithmetic's"
from arithmetic import NETWORK, Pcie

def times(name):
    return {int(size): float(time) for _, size, time in map(str.split, open(name))}
def rate(name):
    """Of what is left beside all that does not depend on the size."""
    of = times(name)
    return 4194304e9 / (of[8388608] - of[4194304])
lane = Pcie(5, mrrs=4096)
down, up = lane.rate("write"), lane.rate("completion")
wanted = {"direct": min(NETWORK, down), "staged": 1 / (1 / down + 1 / NETWORK + 1 / up), "chunks": min(NETWORK, down, up)}
for name, value in wanted.items():
    print(name, rate(name + ".both"), value)
    assert abs(rate(name + ".both") / value - 1) < 0.01
# Of what overlaps, one chunk's way to the host and from there is left.
chunks, direct = times("chunks.both")[8388608], times("direct.both")[8388608]
fill = 262144e9 / down + 262144e9 / up
print(chunks - direct, fill)
assert fill < chunks - direct < fill + 20000
# MVAPICH2-GDR: small messages took 1.9 to 2.4 us direct and 8 to 23 staged: 4 to 11 times as long (30 % each way).
small = {name: times(name + ".small")[8] for name in ("direct", "staged")}
print(small)
assert 4 * 0.7 < small["staged"] / small["direct"] < 11 * 1.3 and 1900 * 0.7 < small["direct"] < 2400 * 1.3
assert 8000 < small["staged"] < 23000
END

# ---- by distance ----
machine gpu_distance "h0, h1" '"rounds=5"' >distance.yaml
play distance '\(flag\|read\|write\) .*'
same_by_ways distance
expect 0 topo -m distance.yaml
python3 - <<'END' || fail "distances take another time than the arithmetic's"
from arithmetic import *

rows = [line.split() for line in open("out")]
(of_nic,) = [row[1:] for row in rows if row[:1] == ["nic0"] and len(row) > 5]
assert of_nic[:4] == ["PIX", "PXB", "PHB", "SYS"], of_nic
of = {(what, int(a), int(b)): round(float(time) * NS) for what, a, b, time in said("distance")}
lane, upi = Pcie(5, mrrs=4096), Upi()
SWITCH, CPU0, CPU1, GPU = 110 * NS, 90 * NS, 70 * NS, 150 * NS
def hop(latency, lane_=lane):
    return (lane_, (50 if lane_ is upi else 3) * NS, latency)
there = {-1: [hop(SWITCH), hop(CPU0)], 0: [hop(SWITCH), hop(GPU)], 1: [hop(SWITCH), hop(SWITCH), hop(GPU)],
         2: [hop(SWITCH), hop(CPU0), hop(GPU)], 3: [hop(SWITCH), hop(CPU0), hop(CPU1, upi), hop(GPU)]}
def back(hops):
    lanes, latencies = [h[:2] for h in hops][::-1], [h[2] for h in hops[:-1]][::-1] + [0]
    return [(*l, latency) for l, latency in zip(lanes, latencies)]
def read(gpu):
    return way(there[gpu], "request", 8) + way(back(there[gpu]), "completion", 8)
for gpu in range(4):
    found = of["read", 0, gpu] - of["read", 0, -1]
    print("read", gpu, found, read(gpu) - read(-1))
    # A program sees a completion when it polls, each 20 ns.
    assert abs(found - (read(gpu) - read(-1))) <= 20 * NS
# The other side says that it has a WRITE before it is in memory, however far that is.
assert len({of["write", 0, gpu] for gpu in range(-1, 4)}) == 1
# Between GPUs a word takes its way, and at most one poll more: 145 ns, what a load from memory takes on an H100.
way_of = {(0, 1): [hop(SWITCH), hop(SWITCH), hop(GPU)], (0, 2): [hop(SWITCH), hop(CPU0), hop(GPU)],
          (0, 3): [hop(SWITCH), hop(CPU0), hop(CPU1, upi), hop(GPU)], (1, 2): [hop(SWITCH), hop(SWITCH), hop(CPU0), hop(GPU)],
          (1, 3): [hop(SWITCH), hop(SWITCH), hop(CPU0), hop(CPU1, upi), hop(GPU)], (2, 3): [hop(CPU0), hop(CPU1, upi), hop(GPU)]}
for pair, hops in way_of.items():
    print("flag", pair, of[("flag", *pair)], way(hops, "write", 4))
    assert way(hops, "write", 4) < of[("flag", *pair)] <= way(hops, "write", 4) + 2 * 145 * NS
END

# ---- DMA ----
dma() { # NAME ARGS GEN LATENCY
	machine gpu_dma "h0, h1" "$2" "$3" "$4" >"$1.yaml"
	play "$1" '\(copy\|read\) .*'
}
dma plain '"bytes=1048576"' 5 90ns
same_by_ways plain
dma twice '"bytes=2097152"' 5 90ns
dma slow '"bytes=1048576"' 4 90ns
dma late '"bytes=1048576"' 5 290ns
dma polls '"bytes=1048576", "sleep=0"' 5 90ns
python3 - <<'END' || fail "a transfer's phases are not the arithmetic's"
from arithmetic import *

PHASES = ["submit", "start", "transfer", "completion", "interrupt"]
of = {}
for name in ("plain", "twice", "slow", "late", "polls"):
    of[name] = {(what, phase): round(float(time) * NS) for what, phase, time in said(name)}
    assert list(of[name]) == [(what, phase) for what in ("copy", "read") for phase in PHASES]
def changed(name, what):
    return {phase: of[name][what, phase] - of["plain"][what, phase] for phase in PHASES
            if of[name][what, phase] != of["plain"][what, phase]}
lane, slow = Pcie(5, mrrs=4096), Pcie(4, mrrs=4096)
burst = lane.time(lane.wire("write", 4096))
# Bursts of 4 KiB one after the other, behind the first; whole picoseconds each.
assert of["plain"]["copy", "transfer"] == (1048576 // 4096 - 1) * burst, (of["plain"], burst)
assert changed("twice", "copy") == {"transfer": 256 * burst}, changed("twice", "copy")
# The slower lane is the GPU's, in front of the others.
slower = slow.time(slow.wire("write", 4096)) - burst
# A doorbell of 8 bytes goes there before the first burst comes from there.
first = [way([(lane, 3 * NS, 110 * NS), (own, 3 * NS, 150 * NS)], "write", 8) +
         way([(own, 3 * NS, 110 * NS), (lane, 3 * NS, 90 * NS)], "write", 4096) for own in (lane, slow)]
print(changed("slow", "copy"), first, slower)
assert changed("slow", "copy") == {"start": first[1] - first[0], "transfer": 255 * slower}
assert changed("late", "copy") == {"start": 200 * NS}, changed("late", "copy")
# Who sleeps is woken by an interrupt, which takes a server 3 us; nobody's transfer depends on it.
assert changed("polls", "copy") == {"interrupt": -3000 * NS} and changed("polls", "read") == {}
# An adapter's READ: packets as they come over the network, then a CQE of 64 bytes, which a poll of 20 ns finds.
packets = 1048576 // 4096
network = (4096 + 38 + 44) * 8 * PS // (100 * 10**9)
print(of["plain"]["read", "transfer"], (packets - 1) * network)
assert abs(of["plain"]["read", "transfer"] - (packets - 1) * network) < network // 20
assert abs(changed("twice", "read")["transfer"] - packets * network) < network // 20
assert of["plain"]["read", "completion"] <= 40 * NS
assert abs(of["plain"]["read", "interrupt"] - 3000 * NS) <= 40 * NS
END

# ---- rails ----
rails() { # NAME ARGS
	cat >"$1.yaml" <<END
version: 1
topology: {kind: star, hosts: 2, nics: 4}
machine: dgx1_v100
programs: [{run: gpu_rails, hosts: [h0, h1], args: [$2]}]
END
	play "$1" 'rails* .*'
}
for bytes in 2097152 6291456; do
	rails near "\"bytes=$bytes\""
	rails one "\"bytes=$bytes\", \"rails=1\""
	rails next "\"bytes=$bytes\", \"shift=1\""
	for name in near one next; do
		sed "s/^/$bytes /" "$name.said" >>"$name.both"
	done
done
same_by_ways next
python3 - <<'END' || fail "rails are not as fast as the arithmetic's"
from arithmetic import NETWORK

def rates(name):
    """Of each rail and of all, beside what does not depend on the size."""
    times = {}
    for size, *what, rate in map(str.split, open(name + ".both")):
        count = int(what[1]) if what[0] == "rails" else 1
        times.setdefault(tuple(what), []).append((count * int(size), count * int(size) / (int(rate) * 1e6)))
    return {what: (large[0] - small[0]) / (large[1] - small[1]) for what, (small, large) in times.items()}
near, one, following = rates("near"), rates("one"), rates("next")
print(near, one, following)
assert [what[2] for what in near if what[0] == "rail"] == ["0", "2", "4", "6"]  # one below each switch of PCI Express
assert abs(one["rails", "1"] / NETWORK - 1) < 0.01 and abs(near["rails", "4"] / (4 * NETWORK) - 1) < 0.01
assert all(abs(rate / NETWORK - 1) < 0.01 for what, rate in near.items() if what[0] == "rail")
# Over the adapter of the next one, which is another switch's, all are slower, and those that go from socket to socket have
# at most its 64 of 80 bytes at 60 Gb/s.
assert 2e9 < following["rail", "3", "0"] < 6e9 and NETWORK * 0.85 < following["rail", "0", "2"] < NETWORK, following
assert following["rails", "4"] < near["rails", "4"] / 2, following
END
