#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Expectations: tried before the run, judged after it, told in every form.
. "$(dirname "$0")/lib.sh"

cat >base.yaml <<'END'
version: 1
name: "base"
topology: {kind: star, hosts: 5}
switch: {buffer: 1MiB, pfc: {}}
traffic: [{class: incast, pattern: incast, to: h0, size: 100KB}]
END
with() { # FILE EXPRESSION...
	with_expectations base.yaml "$@"
}
with held.yaml '.drops.buffer == 0' '.fct.incast.p99_ps < (2|ms) and .fct.incast.count == 4'
judges_expectations held.yaml || {
	echo "SKIP: built without libjq"
	exit 77
}
grep -q '2 expectations' out || fail "check does not count them"

expect 0 run base.yaml --json
plain=$(python3 -c 'import json; print(json.load(open("out"))["digest"])')
holds out 'r["expect"] == []'
expect 0 run held.yaml --out held --junit held.xml
grep -q '^holds     .drops.buffer == 0: .drops.buffer is 0$' out || fail "no line about one that holds"
holds held/result.json '[e["held"] for e in r["expect"]] == [True, True]'
holds held/result.json 'r["expect"][0] == {"text": ".drops.buffer == 0", "held": True, "found": ".drops.buffer is 0"}'
holds held/result.json "r['digest'] == '$plain'" # what is expected changes nothing
grep -q 'id="expects"' held/report.html || fail "nothing in the report"

# A rate is told as people read it, too.
with rate.yaml '.fct.incast.goodput_bps > (1|Gbps)'
expect 0 run rate.yaml --quiet --out rate
holds rate/result.json 'r["expect"][0]["found"].endswith(" Gb/s)")'

# A false one: 1, with what was found.
with false.yaml '.drops.buffer == 0' '.fct.incast.p99_ps < (1|us)' '.flows.completed / .flows.posted == 1'
expect 1 run false.yaml --json --junit false.xml
cp out false.json
grep -qx 'verbena: expected .fct.incast.p99_ps < (1|us): found .fct.incast.p99_ps is [0-9]* ([0-9.]* us)' err ||
	fail "it is not told what was found"
[ "$(wc -l <err)" = 1 ] || fail "more is told"
holds false.json '[e["held"] for e in r["expect"]] == [True, False, True]'
python3 - false.xml held.xml <<'END' || fail "not the JUnit file that it should be"
import json, sys
import xml.etree.ElementTree as ET
r = json.load(open("false.json"))
root = ET.parse(sys.argv[1]).getroot()
assert root.tag == "testsuites"
for suite in (root, root[0]):
    assert [suite.get(k) for k in ("tests", "failures", "errors", "skipped")] == ["3", "1", "0", "0"]
assert root[0].tag == "testsuite" and root[0].get("name") == "base"
cases = root[0].findall("testcase")
assert [c.get("name") for c in cases] == [e["text"] for e in r["expect"]]
assert [len(c.findall("failure")) for c in cases] == [0, 1, 0]
assert cases[1].find("failure").get("message") == r["expect"][1]["found"]
assert {p.get("name"): p.get("value") for p in root[0].iter("property")}["digest"] == r["digest"]
assert ET.parse(sys.argv[2]).getroot().get("failures") == "0"
END

# What XML and terminals may not see as it stands.
cat base.yaml - >odd.yaml <<'END'
expect: [".scenario == \"<&>'\" and .time_ps == \"\u0007\n\ufffe]]>\""]
END
expect 1 run odd.yaml --quiet --junit odd.xml --out odd
[ "$(wc -l <err)" = 1 ] || fail "a line with a line feed in it"
python3 -c 'import xml.etree.ElementTree as E
name = E.parse("odd.xml").getroot().find(".//testcase").get("name")
assert name == ".scenario == \"<&>\x27\" and .time_ps == \"\ufffd\n\ufffd]]>\"", name' || fail "another name"

# A run that ends early: nobody can say.
expect 3 run held.yaml --json --pcap /dev/full --junit partial.xml
holds out 'r["partial"] and [e["held"] for e in r["expect"]] == [False, False]'
holds out '"ended early" in r["expect"][0]["found"]'
grep -q 'tests="2" failures="0" errors="2"' partial.xml || fail "a partial run is no error"
[ "$(grep -c '<error type="partial" message="the run ended early"/>' partial.xml)" = 2 ] || fail "not each case is an error"
expect 3 run base.yaml --json --pcap /dev/full --junit partial.xml
grep -q 'tests="1" failures="0" errors="1"' partial.xml || fail "a partial run leaves no trace"

