#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What is broken inside of machines, and what GPUs and programs do, as explanations and results have it: with figures
# that are worked out here once more.
. "$(dirname "$0")/lib.sh"

cat >base.yaml <<'END'
version: 1
name: broken
topology: {kind: star, hosts: 2, host_rate: 400Gbps, delay: 500ns}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 300ns}
    - {name: sw0, kind: switch, latency: 110ns}
    - {name: nic0, kind: nic, tags: 256}
  lanes:
    - {a: cpu0, b: sw0, gen: 5}
    - {a: sw0, b: nic0, gen: 5}
traffic:
  - {class: f, pattern: incast, to: h1, from: [h0], size: 4MB}
END
# says TEXT...: each is in "out"
says() {
	for text in "$@"; do
		grep -qF -- "$text" out || fail "it does not say: $text
$(cat out)"
	done
}
# broken HOST FAULT: why the flow was slow, and what would cure it
broken() {
	{ cat base.yaml && printf 'machines:\n  - hosts: %s\n    faults: [%s]\n' "$1" "$2"; } >broken.yaml
	expect 0 explain broken.yaml --why cure
	cp out cure
	expect 0 explain broken.yaml 0 --why slow
}
broken h0 '{a: sw0, b: nic0, down: yes, from: 20us, until: 60us}'
says 'the lane sw0 > nic0 (pcie gen 5 x16) was down for 40.0 us, ' '(machines.0.faults.0.down). No lane of it was full.' \
	'    What would help: what is broken repaired (machines.0.faults.0.down).'
grep -qx '    machines\.0\.faults\.0\.down: found yes; no value to try there, what helps is said above' cure || fail "no cure: $(cat cure)"
# The second entry, at the other end: 32 GT/s of four lanes, 128 of 130 bits, 256 of 280 bytes of a write beside
# what the link itself needs: 13.3 GB/s.
broken h1 '{part: sw0, late: 1us, from: 1s}, {a: sw0, b: nic0, width: 4}'
says 'the lane nic0 > sw0 (pcie gen 5 x16) held it up.' 'carries at most 13.3 GB/s of payload; the port of h1 carries 50.0 GB/s.' \
	'was of generation 5 and x4 only for ' '100.0 % of that time (machines.0.faults.1.width).'
grep -q '^1\. Something inside of a machine is broken$' cure && grep -qx '    machines\.0\.faults\.1\.width: found 4; no value to try there, what helps is said above' cure ||
	fail "no cure: $(cat cure)"
! grep -q 'nic\.rx\.rate' cure || fail "a host with a machine has no rate: $(cat cure)"
broken h0 '{a: sw0, b: nic0, sender: sw0, ber: 0.00001}'
says 'bits were wrong on the lane sw0 > nic0 (pcie gen 5 x16): it began anew '
expect 0 run broken.yaml --quiet --out bits
python3 - <<'END' || fail "other errors: $(cat cure)"
import csv, re
row, = [r for r in csv.DictReader(open("bits/lanes.csv")) if (r["machine"], r["from"], r["to"]) == ("h0", "sw0", "nic0")]
said = re.search(r"began anew (\d+)\s+times,\s+and\s+([0-9.]+)\s+%", open("cure").read())
assert int(said[1]) == int(row["replays"]) and said[2] == "%.1f" % (100 * int(row["replayed_bytes"]) / int(row["wire_bytes"])), said[0]
END
broken h0 '{part: cpu0, late: 3us}'
says 'cpu0 answered what was read of it 3.00 us later for ' '(machines.0.faults.0.late)'
# Where nothing is read it is no matter, nor is what comes later.
for fault in '{part: cpu0, late: 3us}' '{a: sw0, b: nic0, down: yes, from: 1s, until: 2s}'; do
	broken h1 "$fault"
	[ "$(grep -c 'nothing held it up' out)" = 2 ] && grep -q '^Nothing here asks for a cure' cure || fail "$fault is felt: $(cat out cure)"
done

# ---- what GPUs do ----

