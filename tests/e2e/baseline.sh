#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Expectations against a run that is kept: $baseline is its result.
# shellcheck disable=SC2016 # $baseline is no variable of the shell
. "$(dirname "$0")/lib.sh"

cat >plain.yaml <<'END'
version: 1
name: fabric
topology: {kind: star, hosts: 5}
switch: {buffer: 1MiB, pfc: {}}
traffic:
  - {class: incast, pattern: incast, to: h0, size: 100KB}
  - {class: late, pattern: incast, to: h1, size: 1KB, start: 1s}
until: 2s
END
with() { # FILE EXPRESSION...
	with_expectations plain.yaml "$@"
}
with gate.yaml '.fct.incast.p99_ps <= $baseline.fct.incast.p99_ps * 1.1' '.drops.buffer == $baseline.drops.buffer'
judges_expectations gate.yaml || {
	echo "SKIP: built without libjq"
	exit 77
}

with ratio.yaml '.pfc.pause_sent / $baseline.pfc.pause_sent <= 1.1' '(.queue.max_bytes - 5) / ($baseline.queue.max_bytes + 1) < 2'
expect 0 check ratio.yaml

# Without a baseline it cannot be said, and nobody shall believe that it was.
expect 2 run gate.yaml --out none
grep -qx 'gate.yaml:10: expect\[0\]: found $baseline, expected --baseline RUN beside it, the result to compare with' err ||
	fail "another line without a baseline"
[ "$(wc -l <err)" = 2 ] || fail "not a line for each"
[ ! -e none ] || fail "bad input has written something"
expect 2 run gate.yaml --baseline nowhere
grep -qx 'nowhere: baseline: found no such file: "nowhere", expected a file that can be read' err || fail "another line about what is not there"

# The first is made without expectations; the folder or the file, a run like it holds.
expect 0 run gate.yaml --set 'expect=[]' --quiet --out main
for baseline in main main/result.json; do
	expect 0 run gate.yaml --baseline $baseline --quiet --out same --junit same.xml
	holds same/result.json '[e["held"] for e in r["expect"]] == [True, True]'
	p99=$(sed -n 's/.*"p99_ps": \([0-9]*\),.*/\1/p' main/result.json | head -1)
	holds same/result.json "r['expect'][0]['found'].startswith('.fct.incast.p99_ps is $p99 (')"
	holds same/result.json "', \$baseline.fct.incast.p99_ps is $p99 (' in r['expect'][0]['found']"
done
! grep -q '<failure' same.xml || fail "a failure of a run that holds"

# One of another version is told in a line; what came of that is the reader's to say.
sed 's/"version": ".*"/"version": "0.0.9 (abc)"/' main/result.json >aged.json
for command in "run gate.yaml --out same" "sweep aged.yaml --out aged"; do
	printf 'scenario: gate.yaml\n' >aged.yaml
	# shellcheck disable=SC2086
	expect 0 $command --baseline main
	[ ! -s err ] || fail "$command: something is said of a baseline of this version"
	# shellcheck disable=SC2086
	expect 0 $command --baseline aged.json
	[ "$(cat err)" = "verbena: aged.json: that baseline is of version 0.0.9 (abc), and this is $("$verbena" --version | sed 's/^verbena //'): what differs may come from that" ] ||
		fail "$command: another line of a baseline of another version"
done

# One that is worse fails, with both figures.
expect 1 run gate.yaml --baseline main --quiet --out worse --junit worse.xml --set traffic.incast.size=120KB
grep -qE '^verbena: expected \.fct\.incast\.p99_ps <= \$baseline\.fct\.incast\.p99_ps \* 1\.1: found \.fct\.incast\.p99_ps is [0-9]+ \([0-9.]+ us\), \$baseline\.fct\.incast\.p99_ps is '"$p99"' \(' err ||
	fail "it is not told what was found"
[ "$(grep -c '<failure' worse.xml)" = 1 ] || fail "other failures"
[ "$(digest_of out)" ] || fail "no digest"
expect 0 run gate.yaml --baseline main --quiet --out better --set traffic.incast.size=105KB

