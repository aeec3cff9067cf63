#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The inside of machines in report.html: what is drawn of each lane, of the run and at a moment, is what lanes.csv
# and the series have; a run without machines has no such part.
. "$(dirname "$0")/lib.sh"

expect 0 run gpu_far --quiet --out far --series 1us
expect 0 run small.yaml --quiet --out bare
expect 0 run pageable --quiet --out staged
python3 - <<'END' || fail "the page has other lanes than the files"
import csv, json, re
def data_of(run):
    text = open(run + "/report.html", encoding="utf-8").read()
    assert ('id="inside"' in text) == (run == "far"), run
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
assert data_of("bare")["machines"] is None
data = data_of("far")
rows = {(r["machine"], r["from"], r["to"]): r for r in csv.DictReader(open("far/lanes.csv"))}
series = list(csv.DictReader(open("far/series_lanes.csv")))
times = [0] + data["frames"]["at_ps"]
seen = 0
assert sorted(m["name"] for m in data["machines"]) == ["h0", "h1", "h2", "h3"]
# That with the busiest lane first.
most = [max(max(l["busy_ps"]) for l in m["lanes"]) for m in data["machines"]]
assert data["machines"][0]["name"] == "h0" and most == sorted(most, reverse=True)
for m in data["machines"]:
    names = [p["name"] for p in m["parts"]]
    assert [p["kind"] for p in m["parts"]] == ["socket", "socket", "gpu", "gpu", "nic", "switch", "switch"], names
    own = json.load(open("far/result.json"))["machines"][m["name"]]
    for p in m["parts"]:
        tags = own["tags"].get(p["name"])
        assert p["tags"] == (tags and {k: tags[k] or 0 for k in ("count", "round_trip_ps", "dry_ps")}), p
        engines = own["gpus"][p["name"]]["engines"] if p["kind"] == "gpu" else None
        assert p["engines"] == (engines and [dict(engines[e], name=e) for e in ("to_device", "from_device", "to_peers", "from_peers", "pushed", "managed_in", "managed_out")]), p
    for lane in m["lanes"]:
        ends = names[lane["a"]], names[lane["b"]]
        for side, (a, b) in enumerate((ends, ends[::-1])):
            row = rows[m["name"], a, b]
            seen += 1
            assert lane["busy_ps"][side] == int(row["busy_ps"]) and lane["bytes"][side] == int(row["bytes"])
            assert lane["starved_ps"][side] == sum(int(row["starved_%s_ps" % k]) for k in ("posted", "non_posted", "completion"))
            frames = lane["frames"][side]
            assert len(frames) == len(times) - 1 and sum(frames) == lane["busy_ps"][side]
            assert all(0 <= f <= t - s for f, s, t in zip(frames[:-1], times, times[1:]))
            # By the end of each frame that ends with an interval of the series.
            own = [r for r in series if (r["machine"], r["from"], r["to"]) == (m["name"], a, b)]
            for k, t in enumerate(times[1:-1]):
                if t % 10**6 == 0:
                    assert sum(frames[:k + 1]) == sum(int(r["busy_ps"]) for r in own if int(r["time_ps"]) <= t)
assert seen == len(rows) == 48
END
. "$root/tests/e2e/browser.sh"
python3 "$root/tests/e2e/report_inside.py" "$browser" far staged || fail "the drawing of a machine"
