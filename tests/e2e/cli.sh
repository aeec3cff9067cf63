#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Words, options and exit codes of the command.
. "$(dirname "$0")/lib.sh"

expect 0 --version
grep -q '^verbena [0-9]' out || fail "no version"
expect 0 --help
grep -q '^usage: verbena' out || fail "no usage"
expect 0 help run
grep -q -- '--through-wire' out || fail "help run lacks an option"
expect 0 topo --help
grep -q -- '--dot' out || fail "topo --help lacks an option"
cp out long
expect 0 topo -h
cmp -s out long || fail "-h is not --help"
rm long
expect 2
[ ! -s out ] || fail "usage is not for stdout"

# What this version does not have is unknown, and says so in one line.
for word in replay exec devices doctor nonsense ''; do
	expect 2 "$word" x
	[ "$(wc -l <err)" = 1 ] || fail "\"$word\": not one line"
	grep -q 'expected a command' err || fail "\"$word\": another line"
done
for args in "run" "check" "topo" "run a b" "run --nonsense small.yaml" "run --thr 2 small.yaml" \
	"run --threads 0 small.yaml" "run --threads x small.yaml" "run --threads small.yaml" \
	"run --seed -1 small.yaml" "run --seed 18446744073709551616 small.yaml" \
	"run --seed 1x small.yaml" "run --seed" "run --json=yes small.yaml" \
	"run --set until small.yaml" "run --junit= small.yaml" "run --dot small.yaml" \
	"check --json small.yaml" "topo --threads 2 small.yaml" "help nonsense"; do
	# shellcheck disable=SC2086
	expect 2 $args
	[ ! -s out ] || fail "verbena $args: something on stdout"
	[ "$(wc -l <err)" = 1 ] || fail "verbena $args: not one line"
done
expect 2 run --out '' small.yaml
expect 2 run --until nonsense small.yaml
expect 2 run --set switch.nonsense=1 small.yaml

# Bad input: a line an error, and nothing is written.
printf 'version: 1\ntopology: {kind: star, hosts: 4}\nuntil: 5 parsecs\nnonsense: 1\n' >bad.yaml
expect 2 run bad.yaml --pcap x.pcapng
grep -q '^bad.yaml:3: until: found .*, expected ' err || fail "no line about until"
grep -q '^bad.yaml:4: nonsense: found .*, expected ' err || fail "no line about nonsense"
[ "$(grep -c '^bad.yaml:[0-9]*: ' err)" = "$(wc -l <err)" ] || fail "other lines"
expect 2 run --out there bad.yaml
expect 2 run missing.yaml
sed 's/run: ring/run: no_such_program/' small.yaml >lost.yaml
expect 2 run lost.yaml
grep -q '^lost.yaml:10: programs.0.run: found "no_such_program", expected a program (.*)$' err || fail "no line about the program"
nothing_else small.yaml bad.yaml lost.yaml

# check: all of them, and the worst decides.
expect 0 check small.yaml
grep -q '^small.yaml: ok' out || fail "check says nothing"
expect 2 check small.yaml bad.yaml lost.yaml
[ "$(grep -c '^bad.yaml:' err)" = 2 ] || fail "check: not both errors"
grep -q '^lost.yaml:' err || fail "check: nothing about the program"
grep -q '^small.yaml: ok' out || fail "check stops at an error"
expect 0 check --quiet small.yaml
[ ! -s out ] || fail "check --quiet says something"
expect 0 check --schema
grep -q 'switch.ecn.kmin' out || fail "no schema"

# A program that fails, and ranks that wait for ever.
cat >fails.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
programs: [{run: write_once, hosts: [h0, h1]}]
faults: [{link: h0-s0, loss: 100%}]
END
expect 1 run fails.yaml --quiet --json
grep -q 'write_once' err || fail "no line about the program that failed"
