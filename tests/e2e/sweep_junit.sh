#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Expectations over seeds: in how many they have to hold, what the others have found, and JUnit for all of it.
. "$(dirname "$0")/lib.sh"

cat >lossy.yaml <<'END'
version: 1
topology: {kind: star, hosts: 5}
switch: {buffer: 600KB}
nic: {mtu: 1024, timeout: 8}
traffic: [{class: incast, pattern: incast, to: h0, size: 200KB}]
faults: [{link: h2-s0, loss: 2%}]
expect: []
END
plan() { # LINE...: plan.yaml with these
	printf '%s\n' 'scenario: expecting.yaml' 'seeds: [11, 12, 13, 14, 15, 16, 17, 18, 19, 20]' \
		'show: [.drops.fault]' "$@" >plan.yaml
}
cp lossy.yaml expecting.yaml
plan
expect 0 sweep plan.yaml --out sweep --junit none.xml
grep -q 'tests="0"' none.xml || fail "tests of nothing"
[ "$(cat err)" = 'verbena: plan.yaml: nothing is expected of it: none.xml will have no test, which is green whatever happens' ] ||
	fail "a green of nothing is not told"
expect 0 run lossy.yaml --quiet --out one --junit none.xml
[ "$(cat err)" = 'verbena: lossy.yaml: nothing is expected of it: none.xml will have no test, which is green whatever happens' ] ||
	fail "a green of nothing is not told of a run"
expect 0 run small.yaml --quiet --out one --junit one.xml # its program
[ ! -s err ] || fail "something is told of a run with a program"
# So that it holds in all seeds but those with the most losses, how many these are, and which.
python3 - >rows <<'END'
import csv
rows = [(int(r["drops.fault"]), r["seed"]) for r in csv.DictReader(open("sweep/sweep.csv"))]
most = max(rows)[0]
worst = [s for n, s in rows if n == most]
print(most, 10 - len(worst), *worst)
END
read -r most held worst <rows
[ "$held" -ge 5 ] && [ "$held" -lt 10 ] || fail "a poor scenario: $held"
sed "s/^expect: .*/expect: ['.drops.fault < $most', '.flows.failed == 0', '.drops.fault > $most']/" lossy.yaml >expecting.yaml
judges_expectations expecting.yaml || {
	echo "SKIP: built without libjq"
	exit 77
}

# All seeds, unless the plan says otherwise.
judged() { # [LINE...]: the plan with these lines, each expectation's verdict as the JUnit file has it
	plan "$@"
	rm -f out.xml
	status=0
	"$verbena" sweep plan.yaml --quiet --out sweep --junit out.xml >out 2>err || status=$?
	python3 - >verdicts <<'END'
import xml.etree.ElementTree as ET
root = ET.parse("out.xml").getroot()
for suite in (root, root[0]):
    assert int(suite.get("tests")) == len(root[0].findall("testcase")), "tests"
    assert int(suite.get("failures")) == len(root[0].findall("testcase/failure")), "failures"
    assert int(suite.get("errors")) == len(root[0].findall("testcase/error")), "errors"
for c in root[0].findall("testcase"):
    assert c.get("classname") == root[0].get("name") == "plan"
    bad = c.find("failure") if c.find("failure") is not None else c.find("error")
    print(c.get("name"), "|", "holds" if bad is None else bad.tag, "|",
          bad.get("message") if bad is not None else c.findtext("system-out") or "")
END
}
has() { # LINE: among the verdicts
	grep -qxF "$1" verdicts || fail "no verdict: $1; there is: $(cat verdicts)"
}
found="found .drops.fault is $most"
seeds=
for seed in $worst; do seeds="$seeds; seed $seed: $found"; done
all_of="$(python3 - <<'END'
import csv
rows = list(csv.DictReader(open("sweep/sweep.csv")))
print("".join(f"; seed {r['seed']}: found .drops.fault is {r['drops.fault']}" for r in rows[:5]))
END
)"
judged
[ $status = 1 ] || fail "exit $status"
has ".drops.fault < $most | failure | held in $held of 10 seeds, expected 10$seeds"
has ".flows.failed == 0 | holds | "
has ".drops.fault > $most | failure | held in 0 of 10 seeds, expected 10$all_of; and 5 more"
grep -qxF "verbena: expected .drops.fault < $most: held in $held of 10 seeds, expected 10$seeds" err || fail "not told on stderr"
[ "$(wc -l <err)" = 2 ] || fail "more is told on stderr"
judged 'hold: all'
has ".drops.fault < $most | failure | held in $held of 10 seeds, expected 10$seeds"

