#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Series over time: they add up to what ports.csv says, and nobody sees that they are written.
. "$(dirname "$0")/lib.sh"

lossy_scenario 'kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, delay: 1us' \
	'  - {class: late, pattern: ring, size: 1KB, start: 5ms}'
expect 0 run lossy.yaml --out plain
digest=$(digest_of out)
[ ! -e plain/series.csv ] || fail "series that nobody asked for"
for interval in 1us 7us 2500ns 1ms 300ms; do
	until=10ms
	[ $interval != 300ms ] || until=20us # ends before the first interval
	expect 0 run lossy.yaml --quiet --out run --series $interval --set until=$until
	cp run/series.csv one.csv
	expect 0 run lossy.yaml --quiet --out run --series $interval --threads 3 --set until=$until
	cmp -s run/series.csv one.csv || fail "other series with three threads"
	python3 - $interval <<'END' || fail "--series $interval: they do not add up"
import csv, sys
step = {"1us": 10**6, "7us": 7 * 10**6, "2500ns": 2500000, "1ms": 10**9, "300ms": 3 * 10**11}[sys.argv[1]]
rows = list(csv.DictReader(open("one.csv")))
ports = {(p["node"], p["link"], p["priority"]): p for p in csv.DictReader(open("run/ports.csv"))}
keys = ["sent_bytes", "marked", "dropped", "paused_ps"]
sums = {}
for r in rows:
    for k in keys + ["pause_sent", "pause_received"]:
        at = r["node"], r["link"], r["priority"], k
        sums[at] = sums.get(at, 0) + int(r[k])
for at, p in ports.items():
    for k in keys:
        missing = int(p[k]) - sums.get((*at, k), 0)
        # What is on the wire as a run is cut has not all been sent.
        assert missing == 0 or (k == "sent_bytes" and step == 3 * 10**11 and 0 < missing <= 1134), (at, k, missing)
for node, link, _ in ports:
    for k in ("pause_sent", "pause_received"):
        assert sum(sums.get((node, link, str(q), k), 0) for q in range(8)) == int(ports[node, link, "0"][k])
times = [int(r["time_ps"]) for r in rows]
assert times == sorted(times)
end = max(times)
assert all(t % step == 0 for t in times if t != end)
for r in rows: # over what there is of the interval: the last one may be shorter
    assert int(r["rate_bps"]) == int(r["sent_bytes"]) * 8 * 10**12 // ((int(r["time_ps"]) - 1) % step + 1), r
if step == 3 * 10**11: # nothing but the last, of 20 of 300,000 us
    assert end <= 2 * 10**7 and any(int(r["rate_bps"]) > 0 for r in rows)
if step == 10**6:
    for r in rows:
        if int(r["time_ps"]) != end:
            assert int(r["rate_bps"]) == int(r["sent_bytes"]) * 8 * 10**6
            # 100 Gb/s: a frame counts in each interval with the bytes that it has on the wire there.
            assert int(r["sent_bytes"]) <= 12500 + 1
    assert not any(4 * 10**9 < t < 5 * 10**9 for t in times) # nothing happens then
    assert max(int(r["queue_bytes"]) for r in rows) > 50000
END
done
expect 0 run lossy.yaml --quiet --out run --series 1us
[ "$(digest_of out)" = "$digest" ] || fail "series change the digest"
# What a run before this one left there is no series of this one.
expect 0 run lossy.yaml --quiet --out run --series 1us --series-flows all
expect 0 run lossy.yaml --quiet --out run --seed 2
[ ! -e run/series.csv ] && [ ! -e run/series_flows.csv ] || fail "series of another run"
(ulimit -f 8 && expect 3 run lossy.yaml --out run --quiet)
[ ! -e run/report.html ] || fail "the report of another run"
expect 2 run lossy.yaml --json --series 1us
expect 2 run lossy.yaml --series 5
expect 2 run lossy.yaml --series 0us
(ulimit -f 8 && expect 3 run lossy.yaml --out full --series 1us)
[ ! -e full/series.csv ] || fail "half of it"

# Of flows: what each sent adds up to its packets with their headers (preamble to FCS and gap 82 bytes, RETH
# 16, in packets of 1,024), to what was sent again and to what was marked; the port of h1 sends nothing else.
for interval in 1us 1ms; do
	expect 0 run lossy.yaml --quiet --out run --series $interval --series-flows all
	[ "$(digest_of out)" = "$digest" ] || fail "series of flows change the digest"
	cp run/series_flows.csv flows.csv
	expect 0 run lossy.yaml --quiet --out run --series $interval --series-flows all --threads 3
	cmp -s run/series_flows.csv flows.csv || fail "other series of flows with three threads"
	python3 - $interval <<'END' || fail "series of flows at $interval: they do not add up"
import csv, json, sys
step = {"1us": 10**6, "1ms": 10**9}[sys.argv[1]]
rows = list(csv.DictReader(open("flows.csv")))
flows = {f["id"]: f for f in csv.DictReader(open("run/flows.csv"))}
columns = ("sent_bytes", "sent_packets", "resent_packets", "marked_packets", "arrived_bytes")
sums = {id: dict.fromkeys(columns, 0) for id in flows}
order = [(int(r["time_ps"]), int(r["id"])) for r in rows]
assert order == sorted(set(order))
for r in rows:
    f = flows[r["id"]]
    assert all(r[k] == f[k] for k in ("class", "src", "dst", "priority"))
    for k in columns:
        sums[r["id"]][k] += int(r[k])
    if int(r["time_ps"]) % step == 0:
        assert int(r["rate_bps"]) == int(r["sent_bytes"]) * 8 * 10**12 // step
    assert int(f["start_ps"]) - step < int(r["time_ps"])
