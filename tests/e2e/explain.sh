#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena explain: what it says is what the trace and the results say.
. "$(dirname "$0")/lib.sh"

says() { # PATTERN
	grep -qE "$1" out || {
		cat out
		fail "no line like \"$1\""
	}
}

# Two switches: near has far's port slow, so far pauses near, and near its hosts.
cat >chain.yaml <<'END'
version: 1
topology:
  hosts: [a, b, c, sink]
  switches: [near, far]
  links:
    - {a: [a, b, c], b: near, delay: 500ns}
    - {a: near, b: far, delay: 500ns}
    - {a: far, b: sink, rate: 10Gbps, delay: 500ns}
switch: {buffer: 1MiB, alpha: 1/4, pfc: {}}
nic: {mtu: 1024}
traffic: [{class: in, pattern: incast, to: sink, from: [a, b], size: 1MB}]
END
trace_of chain.yaml
expect 0 explain traced --why pfc
first=$(grep -m 1 'XOFF' trace)
says "^  ${first%% *} us: far held [0-9]* bytes of priority 3 from near, the threshold was [0-9]*, so it had near pause\.$"
says '^    That is the root: nobody had paused far towards sink; more came than its 10\.0 Gb/s could take\.$'
says '^The longest chain, 2 pauses, from its end to its root:$'
says '^  [0-9.]* us: near held [0-9]* bytes of priority 3 from [ab], .*, so it had [ab] pause\.$'
says '^    That port could not send, since far had paused near:$'
says "^Full buffers had somebody pause $(grep -c XOFF trace) times; most often "
expect 0 explain chain.yaml --why deadlock
says '^There is no deadlock: no port is paused at the end of the run\.$'

# Where the time of a flow went: the accounts are those of the trace, and they are all of it.
expect 0 explain traced 0 --why slow
python3 - <<'END' || fail "the accounts are others"
import csv, re
flow = next(csv.DictReader(open("traced/flows.csv")))
ports = [p for p in csv.DictReader(open("traced/ports.csv")) if p["node"] == "a" and p["priority"] == "3"]
text = open("out").read()
parts = {m[1].strip(): (int(m[2].replace(".", "")), float(m[3]))
         for m in re.finditer(r"^  (\D.*?)  +(\d+\.\d{6}) us +([\d.]+) %$", text, re.M)}
assert parts.pop("in all") == (int(flow["fct_ps"]), 100.0), text
assert sum(p[0] for p in parts.values()) == int(flow["fct_ps"]), text
assert abs(sum(p[1] for p in parts.values()) - 100) < 0.4
data = [l for l in open("trace") if "  a > near  RC_WRITE" in l]
bytes_ = sum(int(re.search(r", (\d+) bytes, prio", l)[1]) for l in data)
assert parts["its packets on the wire"][0] == bytes_ * 80
paused = int(ports[0]["paused_ps"]) # the last packet that it began before among it
assert 0.994 * paused <= parts["paused"][0] <= paused, (parts, paused)
assert parts["paused"][1] > 50
assert f"{len(data)} packets left its host, 0 of them were sent again" in text
assert re.search(r"^  at far towards sink: [\d.]+ us in the mean", text, re.M)
END

# Beside another flow of its host: paused is what its port stands still between its own packets, up to
# the last, and no part of the time that these are on the wire themselves.
sed '/^traffic:/s/]$/, {class: more, pattern: incast, to: sink, from: a, size: 1MB}]/' chain.yaml >pair.yaml
trace_of pair.yaml
expect 0 explain traced 0 --why slow
python3 - <<'END' || fail "another time is paused"
import re
at = lambda line: int(line.split()[0].replace(".", ""))
lines = [l for l in open("trace") if " us  a > near  " in l]
own = [(at(l), at(l) + 80 * int(re.search(r", (\d+) bytes, prio", l)[1])) for l in lines if ", flow 0, " in l]
shut = [at(l) for l in lines if l.endswith("  stops, priority 3\n")]
go = [at(l) for l in lines if l.endswith("  goes on, priority 3\n")]
gaps = [(before[1], after[0]) for before, after in zip(own, own[1:])]
paused = sum(max(0, min(b, y) - max(a, x)) for a, b in zip(shut, go) for x, y in gaps)
assert len(go) > 10 and any(begin < a < end for a in shut for begin, end in own)
said = re.search(r"^  paused +(\d+)\.(\d{6}) us ", open("out").read(), re.M)
assert int(said[1] + said[2]) == paused > 0, (said[0], paused)
END