# So many as it says, and not one less.
judged "hold: $held of 10"
[ $status = 1 ] || fail "exit $status, though one held in no seed"
has ".drops.fault < $most | holds | held in $held of 10 seeds$seeds"
[ "$(wc -l <err)" = 1 ] || fail "what held is told on stderr"
judged "hold: $((held + 1)) of 10"
has ".drops.fault < $most | failure | held in $held of 10 seeds, expected $((held + 1))$seeds"
sed -i "s/, '.drops.fault > $most'//" expecting.yaml
judged "hold: $held of 10"
[ $status = 0 ] || fail "exit $status, though all hold in as many seeds"
[ ! -s err ] || fail "something on stderr"

# A case for each combination of settings, each over its own seeds.
rm -rf sweep # and no other runs
judged 'set: {faults.0.loss: [2%, 0%], nic.timeout: [8]}' "hold: $held of 10"
[ $status = 0 ] || fail "exit $status"
[ "$(wc -l <verdicts)" = 4 ] || fail "other cases: $(cat verdicts)"
has ".drops.fault < $most [faults.0.loss=2%, nic.timeout=8] | holds | held in $held of 10 seeds$seeds"
has ".drops.fault < $most [faults.0.loss=0%, nic.timeout=8] | holds | "
# Times, and the digest of each run.
python3 - <<'END' || fail "other times or digests"
import csv, glob, json
import xml.etree.ElementTree as ET
root = ET.parse("out.xml").getroot()
said = {p.get("name"): p.get("value") for p in root[0].iter("property")}
rows = list(csv.DictReader(open("sweep/sweep.csv")))
for r in rows:
    name = f"digest of seed {r['seed']} [faults.0.loss={r['faults.0.loss']}, nic.timeout={r['nic.timeout']}]"
    assert said.pop(name) == r["digest"], name
assert sorted(said) == ["hold", "runs", "seeds", "version"], said
runs = [json.load(open(f)) for f in glob.glob("sweep/runs/*")]
cases = root[0].findall("testcase")
for loss in ("2%", "0%"):
    digests = {r["digest"] for r in rows if r["faults.0.loss"] == loss} # of several seeds one, where it draws nothing
    wall = sum(r["wall_s"] for r in runs if r["digest"] in digests)
    times = [float(c.get("time")) for c in cases if f"loss={loss}" in c.get("name")]
    assert len(times) == 2 and all(abs(t - wall / 2) < 0.0006 for t in times), (times, wall)
assert float(root.get("time")) > 0 and root.get("time") == root[0].get("time")
END

# Bad plans, bad files. What an older sweep said is said by nobody any more.
for hold in 0 3 some '0 of 10' '11 of 10' '9 of 20' '5 of 9' '1.5 of 10' '-1 of 10' '9 of 10 of 10' '[9, 10]' '~' '9of 10'; do
	plan "hold: $hold"
	cp "$root/LICENSE" old.xml
	expect 2 sweep plan.yaml --out sweep --junit old.xml
	grep -q '^plan.yaml:4: hold: found .*, expected all, or so many "of 10", which is how many seeds there are$' err ||
		fail "hold: $hold: another line"
	[ ! -e old.xml ] || fail "what an older sweep said is still there"
