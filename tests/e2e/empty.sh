#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Values over nothing are nothing: null, an empty cell or a dash, and no expectation holds by them. What
# is expected of a run that has not come to its end holds only where it says so.
. "$(dirname "$0")/lib.sh"

cat >base.yaml <<'END'
version: 1
name: base
topology: {kind: star, hosts: 8}
switch: {buffer: 4MiB, pfc: {}}
traffic: [{class: incast, pattern: incast, to: h0, size: 100KB}, {class: one, pattern: incast, to: h1, from: h2, size: 4KB}]
END
with() { # FILE LINE... : base.yaml with these lines
	file=$1
	shift
	cp base.yaml "$file"
	printf '%s\n' "$@" >>"$file"
}

# Nothing has ended: there is no time, no slowdown and no goodput.
expect 0 run base.yaml --until 1us --out cut
holds cut/result.json 'r["schema"] == 2 and r["flows"]["unfinished"] == r["flows"]["failed"] == r["flows"]["posted"] == 8'
holds cut/result.json 'all(c.pop("count") == 0 and set(c.values()) == {None} for c in r["fct"].values())'
[ "$(grep -cE '^(incast|one) +[71] +0 +– +– +– +– +– +– +–$' out)" = 2 ] || fail "not a dash for each value in the table"
[ "$(tail -n +2 cut/flows.csv | grep -c ',0,,,[0-9]*,,0,unfinished$')" = 8 ] || fail "flows.csv has values"
[ "$(grep -cE 'class="text|>(incast|one)</th><td>[71]</td><td>0</td>(<td>–</td>){8}</tr>' cut/report.html)" -ge 2 ] || fail "the page has values"
expect 0 run base.yaml --quiet --out whole
holds whole/result.json 'r["flows"]["unfinished"] == 0 and all(None not in c.values() for c in r["fct"].values())'
expect 0 report cut whole --out pair
grep -q '<tr class="other"><th scope="row">incast: FCT mean</th><td>–</td><td data-value="[1-9]' pair/report.html ||
	fail "two runs, and one of them has a mean over nothing"

# Of one class some have ended, of another none: means over those of the first alone.
expect 0 run base.yaml --json --until 6us
holds out 'r["fct"]["one"]["count"] == 1 and r["fct"]["one"]["p99_ps"] > 0'
holds out 'r["fct"]["incast"]["count"] == 0 and r["fct"]["incast"]["p99_ps"] is None'

# A sweep: an empty cell, a dash, and a mean over those that there are.
cat >plan.yaml <<'END'
scenario: base.yaml
set: {until: [1us, 10ms]}
seeds: 2
show: [.fct.incast.p99_ps, .fct.incast.slowdown_mean, .flows.unfinished]
END
expect 0 sweep plan.yaml --out sweep
[ "$(grep -c '^1us,[12],,,8,0,' sweep/sweep.csv)" = 2 ] || fail "not empty cells"
[ "$(grep -c '^10ms,[12],[1-9][0-9]*,[1-9][0-9.]*,0,0,' sweep/sweep.csv)" = 2 ] || fail "not the values"
grep -q '^| 1us | – | – | 8 ' sweep/sweep.md || fail "no dash in the table of means"
cat >some.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
traffic: [{class: load, load: 20%, size: 20KB, until: 10us}]
END
printf 'scenario: some.yaml\nseeds: 8\nshow: [.fct.load.p99_ps, .fct.load.count]\n' >plan.yaml
expect 0 sweep plan.yaml --out some
python3 - <<'END' || fail "not the mean over those that there are"
import csv, re
rows = list(csv.DictReader(open("some/sweep.csv")))
values = [int(r["fct.load.p99_ps"]) for r in rows if r["fct.load.p99_ps"]]
assert 0 < len(values) < 8 and all(bool(r["fct.load.p99_ps"]) == (r["fct.load.count"] != "0") for r in rows), rows
cell = open("some/sweep.md").read().split("\n")[2].split("|")[1]
mean, unit, count = re.fullmatch(r" ([\d.]+) \(.*\) (\w+) of (\d) of 8 seeds ", cell).groups()
assert int(count) == len(values) and unit == "us" and abs(float(mean) * 1e6 - sum(values) / len(values)) < 100, cell
END

with held.yaml 'expect: ["true"]'
judges_expectations held.yaml || {
	echo "SKIP: the rest: built without libjq"
	exit 0
}

# None of them has ended: nothing holds by that, not even what is true, unless it names the flows.
with open.yaml 'until: 1us' 'expect: [.fct.incast.p99_ps < (5|ms), .fct.incast.slowdown_p99 < 10, .drops.buffer == 0, .flows.failed == 8]'
expect 1 run open.yaml --out open --junit open.xml
holds open/result.json '[e["held"] for e in r["expect"]] == [False, False, False, True]'
open="8 of 8 flows are unfinished"
for line in "FAILED    .fct.incast.p99_ps < (5|ms): .fct.incast.p99_ps is null (over nothing), but $open" \
	"FAILED    .drops.buffer == 0: .drops.buffer is 0, but $open" \
	"holds     .flows.failed == 8: .flows.failed is 8; $open"; do
	grep -qxF "$line" out || fail "no line: $line"
done
holds open/result.json 'all("8 of 8 flows are unfinished" in e["found"] for e in r["expect"])'
python3 - <<'END' || fail "JUnit does not say so"
import xml.etree.ElementTree as E
cases = E.parse("open.xml").getroot().findall(".//testcase")
said = [c[0].get("message") or c[0].text for c in cases]
assert [c[0].tag for c in cases] == ["failure"] * 3 + ["system-out"], said
assert all("8 of 8 flows are unfinished" in s for s in said), said
END
grep -q "$open" open/report.html || fail "the page does not say so"

# All of a class have ended, none of them well: there is nothing to compare, with a number or with another
# such, and nothing to be said of what it is, however that is put.
with lost.yaml 'faults: [{link: h0-s0, loss: 100%}]' 'nic: {timeout: 4, retries: 1}' 'expect:'
while read -r predicate; do
	printf "  - '.flows.failed == 7 and (%s)'\n" "$predicate" >>lost.yaml
done <<'END'
.fct.incast.p99_ps < (5|ms)
.fct.incast.p99_ps > 0
.fct.incast.p99_ps >= 0
.fct.incast.slowdown_p99 < 10
.fct.incast.goodput_bps < (1|Gbps)
.fct.incast.p99_ps - .fct.incast.p50_ps < (1|us)
.fct.incast.p50_ps - .fct.incast.p99_ps < (1|us)
.fct.incast.p50_ps <= .fct.incast.p99_ps
.fct.incast.p50_ps == .fct.incast.p99_ps
.fct.incast.p50_ps == null
[.fct[].p99_ps] | max < (5|ms)
.fct | to_entries | all(.value.p99_ps < 5000000000)
(.fct.incast.p99_ps // 0) < 5
.fct.incast.slowdown_p99 / .fct.incast.slowdown_mean < 2
[.fct.incast | .p99_ps / .p50_ps] | max < 10
[.fct[] | .p99_ps / .p50_ps] | max < 10
.fct.incast.p99_ps * .fct.incast.p50_ps > 5
(.fct.incast.p99_ps | fabs) > (1|us)
.fct.incast.p99_ps != null
(.fct.incast.p99_ps | type) == "number"
(.fct.incast.p99_ps | tostring | length) < 40
.fct.incast.p99_ps > 0 or .fct.incast.p99_ps <= 0
[.fct[] | select(.p99_ps != null)] | length == 2
[.fct.incast[]] | .[3] > 0 or .[3] <= 0
[.fct.incast | .. | numbers] | length > 3
[.fct.incast | .. | nulls] | length > 3
[.fct.incast | map_values(. + 1) | add] | all(. < 5000000000)
.fct.incast as {p50_ps: $a, p999_ps: $b} | $a == $b
.fct.incast as {p50_ps: $a, p99_ps: $b} | ($a < 0) == ($b < 0)
[.fct | getpath(["incast", "p99_ps"], ["incast", "p50_ps"])] | (max - min | fabs) < (1|us)
.fct.incast.count == 0
[.fct[] | select(.count > 0) | .p99_ps] | max < (5|ms)
.fct | to_entries | map(.value.count) | add == 1
.fct.incast.count == 0 or .fct.incast.p99_ps < (5|ms)
.fct.one.p99_ps < (5|ms)
END
expect 1 run lost.yaml --json --junit lost.xml
holds out 'r["flows"]["unfinished"] == 0 and r["fct"]["incast"]["count"] == 0 and r["fct"]["one"]["count"] == 1'
holds out '[e["held"] for e in r["expect"]] == [False] * 30 + [True] * 5'
holds out 'all(e["found"].endswith("; 7 of 8 flows have failed or are lost") for e in r["expect"])'
holds out 'all("over nothing" in e["found"] for e in r["expect"][:24])'
holds out 'sum("values over nothing, such as .fct.incast.mean_ps, decide it" in e["found"] for e in r["expect"]) == 5'
grep -q 'tests="35" failures="30"' lost.xml || fail "not that in the JUnit file"

# Where flows have failed or are lost, one has to name them; a class that is called so is another matter.
cat >lost.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
traffic: [{class: flows, pattern: incast, to: h0, size: 100KB}]
faults: [{link: h0-s0, loss: 100%}]
until: 5ms
nic: {timeout: 4, retries: 1}
expect:
  - .drops.buffer == 0
  - .fct.flows.count == 0
  - '{flows: .drops.buffer} | .flows == 0'
  - '.fct as $f | $f.flows.count < 5'
  - .drops.buffer == 0 and .flows.completed == 0
END
for transport in rc uc; do
	expect 1 run lost.yaml --set nic.transport=$transport --json
	holds out 'r["flows"]["failed"] == 2 and r["flows"]["unfinished"] == 0'
	holds out '[e["held"] for e in r["expect"]] == [False] * 4 + [True]'
	holds out 'all("2 of 2 flows have failed or are lost" in e["found"] for e in r["expect"])'
done

# Nothing was sent.
cat >idle.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
expect: [.drops.buffer == 0, .flows.posted == 0]
END
expect 1 run idle.yaml
grep -qxF 'FAILED    .drops.buffer == 0: .drops.buffer is 0, but nothing was sent' out || fail "not told that nothing was sent"
grep -qxF 'holds     .flows.posted == 0: .flows.posted is 0; nothing was sent' out || fail "not beside what holds"
printf 'traffic: [{class: load, load: 1%%, size: 1GB, until: 1us}]\n' >>idle.yaml
expect 1 run idle.yaml --json
holds out '[e["found"][-16:] for e in r["expect"]] == ["no flow was sent"] * 2'
cat >program.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
programs: [{run: write_once, hosts: [h0, h1]}]
expect: [.drops.buffer == 0]
END
expect 0 run program.yaml --json

# So where ranks of programs have not ended.
cat >ranks.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
programs: [{run: ring, hosts: "h[0-3]", args: [bytes=65536, rounds=3]}]
traffic: [{class: one, pattern: incast, to: h1, from: h2, size: 1MB}]
expect:
  - .drops.buffer == 0
  - .flows.unfinished == 1
  - .programs[0].unfinished == 4
  - .programs[0].unfinished == 4 and .flows.unfinished == 1
END
expect 1 run ranks.yaml --until 1us --json
holds out '[e["held"] for e in r["expect"]] == [False] * 3 + [True]'
holds out 'all("1 of 1 flows are unfinished, 4 of 4 ranks are unfinished" in e["found"] for e in r["expect"])'
expect 1 run ranks.yaml --until 10ms --json
holds out '[e["held"] for e in r["expect"]] == [True] + [False] * 3'

# Tried before the run with such values, too: what they would make an error is none.
with trial.yaml 'expect: [.fct.incast.p99_ps / .fct.incast.p50_ps < 50, "[.fct[].p99_ps] | add < (1|s)"]'
expect 0 run trial.yaml --json
with trial.yaml 'expect: [.fct.incast.p99_ps]'
expect 2 run trial.yaml --json