# Nothing of the kind: how near it came.
cat >calm.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
switch: {buffer: 1MiB, ecn: {kmin: 400KB}, pfc: {}}
nic: {cc: dcqcn}
traffic: [{class: in, pattern: incast, to: h0, size: 40KB}]
END
expect 0 explain calm.yaml --why pfc
says '^No buffer ever had anybody pause\.$'
says '^It came nearest at s0, in the window .*: [0-9]* bytes of priority 3 from h[12] were held, the threshold was [0-9]* \([0-9]*\.[0-9] %\)\.$'
expect 0 explain calm.yaml --why ecn
says '^No packet was ever marked\.$'
says '^The longest queue was at s0 towards h0, [0-9]* bytes of priority 3; marks begin at kmin, 400000 bytes'
# Where no packet may be marked that is the reason, however long the queue was.
for cc in none swift; do
	expect 0 explain calm.yaml --set nic.cc=$cc --set switch.ecn.kmin=1KB --why ecn
	says '^No packet was ever marked\.$'
	says "^No host sends packets that may be marked \\(ECT\\): nic\\.cc is $cc, which does not go by marks\\.$"
	! grep -q 'kmin' out || fail "kmin is said to be the reason"
	grep -q 'switch\.ecn: found .*; ignored$' err || fail "$cc: no warning"
done
sed 's/size: 40KB/size: 400KB/; s/nic: {cc: dcqcn}/nic: {cc: none}/' calm.yaml >deaf.yaml
expect 0 explain deaf.yaml --why cure
tr '\n' ' ' <out | tr -s ' ' | grep -q 'nic\.cc is none: no host sends packets that may be marked (ECT)' || fail "hosts are said not to heed marks"
expect 0 explain calm.yaml --why drop
says '^Nothing was dropped\.$'
says '^The fullest buffer was that of s0, .* of 1048576 bytes'
sed 's/pfc: {}/credit: {}/; s/ecn: {kmin: 400KB}, //; s/buffer: 1MiB, //' calm.yaml >off.yaml
expect 0 explain off.yaml --why pfc
says '^PFC is off: '
expect 0 explain off.yaml --why ecn
says '^ECN is off: '

# Marks and drops: the first, and their number.
cat >lossy.yaml <<'END'
version: 1
topology: {kind: star, hosts: 9}
switch: {buffer: 600KB, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}}
nic: {mtu: 1024, cc: dcqcn, timeout: 8}
traffic: [{class: incast, pattern: incast, to: h0, size: 200KB}]
faults: [{link: h2-s0, sender: h2, loss: 1%}]
END
trace_of lossy.yaml
expect 0 explain lossy.yaml --why drop
first=$(grep -m 1 ': no room' trace)
says "^$(grep -c ': no room' trace) frames found no room in a buffer"
says "^The first at ${first%% *} us at s0, from h[0-9], of priority 3, which is not lossless"
says '^A fault of link h2-s0#0 took [1-9][0-9]* frames of h2\.$'
says "^$(grep -c ' sent again' trace) packets were sent again\.$"
expect 0 explain lossy.yaml --why ecn
first=$(grep -m 1 ' marked here' trace)
says "^$(grep -c ' marked here' trace) packets were marked"
says "^The first at ${first%% *} us at s0 towards h0: [0-9]* bytes were queued behind it; kmin is 20000, kmax 80000\.$"

# Three switches in a ring, each flow over two of their links: buffers wait for each other.
cat >ring.yaml <<'END'
version: 1
topology:
  hosts: [h0, h1, h2]
  switches: [s0, s1, s2]
  links:
    - {a: h0, b: s0, delay: 100ns}
    - {a: h1, b: s1, delay: 100ns}
    - {a: h2, b: s2, delay: 100ns}
    - {a: s0, b: s1, delay: 100ns}
    - {a: s1, b: s2, delay: 100ns}
    - {a: s2, b: s0, delay: 100ns}
routing:
  ways: [{at: s0, to: h2, via: s1}, {at: s1, to: h0, via: s2}, {at: s2, to: h1, via: s0}]
switch: {buffer: 300KB, pfc: {}}
nic: {mtu: 1024}
traffic:
  - {class: a, pattern: incast, from: h0, to: h2, size: 2MB}
  - {class: b, pattern: incast, from: h1, to: h0, size: 2MB}
  - {class: c, pattern: incast, from: h2, to: h1, size: 2MB}
END
for until in 2ms 10s; do
	expect 0 explain ring.yaml --until $until --why deadlock
	says '^There is a deadlock: 3 ports wait for each other, priority 3\.$'
	for pair in 's0 towards s1' 's1 towards s2' 's2 towards s0'; do
		says "^  $pair: [0-9]* bytes wait, paused by ${pair#* towards } since [0-9.]* us$"
	done