done
plan
mkfifo fifo.xml
expect 2 sweep plan.yaml --out other --junit fifo.xml
expect 3 sweep plan.yaml --out other --junit nowhere/out.xml

# A run that cannot be made: nobody can say, and the others do not count for it.
cat >broken.yaml <<'END'
version: 1
topology: {kind: star, hosts: 33}
traffic: [{class: incast, pattern: incast, to: h0, size: 1MB}]
expect: [.flows.failed == 0]
END
printf 'scenario: broken.yaml\nset: {memory: [1GiB, 64KiB]}\nseeds: 2\nhold: 1 of 2\n' >plan.yaml
expect 3 sweep plan.yaml --quiet --out broken --junit broken.xml
grep -q 'tests="2" failures="0" errors="1"' broken.xml || fail "other verdicts: $(cat broken.xml)"
grep -q 'name="the runs \[memory=64KiB\]".*' broken.xml || fail "no case of what was not run"
grep -q 'held in 0 of 2 seeds, expected 1; seed 1: the run could not be made: the run could not go on: the memory for packets.*; seed 2: the run could not be made: the run' broken.xml ||
	fail "it is not told which"
grep -q '^verbena: the run with seed 2 \[memory=64KiB\] could not be made: the run could not go on: the memory for packets' err ||
	fail "it is not told why"

# A disk that is full is told, and nothing points to what is not there.
printf 'scenario: lossy.yaml\nseeds: 40\nshow: [%s.drops.fault]\n' "$(yes .fct.incast.p99_ps, | head -n 14 | tr '\n' ' ')" >plan.yaml
(ulimit -f 1 && expect 3 sweep plan.yaml --quiet --out full --junit /dev/null)
grep -q '^verbena: the run with seed 1 could not be made: .*File too large' err || fail "a full disk is not told"
[ ! -e full/sweep.csv ] || fail "the disk is not full"
! grep -q sweep.csv out || fail "it points to a file that is not there"

# A signal ends it: what is made stays, the rest is nobody's to say, and no run goes on.
cat >endless.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
traffic: [{class: all, pattern: ring, size: 1KB}]
expect: [.flows.failed == 0]
END
printf 'scenario: endless.yaml\nset: {traffic.0.size: [1KB, 1TB]}\nseeds: 3\n' >plan.yaml
for signal in TERM INT; do
	rm -rf ended ended.xml
	env --default-signal=INT "$verbena" sweep plan.yaml --jobs 2 --quiet --out ended --junit ended.xml >out 2>err &
	pid=$!
	for _ in $(seq 300); do
		[ "$(find ended/runs -name '*.part' 2>/dev/null | wc -l)" != 2 ] || [ "$(find ended/runs -name '*.json' | wc -l)" != 3 ] || break
		sleep 0.1
	done
	children=$(cat /proc/$pid/task/*/children)
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	number=$([ $signal = TERM ] && echo 15 || echo 2)
	[ $status = $((128 + number)) ] || fail "$signal: exit $status"
	[ "$(cat err)" = "verbena: ended by signal $number: 3 of 6 runs are made, and the next sweep goes on there" ] || fail "$signal: another line"
	grep -q 'tests="2" failures="0" errors="1"' ended.xml || fail "$signal: other verdicts: $(cat ended.xml)"
	[ "$(grep -c '1KB,.*,[0-9a-f]\{16\}$' ended/sweep.csv)" = 3 ] && [ "$(grep -c '^1TB,.*,,$' ended/sweep.csv)" = 3 ] ||
		fail "$signal: another table: $(cat ended/sweep.csv)"
	[ "$(find ended/runs -type f | wc -l)" = 3 ] || fail "$signal: something else is kept"
	for child in $children; do
		! kill -0 "$child" 2>/dev/null || fail "$signal: a run goes on"
	done
done
