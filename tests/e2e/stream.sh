#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Flows of a stream are those of the list: the same fate for each, the same statistics within what the
# histogram promises, the same with two threads.
. "$(dirname "$0")/lib.sh"

cat >load.yaml <<'END'
version: 1
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 6, fabric_rate: 200Gbps}
switch: {buffer: 4MiB, pfc: {}, ecn: {kmin: 20KB, kmax: 100KB}}
nic: {cc: dcqcn, cnp_marks: keep}
traffic:
  - {class: load, cdf: fb_hadoop, load: 40%, until: 8ms, start: 100us}
  - {class: more, size: 1KB, load: 2%, until: 1ms, priority: 5}
  - {class: ring, pattern: ring, size: 100KB, start: 200us}
faults: [{link: h0-leaf0, loss: 1%}]
END
# run NAME ARG...: results in NAME
run() {
	name=$1
	shift
	expect 0 run load.yaml --quiet --out "$name" "$@"
	cut -d, -f2- "$name/flows.csv" | sort >"$name.rows"
}
streamed='--set traffic.load.stream=always --set traffic.more.stream=always'
run listed
# shellcheck disable=SC2086
run streamed $streamed
cmp listed.rows streamed.rows || fail "other flows when they are streamed"
[ "$(wc -l <listed.rows)" -gt 3000 ] || fail "too few flows"
awk -F, 'NR > 1 && $1 != NR - 2 { exit 1 }' streamed/flows.csv || fail "rows are not in the order of ids"
awk -F, '$2 == "load" && $12 > 0 { n++ } END { exit !(n > 0) }' streamed/flows.csv || fail "nothing was lost"
# shellcheck disable=SC2086
run threads $streamed --threads 2
cmp streamed/flows.csv threads/flows.csv || fail "other flows with two threads"
grep -o '"digest": "[^"]*"' streamed/result.json >one
grep -o '"digest": "[^"]*"' threads/result.json | cmp - one || fail "another digest with two threads"

# Marks that are kept make a CNP when their flow is over: it is ignored, on the list and in a stream.
cat >late.yaml <<'END'
version: 1
topology: {kind: star, hosts: 9}
switch: {buffer: 4MiB, ecn: {kmin: 1KB, kmax: 2KB, pmax: 100%}}
nic: {cc: dcqcn, cnp_marks: keep, mtu: 1024}
traffic:
  - {class: list, pattern: incast, to: h0, size: 20KB, repeat: 3, every: 30us}
  - {class: load, load: 20%, size: 20KB, until: 100us, stream: always, hosts: "h[1-8]"}
END
expect 0 run late.yaml --json
holds out 'r["flows"]["failed"] == 0 and r["cnp"]["handled"] > 0 and r["cnp"]["ignored"] > 30'
holds out 'r["cnp"]["sent"] == r["cnp"]["handled"] + r["cnp"]["ignored"]'

# On queue pairs that flows share it is no other thing, with some of the list on the same ones.
run listed_pairs --set nic.qp=per-pair
# shellcheck disable=SC2086
run pairs --set nic.qp=per-pair $streamed
cmp listed_pairs.rows pairs.rows || fail "other flows of pairs when they are streamed"
cmp -s listed.rows pairs.rows && fail "a queue pair for each flow nevertheless"
# shellcheck disable=SC2086
run threads $streamed --threads 2 --set nic.qp=per-pair
cmp pairs/flows.csv threads/flows.csv || fail "other flows of pairs with two threads"

python3 - <<'END' || fail "other statistics"
import json

exact, close = (json.load(open(f"{d}/result.json")) for d in ("listed", "streamed"))
assert exact["flows"] == close["flows"] and exact["drops"] == close["drops"]
assert exact["time_ps"] == close["time_ps"]
for name in ("load", "more", "ring"):
    a, b = exact["fct"][name], close["fct"][name]
    for key in ("count", "mean_ps", "goodput_bps"):
        assert a[key] == b[key], (name, key)
    for key in ("p50_ps", "p99_ps", "p999_ps", "slowdown_p99"):
        assert abs(a[key] - b[key]) <= a[key] / 1024 + 1e-6, (name, key, a[key], b[key])
END

# A flow with more WRITEs than completions are taken at once begins when it has the queue pair to itself.
cat >large.yaml <<'END'
version: 1
until: 1ms
topology: {kind: star, hosts: 4}
nic: {qp: per-pair}
traffic:
  - {class: first, pattern: incast, from: [h0], to: h1, size: 100KB}
  - {class: large, pattern: incast, from: [h0], to: h1, size: 5000GiB, start: 1us}
  - {class: load, size: 1KB, load: 1%, until: 10us, stream: always}
END
expect 0 run large.yaml --quiet --out large
python3 - <<'END' || fail "a large flow never began"
import csv
sent = [int(r["port_sent_bytes"]) for r in csv.DictReader(open("large/ports.csv")) if r["node"] == "h0"]
assert max(sent) > 10**7, sent
END

