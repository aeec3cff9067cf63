#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Lanes of NVLink in results: beside another lane between the same parts they have figures of their own, those of all
# their links together, and shares of the time that all these have. Known machines and flows of their GPUs, too.
. "$(dirname "$0")/lib.sh"

# As a POWER8 has them: a socket and its GPU are joined by both. A copy there and one back, of 67108864 bytes.
cat >twin.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2, host_rate: 100Gbps}
machine:
  flow_memory: gpu0
  parts:
    - {name: cpu0, kind: socket, latency: 100ns}
    - {name: nic0, kind: nic}
    - {name: gpu0, kind: gpu, memory: 128MiB, latency: 100ns, tags: 256}
  lanes:
    - {a: cpu0, b: nic0, gen: 5}
    - {a: cpu0, b: gpu0, gen: 1, width: 4}
    - {a: cpu0, b: gpu0, kind: nvlink, gen: 1, links: 2, delay: 5ns}
  faults: [{a: cpu0, b: gpu0, links: [0], ber: 0.0000001}]
programs: [{run: gpu_copies, hosts: [h0], args: ["bytes=67108864"]}]
traffic: [{class: f, pattern: incast, to: h1, size: 100000B}]
END
expect 0 run twin.yaml --quiet --out twin --series 100us --perfetto twin.json
python3 - <<'END' || fail "the files have other lanes of NVLink"
import csv, json, re
from fractions import Fraction
result = json.load(open("twin/result.json"))
page = json.loads(re.search(r'id="data">(.*?)</script>', open("twin/report.html", encoding="utf-8").read(), re.S)[1])
KEYS = ["bursts", "bytes", "wire_bytes", "busy_ps", "replays", "replayed_bytes"]
LANES = ["cpu0>gpu0", "gpu0>cpu0", "cpu0>nic0", "nic0>cpu0", "cpu0>gpu0 nvlink", "gpu0>cpu0 nvlink"]
rows = {}
for r in csv.DictReader(open("twin/lanes.csv")):
    name = r["from"] + ">" + r["to"]
    name += " nvlink" if (r["machine"], name) in rows else ""  # behind all others
    rows[r["machine"], name] = {k: int(r[k]) for k in KEYS}
sums = {way: dict.fromkeys(KEYS, 0) for way in rows}
for r in csv.DictReader(open("twin/series_lanes.csv")):
    assert r["kind"] in ("pcie", "nvlink")
    name = r["from"] + ">" + r["to"] + (" nvlink" if r["kind"] == "nvlink" else "")
    for k in KEYS:
        sums[r["machine"], name][k] += int(r[k])
    length = (int(r["time_ps"]) - 1) % 100000000 + 1
    links = 2 if r["kind"] == "nvlink" else 1
    assert r["busy"] == "%d.%06d" % divmod(int(r["busy_ps"]) * 10**6 // (links * length), 10**6) and float(r["busy"]) <= 1, r
for (machine, name), row in rows.items():
    lane = result["machines"][machine]["lanes"][name]
    assert {k: lane[k] for k in KEYS} == row == sums[machine, name], (machine, name)
assert sorted(result["machines"]["h0"]["lanes"]) == sorted(LANES)
there, back = rows["h0", "cpu0>gpu0 nvlink"], rows["h0", "gpu0>cpu0 nvlink"]
# With both doorbells. 256 bytes are 272 on the wire of 20 GB/s, and their request or response takes 16 the same way.
assert there["bytes"] == 67108864 + 16 and back["bytes"] == 67108864 and there["replays"] > 0
assert abs(back["busy_ps"] / (67108864 / 256 * 288 * 50) - 1) < 0.01
# Flows take the other way, of PCI Express.
assert rows["h1", "cpu0>gpu0"]["bytes"] == 100000 and rows["h1", "cpu0>gpu0 nvlink"]["bytes"] == 0
# In the page, in the order of the lanes, with the links by which times are divided.
machine = next(m for m in page["machines"] if m["name"] == "h0")
names = [p["name"] for p in machine["parts"]]
for lane in machine["lanes"]:
    ends = names[lane["a"]], names[lane["b"]]
    for side, (a, b) in enumerate((ends, ends[::-1])):
        row = rows["h0", "%s>%s%s" % (a, b, " nvlink" if lane["beside"] else "")]
        assert lane["links"] == (2 if lane["beside"] else 1)
        assert lane["busy_ps"][side] == row["busy_ps"] == sum(lane["frames"][side]) and lane["bytes"][side] == row["bytes"]
assert [l["what"] for l in machine["lanes"]] == ["pcie gen 1 x4", "pcie gen 5 x16", "nvlink 1 x2"]
# And in the timeline: a share of both links.
events = json.load(open("twin.json"))["traceEvents"]
hosts = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
track = [(Fraction(e["ts"]), Fraction(str(e["args"]["percent"])) / 100) for e in events
         if e["ph"] == "C" and e["name"] == "busy gpu0 > cpu0 nvlink" and hosts[e["pid"]] == "h0"]
assert all(0 <= share <= 1 for _, share in track)
busy = sum((t - s) * share for (s, share), (t, _) in zip(track, track[1:]))
assert 0 <= back["busy_ps"] / 10**6 / 2 - busy <= 0.001 * result["time_ps"] / 10**6
END
# An explanation knows which of the two it means: 100 Gb/s go over the one of 1 GB/s.
expect 0 explain twin.yaml 0 --why slow
grep -q 'Inside h0, from GPU h0.gpu0 over gpu0 > cpu0 > nic0: the lane gpu0 > cpu0 (pcie gen 1 x4) held it up' out ||
	fail "another way of a flow: $(cat out)"
for how in "--threads 2" --through-wire; do
	# shellcheck disable=SC2086
	expect 0 run twin.yaml --quiet --out other --series 100us $how
	cmp -s twin/series_lanes.csv other/series_lanes.csv || fail "$how: other series"
	cmp -s twin/lanes.csv other/lanes.csv || fail "$how: other lanes"
done

# What access control sends up goes over the root, in an explanation, too: up and down a lane of 16 GB/s for 50.
cat >acs.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2, host_rate: 400Gbps}
machine:
  flow_memory: gpu0
  parts:
    - {name: cpu0, kind: socket}
    - {name: sw0, kind: switch, acs: yes}
    - {name: nic0, kind: nic}
    - {name: gpu0, kind: gpu, memory: 2MiB}
  lanes: [{a: cpu0, b: sw0, gen: 3}, {a: nic0, b: sw0, gen: 5}, {a: gpu0, b: sw0, gen: 5}]
