#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What a run leaves in its folder and for CI when something goes wrong: no half of a file, nothing from a
# run before it, nothing outside of the folder, and nothing of two runs at once.
. "$(dirname "$0")/lib.sh"

cat >long.yaml <<'END'
version: 1
name: long
topology: {kind: star, hosts: 9}
switch: {pfc: {}}
traffic: [{class: load, load: 60%, size: 20KB, until: 900ms, stream: true}]
END
parts() { # FOLDER: there is no part of a file in it
	for file in "$1"/*.part "$1"/.[!.]*; do
		[ ! -e "$file" ] || fail "there is a $file"
	done
}

# A disk that is full, and what is left there.
(ulimit -f 8 && expect 3 run small.yaml --out full --series 1us --series-flows all --quiet)
parts full
[ ! -e full/series.csv ] || fail "half of series.csv"
expect 0 run small.yaml --out full --series 1us --series-flows all --quiet
[ -s full/series.csv ] && [ -s full/series_flows.csv ] || fail "no series after a full disk"

# A run that is killed, or crashes: nothing is left that the run before it has said, which bad input leaves as it
# is; and the next one finds nothing of it in its way.
expect 0 run small.yaml --out killed --quiet
expect 2 run small.yaml --out killed --quiet --set 'until=never'
[ -e killed/result.json ] || fail "bad input: what was there is gone"
"$verbena" run long.yaml --out killed --series 1us --series-flows all --quiet --set 'traffic=[{class: a, pattern: ring, size: 900MB}]' >out 2>err &
pid=$!
for _ in $(seq 300); do
	[ ! -s killed/series.csv.part ] || break
	sleep 0.1
done
[ -s killed/series.csv.part ] || fail "no series while it runs"

# While it lasts nobody else writes there, and is told who does.
expect 3 run small.yaml --out killed --quiet
grep -qx "verbena: killed: process $pid is writing its results there" err || fail "not told who has it"
kill -KILL $pid
wait $pid || true
for name in result.json report.html flows.csv requests.csv ports.csv counters.json run.json inputs/0-small.yaml; do
	[ ! -e killed/$name ] || fail "killed, and $name is that of the run before"
done
expect 0 run small.yaml --out killed --quiet
parts killed
[ ! -e killed/series.csv ] || fail "series that nobody asked for"

# Names that lead elsewhere: removed, neither followed nor waited for.
mkdir odd
echo mine >mine
for name in result.json flows.csv series.csv; do
	ln -s ../mine odd/$name.part
done
ln -s ../mine odd/ports.csv
mkfifo odd/counters.json.part odd/series_flows.csv.part odd/run.json
timeout 60 "$verbena" run small.yaml --out odd --series 1us --series-flows all --quiet >out 2>err || fail "exit $?"
[ "$(cat mine)" = mine ] || fail "written through a link"
parts odd
for name in result.json flows.csv ports.csv counters.json run.json series.csv series_flows.csv; do
	[ -f odd/$name ] && [ ! -h odd/$name ] || fail "odd/$name is no file"
done
# One that is put there while the run lasts.
"$verbena" run long.yaml --out late --series 1us --series-flows all --quiet --set 'traffic=[{class: a, pattern: ring, size: 60MB}]' >out 2>err &
pid=$!
for _ in $(seq 3000); do
	[ ! -s late/series.csv.part ] || break
	sleep 0.01
done
ln -s ../mine late/result.json.part
[ ! -e late/result.json ] || fail "the run was over before the link was there"
wait $pid || fail "exit $?: $(cat err)"
[ "$(cat mine)" = mine ] || fail "written through a link that came late"
[ -f late/result.json ] && [ ! -h late/result.json ] || fail "late/result.json is no file"
parts late
printf 'scenario: small.yaml\nseeds: 1\n' >plan.yaml
expect 0 sweep plan.yaml --out sweep --quiet
for run in sweep/runs/*.json; do
	mv "$run" kept.json
	ln -s ../../mine "$run.part"
done
expect 0 sweep plan.yaml --out sweep --quiet
[ "$(cat mine)" = mine ] || fail "a sweep writes through a link"

# JUnit: what an older run said is gone, however this one ends.
cat >good.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
traffic: [{class: one, pattern: incast, to: h0, size: 4KB}]
END
gone() { # EXIT ARG...: leaves no JUnit file
	echo '<testsuites failures="0"/>' >old.xml
	expect "$@"
	[ ! -e old.xml ] || fail "$*: an older file is still there"
	[ ! -e old.xml.part ] || fail "$*: a part of it is left"
}
gone 2 run good.yaml --quiet --json --set nonsense=1 --junit old.xml
gone 2 run missing.yaml --quiet --json --junit old.xml
gone 2 run good.yaml --junit old.xml --nonsense
gone 2 run good.yaml --nonsense --junit=old.xml
gone 2 run --junit old.xml
gone 2 run good.yaml --json --trace nonsense --junit old.xml
printf 'expect: ["true"]\n' >>good.yaml
if "$verbena" check good.yaml >out 2>err; then
	gone 2 run good.yaml --json --set 'expect=[.nope]' --junit old.xml
fi
touch file
gone 3 run good.yaml --out file --junit old.xml
cat >full.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
traffic: [{class: one, pattern: incast, to: h0, size: 4KB}]
programs:
END
for i in $(seq 40); do
	echo "  - {name: program_with_a_long_name_$i, run: write_once, hosts: [h0, h1]}" >>full.yaml
done
echo '<testsuites failures="0"/>' >old.xml
status=0
(ulimit -f 4 && exec "$verbena" run full.yaml --quiet --json --junit old.xml >/dev/null 2>err) || status=$?
[ $status = 3 ] || fail "a full disk: exit $status"
grep -qx 'verbena: old.xml: File too large' err || fail "a full disk: not told"
[ ! -e old.xml ] && [ ! -e old.xml.part ] || fail "half of a JUnit file, or an older one: $(wc -c <old.xml)"
expect 0 run full.yaml --quiet --json --junit old.xml
grep -q 'tests="40" failures="0"' old.xml || fail "no JUnit file"

# What is no file of its folder is written as it stands.
expect 0 run full.yaml --quiet --out full --junit /dev/stdout
grep -q '^<testsuites .*tests="40" failures="0"' out || fail "nothing on stdout"
ln -s target.xml link.xml
echo '<testsuites failures="0"/>' >target.xml
expect 2 run missing.yaml --junit link.xml
[ ! -s target.xml ] || fail "an older file behind a link"
expect 0 run full.yaml --quiet --json --junit link.xml
grep -q 'tests="40" failures="0"' target.xml || fail "nothing behind a link"