# What the baseline does not have is bad input before the run; so is another meaning of its name.
bad() { # EXPRESSION FOUND EXPECTED
	with bad.yaml "$1"
	expect 2 run bad.yaml --baseline main --out none
	grep -qxF "bad.yaml:10: expect[0]: found $2, expected $3" err || fail "$1: another line"
	[ ! -e none ] || fail "bad input has written something"
}
fields='fields that the result of the baseline has'
bad '.drops.buffer <= $baseline.drops.bufer' '$baseline.drops.bufer, which is not there' "$fields"
bad '.fct.incast.p99_ps <= ($baseline | .fct.incst.p99_ps)' '$baseline.fct.incst, which is not there' "$fields"
bad '.fct.incast.p99_ps <= $baseline["fct"].incast["p98_ps"]' '$baseline.fct.incast.p98_ps, which is not there' "$fields"
bad '[$baseline.fct[] | .p98_ps] | max > .drops.buffer' '.p98_ps, which is not there' 'fields that the result of this scenario has'
bad '1 as $baseline | $baseline == 1' '"as $baseline"' 'an expression over the result and nothing else'
bad '$baseline.fct' "$(python3 -c 'import json; print(json.dumps(json.load(open("main/result.json"))["fct"], separators=(",", ":"))[:255])')" \
	'a jq expression that is true or false'

# What was over nothing in the baseline passes in no way.
expect 0 run plain.yaml --until 1ms --quiet --out short
holds short/result.json 'r["fct"]["late"]["p99_ps"] is None'
never() { # EXPRESSION
	with never.yaml "($1) and .flows.failed >= 0"
	expect 1 run never.yaml --baseline short --quiet --out odd
	expect 1 run never.yaml --baseline short --quiet --out odd --until 1ms
}
never '.fct.late.p99_ps >= $baseline.fct.late.p99_ps'
never '.fct.late.p99_ps <= $baseline.fct.late.p99_ps'
never '.fct.late.p99_ps == $baseline.fct.late.p99_ps'
never '$baseline.fct.late.p99_ps == null'
never '($baseline.fct.late.p99_ps // 0) >= 0'
never '($baseline | getpath(["fct", "late", "p99_ps"])) < 5'
never '[$baseline | .. | numbers] | length < 1000 and min >= 0'
grep -q 'values over nothing, such as \$baseline.fct.late\|values over nothing, such as .fct.late' err || fail "nothing about what is over nothing"
with never.yaml '.fct.late.p99_ps >= $baseline.fct.late.p99_ps'
expect 1 run never.yaml --baseline short --quiet --out odd
grep -qF '$baseline.fct.late.p99_ps is null (over nothing)' err || fail "null is not told"

# What the baseline says of .flows is nothing that this run has thought of.
with thought.yaml '$baseline.flows.failed == 0'
expect 1 run thought.yaml --baseline main --quiet --out odd --until 1ms

# No result of a run that came to its end: bad input.
refused() { # LINE
	expect 2 run gate.yaml --baseline odd.json --out none
	grep -qxF "$1" err || fail "no line: $1"
	[ ! -e none ] || fail "bad input has written something"
}
edit() { # SED LINE
	sed "$1" main/result.json >odd.json
	! cmp -s main/result.json odd.json || fail "$1 changes nothing"
	refused "$2"
}
edit 's/"partial": false/"partial": true/' 'odd.json:1: partial: found true, expected false: a run that came to its end'
edit 's/"schema": 2/"schema": 1/' 'odd.json:1: schema: found 1, expected 2'
edit 's/"digest": "./"digest": "X/' "$(sed -n 's/ *"digest": "./odd.json:1: digest: found "X/; s/^\(odd.*"\),$/\1, expected 16 hexadecimal digits/p' main/result.json)"
echo '{' >odd.json
expect 2 run gate.yaml --baseline odd.json --out none
grep -q '^odd.json:[0-9]*: baseline: found .*, expected the result of a run$' err || fail "no JSON: another line"

# The page of the run, made again elsewhere, judges as the run has.
rm -rf main.kept far
mv main main.kept
mkdir far
mv same worse far
cd far
for run in same worse; do
	expect 0 report $run
	grep -qF "\$baseline.fct.incast.p99_ps is $p99" $run/report.html || fail "$run: not judged against the baseline"
done
cd ..
mv main.kept main
expect 0 report gate.yaml --out page
grep -q 'not judged: there is no baseline' page/report.html || fail "a scenario's page judges without a baseline"

# A sweep: each run against it, and another baseline is another run.
printf 'scenario: gate.yaml\nset: {traffic.incast.size: [100KB, 150KB]}\nseeds: 2\n' >plan.yaml
expect 2 sweep plan.yaml --out swept
expect 1 sweep plan.yaml --baseline main --out swept
[ "$(cut -d, -f7 swept/sweep.csv | tr '\n' ' ')" = "expectations_failed 0 0 1 1 " ] || fail "sweep: $(cat swept/sweep.csv)"
expect 1 sweep plan.yaml --baseline main/result.json --out swept
grep -q '^4 runs, 4 of them from before' out || fail "the same baseline is another one"
expect 1 sweep plan.yaml --baseline far/worse --out swept
grep -q '^4 runs, 0 of them from before' out || fail "another baseline, and the runs of before"
