#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What lies behind the last packet of a flow: the parts that verbena explain gives are those of the trace.
. "$(dirname "$0")/lib.sh"

cat >parts.py <<'END'
"""FLOW DELAY LATENCY...: the way of the flow's last packet and of its acknowledgement, from the lines
of "trace", LATENCY as NODE=ps; against what is in "out"."""
import csv, re, sys
flow, delay = sys.argv[1], int(sys.argv[2])
latency = {name: int(ps) for name, ps in (item.split("=") for item in sys.argv[3:])}
row = next(r for r in csv.DictReader(open("traced/flows.csv")) if r["id"] == flow)
rates = {(r["node"], r["peer"]): int(r["rate_bps"]) for r in csv.DictReader(open("traced/ports.csv"))}
at = lambda text: int(text.split()[0].replace(".", ""))
stops, packets = {}, []
for line in open("trace"):
    found = re.match(r"[\d.]+ us  (\S+) > (\S+)  (.*)$", line)
    if not found:
        continue
    port, what = found.group(1, 2), found[3]
    if what == f"stops, priority {row['priority']}":
        stops.setdefault(port, []).append([at(line), None])
    elif what == f"goes on, priority {row['priority']}":
        stops[port][-1][1] = at(line)
    elif f", flow {flow}, " in what:
        packets.append((at(line), port, int(re.search(r" psn (\d+) ", what)[1]), "ACKNOWLEDGE" in what,
                        int(re.search(r", (\d+) bytes, prio", what)[1])))
def stopped(port, begin, end):
    return sum(max(0, min(end, b or end) - max(begin, a)) for a, b in stops.get(port, []))
