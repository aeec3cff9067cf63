#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena sweep: its runs are those that "verbena run" makes, each made once.
. "$(dirname "$0")/lib.sh"

mkdir plans
cat >plans/lossy.yaml <<'END'
version: 1
topology: {kind: star, hosts: 5}
switch: {buffer: 600KB, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}}
nic: {mtu: 1024, timeout: 8}
traffic: [{class: incast, pattern: incast, to: h0, size: 100KB}]
faults: [{link: h2-s0, loss: 1%}]
END
cat >plan.yaml <<'END'
scenario: plans/lossy.yaml
set:
  switch.buffer: [200KB, 1MiB]
  nic.cc: [none, dcqcn]
seeds: 3
show: [.fct.incast.p99_ps, .drops.buffer, .digest]
END
expect 0 sweep plan.yaml --out sweep
grep -qx '12 runs, 0 of them from before: sweep/sweep.csv' out || fail "not twelve runs"
cp sweep/sweep.csv first.csv
expect 0 run plans/lossy.yaml --json --seed 2 --set switch.buffer=1MiB --set nic.cc=dcqcn
cp out one.json
python3 - <<'END' || fail "not the table that it should be"
import csv, json, re
import xml.etree.ElementTree as ET
rows = list(csv.DictReader(open("first.csv")))
assert list(rows[0]) == ["switch.buffer", "nic.cc", "seed", "fct.incast.p99_ps", "drops.buffer",
                         "digest", "expectations_failed", "digest"][:6] + ["expectations_failed"], list(rows[0])
assert [(r["switch.buffer"], r["nic.cc"], r["seed"]) for r in rows] == \
    [(b, c, s) for b in ("200KB", "1MiB") for c in ("none", "dcqcn") for s in "123"]
one = json.load(open("one.json"))
row = rows[10]
assert int(row["fct.incast.p99_ps"]) == one["fct"]["incast"]["p99_ps"]
assert int(row["drops.buffer"]) == one["drops"]["buffer"] and row["digest"] == one["digest"]
drops = [int(r["drops.buffer"]) for r in rows]
assert max(drops) > 0
lines = [l for l in open("sweep/sweep.md") if l.startswith("| ")][1:]
assert len(lines) == 4
for i, line in enumerate(lines):
    mine = drops[3 * i:3 * i + 3]
    mean, low, high = map(float, re.match(r" ([\d.e+]+) \(([\d.e+]+) – ([\d.e+]+)\)", line.split("|")[4]).groups())
    assert abs(mean - sum(mine) / 3) < 1e-4 * (mean + 1) and (low, high) == (min(mine), max(mine))
# Times are in a unit that suits them, and their plot says which; its ticks are round.
cells = [re.fullmatch(r" ([\d.]+) \(([\d.]+) – ([\d.]+)\) (us|ms) ", line.split("|")[3]).groups() for line in lines]
for i, (mean, low, high, unit) in enumerate(cells):
    mine = [int(r["fct.incast.p99_ps"]) / {"us": 1e6, "ms": 1e9}[unit] for r in rows[3 * i:3 * i + 3]]
    assert all(abs(float(a) - b) <= 1e-5 * b for a, b in zip((mean, low, high), (sum(mine) / 3, min(mine), max(mine))))
times = ET.parse("sweep/fct.incast.p99_ps.svg").getroot()
texts = [t.text for t in times.iter() if t.tag.endswith("text")]
assert re.fullmatch(r"\.fct\.incast\.p99_ps, (us|ms)", texts[0]), texts
ticks = [float(t.text) for t in times.iter() if t.tag.endswith("text") and t.get("text-anchor") == "end"]
assert 3 <= len(ticks) <= 7 and ticks[0] == 0 and "%e" % ticks[1] in ["%e" % (m * 10.0 ** k) for m in (1, 2, 5) for k in range(-3, 4)], ticks
svg = ET.parse("sweep/drops.buffer.svg").getroot()
ns = "{http://www.w3.org/2000/svg}"
dots = svg.findall(ns + "circle")
assert len(dots) == 4 and len(svg.findall(ns + "polyline")) == 2
means = sorted(sum(drops[3 * i:3 * i + 3]) / 3 for i in range(4))
assert all(abs(float(d[0].text) - m) < 1e-3 * (m + 1) for d, m in
           zip(sorted(dots, key=lambda d: float(d[0].text)), means))
highest = min(dots, key=lambda d: float(d.get("cy")))
assert float(highest[0].text) == max(float(d[0].text) for d in dots)
END