done
expect 0 explain ring.yaml --set routing.ways=[] --why deadlock
says '^There is no deadlock: '

for args in "chain.yaml" "chain.yaml --why nothing" "chain.yaml --why slow" "chain.yaml 99 --why slow" \
	"chain.yaml 0 --why pfc" "nowhere --why pfc" ". --why pfc"; do
	# shellcheck disable=SC2086
	expect 2 explain $args
	[ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "explain $args: not one line"
done
# A run is as it was: settings are for scenarios, and where all is folders they are refused.
for args in "explain traced --why pfc --seed 3" "explain traced 0 --why slow --set switch.buffer=2MiB" \
	"report traced --until 1ms" "diff traced traced --seed 3" "explain nowhere --why slow"; do
	# shellcheck disable=SC2086
	expect 2 $args
	[ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "$args: not one line"
done
expect 0 diff chain.yaml chain.yaml --seed 3
# Without a number, of the flow that suffered most.
python3 -c '
import csv
rows = [r for r in csv.DictReader(open("traced/flows.csv")) if r["slowdown"]]
print(max(rows, key=lambda r: (float(r["slowdown"]), -int(r["id"])))["id"])' >worst
expect 0 explain traced --why slow
says "^Flow $(cat worst), "
# Those that failed or have not ended come before any that did, as in the report.
for case in mtu_mismatch:1 lost_cnps:1; do
	expect 0 run "${case%:*}" --quiet --out woe
	expect 0 explain woe --why slow
	says "^Flow ${case#*:}, "
	grep -q "<code>verbena explain [^ ]* ${case#*:} --why slow</code>" woe/report.html || fail "$case: the report has another"
done
# Flows that have not ended, that failed and that sent much again: still all of their time, and the
# last of it is no acknowledgement that never came.
add_up() { # SCENARIO STATUS: the first flows of traced/flows.csv that are so
	python3 - "$verbena" "$1" "$2" <<'END' || fail "$1: not all of the time"
import csv, re, subprocess, sys
count = 0
for flow in csv.DictReader(open("traced/flows.csv")):
    if flow["status"] != sys.argv[3] or count == 4:
        continue
    count += 1
    text = subprocess.run([sys.argv[1], "explain", sys.argv[2], flow["id"], "--why", "slow"],
                          capture_output=True, text=True, check=True).stdout
    parts = re.findall(r"^  (\D.*?)  +(\d+\.\d{6}) us ", text, re.M)
    times = [int(time.replace(".", "")) for _, time in parts]
    assert sum(times[:-1]) == times[-1] == int(flow["fct_ps"] or times[-1]), text
    again = dict(zip((name for name, _ in parts), times)).get("packets that were sent again, on the wire", 0)
    assert (again > 0) == (flow["packets_retransmitted"] != "0"), text
    assert ("acknowledgement" in text.split("On the way ")[0]) <= (flow["status"] == "ok"), text
assert count > 0
END
}
for case in pfc_storm:unfinished cyclic_buffers:unfinished retry_exceeded:retry_exc_err lossy_optic:ok link_flap:ok; do
	file=$root/traces/incidents/${case%:*}.yaml
	expect 0 run "$file" --quiet --out traced
	add_up "$file" "${case#*:}"
done
# What was a pause of the last packet's waits is told beside these, and is what the account has.
expect 0 explain "$root/traces/incidents/victim.yaml" 7 --why slow
python3 - <<'END' || fail "the last packet was paused for another time"
import re
text = open("out").read()
account = float(re.search(r"its last packet: at paused ports of switches +([\d.]+) us", text)[1])
hops = re.findall(r", the last one ([\d.]+) us \(([\d.]+) % of it paused\)$", text, re.M)
assert len(hops) == 2 and abs(sum(float(time) * float(part) / 100 for time, part in hops) - account) < 0.5, (hops, account)
assert len(re.findall(r" in the mean \([\d.]+ % of it paused\), ", text)) == 2, text
END

# An acknowledgement that was dropped did not stand until the next one of the same packet went on.
trace_of "$root/traces/incidents/link_flap.yaml"
for flow in 0 1; do
	expect 0 explain traced $flow --why slow
	! grep -q '^The acknowledgement stood' out || fail "flow $flow: what was dropped stood"
	python3 - $flow <<'END' || fail "flow $flow: another acknowledgement was lost"
import re, sys
at, left, there = re.search(r"^An acknowledgement before it was lost: it left (\S+) towards (\S+) at ([\d.]+) us, "
    r"and \S+ never sent it on\.$", open("out").read(), re.M).group(3, 1, 2)
answers = [l.split() for l in open("trace") if f"flow {sys.argv[1]}, ACK" in l]
lost = [l for l in answers if l[0] == at and l[2] == left and l[4] == there]
psn = lost[0][lost[0].index("psn") + 1]
same = [l for l in answers if l[l.index("psn") + 1] == psn and float(l[0]) >= float(at)]
came, went = ([float(l[0]) for l in same if l[i] == there] for i in (4, 2))
assert len(lost) == 1 and len(came) > 1 and (not went or went[0] > came[1]), same
END
done
expect 0 explain "$root/traces/incidents/pfc_storm.yaml" 0 --why slow
says '^  paused  .* 100\.0 %$'

# What waits when the scenario's time is over has waited up to then, however long nothing arrived before.
expect 0 run lost_cnps --out woe
grep -qx 'the last arrival was at 7\.50 ms, the end of the run at 20\.0 ms: 13 of 22 flows are unfinished' out || fail "the end is another"
grep -q 'when the scenario.*s time was over, at 20.0&#8239;ms; the last arrival was at 7.50&#8239;ms\.' woe/report.html || fail "the report has another end"
expect 0 explain woe 1 --why slow
says '^Flow 1, back2, .*: unfinished after 20\.0 ms\.$'
says '^The run ended at 20\.0 ms; the last arrival of all was at 7\.50 ms\.$'
says '^  in all  *20000\.000000 us  100\.0 %$'
expect 1 run lost_cnps --set nic.cnp_priority=6 --set until=200ms --out woe
! grep -q 'the last arrival was at' out || fail "all has ended, and an end is told"

# The same packets wait in a switch that could do more, and does not.
expect 0 explain victim --why slow
mv out plain
expect 0 explain victim --set switch.mtu=9000 --why slow
cmp -s plain out || fail "other waits where a switch has an MTU: $(diff plain out)"

# What is lost at a switch for other reasons than room.
for reason in mtu_mismatch:mtu watchdog:watchdog routing_loop:ttl; do
	file=$root/traces/incidents/${reason%:*}.yaml
	expect 0 run "$file" --json
	mv out result
	number=$(python3 -c 'import json, sys; print(json.load(open("result"))["drops"][sys.argv[1]])' "${reason#*:}")
	expect 0 explain "$file" --why drop
	says "^[A-Z a-z0-9]* (dropped|discarded) $number frames"
done
# A host that is slow waits for none of its own ports.
expect 0 explain "$root/traces/incidents/slow_receiver.yaml" --why pfc
says '^    That is the root: h0 took packets in more slowly than its link brought them\.$'

# A pause that no buffer asked for has no root but who sends it.
expect 0 explain "$root/traces/incidents/pfc_storm.yaml" --why pfc
says '^    That is the root: h0 had paused leaf0, although no buffer of it had asked for that: a pause storm\.$'

says '^h0 had leaf0 pause, with [0-9]* PFC frames from [0-9.]* us on, priority 3: no buffer of it had asked for that, but a fault of the scenario, faults\.0\.pause\.$'

# Nor is there none where nothing else paused: who, when, and by which fault; those that the run has counted.
cat >fault.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
switch: {pfc: {priorities: [0]}}
traffic: [{class: p, pattern: incast, to: h0, from: h1, size: 100KB, priority: 0}]
faults: [{link: h1-s0, loss: 0%}, {link: h0-s0, sender: h0, from: 2us, until: 20us, pause: [0]}]
END
trace_of fault.yaml
expect 0 explain fault.yaml --why pfc
says '^No buffer ever had anybody pause\.$'
first=$(grep -m 1 'PFC pause' trace)
says "^h0 had s0 pause, with $(grep -c 'PFC pause' trace) PFC frames? from ${first%% *} us on, priority 0: .* faults\.1\.pause\.$"
expect 0 explain "$root/traces/incidents/pfc_storm.yaml" --why deadlock
says '^[0-9]* ports and priorities are paused at the end, such as .*; what for, --why pfc tells\.$'

# A folder whose scenario is another one by now: what was run is explained, unless it is of a version that
# kept nothing.
sed -i 's/size: 1MB/size: 900KB/' chain.yaml
expect 0 run chain.yaml --quiet --out fresh
sed -i 's/size: 900KB/size: 1MB/' chain.yaml
expect 0 explain fresh --why pfc
grep -qx "verbena: fresh: $work/chain.yaml was edited since; this is of the run as it was" err || fail "nothing about the edit"
! grep -q 'has changed since' err || fail "not of the run as it was"
python3 - <<'END'
import json
r = json.load(open("fresh/run.json"))
del r["files"]
json.dump(r, open("fresh/run.json", "w"))
END
expect 0 explain fresh --why pfc
grep -q 'has changed since' err || fail "nothing about the change"
