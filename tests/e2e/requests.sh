#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Work requests of programs: when each was posted and ended, what they come to, and where the time of each went.
. "$(dirname "$0")/lib.sh"

cat >sums.py <<'END'
"""FOLDER: what result.json says of requests is what requests.csv has, row by row."""
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1] + "/requests.csv")))
result = json.load(open(sys.argv[1] + "/result.json"))
assert [r["id"] for r in rows] == [f"wr{i}" for i in range(len(rows))]
assert [int(r["posted_ps"]) for r in rows] == sorted(int(r["posted_ps"]) for r in rows)
assert len(rows) == sum(p["requests"]["posted"] for p in result["programs"]) > 0
for program in result["programs"]:
    own = [r for r in rows if r["program"] == program["name"]]
    done = sorted(int(r["time_ps"]) for r in own if r["status"] == "ok")
    rank = lambda share: done[-(-len(done) * share // 1000) - 1] if done else None
    want = {"posted": len(own), "completed": len(done), "left_out": 0,
            "failed": sum(r["status"] not in ("ok", "unfinished") for r in own),
            "unfinished": sum(r["status"] == "unfinished" for r in own),
            "bytes": sum(int(r["bytes"]) for r in own if r["status"] == "ok"),
            "mean_ps": sum(done) // len(done) if done else None,
            "p50_ps": rank(500), "p99_ps": rank(990), "p999_ps": rank(999),
            "packets_retransmitted": sum(int(r["packets_retransmitted"]) for r in own)}
    assert program["requests"] == want, (program["requests"], want)
    hosts = {str(i): r["host"] for i, r in enumerate(program["ranks"])}
    for r in own:
        assert r["src"] == hosts[r["rank"]], r
        if r["end_ps"]:
            assert int(r["end_ps"]) - int(r["posted_ps"]) == int(r["time_ps"]) >= 0, r
END
cat >adds_up.py <<'END'
"""COMMAND FOLDER: the time of each request is all explained, and of those that ended well none is unseen."""
import csv, re, subprocess, sys
whole = []
for row in list(csv.DictReader(open(sys.argv[2] + "/requests.csv")))[:24]:
    text = subprocess.run([sys.argv[1], "explain", sys.argv[2], row["id"], "--why", "slow"],
                          capture_output=True, text=True, check=True).stdout
    assert text.startswith(f"Work request {row['id']} of {row['program']}, rank {row['rank']}, a {row['opcode']}, "
                           f"{row['src']} to {row['dst']}, {row['bytes']} bytes of priority {row['priority']}: "), text
    parts = {name.strip(): int(time.replace(".", "")) for name, time in re.findall(r"^  (\D.*?)  +(\d+\.\d{6}) us ", text, re.M)}
    assert parts.pop("in all") == sum(parts.values()), text
    if row["status"] == "ok":
        assert sum(parts.values()) == int(row["time_ps"]), text
        assert not any(name.startswith("after its last packet") for name in parts), text
        assert (row["src"] == row["dst"]) == ("within its host: over no wire" in parts), text
    whole.append(parts)
assert whole
print(sum(len(parts) for parts in whole))
END

# Each kind of request, alone in a fabric.
for program in ring atomics read_validate datagrams pingpong_uc pingpong_send rnr_slow self; do
	printf 'version: 1\nname: %s\ntopology: {kind: star, hosts: 4}\nprograms: [{run: %s, hosts: "h[0-1]"}]\n' \
		$program $program >"$program.yaml"
	expect 0 run "$program.yaml" --quiet --out "$program"
	python3 sums.py "$program" || fail "$program: other sums"
	python3 adds_up.py "$verbena" "$program" >/dev/null || fail "$program: not all of the time"
done
for found in ring:write_imm atomics:fetch_and_add read_validate:read datagrams:send_imm pingpong_uc:send; do
	grep -q ",${found#*:}," "${found%:*}/requests.csv" || fail "${found%:*}: no ${found#*:}"
done

# A READ of one byte at 100 Gb/s, 1 us of cable to a switch that stores and forwards: 98 bytes with preamble and
# gap go, 90 come back, each at two ports.
expect 0 explain read_validate wr0 --why slow
for part in "its request and responses on the wire  *0.015040" "its request: further wires and switches  *2.007840" \
	"the last response: wires and switches  *2.007200"; do
	grep -q "^  $part us " out || fail "a READ: no $part"
done

# In an idle fabric a WRITE takes what a flow of as many bytes takes, and the 4 bytes of its immediate data.
size=$(awk -F, 'NR == 2 { print $10 }' ring/requests.csv)
printf 'version: 1\nname: alone\ntopology: {kind: star, hosts: 4}\ntraffic: [{class: f, pattern: incast, to: h1, from: h0, size: %sB}]\n' "$size" >alone.yaml
expect 0 run alone.yaml --quiet --out alone
python3 - <<'END' || fail "a WRITE takes another time than a flow"
import csv
flow = next(csv.DictReader(open("alone/flows.csv")))
request = next(csv.DictReader(open("ring/requests.csv")))
assert int(request["time_ps"]) == int(flow["fct_ps"]) + 4 * 80, (request, flow)
END

# Their target is busy sending, so that one acknowledgement is for many of them.
cat >many.yaml <<'END'
version: 1
topology: {kind: star, hosts: 6}
nic: {mtu: 1024}
traffic: [{class: out, pattern: incast, to: h5, from: [h0], size: 3MB}, {class: more, pattern: incast, to: h4, from: [h0], size: 3MB}]
programs: [{run: incast_write, hosts: "h[0-3]", args: ["bytes=100", "count=40"]}]
END
expect 0 run many.yaml --quiet --out many
python3 sums.py many || fail "many: other sums"
python3 adds_up.py "$verbena" many >/dev/null || fail "many: not all of the time"

# Beside flows, in a fabric that pauses and loses: what is sent again is counted wherever it is shown.
cat >busy.yaml <<'END'
version: 1
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4}
switch: {buffer: 1MiB, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}, pfc: {priorities: [3]}}
nic: {mtu: 1024, cc: dcqcn, timeout: 10}
traffic: [{class: incast, pattern: incast, to: h0, from: "h[1-7]", size: 300KB, start: 5us}]
programs:
  - {run: ring, hosts: [h1, h6, h3], args: ["rounds=20", "bytes=30000"], endless: yes}
  - {run: read_validate, hosts: [h5, h0], endless: yes}
