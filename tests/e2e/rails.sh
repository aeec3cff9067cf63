#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Machines of four adapters, one on each rail: a flow that is alone on its way takes as long as its
# packets take over store-and-forward links one after the other, to the picosecond, on each rail and
# across rails; and so do the WRITEs of a program that has a queue pair on each.
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
cat >programs.yaml <<'END'
version: 1
topology: {kind: rail, servers: 2, rails: 4, spines: 1, nics: 4}
programs: [{run: rails, hosts: [h0, h1], args: [bytes=20000]}]
END
expect 0 run programs.yaml --trace all
mv out trace.txt
python3 - <<'END' || fail "times on rails"
import collections, csv, re

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

def write(links, size, immediate=0):
    packets = [min(MTU, size - done) + ROCE for done in range(0, size, MTU)]
    packets[0] += RETH
    packets[-1] += immediate
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

# Both ranks write at once, on one rail after another, and posting takes 100 ns. What comes the
# other way is gone before the ACKs are there.
LINE = re.compile(r"(\d+)\.(\d{6}) us  (\S+) > (\S+)  (\S+) psn .* (\d+) bytes")
sent = collections.defaultdict(list)  # from where, to where: what, when it starts, when it has come
for line in open("trace.txt"):
    match = LINE.match(line)
    if match:
        us, ps, here, there, what, size = match.groups()
        at = int(us) * 1000000 + int(ps)
        sent[here, there].append((what, at, at + int(size) * RATE_PS + DELAY))
assert len(sent) == 2 * 2 * 4, sent.keys()
begun = collections.defaultdict(set)
for own in (nic(h, n) for h in ("h0", "h1") for n in range(4)):
    leaf = f"su0r{own[-1] if '.' in own else 0}"
    begun[leaf].add(sent[own, leaf][0][1])
    acks = [come for what, _, come in sent[leaf, own] if what == "RC_ACKNOWLEDGE"]
    assert [what for what, _, _ in sent[own, leaf]].count("RC_WRITE_LAST_IMM") == 1, own
    assert acks[-1] - sent[own, leaf][0][1] == write(2, 20000, immediate=4), (own, sent[own, leaf], acks)
first = min(begun["su0r0"])
assert begun == {f"su0r{n}": {first + n * 100000} for n in range(4)}, begun
END

# The first adapter has two names, and either means the same wherever one may stand.
# asked NAME: what is said of it, without the name
asked() {
	name=$1
	sed "s/NAME/$name/g" >named.yaml <<-'END'
		version: 1
		topology: {kind: rail, servers: 3, rails: 2, spines: 1, nics: 2}
		traffic:
		  - {class: away, pattern: incast, from: NAME, to: h1, size: 100KB}
		  - {class: here, pattern: incast, from: "h[1-2]", to: NAME, size: 100KB}
		faults: [{link: NAME-su0r0, sender: NAME, drop_nth: [3]}]
	END
	rm -rf named named.pcapng
	expect 0 run named.yaml --quiet --out named --pcap named.pcapng --pcap-port "$name-su0r0"
	cat named/flows.csv named.pcapng
	expect 0 stat named "$name"
	cat out
	for filter in "node=$name" "port=$name-su0r0" "port=su0r0-$name#0"; do
		expect 0 run named.yaml --quiet --out named --trace "$filter"
		cat out
	done
	for event in "retransmission from $name" "queue $name-su0r0 > 10KB" "nak to $name"; do
		expect 0 run named.yaml --quiet --out named --break-on "$event"
		sed "s/$name/NAME/g; s/h0\([^.]\)/NAME\1/g" err
	done
}
asked h0 >as_host || { cat as_host; exit 1; }
asked h0.nic0 >as_nic0 || { cat as_nic0; exit 1; }
[ "$(wc -l <as_host)" -gt 100 ] || fail "too little is said of h0"
grep -q '^stopped: retransmission from NAME' as_host || fail "no retransmission from h0"
cmp as_host as_nic0 || fail "h0.nic0 is not h0"
expect 2 stat named su0r0.nic0
expect 2 run named.yaml --trace node=h0.nic2
expect 2 run named.yaml --trace port=h0-su0r0.nic0
