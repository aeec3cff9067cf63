#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A fabric of sixteen priorities: every file has all of them, and one of eight has eight.
. "$(dirname "$0")/lib.sh"

scenario=$root/tests/golden/sixteen.yaml
expect 0 run "$scenario" --out run --series 10us --perfetto run.perfetto
python3 - <<'END' || fail "the files of a fabric of sixteen priorities"
import csv, json
ports = list(csv.DictReader(open("run/ports.csv")))
rows = {}
for p in ports:
    rows.setdefault((p["node"], p["link"]), []).append(int(p["priority"]))
assert rows and all(r == list(range(16)) for r in rows.values()), rows
sent = {q: sum(int(p["sent_packets"]) for p in ports if p["priority"] == str(q)) for q in range(16)}
assert [q for q in sent if sent[q]] == [3, 11, 12, 15], sent
flows = list(csv.DictReader(open("run/flows.csv")))
assert {f["class"]: f["priority"] for f in flows} == {"low": "3", "high": "11", "across": "12"}
host = [p for p in ports if p["kind"] == "host"]
# 100 KB are 25 packets, of each of seven hosts; 50 KB are 13, of each of eight.
assert sum(int(p["sent_packets"]) for p in host if p["priority"] == "3") == 7 * 25
assert sum(int(p["sent_packets"]) for p in host if p["priority"] == "11") == 7 * 25
assert sum(int(p["sent_packets"]) for p in host if p["priority"] == "12") == 8 * 13
# Who has less room waits by himself.
paused = {q: sum(int(p["paused_ps"]) for p in ports if p["priority"] == str(q)) for q in range(16)}
assert paused[11] > 0 and paused[3] > 0 and not any(paused[q] for q in range(16) if not sent[q]), paused
series = list(csv.DictReader(open("run/series.csv")))
assert {r["priority"] for r in series if int(r["sent_bytes"])} == {"3", "11", "12", "15"}
for q in ("3", "11"):
    assert sum(int(r["sent_bytes"]) for r in series if r["priority"] == q) == \
        sum(int(p["sent_bytes"]) for p in ports if p["priority"] == q)
counters = json.load(open("run/counters.json"))
assert any(c.get("tx_prio11_packets", 0) > 0 for c in counters)
assert not any("tx_prio4_packets" in c for c in counters)
json.load(open("run.perfetto"))
END
grep -q '"priority 11":' run.perfetto || fail "no queue of priority 11 in run.perfetto"
grep -q '"11": *\[' run/report.html || grep -q '"11":\[' run/report.html || fail "no rate of priority 11 in the report"

expect 0 run "$scenario" --quiet --out traced --trace all
grep -q 'credits, priority 11$' out || fail "no credits of priority 11"
grep -q 'credits, priority 3$' out || fail "no credits of priority 3"
grep -q 'credits, priority .*,' out && fail "credits of several priorities in one frame"
grep -q ', priority 12' out || fail "no frame of priority 12"

# Whoever sends, and however he says so, a class is the same: a program by its service level or by the
# DSCP of a flow in that class, a flow of a file by its number there.
head='version: 1
priorities: 16
topology: {kind: star, hosts: 2}
switch: {credit: {buffer: 64KiB}}'
printf '2\n0 1 11 100 4096 0\n1 0 8 100 4096 0\n' >flows.flow
for class in 3 8 11 15; do
	for arg in sl=$class traffic_class=$((class * 16)); do
		printf '%s\nprograms: [{run: write_once, hosts: [h0, h1], args: [%s]}]\n' "$head" "$arg" >program.yaml
		expect 0 run program.yaml --quiet --out "$arg"
		python3 - "$arg" $class <<'END' || fail "a program with $arg"
import csv, sys
ports = csv.DictReader(open(sys.argv[1] + "/ports.csv"))
assert {p["priority"] for p in ports if int(p["sent_packets"])} == {sys.argv[2]}
END
	done
done
printf '%s\ntraffic: [{file: flows.flow}]\n' "$head" >file.yaml
expect 0 run file.yaml --quiet --out file
python3 - <<'END' || fail "flows of a file"
import csv
assert [f["priority"] for f in csv.DictReader(open("file/flows.csv"))] == ["11", "8"]
END

# One of eight says nothing of the others.
expect 0 run "$root/tests/golden/credit_classes.yaml" --quiet --out eight
python3 - <<'END' || fail "rows of a fabric of eight"
import csv
assert {int(p["priority"]) for p in csv.DictReader(open("eight/ports.csv"))} == set(range(8))
END