# Nor can anybody of one that ends where it was asked to: the exit status and the file say the same.
for options in "held.yaml" "base.yaml --junit broken.xml" "held.yaml --junit broken.xml"; do
	# shellcheck disable=SC2086
	expect 1 run $options --json --break-on 'flow 1 ends'
	grep -qx 'verbena: the run ended at the breakpoint: nothing that was expected is judged' err || fail "$options: no line"
	holds out 'r["partial"] and not any(e["held"] for e in r["expect"])'
done
grep -q 'tests="2" failures="0" errors="2"' broken.xml || fail "a run that was ended is no error"
expect 0 run base.yaml --json --break-on 'flow 1 ends'

# A FIFO is refused before the run: it is not waited for who reads it.
mkfifo junit.fifo
status=0
timeout 60 "$verbena" run held.yaml --json --junit junit.fifo >out 2>err || status=$?
[ $status = 2 ] && [ ! -s out ] || fail "a FIFO for JUnit: exit $status"
[ "$(cat err)" = 'verbena: --junit: found the FIFO junit.fifo, expected a file' ] || fail "a FIFO for JUnit: another line"
[ -p junit.fifo ] || fail "the FIFO is gone"
expect 0 run held.yaml --quiet --out held --junit /dev/stdout
grep -q '^<testsuites ' out || fail "no JUnit on stdout"

# A program that fails is a failure there, too.
cat >program.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
programs: [{run: write_once, hosts: [h0, h1]}]
faults: [{link: h0-s0, loss: 100%}]
expect: [".programs[0].failed + .programs[0].unfinished == 2"]
END
expect 1 run program.yaml --json --junit program.xml
grep -q 'tests="2" failures="1" errors="0"' program.xml || fail "a program that fails is no failure"
holds out 'r["expect"][0]["held"]'

# Slips of the pen: 2, a line, the place; nothing is written.
mkdir empty
refused() { # LINE EXPRESSION
	with bad.yaml 'true' "$2"
	(cd empty && expect 2 run ../bad.yaml --junit x.xml --pcap x.pcapng) || exit 1
	[ -z "$(ls empty)" ] || fail "$2: something was written"
	[ "$(cat err)" = "../bad.yaml:8: expect[1]: found $1" ] || fail "$2: another line"
	expect 2 check bad.yaml
}
bool="expected a jq expression that is true or false"
there="expected fields that the result of this scenario has"
only="expected an expression over the result and nothing else"
refused ".nope, which is not there, $there" '.nope < 5'
refused ".fct.incst, which is not there, $there, such as .fct.incast" '.drops.buffer > 0 and .fct.incst.p99_ps < 5'
refused ".programs[0], which is not there, $there" '.programs[0].failed == 1'
refused ".q, which is not there, $there" '.fct | to_entries | all(.value.q == 1)'
refused "a number, $bool" '.drops.buffer'
refused "syntax error, unexpected IDENT, expecting \$end, expected a unit behind a bar: (1.5|ms)" '.fct.incast.p99_ps < 1.5ms'
refused "syntax error, unexpected IDENT, expecting \$end, expected a unit behind a bar: (64|KiB)" '.drops.buffer < 64KiB'
refused "an expression without a value, $bool" 'empty'
refused "an expression with several values, $bool" '.fct.incast | (.count, .p50_ps) == 0'
refused "syntax error, unexpected \$end, $bool" '.drops.buffer =='
refused "no/0 is not defined, $bool" 'no'
refused "an expression that does not end within 1 s or 1 GiB, $bool" 'def f: f; f'
for word in now env input "\$ENV" debug halt; do
	refused "\"$word\", $only" "$word == 0"
done
with two.yaml '.nope' 'true' '.drops'
expect 2 run two.yaml
[ "$(grep -c '^two.yaml:[79]: expect\[[02]\]: found ' err)" = 2 ] || fail "not both lines"
expect 2 run base.yaml --set 'expect=[".nope == 1"]'
grep -q '^--set:1: expect\[0\]: found .nope, which' err || fail "--set: another line"
expect 0 run base.yaml --json --set 'expect=[".seed == 1"]'
holds out 'r["expect"][0]["held"]'
printf 'version: 1\ntopology: {kind: star, hosts: 4}\nexpect: [[1], {a: 2}]\n' >list.yaml
expect 2 run list.yaml
[ "$(grep -c '^list.yaml:3: expect: found a \(list\|map\), expected a list of texts$' err)" = 2 ] || fail "a list: another line"

# The file cannot be written: 3, before the run.
expect 3 run held.yaml --json --junit no/such/folder.xml
[ ! -s out ] || fail "it ran all the same"
expect 3 run held.yaml --json --junit /dev/full