faults: [{link: leaf0-spine0, loss: 2%}, {link: leaf0-spine1, loss: 2%}]
until: 40ms
END
expect 0 run busy.yaml --out busy
sed -n 's/^resent    \([0-9]*\) packets$/\1/p' out >resent
python3 sums.py busy || fail "busy: other sums"
python3 adds_up.py "$verbena" busy >/dev/null || fail "busy: not all of the time"
python3 - <<'END' || fail "what was sent again is counted otherwise"
import csv, json
result = json.load(open("busy/result.json"))
flows = sum(int(r["packets_retransmitted"]) for r in csv.DictReader(open("busy/flows.csv")))
requests = sum(int(r["packets_retransmitted"]) for r in csv.DictReader(open("busy/requests.csv")))
devices = sum(c.get("packets_retransmitted", 0) for c in json.load(open("busy/counters.json")))
assert flows > 0 and requests > 0, (flows, requests)
assert flows + requests == devices == result["packets_retransmitted"] == int(open("resent").read()), (flows, requests, devices)
assert result["flows"]["packets_retransmitted"] == flows
END
cp busy/requests.csv one.csv
# Each counts at the request that it belongs to, and those that never end have theirs, too.
cat >behind.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
nic: {mtu: 1024, timeout: 9, retries: 7}
programs: [{run: incast_write, hosts: [h0, h1], args: ["bytes=20000", "count=12"], endless: yes}]
faults: [{link: h1-s0, sender: h1, drop_nth: [25, 60]}, {link: h1-s0, sender: h1, loss: 100%, from: 85us}]
until: 300ms
END
expect 0 run behind.yaml --quiet --out behind
python3 - <<'END' >resent
import csv
rows = list(csv.DictReader(open("behind/requests.csv")))
for i, r in enumerate(rows):
    print(i, r["packets_retransmitted"], r["status"])
END
grep -q ' [1-9][0-9]* ok$' resent && grep -q ' [1-9][0-9]* unfinished$' resent && grep -q ' 0 ok$' resent || fail "nothing to tell apart: $(cat resent)"
while read -r number count _; do
	expect 0 run behind.yaml --quiet --out behind --trace "kind=again,flow=wr$number"
	[ "$(grep -c ' h1 > s0 .* sent again' out)" = "$count" ] || fail "wr$number: other packets were sent again, not $count"
done <resent
expect 0 run busy.yaml --quiet --out busy --threads 2
cmp -s one.csv busy/requests.csv || fail "other requests on two threads"