expect 0 run pageable --quiet --out staged --series 50us --perfetto staged.json
expect 0 explain staged wr3 --why slow
cp out slow
python3 - <<'END' || fail "other words: $(cat slow)"
import csv, json, re
text = open("slow").read()
rows = {r["id"]: r for r in csv.DictReader(open("staged/requests.csv"))}
# Since the request before it had ended, to two microseconds.
span = (int(rows["wr3"]["posted_ps"]) - int(rows["wr2"]["end_ps"])) / 1e6
said = re.search(r"^Before it was posted, in the ([0-9.]+) us since the last request of its rank had ended, inside h0:$", text, re.M)
assert abs(float(said[1]) - span) < 2, (said[0], span)
# 4 MiB in pieces of 128 KiB; a CPU copies them at 124 Gb/s.
assert re.search(r"^  gpu0: copies to memory of the host were under way for .*%: 32 ended, of 4\.19 MB; the busiest lane for it, (gpu0 > sw0|sw0 > cpu0) \(pcie gen 5 x16\), was busy", text, re.M)
cpu = 4194304 * 8 / 124e9 * 1e6
said = re.search(r"CPUs copied for ([0-9.]+) us, ([0-9.]+) %", text)
assert abs(float(said[1]) - cpu) < 5 and abs(float(said[2]) - 100 * cpu / span) < 1, (said[0], cpu, span)
result = json.load(open("staged/result.json"))
gpus = {m: result["machines"][m]["gpus"]["gpu0"] for m in ("h0", "h1")}
for row in csv.DictReader(open("staged/engines.csv")):
    engine = gpus[row["machine"]]["engines"][row["engine"]]
    assert engine == {k: int(row[k]) for k in ("copies", "bytes", "busy_ps")}, row
assert gpus["h0"]["engines"]["from_device"]["bytes"] == gpus["h0"]["staged_bytes"] == 8 * 4194304
assert gpus["h1"]["engines"]["to_device"]["copies"] == 8 * 32
assert abs(gpus["h0"]["staged_ps"] / (8 * cpu * 1e6) - 1) < 0.001
END
# Over time they come to the same, and a timeline has which share of each microsecond they were busy.
python3 - <<'END' || fail "engines over time are not those of the run"
import csv, json
from fractions import Fraction
KEYS = ("copies", "bytes", "busy_ps")
sums = {}
for r in csv.DictReader(open("staged/series_engines.csv")):
    assert float(r["busy"]) <= 1 and r["busy"] == "%d.%06d" % divmod(int(r["busy_ps"]) * 10**6 // 50000000, 10**6), r
    own = sums.setdefault((r["machine"], r["gpu"], r["engine"]), dict.fromkeys(KEYS, 0))
    for k in KEYS:
        own[k] += int(r[k])
events = json.load(open("staged.json"))["traceEvents"]
hosts = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
for r in csv.DictReader(open("staged/engines.csv")):
    own = sums.get((r["machine"], r["gpu"], r["engine"]), dict.fromkeys(KEYS, 0))
    assert own == {k: int(r[k]) for k in KEYS}, r
    track = [(Fraction(e["ts"]), Fraction(str(e["args"]["percent"])) / 100) for e in events if e["ph"] == "C" and
             e["name"] == "busy %s %s" % (r["gpu"], r["engine"]) and hosts[e["pid"]] == r["machine"]]
    busy = sum((t - s) * share for (s, share), (t, _) in zip(track, track[1:]))
    assert bool(track) == (own["busy_ps"] > 0) and 0 <= own["busy_ps"] / 10**6 - busy <= 0.001 * 10**4, (r, float(busy))
END
# All of it in one interval.
expect 0 run pageable --quiet --out staged --series 1s
python3 - <<'END' || fail "engines in one interval"
import csv
rows = {(r["machine"], r["gpu"], r["engine"]): r for r in csv.DictReader(open("staged/series_engines.csv"))}
for r in csv.DictReader(open("staged/engines.csv")):
    row = rows.get((r["machine"], r["gpu"], r["engine"]), {"bytes": "0", "busy_ps": "0"})
    assert row["bytes"] == r["bytes"] and row["busy_ps"] == r["busy_ps"], (r, row)
END
expect 0 run pageable --quiet --out staged
[ ! -e staged/series_engines.csv ] || fail "engines over time of another run"
# Pinned once by each: 55 us and 46 us each MiB, 38 us and 20 us at its end.
expect 0 run pageable-cure --json
holds out "all(r['machines'][h]['gpus']['gpu0']['pins'] == 2 and r['machines'][h]['gpus']['gpu0']['pins_ps'] == (55 + 4 * 46 + 38 + 4 * 20) * 10**6 for h in ('h0', 'h1'))"
# Anew each time it takes longer than the copies: eight times as long, by 16 calls; before a request once more of both.
expect 0 explain pageable --why cure --set 'programs.0.args=["pinned=2"]'
tr '\n' ' ' <out | tr -s ' ' >words
grep -qF '1. Memory is pinned again and again 16 calls on h0 pinned memory for gpu0 or ended that, and took 2.86 ms;' words ||
	fail "no word of pins: $(cat out)"
expect 0 explain pageable wr3 --why slow --set 'programs.0.args=["pinned=2"]'
says '  gpu0: pinning memory of the host, and the end of that, took 357 us, '
# A flush is 56 ns, and a read there and back where the GPU promises nothing.
expect 0 run stale_read-cure --json
holds out "r['machines']['h1']['gpus']['gpu0']['flushes_ps'] > 20 * 556000 and r['machines']['h0']['gpus']['gpu0']['flushes'] == 0"
expect 0 run stale_read --json
holds out "r['machines']['h1']['gpus']['gpu0']['stale_bytes'] == 20 * 4096 and r['machines']['h0']['gpus']['gpu0']['stale_reads'] == 0"
# GPU to GPU, over one link of 20 GB/s: kernels before it, copies meanwhile.
cat >ring.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2, host_rate: 100Gbps}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 90ns}
    - {name: nic0, kind: nic, tags: 256}
    - {name: gpu0, kind: gpu, latency: 150ns, memory: 1GiB, tags: 256}
    - {name: gpu1, kind: gpu, latency: 150ns, memory: 1GiB, tags: 256}
  lanes:
    - {a: cpu0, b: nic0, gen: 5}
    - {a: cpu0, b: gpu0, gen: 5}
    - {a: cpu0, b: gpu1, gen: 5}
    - {a: gpu0, b: gpu1, kind: nvlink, gen: 1, links: 1}