traffic: [{class: f, pattern: incast, to: h1, size: 2MB}]
END
expect 0 explain acs.yaml 0 --why slow
grep -q 'Inside h0, from GPU h0.gpu0 over gpu0 > sw0 > cpu0 > sw0 > nic0: the lane [a-z0-9]* > [a-z0-9]* (pcie gen 3 x16) held it up' out ||
	fail "another way with access control: $(cat out)"

# A known machine, with NVSwitches.
cat >known.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2, host_rate: 400Gbps}
machine: {profile: dgx_h100, flow_memory: gpu0}
traffic: [{class: f, pattern: incast, to: h1.nic0, from: [h0.nic0], size: 1MB}]
END
expect 0 run known.yaml --quiet --out known
python3 - <<'END' || fail "the page of a known machine"
import json, re
page = json.loads(re.search(r'id="data">(.*?)</script>', open("known/report.html", encoding="utf-8").read(), re.S)[1])
kinds = [p["kind"] for p in page["machines"][0]["parts"]]
assert kinds.count("nvswitch") == 4 and kinds.count("gpu") == 8, kinds
lanes = json.load(open("known/result.json"))["machines"]["h0"]["lanes"]
assert sum(name.endswith(" nvlink") for name in lanes) == 2 * 8 * 4, len(lanes)
END
expect 0 explain known.yaml 0 --why slow
grep -q 'Inside h0[.a-z0-9]*, from GPU h0[.a-z0-9]*.gpu0 over gpu0 > ' out || fail "the way in a known machine: $(cat out)"

# And one of a file.
cat >node.xml <<'END'
<system version="1">
 <cpu numaid="0" vendor="AuthenticAMD" familyid="143" modelid="49">
  <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
   <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"/>
   <pci busid="0000:03:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="8"/>
  </pci>
 </cpu>
</system>
END
cat >file.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2}
machine: {file: node.xml, flow_memory: gpu0, parts: [{name: gpu0, memory: 4MiB}]}
traffic: [{class: f, pattern: incast, to: h1, size: 300KB}]
END
if "$verbena" check file.yaml 2>&1 | grep -q 'this verbena was built without libxml2'; then
	exit 0
fi
expect 0 explain file.yaml 0 --why slow
grep -q 'Inside h1, into GPU h1.gpu0 over nic0 > sw0 > gpu0: ' out || fail "the way in a machine of a file: $(cat out)"
expect 0 run file.yaml --quiet --out file
grep -q '"name":"gpu0","kind":"gpu"' file/report.html || fail "a machine of a file is not drawn"