# A load so low that nothing comes.
cat >nothing.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2}
traffic: [{class: load, size: 1MB, load: 1%, until: 1ns, stream: always}]
END
expect 0 run nothing.yaml --quiet --out nothing
grep -q '"posted": 0' nothing/result.json || fail "something came"

# Cut short: flows that have begun are there, unfinished ones too, the others are not.
run cut --set until=2ms
# shellcheck disable=SC2086
run cut_streamed $streamed --set until=2ms
grep -q ',unfinished$' cut_streamed.rows || fail "everything ended before the end"
awk -F, '$6 <= 2000000000' cut.rows >begun
awk -F, '$6 <= 2000000000' cut_streamed.rows | cmp - begun || fail "other flows when it is cut short"
awk -F, '$1 != "class" && $6 > 2001000000 { exit 1 }' cut_streamed.rows || fail "flows that never began"

# By their numbers flows of a stream can be asked for, and what is said is said of the same flow in a list.
# numbers LISTED STREAMED: of three flows in both, where one ends and how many packets it has.
numbers() {
	python3 - "$@" <<'END' >numbers || fail "no flow to ask for"
import csv, sys
rows = [list(csv.DictReader(open(f"{name}/flows.csv"))) for name in sys.argv[1:]]
key = lambda r: tuple(r[k] for k in r if k != "id")
listed = {key(r): r["id"] for r in rows[0]}
slow = sorted((r for r in rows[1] if r["class"] == "load" and float(r["slowdown"] or 0) > 1.5
               and key(r) in listed), key=lambda r: -float(r["slowdown"]))
lost = [r for r in slow if int(r["packets_retransmitted"]) > 0]
for r in slow[:1] + lost[:1] + slow[-1:]:
    print(r["id"], listed[key(r)], r["end_ps"], -(-int(r["bytes"]) // 4096))
END
	[ "$(wc -l <numbers)" = 3 ] || fail "not three flows"
}
numbers listed_pairs pairs
while read -r id other end packets; do
	expect 0 explain pairs "$id" --why slow
	awk -v packets="$packets" '/left its host/ { exit !($1 - $6 == packets) }' out ||
		fail "not the packets of flow $id of a pair"
	sed 's/^Flow [0-9]*/Flow/' out >one
	expect 0 explain listed_pairs "$other" --why slow
	sed 's/^Flow [0-9]*/Flow/' out | diff - one || fail "another account of flow $id of a pair"
done <numbers
numbers listed streamed
while read -r id other end packets; do
	expect 0 explain streamed "$id" --why slow
	sed 's/^Flow [0-9]*/Flow/' out >one
	expect 0 explain listed "$other" --why slow
	sed 's/^Flow [0-9]*/Flow/' out | diff - one || fail "another account of flow $id when it is streamed"
	expect 0 run load.yaml --quiet --out traced --trace "flow=$other"
	sed 's/, flow [0-9]*,/,/; /^digest\|^report/d' out >one
	# shellcheck disable=SC2086
	expect 0 run load.yaml --quiet --out traced --trace "flow=$id" $streamed
	sed 's/, flow [0-9]*,/,/; /^digest\|^report/d' out | cmp - one || fail "another trace of flow $id"
	# shellcheck disable=SC2086
	expect 0 run load.yaml --quiet --out broken --break-on "flow $id ends" $streamed
	grep -q "^stopped: flow $id ends, at $((end / 1000000))\.$(printf %06d $((end % 1000000))) us$" err || fail "no break where flow $id ends"
done <numbers
[ -s one ] || fail "nothing was traced"
expect 2 explain streamed 99999999 --why slow
grep -q 'has begun, as in flows.csv' err || fail "a flow that never was"
# shellcheck disable=SC2086
expect 0 run load.yaml --quiet --out spans --until 1ms --perfetto spans.json $streamed
holds spans.json "sum(e.get('cat') == 'flow' and e['ph'] == 'b' for e in r['traceEvents']) > 300"
python3 - <<'END' || fail "spans of other flows"
import csv, json
spans = {int(e["id"][1:]): e["ts"] for e in json.load(open("spans.json"))["traceEvents"]
         if e.get("cat") == "flow" and e["ph"] == "b"}
rows = {int(r["id"]): int(r["start_ps"]) / 1e6 for r in csv.DictReader(open("spans/flows.csv"))
        if int(r["start_ps"]) < 999 * 10**6}
assert all(abs(spans[id] - at) < 1e-6 for id, at in rows.items())
END
# shellcheck disable=SC2086
expect 2 run load.yaml --json --perfetto spans.json $streamed
[ "$(wc -l <err)" = 1 ] || fail "spans that nobody keeps: not one line"

# Numbers of queue pairs that the list has taken are left alone: here some are drawn by both.
cat >both.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
traffic:
  - {class: ring, pattern: ring, size: 1KB, repeat: 20000, every: 100ns}
  - {class: load, size: 1KB, load: 80%, until: 2ms, stream: always}
END
expect 0 run both.yaml --json
holds out "r['flows']['failed'] == 0 and r['flows']['completed'] > 150000"