# Each is made once, whatever the number of processes; what is new or gone is made.
expect 0 sweep plan.yaml --out sweep --quiet
[ "$(cat out)" = '12 runs, 12 of them from before: sweep/sweep.csv' ] || fail "made again"
cmp -s sweep/sweep.csv first.csv || fail "another table from what was there"
expect 0 sweep plan.yaml --out other --quiet --jobs 1
cmp -s other/sweep.csv first.csv || fail "another table with one job"
for file in sweep/runs/*; do
	rm "$file"
	break
done
echo '# nothing new' >>plans/lossy.yaml
expect 0 sweep plan.yaml --out sweep --quiet
[ "$(cat out)" = '12 runs, 11 of them from before: sweep/sweep.csv' ] || fail "not the one that was gone"
sed -i 's/seeds: 3/seeds: [1, 2, 3, 9]/' plan.yaml
expect 0 sweep plan.yaml --out sweep --quiet
[ "$(cat out)" = '16 runs, 12 of them from before: sweep/sweep.csv' ] || fail "not the new seed"
sed -i 's/size: 100KB/size: 90KB/' plans/lossy.yaml
expect 0 sweep plan.yaml --out sweep --quiet
[ "$(cat out)" = '16 runs, 0 of them from before: sweep/sweep.csv' ] || fail "another scenario, old runs"

# Something that was expected does not hold: 1, also of runs from before.
if "$verbena" run plans/lossy.yaml --json --set 'expect=["true"]' >out 2>err; then
	echo 'expect: [.drops.buffer == 0]' >>plans/lossy.yaml
	expect 1 sweep plan.yaml --out sweep --quiet
	expect 1 sweep plan.yaml --out sweep --quiet
	[ "$(cat out)" = '16 runs, 16 of them from before: sweep/sweep.csv' ] || fail "made again"
	cut -d, -f7 sweep/sweep.csv | grep -qx 1 || fail "not in the table"
	sed -i '$d' plans/lossy.yaml
fi

# Values that are maps: a control with its parameters, and a block that is off.
cat >maps.yaml <<'END'
scenario: plans/lossy.yaml
set:
  nic.cc: [none, {dcqcn: {rate_ai: 10Mbps, g_shift: 7}}, {"swift": {}}]
  switch.ecn: [off, {kmin: 20KB, kmax: 80KB}]
show: [.ecn.marked, .digest]
END
expect 0 sweep maps.yaml --out maps
cut -d, -f1,2 maps/sweep.csv >cells
cat >wanted <<'END'
nic.cc,switch.ecn
none,off
none,kmin=20KB kmax=80KB
dcqcn rate_ai=10Mbps g_shift=7,off
dcqcn rate_ai=10Mbps g_shift=7,kmin=20KB kmax=80KB
swift,off
swift,kmin=20KB kmax=80KB
END
cmp cells wanted && grep -q '^| dcqcn rate_ai=10Mbps g_shift=7 | off | 0 | ' maps/sweep.md || fail "other cells"
expect 0 run plans/lossy.yaml --json --set nic.cc=dcqcn --set nic.cc_params.rate_ai=10Mbps --set nic.cc_params.g_shift=7
holds out 'r["ecn"]["marked"] > 0'
grep -q "g_shift=7,kmin=20KB kmax=80KB,1,[1-9].*,$(python3 -c 'import json; print(json.load(open("out"))["digest"])')" maps/sweep.csv ||
	fail "another run than that with cc_params"
printf 'scenario: plans/lossy.yaml\nset:\n  nic.cc: [none, {dcqcn: {rate_aj: 1Mbps}}]\n' >bad.yaml
expect 2 sweep bad.yaml --out refused
grep -q '^bad.yaml:3: nic.cc_params.rate_aj: found an unknown key, expected a known key such as "rate_ai"$' err ||
	fail "a parameter that is none"

# Points that come to the same are made once, however they are written, and are rows of their own.
printf 'scenario: plans/lossy.yaml\nset: {switch.buffer: [1MiB, 1024KiB]}\nseeds: 3\nshow: [.digest]\n' >twins.yaml
expect 0 sweep twins.yaml --out twins --quiet --jobs 6
[ "$(cat out)" = '6 runs, 0 of them from before: twins/sweep.csv' ] || fail "not six runs"
[ "$(find twins/runs -type f | wc -l)" = 3 ] || fail "not each made once"
sed -n 's/^1MiB,//p' twins/sweep.csv >left
sed -n 's/^1024KiB,//p' twins/sweep.csv >right
[ "$(wc -l <left)" = 3 ] && cmp left right || fail "points that come to the same differ"

# A plan is checked as a scenario is.
expect 0 check twins.yaml plans/lossy.yaml
[ "$(head -n 1 out)" = 'twins.yaml: ok: 6 runs of plans/lossy.yaml: 2 combinations of settings, 3 seeds, 0 expectations' ] ||
	fail "check: another line"

# What the command is told: a setting for every run, one value of a key of the plan, one seed, which has to do.
cat >told.yaml <<'END'
scenario: plans/lossy.yaml
set:
  switch.buffer: [200KB, 1MiB]
  nic.cc: [none, dcqcn]
seeds: 3
hold: 2 of 3
show: [.drops.buffer, .digest]
END
expect 0 check told.yaml --seed 7 --set switch.buffer=300KB
grep -q ': 2 runs of plans/lossy.yaml: 2 combinations of settings, 1 seed, 0 expectations$' out || fail "check: another line: $(cat out)"
expect 0 sweep told.yaml --out told --quiet --seed 7 --set switch.buffer=300KB --set nic.timeout=10
[ "$(cut -d, -f1-3 told/sweep.csv | tr '\n' ' ')" = 'switch.buffer,nic.cc,seed 300KB,none,7 300KB,dcqcn,7 ' ] || fail "other runs: $(cat told/sweep.csv)"
expect 0 run plans/lossy.yaml --json --seed 7 --set switch.buffer=300KB --set nic.cc=dcqcn --set nic.timeout=10
holds out "r['digest'] == '$(sed -n 's/^300KB,dcqcn,7,.*,//p' told/sweep.csv)'"
expect 0 sweep told.yaml --out told --quiet --seed 7 --set nic.timeout=10 --set switch.buffer=300KB
[ "$(cat out)" = '2 runs, 2 of them from before: told/sweep.csv' ] || fail "made again: $(cat out)"
expect 0 sweep told.yaml --out told --quiet --seed 7 --set switch.buffer=300KB
[ "$(cat out)" = '2 runs, 0 of them from before: told/sweep.csv' ] || fail "a setting that is not seen"
# Who has said what is wrong: the command, or a line of the plan.
expect 2 sweep told.yaml --out bad --set nic.timeout=10 --set nic.cc=fast
grep -q '^--set:2: nic\.cc: ' err || fail "a value of the command: $(cat err)"
sed 's/none, dcqcn/none, fast/' told.yaml >bad.yaml
expect 2 sweep bad.yaml --out bad --set nic.timeout=10
grep -q '^bad\.yaml:4: nic\.cc: ' err || fail "a value of the plan: $(cat err)"

refused() { # LINE: the plan in bad.yaml
	expect 2 check bad.yaml
	[ "$(head -n 1 err)" = "$1" ] || fail "check: another line than $1"
	expect 2 sweep bad.yaml --out refused
	[ "$(head -n 1 err)" = "$1" ] || fail "another line than $1"
	[ ! -e refused ] || fail "something was written"
}
printf 'scenario: plans/lossy.yaml\nsed: 3\n' >bad.yaml
refused 'bad.yaml:2: sed: found an unknown key, expected scenario, set, seeds, hold or show'
printf 'seeds: 3\n' >bad.yaml
expect 2 sweep bad.yaml --out refused
[ "$(cat err)" = 'bad.yaml:1: scenario: found nothing, expected a file' ] || fail "a plan of nothing: another line"
printf 'scenario: plans/lossy.yaml\nset: {switch.buffer: 1MiB}\n' >bad.yaml
refused 'bad.yaml:2: switch.buffer: found "1MiB", expected a list of at least one value'
printf 'scenario: plans/lossy.yaml\nseeds: 0\n' >bad.yaml
refused 'bad.yaml:2: seeds: found "0", expected a number from 1 to 100000, or a list of seeds'
printf 'scenario: plans/lossy.yaml\nshow:\n  - .drops.buffer\n  - .drops.none\n' >bad.yaml
refused 'bad.yaml:4: show: found ".drops.none", expected a path to a value of the result, such as .drops.buffer'
printf 'scenario: plans/lossy.yaml\nshow: [.fct.incst.p99_ps]\n' >bad.yaml
refused 'bad.yaml:2: show: found ".fct.incst.p99_ps", expected a path to a value of the result, such as .fct.incast.p99_ps'
printf 'scenario: plans/lossy.yaml\nset: {switch.nonsense: [1, 2]}\n' >bad.yaml
expect 2 sweep bad.yaml --out refused
grep -q '^bad.yaml:2: switch\.nonsense: found an unknown key, expected one of buffer, ' err || fail "a key that is none"
[ ! -e refused ] || fail "something was written"
# What programs do, too: a row a run, a plot, and a path that is none.
printf 'version: 1\ntopology: {kind: star, hosts: 3}\nprograms: [{run: ring, hosts: [h0, h1, h2]}]\n' >plans/ring.yaml
printf 'scenario: plans/ring.yaml\nset: {nic.mtu: [1024, 4096]}\nshow: [".programs[0].requests.p99_ps", ".programs[0].ranks[2].completions"]\n' >ring.yaml
expect 0 sweep ring.yaml --out ring
for mtu in 1024 4096; do
	expect 0 run plans/ring.yaml --json --set nic.mtu=$mtu
	holds out "open('ring/sweep.csv').read().find(f',{r[\"programs\"][0][\"requests\"][\"p99_ps\"]},{r[\"programs\"][0][\"ranks\"][2][\"completions\"]},') > 0"
done
[ -s 'ring/programs[0].requests.p99_ps.svg' ] || fail "no plot of what programs do"
sed 's/ranks\[2\]/ranks[3]/' ring.yaml >bad.yaml
refused 'bad.yaml:3: show: found ".programs[0].ranks[3].completions", expected a path to a value of the result, such as .programs[0].ranks[2].completions'
printf 'scenario: plans/program.yaml\n' >bad.yaml
printf 'version: 1\ntopology: {kind: star, hosts: 3}\nprograms: [{run: ./none.so, hosts: [h0]}]\n' >plans/program.yaml
refused 'plans/program.yaml:3: programs.0.run: found "./none.so", expected a program (no program "plans/./none.so")'
printf 'scenario: plans/lossy.yaml\nset: {b: [1, 2], a: [1, x]}\nseeds: 100000\n' >bad.yaml
refused 'bad.yaml:1: set: found too many combinations, expected at most 100000 runs'
printf 'scenario: plans/lossy.yaml\nset:\n  nic.mtu: [1024, 4096]\n  seed: [1, 2]\n' >bad.yaml
refused 'bad.yaml:4: seed: found it below set, expected seeds beside set, as in "seeds: [1, 2]"'
printf 'scenario: plans/lossy.yaml\nseeds: [1, 2, 1]\n' >bad.yaml
refused 'bad.yaml:2: seeds: found 1 twice, expected seeds that differ'
printf 'scenario: plans/lossy.yaml\nseeds: []\n' >bad.yaml
refused 'bad.yaml:2: seeds: found an empty list, expected a number from 1 to 100000, or a list of seeds'
printf 'scenario: plans/lossy.yaml\nset:\n  nic.cc: [none]\n  switch.buffer: [1MiB, 1Mb]\n' >bad.yaml
expect 2 sweep bad.yaml --out refused
[ "$(wc -l <err)" = 1 ] && grep -q '^bad.yaml:4: switch\.buffer: found "1Mb", ' err || fail "a value that is none"
expect 2 sweep missing.yaml

# What is there already and is no result of that run is refused before anything runs, with the file and the
# key; a FIFO is not waited for.
printf 'scenario: plans/lossy.yaml\nseeds: 2\nshow: [.drops.buffer]\n' >plan.yaml
expect 0 sweep plan.yaml --out kept --quiet
cp -r kept/runs runs
one=$(grep -l '"seed": 1,' kept/runs/*.json)
other=$(grep -l '"seed": 2,' kept/runs/*.json)
odd() { # LINE: what is in $one is refused so
	rm -f kept/sweep.csv
	expect 2 sweep plan.yaml --out kept --quiet
	[ "$(cat err)" = "$one:1: $1" ] || fail "another line than $1"
	[ ! -s out ] && [ ! -e kept/sweep.csv ] || fail "$1: written all the same"
}
odd_value() { # KEY VALUE EXPECTED
	sed "s/\(\"$1\":\) [^,[]*/\1 $2/" "runs/${one##*/}" >"$one"
	odd "$3"
}
echo '{}' >"$one"
odd 'schema: found nothing, expected 1 or 2'
echo '{"expect":3}' >"$one"
odd 'schema: found nothing, expected 1 or 2'
echo '{"schema":1,"expect":[]}' >"$one"
odd 'seed: found nothing, expected a number from 0 to 2^63 - 1'
echo '[]' >"$one"
odd 'schema: found nothing, expected 1 or 2'
cp "$other" "$one"
odd 'seed: found 2, expected that of the run'
odd_value schema 1 'schema: found 1, expected 2'
odd_value version '"0"' 'version: found "0", expected that of this command'
odd_value digest '"0123"' 'digest: found "0123", expected 16 hexadecimal digits'
odd_value buffer '[]' '.drops.buffer: found [], expected a value'
odd_value expect '3, "x": ' 'expect: found 3, expected the expectations of the scenario'
sed 's/"expect": \[\]/"expect": [{"held": true}]/' "runs/${one##*/}" >"$one"
odd 'expect: found [{"held": true}], expected the expectations of the scenario'
# One number that fits as well as the right one, or a half of a file that was restored.
sed 's/"pause_sent": [0-9]*/"pause_sent": 999999/' "runs/${one##*/}" >"$one"
hash=$(sed -n 's/^  "kept_hash": "\([0-9a-f]\{16\}\)",*$/\1/p' "runs/${one##*/}")
odd "kept_hash: found \"$hash\", expected that of the result as the sweep has kept it, unchanged"
grep -v kept_hash "runs/${one##*/}" | sed 's/^\(  "expect": .*\),$/\1/' >"$one"
odd "kept_hash: found nothing, expected that of the result as the sweep has kept it, unchanged"
rm "$one"
mkfifo "$one"
timeout 60 "$verbena" sweep plan.yaml --out kept --quiet >out 2>err && fail "a FIFO is taken" || [ $? = 2 ] || fail "a FIFO: not refused"
[ "$(cat err)" = "$one: file: found a FIFO, expected a regular file" ] || fail "a FIFO: another line"
rm "$one"
mkdir "$one"
expect 2 sweep plan.yaml --out kept --quiet
[ "$(cat err)" = "$one: file: found a folder, expected a regular file" ] || fail "a folder: another line"
rmdir "$one"
echo '{' >"$one"
expect 2 sweep plan.yaml --out kept --quiet
grep -q "^$one:[12]: result: found .*, expected the result of a run$" err || fail "no JSON: another line"
cp runs/* kept/runs
expect 0 sweep plan.yaml --out kept --quiet
[ "$(cat out)" = '2 runs, 2 of them from before: kept/sweep.csv' ] || fail "made again"

# A program that was built anew is another one, whatever its path is.
programs=$(dirname "$verbena")/tests/programs
cp "$programs/ring.so" plans/own.so
printf 'version: 1\ntopology: {kind: star, hosts: 3}\nprograms: [{run: ./own.so, hosts: [h0, h1]}]\n' >plans/own.yaml
printf 'scenario: plans/own.yaml\nseeds: 2\nshow: [.digest]\n' >own.yaml
expect 0 sweep own.yaml --out own --quiet
expect 0 sweep own.yaml --out own --quiet
[ "$(cat out)" = '2 runs, 2 of them from before: own/sweep.csv' ] || fail "made again"
cp own/sweep.csv ring.csv
cp "$programs/pingpong_write.so" plans/own.so
expect 0 sweep own.yaml --out own --quiet
[ "$(cat out)" = '2 runs, 0 of them from before: own/sweep.csv' ] || fail "another program, old runs"
cmp -s own/sweep.csv ring.csv && fail "another program, the same runs"
expect 0 run plans/own.yaml --quiet --out one
python3 - "$programs/pingpong_write.so" >sip <<'END'
"""SipHash-2-4 with a key of zeros, of a file."""
import sys
data, mask = open(sys.argv[1], "rb").read(), 2**64 - 1
v = [0x736f6d6570736575, 0x646f72616e646f6d, 0x6c7967656e657261, 0x7465646279746573]
turn = lambda x, n: (x << n | x >> 64 - n) & mask
def rounds(n):
    for _ in range(n):
        v[0] = v[0] + v[1] & mask; v[1] = turn(v[1], 13) ^ v[0]; v[0] = turn(v[0], 32)
        v[2] = v[2] + v[3] & mask; v[3] = turn(v[3], 16) ^ v[2]
        v[0] = v[0] + v[3] & mask; v[3] = turn(v[3], 21) ^ v[0]
        v[2] = v[2] + v[1] & mask; v[1] = turn(v[1], 17) ^ v[2]; v[2] = turn(v[2], 32)
words = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) % 256])
for at in range(0, len(words), 8):
    word = int.from_bytes(words[at:at + 8], "little")
    v[3] ^= word
    rounds(2)
    v[0] ^= word
v[2] ^= 0xff
rounds(4)
print("%016x" % (v[0] ^ v[1] ^ v[2] ^ v[3]))
END
holds one/run.json "r['programs'] == [{'run': './own.so', 'hash': '$(cat sip)'}]"