programs: [{run: gpu_allreduce, hosts: [h0, h1]}]
END
expect 0 explain ring.yaml wr2 --why slow
says '  gpu1: kernels took ' 'Meanwhile, inside h1:' '  gpu0: copies to other GPUs were under way for ' \
	'1 ended, of 65.5 KB; the busiest lane for it, gpu0 > gpu1 (nvlink 1 x1), was busy '
# Managed memory, and a window that is too small.
expect 0 explain managed_thrash --why cure
tr '\n' ' ' <out | tr -s ' ' >words
grep -qF '10 times the same pages came and went' words || fail "no word of pages that came and went: $(cat out)"
says 'programs.0.args: found advice=0'
# What is for a program to do is said, and its name; a setting that helps is named where there is one.
for case in 'pageable;gpu_staging;pinned=0' 'managed_thrash;gpu_turns;advice=0' 'stale_read;gpu_stale;fail=0'; do
	program=${case#*;}
	expect 0 explain "${case%%;*}" --why cure
	tr '\n' ' ' <out | tr -s ' ' >words
	grep -qF "That is for the program to do, ${program%;*}, whose arguments were: ${program#*;}." words &&
		grep -qxF "    programs.0.args: found ${program#*;}; no value to try there, what helps is said above" out || fail "nothing to do: $(cat out)"
done
# Of several programs the one that runs there.
sed 's/hosts: 2/hosts: 4/; s/^programs:/&\n  - {run: ring, hosts: [h2, h3]}/; /^expect/,$d' "$root/traces/incidents/pageable.yaml" >programs.yaml
expect 0 explain programs.yaml --why cure
grep -q '^    programs\.1\.args: found pinned=0; ' out && ! grep -q 'programs\.0' out || fail "a program of other hosts: $(cat out)"
expect 0 explain stale_read --why cure
grep -qx '    machine\.parts\.3\.ordering: found none, try owner' out || fail "no order: $(cat out)"
expect 0 run stale_read --set machine.parts.3.ordering=owner --set 'expect=[".machines.h1.gpus.gpu0.stale_reads == 0"]' --quiet --out ordered
expect 0 explain bar1_small --why cure
says 'shows 2MiB of its 64MiB' 'machine.parts.3.bar1: found 2MiB, try 64MiB'
# With access control services the root is on the way, and named.
expect 0 explain acs_on --why pfc
says 'because GPU h0.gpu0 is behind the lane sw0 > cpu0 (pcie gen 4 x16)' 'What would help: no access control services at sw0'
# MRRS before tags where it is less than firmware leaves it.
expect 0 explain mrrs_small --why cure
says '    machine.lanes.1.mrrs: found 128B, try 4096B' '    or machine.parts.2.tags: found 64, try '
expect 0 explain few_tags --why cure
says '    machine.parts.2.tags: found 32, try '
! grep -q '^    or ' out || fail "requests of 512 bytes are what is wrong: $(cat out)"
# A run without GPUs has no engines.
expect 0 run base.yaml --quiet --out none
[ ! -e none/engines.csv ] && [ -e none/lanes.csv ] || fail "engines of nobody"
holds none/result.json "'gpus' not in r['machines']['h0']"

# A copy that the GPU reads which gets the bytes is its own, not the other's: gpu_matrix does so one way and both ways.
expect 0 run nvlink_lost --quiet --out pulled
for gpu in gpu0 gpu1; do
	grep -q "^h0,$gpu,from_peers,2,$((2 * 16777216))," pulled/engines.csv || fail "another engine: $(cat pulled/engines.csv)"
done