# The ladder: of all requests of two programs together each packet of theirs in the trace, once, with what a switch
# did to it; and without names the slowest of each program.
cat >ladder.py <<'END'
import json, re, sys
pages = [json.loads(re.search(r'id="data">(.*?)</script>', open(name).read(), re.S)[1])["packets"] for name in sys.argv[1:]]
shown = sorted((at, packets["port_node"][port], packets["opcodes"][str(opcode)], psn) for packets in pages
               for flow in packets["flows"] for at, port, opcode, psn in zip(flow["at_ps"], flow["port"], flow["opcode"], flow["psn"]))
traced = sorted((int(m[1].replace(".", "")), m[2], m[3], int(m[4]))
                for m in re.finditer(r"^([\d.]+) us  (\S+) > \S+  (RC_\S+) psn (\d+) to ", open("trace").read(), re.M))
assert shown == traced and len(shown) > 100, (len(shown), len(traced))
assert any(op.startswith("RC_READ_RESPONSE") for _, _, op, _ in shown) and any("WRITE" in op for _, _, op, _ in shown)
for packets, flow in [(packets, flow) for packets in pages for flow in packets["flows"]]:
    wr = flow["request"]
    assert flow["flow"].startswith("wr") and wr["program"] in ("ring", "read_validate"), flow["flow"]
    assert packets["port_node"][flow["port"][0]] == wr["src"] and flow["psn"], wr
    assert "RTS" in [one["state"] for one in flow["states"] if one["end"] == "requester"], flow["states"]
    assert all(flow["headers"]["nets"]), flow["flow"]
END
cat >both.yaml <<'END'
version: 1
topology: {kind: star, hosts: 5}
nic: {mtu: 1024}
programs:
  - {run: ring, hosts: [h0, h1, h2], args: ["rounds=2", "bytes=9000"]}
  - {run: read_validate, hosts: [h3, h4], args: ["rounds=1"]}
faults: [{link: h3-s0, loss: 1%}]
END
expect 0 run both.yaml --quiet --out both --trace all
cp out trace
names=$(awk -F, 'NR > 1 { printf "%s%s", (NR > 2 ? "," : ""), $1 }' both/requests.csv)
expect 0 report both --flows "$(echo "$names" | cut -d, -f1-16)" --out first
expect 0 report both --flows "$(echo "$names" | cut -d, -f17-)" --out rest
python3 ladder.py first/report.html rest/report.html || fail "another ladder"
expect 0 report both
for program in ring read_validate; do
	slowest=$(awk -F, -v p=$program '$2 == p' both/requests.csv | sort -t, -k13,13nr -s | head -1 | cut -d, -f1)
	grep -q "\"flow\": *\"$slowest\"" both/report.html || fail "not the slowest of $program, $slowest"
done
for name in wr99 wr wr1x 0; do
	expect 2 report both --flows "$name"
	[ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "report --flows $name: not one line"
done

# Names that are none.
for name in wr wr-1 wr999999 wrx 0x1 wr1.5; do
	expect 2 explain ring "$name" --why slow
	[ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "explain ring $name: not one line"
done
expect 2 explain ring wr999999 --why slow
grep -qx "verbena explain: found wr999999, expected a work request of requests.csv, of which there are $(($(wc -l <ring/requests.csv) - 1)), from wr0 on" err ||
	fail "which there are is not said: $(cat err)"
expect 2 explain alone wr0 --why slow

# Without a name it is the slowest, and where there are no flows that is a request; --flows says why a number is none.
slowest=$(awk -F, 'NR > 1 && $13 + 0 > most { most = $13 + 0; name = $1 } END { print name }' ring/requests.csv)
expect 0 explain ring --why slow
grep -q "^Work request $slowest of ring, " out || fail "not the slowest, $slowest"
expect 0 explain busy --why slow
grep -q '^Flow [0-9]*, ' out || fail "a request where there are flows"
expect 2 explain ring.yaml --why slow
grep -q 'expected RUN FLOW or RUN wrN' err && [ "$(wc -l <err)" = 1 ] || fail "how to name one is not said"
expect 2 report ring --flows 0
grep -qx 'verbena report: --flows: found "0", expected work requests of requests.csv, such as wr0, for this run has no flows of a list' err ||
	fail "report --flows 0: $(cat err)"
sed -i 's/^\(wr1,.*\),[^,]*$/\1/' ring/requests.csv
expect 2 explain ring --why slow
grep -qx 'ring/requests.csv:3: id: found another row, expected 15 columns, .*' err || fail "a bad row: $(cat err)"