def way(hops):
    wire = paused = queued = 0
    ready = None
    for start, port, _, _, size in hops:
        if ready is not None:
            held = stopped(port, ready, start)
            paused, queued = paused + held, queued + start - ready - held
        time = -(-size * 8 * 10**12 // rates[port])
        first = time if ready is None else 0
        ready = start + time + delay + latency.get(port[1], 0)
        wire += ready - start - first
    return wire, paused, queued, hops[0][0] + -(-hops[0][4] * 8 * 10**12 // rates[hops[0][1]]), ready
sent = [p for p in packets if not p[3] and p[1][0] == row["src"]]
last = sent[-1]
out = way([p for p in packets if not p[3] and p[2] == last[2] and p[0] >= last[0]])
answer = [p for p in packets if p[3] and p[2] == last[2]]
back = way(answer)
begin = answer[0][0]
first = -(-answer[0][4] * 8 * 10**12 // rates[answer[0][1]])
assert back[4] == int(row["end_ps"]), (back, row)
wanted = {"its last packet: further wires and switches": out[0],
          "its last packet: at paused ports of switches": out[1],
          "its last packet: behind others in switches": out[2],
          "the target, until its acknowledgement left": begin - out[4],
          "the acknowledgement: wires and switches": back[0] + first,
          "the acknowledgement: at paused ports of switches": back[1],
          "the acknowledgement: behind others in switches": back[2]}
text = open("out").read()
said = {m[1].strip(): int(m[2].replace(".", ""))
        for m in re.finditer(r"^  (\D.*?)  +(\d+\.\d{6}) us +[\d.]+ %$", text, re.M)}
whole = said.pop("in all")
assert whole == int(row["fct_ps"]) == sum(said.values()), text
assert {k: v for k, v in said.items() if k in wanted} == {k: v for k, v in wanted.items() if v}, (wanted, text)
assert not any("after its last packet" in part for part in said), text
# What a packet stood behind: the bytes that its port sent from when it could have left until it did.
sizes = {"": 1, "K": 10**3, "M": 10**6}
for what, own in (("Its last packet", [p for p in packets if not p[3] and p[2] == last[2] and p[0] >= last[0]]), ("The acknowledgement", answer)):
    ready = None
    for start, port, _, _, size in own:
        if ready is not None and start - ready > stopped(port, ready, start) and start - ready >= int(row["fct_ps"]) / 10:
            sent = {}
            for line in open("trace"):
                found = re.match(rf"[\d.]+ us  {port[0]} > {port[1]}  .*, (\d+) bytes, priority (\d+)", line)
                if found and ready <= at(line) < start:
                    sent[found[2]] = sent.get(found[2], 0) + int(found[1])
            most = max(sent, key=sent.get)
            said = re.search(rf"^{what} stood \S+ \S+ at {port[0]} towards {port[1]}, while ([\d.]+) (K?M?)B of priority (\d+) went first", text, re.M)
            assert said and said[3] == most and abs(float(said[1]) * sizes[said[2]] - sent[most]) < 0.006 * sent[most], (sent, text)
            print("behind", sent[most], most)
        ready = start + -(-size * 8 * 10**12 // rates[port]) + delay + latency.get(port[1], 0)
for name in ("out", "back"):
    print(name, *locals()[name][:3])
END

# The one that suffered most of all: an acknowledgement that stood in a switch, most of the time paused.
trace_of "$root/traces/default.yaml"
expect 0 explain traced --why slow
flow=$(sed -n 's/^Flow \([0-9]*\), .*/\1/p' out)
python3 parts.py "$flow" 1000000 >ways || fail "other parts of flow $flow"
grep -E '^back [0-9]+ [1-9][0-9]+ [1-9][0-9]+$' ways >/dev/null || fail "nothing held the acknowledgement: $(cat ways)"
grep -E '^behind [0-9]{6,} 3$' ways >/dev/null || fail "behind nothing: $(cat ways)"
grep -E '^On the way back its acknowledgements waited:$' out >/dev/null || fail "no way back"
grep -E '^  at leaf2 towards spine1: .* in the mean \([0-9.]+ % of it paused\), ' out >/dev/null || fail "no port of it"

# A work request that stands behind another priority: whose, is said.
slow=$(awk -F, '$2 == "pingpong_write"' traced/requests.csv | sort -t, -k13,13nr | head -1 | cut -d, -f1)
expect 0 explain traced "$slow" --why slow
grep -E '^The acknowledgement stood .* at leaf0 towards h0, while [0-9.]+ MB of priority 3 went first; it has priority 0\.$' out >/dev/null ||
	fail "not behind which priority: $(cat out)"

# A last packet that waited itself; and switches that take their time, one of them more than the other.
cat >late.yaml <<'END'
version: 1
topology:
  hosts: [a, b, c, sink]
  switches: [near, far]
  links:
    - {a: [a, b, c], b: near, delay: 500ns}
    - {a: near, b: far, delay: 500ns}
    - {a: far, b: sink, rate: 10Gbps, delay: 500ns}
switch: {buffer: 1MiB, alpha: 1/4, pfc: {}, latency: 300ns}
switches: [{names: far, latency: 900ns}]
nic: {mtu: 1024}
traffic: [{class: in, pattern: incast, to: sink, from: [a, b], size: 1MB}]
END
trace_of late.yaml
for flow in 0 1; do
	expect 0 explain traced "$flow" --why slow
	python3 parts.py "$flow" 500000 near=300000 far=900000 >ways || fail "other parts of flow $flow of late.yaml"
	grep -E '^out [0-9]+ [0-9]+ [1-9][0-9]+$' ways >/dev/null || fail "nothing held the last packet: $(cat ways)"
done

# What was lost is sent again, and behind it an acknowledgement that ends the flow; each is followed to its end.
for how in selective go_back_n; do
	lossy_scenario 'kind: star, hosts: 9'
	sed -i "s/timeout: 8/timeout: 8, retransmit: $how/" lossy.yaml
	expect 0 run lossy.yaml --quiet --out traced
	python3 - "$verbena" <<'END' || fail "$how: something was not seen"
import csv, re, subprocess, sys
count = 0
for flow in csv.DictReader(open("traced/flows.csv")):
    text = subprocess.run([sys.argv[1], "explain", "traced", flow["id"], "--why", "slow"],
                          capture_output=True, text=True, check=True).stdout
    parts = {name.strip(): int(time.replace(".", "")) for name, time in re.findall(r"^  (\D.*?)  +(\d+\.\d{6}) us ", text, re.M)}
    assert parts.pop("in all") == sum(parts.values()) == int(flow["fct_ps"]), text
    assert not any(name.startswith("after its last packet") for name in parts), text
    assert parts["the acknowledgement: wires and switches"] < 2_100_000 + 200_000, text
    count += int(flow["packets_retransmitted"]) > 0
assert count > 3
END
done