assert sum(s["marked_packets"] for s in sums.values()) == json.load(open("run/result.json"))["ecn"]["marked"] > 0
clean = 0
for id, f in flows.items():
    s, size = sums[id], int(f["bytes"])
    assert s["resent_packets"] == int(f["packets_retransmitted"]), id
    if s["resent_packets"] == 0:
        clean += 1
        assert s["sent_packets"] == -(-size // 1024)
        assert s["sent_bytes"] == s["arrived_bytes"] == size + 82 * s["sent_packets"] + 16, id
    assert s["sent_bytes"] >= s["arrived_bytes"] >= size
assert 8 < clean < len(flows)
END
done
expect 0 run lossy.yaml --quiet --out run --series 1ms --series-flows 2,5-7
[ "$(cut -d, -f2 run/series_flows.csv | sort -u | tr '\n' ' ')" = "2 5 6 7 id " ] || fail "other flows than those named"
for flows in "" "7,5" "5-3" "3-x" "99" "all,1" "-1"; do
	expect 2 run lossy.yaml --series 1ms --series-flows "$flows"
	[ "$(wc -l <err)" = 1 ] || fail "--series-flows $flows: not one line"
done
expect 2 run lossy.yaml --series-flows all
expect 2 run lossy.yaml --series 1ms --series-flows all --set traffic.late.repeat=2000 --set traffic.late.every=1ns
grep -q 'at most 10000' err || fail "too many flows are not refused"

# Of flows that share a queue pair, packets are told apart by their PSNs.
lossy_scenario 'kind: star, hosts: 9' '  - {class: more, pattern: incast, to: h0, size: 150KB, start: 5us, repeat: 3, every: 40us}' \
	'  - {class: idle, pattern: incast, to: h1, from: h2, size: 30KB, start: 4ms}'
expect 0 run lossy.yaml --quiet --out pairs --series 10us --series-flows all --set nic.qp=per-pair
python3 - <<'END' || fail "series of flows of pairs do not add up"
import collections, csv, json
sums = collections.defaultdict(collections.Counter)
for r in csv.DictReader(open("pairs/series_flows.csv")):
    sums[r["id"]].update({k: int(r[k]) for k in ("sent_bytes", "sent_packets", "resent_packets", "marked_packets", "arrived_bytes")})
flows = list(csv.DictReader(open("pairs/flows.csv")))
result = json.load(open("pairs/result.json"))
assert len(sums) == len(flows) > 40
for f in flows:
    s, size = sums[f["id"]], int(f["bytes"])
    assert s["sent_packets"] - s["resent_packets"] == -(-size // 1024), (f, s)
    assert s["sent_bytes"] >= s["arrived_bytes"] >= size + 82 * -(-size // 1024) + 16, (f, s)
total = lambda k: sum(s[k] for s in sums.values())
assert total("resent_packets") == result["flows"]["packets_retransmitted"] > 100
assert total("marked_packets") == result["ecn"]["marked"] > 100
END
# Where timeouts are short, packets come twice, and some long after their flow has ended; none is lost.
cat >twice.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
switch: {buffer: 8MB}
nic: {mtu: 1024, timeout: 1, qp: per-pair}
traffic: [{class: in, pattern: incast, to: h0, size: 100KB, repeat: 4, every: 10us}]
END
expect 0 run twice.yaml --quiet --out twice --series 10us --series-flows all
python3 - <<'END' || fail "what came late is another flow's"
import collections, csv, json
sent, arrived, last = collections.Counter(), collections.Counter(), {}
for r in csv.DictReader(open("twice/series_flows.csv")):
    sent[r["id"]] += int(r["sent_bytes"])
    arrived[r["id"]] += int(r["arrived_bytes"])
    last[r["id"]] = int(r["time_ps"])
flows = {f["id"]: f for f in csv.DictReader(open("twice/flows.csv"))}
assert sum(json.load(open("twice/result.json"))["drops"].values()) == 0
assert len(sent) == len(flows) == 12 and sent == arrived
assert any(last[id] > int(f["end_ps"]) + 30 * 10**6 for id, f in flows.items())
END
echo '  - {class: load, size: 10KB, load: 10%, until: 1ms, stream: always}' >>lossy.yaml
expect 2 run lossy.yaml --series 1ms --series-flows all --set nic.qp=per-pair
grep -q '^verbena: --series-flows: found nic\.qp: per-pair and traffic that is streamed, ' err || fail "pairs beside streams are not refused"

# Intervals shorter than a frame: it lies in several of them, and none has more than the link takes.
cat >long.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3, host_rate: 10Gbps}
nic: {mtu: 4096}
traffic: [{pattern: incast, to: h0, size: 100KB}]
END
expect 0 run long.yaml --quiet --out long --series 500ns
python3 - <<'END' || fail "rates above that of the link"
import collections, csv
rows = list(csv.DictReader(open("long/series.csv")))
bins = collections.Counter()
sums = collections.Counter()
for r in rows:
    bins[r["node"], r["link"], r["time_ps"]] += int(r["sent_bytes"])
    sums[r["node"], r["link"]] += int(r["sent_bytes"])
ports = collections.Counter()
for p in csv.DictReader(open("long/ports.csv")):
    ports[p["node"], p["link"]] += int(p["sent_bytes"])
assert max(bins.values()) in (625, 626), max(bins.values()) # 10 Gb/s for 500 ns
assert all(sums[k] == v for k, v in ports.items()), (sums, ports)
assert list(bins.values()).count(625) > 2 * len([v for v in bins.values() if 0 < v < 624])
END
