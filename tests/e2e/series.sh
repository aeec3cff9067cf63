#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Series over time: they add up to what ports.csv says, and nobody sees that they are written.
. "$(dirname "$0")/lib.sh"

cat >lossy.yaml <<'END'
version: 1
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, delay: 1us}
switch: {buffer: 600KB, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}, pfc: {priorities: [3]}}
nic: {mtu: 1024, cc: dcqcn, timeout: 8}
traffic:
  - {class: incast, pattern: incast, to: h0, size: 200KB}
  - {class: other, pattern: incast, to: h1, size: 300KB, priority: 5}
  - {class: late, pattern: ring, size: 1KB, start: 5ms}
END
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
        assert sums.get((*at, k), 0) == int(p[k]), (at, k)
for node, link, _ in ports:
    for k in ("pause_sent", "pause_received"):
        assert sum(sums.get((node, link, str(q), k), 0) for q in range(8)) == int(ports[node, link, "0"][k])
times = [int(r["time_ps"]) for r in rows]
assert times == sorted(times)
end = max(times)
assert all(t % step < 10**6 for t in times if t != end) # a link's delay
if step == 10**6:
    for r in rows:
        if int(r["time_ps"]) % step == 0:
            assert int(r["rate_bps"]) == int(r["sent_bytes"]) * 8 * 10**6
            assert int(r["sent_bytes"]) <= 12500 + 1106
    assert not any(4 * 10**9 < t < 5 * 10**9 for t in times) # nothing happens then
    assert max(int(r["queue_bytes"]) for r in rows) > 50000
END
done
expect 0 run lossy.yaml --quiet --out run --series 1us
[ "$(digest_of out)" = "$digest" ] || fail "series change the digest"
expect 2 run lossy.yaml --json --series 1us
expect 2 run lossy.yaml --series 5
expect 2 run lossy.yaml --series 0us
(ulimit -f 8 && expect 3 run lossy.yaml --out full --series 1us)
[ ! -e full/series.csv ] || fail "half of it"
