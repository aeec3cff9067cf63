#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The inside of machines in results: result.json and the series say what lanes.csv says; expectations ask for it;
# a run without machines has nothing of it.
. "$(dirname "$0")/lib.sh"

# Memory of h1 is behind a socket link of 100 Gb/s, 80 of which are payload.
cat >far.yaml <<'END'
version: 1
name: far
topology: {kind: star, hosts: 2, nics: 2, host_rate: 400Gbps, delay: 500ns}
switch: {buffer: 16MiB, pfc: {priorities: [3]}}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 90ns}
    - {name: cpu1, kind: socket, latency: 70ns, numa: 1}
    - {name: nic0, kind: nic, tags: 64}
    - {name: nic1, kind: nic}
  lanes:
    - {a: cpu0, b: cpu1, kind: upi, rate: 100Gbps, payload: 64B, overhead: 16B, delay: 50ns, ph: 1024, pd: 4096, nph: 1024}
    - {a: cpu0, b: nic0, gen: 5, delay: 3ns}
    - {a: cpu1, b: nic1, gen: 5, delay: 3ns}
machines:
  - {hosts: h1, memory: cpu0}
traffic:
  - {class: f, pattern: incast, to: h1.nic1, from: [h0.nic0], size: 1MB, priority: 3}
END
expect 0 run far.yaml --quiet --out far --series 7us
python3 - <<'END' || fail "lanes of result.json, of the series and of lanes.csv are not the same"
import csv, json
keys = ["bursts", "bytes", "wire_bytes", "busy_ps", "starved_posted_ps", "starved_non_posted_ps", "starved_completion_ps", "replays", "replayed_bytes"]
result = json.load(open("far/result.json"))
machines = result["machines"]
rows = list(csv.DictReader(open("far/lanes.csv")))
assert list(machines) == ["h0", "h1"] and len(rows) == 12
assert sum(len(m["lanes"]) for m in machines.values()) == 12
sums = {}
for r in csv.DictReader(open("far/series_lanes.csv")):
    at = int(r["time_ps"])
    assert at % 7000000 == 0 or at <= result["time_ps"] + 7000000
    length = (at - 1) % 7000000 + 1
    busy = int(r["busy_ps"])
    assert busy <= length and r["busy"] == "%d.%06d" % divmod(busy * 10**6 // length, 10**6), r
    lane = sums.setdefault((r["machine"], r["from"], r["to"]), dict.fromkeys(keys, 0))
    for k in keys:
        lane[k] += int(r[k])
for r in rows:
    lane = machines[r["machine"]]["lanes"][r["from"] + ">" + r["to"]]
    assert lane == {k: int(r[k]) for k in keys}, r
    assert sums.get((r["machine"], r["from"], r["to"]), dict.fromkeys(keys, 0)) == lane, r
    tags = machines[r["machine"]]["tags"].get(r["from"], {"wait_ps": 0})
    assert tags["wait_ps"] == int(r["tag_wait_ps"])
# 245 packets of 4096 bytes and what is left, in packets of 64 and 16 bytes more, at 12.5 GB/s.
assert machines["h1"]["lanes"]["cpu1>cpu0"]["busy_ps"] == 1000000 // 64 * 80 * 80
# Requests of 512 bytes for all that: 1954, of which each has a tag.
tags = machines["h0"]["tags"]["nic0"]
assert list(machines["h0"]["tags"]) == ["nic0"] and tags["count"] == 64 and tags["taken"] == 1954
assert 300000 < tags["round_trip_ps"] < 2000000 and 0 <= tags["dry_ps"] <= result["time_ps"]
assert machines["h1"]["tags"]["nic0"]["round_trip_ps"] is None
END
# Nobody sees how it is run.
cp far/result.json far/series_lanes.csv .
cp far/lanes.csv far.csv
for how in "--threads 2" --through-wire; do
	# shellcheck disable=SC2086
	expect 0 run far.yaml --quiet --out far --series 7us $how
	cmp -s far/series_lanes.csv series_lanes.csv || fail "$how: other series of lanes"
	python3 - "$how" <<'END' || fail "$how: other machines"
import json
assert json.load(open("far/result.json"))["machines"] == json.load(open("result.json"))["machines"]
END
done
expect 0 diff far far.yaml
grep -q 'the digest, too' out || fail "another run"
expect 0 run far.yaml --quiet --out far
[ ! -e far/series_lanes.csv ] || fail "series of another run"

# What is behind the last arrival, where lanes still bring it into memory, is in the last row.
expect 0 run gpu_far --quiet --out tail --series 300ms
python3 - <<'END' || fail "the series forget what was busy last"
import csv
rows = {(r["machine"], r["from"], r["to"]): r for r in csv.DictReader(open("tail/series_lanes.csv"))}
for r in csv.DictReader(open("tail/lanes.csv")):
    row = rows.get((r["machine"], r["from"], r["to"]), {"busy_ps": "0", "busy": "0", "time_ps": "1"})
    assert row["busy_ps"] == r["busy_ps"] and int(row["busy_ps"]) <= int(row["time_ps"]) and float(row["busy"]) <= 1, row
# 8,000,000 bytes of 64 in packets of 80, at 12.5 GB/s.
assert int(rows["h0", "cpu0", "cpu1"]["busy_ps"]) == 8000000 // 64 * 80 * 80 and float(rows["h0", "cpu0", "cpu1"]["busy"]) > 0.97
END

# A timeline has them as counters: a value lasts until the next one, and all that while the lane was so busy.
expect 0 run far.yaml --quiet --out far --perfetto far.json
cmp -s far/lanes.csv far.csv || fail "a timeline changes what lanes do"
python3 - <<'END' || fail "another timeline of lanes"
import csv, json
from fractions import Fraction
events = json.load(open("far.json"))["traceEvents"]
hosts = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
tracks = {}
for e in events:
    if e["ph"] == "C" and e["name"].startswith("busy "):
        tracks.setdefault((hosts[e["pid"]], *e["name"][5:].split(" > ")), []).append(
            (Fraction(e["ts"]), Fraction(str(e["args"]["percent"])) / 100))
for r in csv.DictReader(open("far/lanes.csv")):
    track = tracks.pop((r["machine"], r["from"], r["to"]), [])
    busy = sum((t - s) * share for (s, share), (t, _) in zip(track, track[1:]))
    assert not track or track[-1][1] == 0
    # A thousandth of each microsecond is not told.
    assert 0 <= int(r["busy_ps"]) / 10**6 - busy <= 0.001 * 130, (r, float(busy))
assert not tracks
END

# Where no host has a machine there is nothing of one.
sed '/^machine:/,/^  - {hosts/d' far.yaml >bare.yaml
expect 0 run bare.yaml --quiet --out bare --series 7us --perfetto bare.json
! grep -q '"busy ' bare.json || fail "lanes of no machine in a timeline"
holds bare/result.json "'machines' not in r"
[ -e bare/series.csv ] && [ ! -e bare/series_lanes.csv ] && [ ! -e bare/lanes.csv ] || fail "lanes of no machine"

with_expectations far.yaml judged.yaml '.machines.h1.lanes["cpu1>cpu0"].busy_ps > 0.9 * .time_ps' \
	'.machines.h0.tags.nic0.dry_ps < .time_ps' '.machines.h1.tags.nic0.round_trip_ps > 0'
if judges_expectations judged.yaml; then
	expect 1 run judged.yaml --json
	holds out "[e['held'] for e in r['expect']] == [True, True, False]" # the last is over nothing
	with_expectations far.yaml typo.yaml '.machines.h1.lanes["cpu1>cpu2"].busy_ps > 0'
	expect 2 check typo.yaml
fi

# Flows move memory of a GPU where they are told to: at one end, or at both.
cat >gpu.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2}
machine:
  flow_memory: gpu0
  parts:
    - {name: cpu0, kind: socket}
    - {name: sw0, kind: switch}
    - {name: nic0, kind: nic}
    - {name: gpu0, kind: gpu, memory: 2MiB}
    - {name: gpu1, kind: gpu, memory: 2MiB}
  lanes: [{a: cpu0, b: sw0}, {a: nic0, b: sw0}, {a: gpu0, b: sw0}, {a: gpu1, b: sw0}]
traffic: [{class: f, pattern: incast, to: h1, size: 100000B}]
END
moved() { # HOST FROM>TO BYTES
	holds out "r['machines']['$1']['lanes']['$2']['bytes'] == $3"
}
expect 0 run gpu.yaml --json
moved h0 'gpu0>sw0' 100000
moved h1 'sw0>gpu0' 100000
moved h1 'sw0>gpu1' 0
moved h1 'sw0>cpu0' 0
expect 0 run gpu.yaml --json --set 'machines=[{hosts: h1, flow_memory: gpu1}]'
moved h0 'gpu0>sw0' 100000
moved h1 'sw0>gpu0' 0
moved h1 'sw0>gpu1' 100000
sed -i '/flow_memory/d' gpu.yaml
expect 0 run gpu.yaml --json
moved h1 'sw0>gpu0' 0
moved h1 'sw0>cpu0' 100000
