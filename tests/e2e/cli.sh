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
for word in device nonsense ''; do
	expect 2 "$word" x
	[ "$(wc -l <err)" = 1 ] || fail "\"$word\": not one line"
	grep -q 'expected a command' err || fail "\"$word\": another line"
done
for args in "run" "check" "topo" "run a b" "run --nonsense small.yaml" "run --thr 2 small.yaml" \
	"run --threads 0 small.yaml" "run --threads x small.yaml" "run --threads small.yaml" \
	"run --seed -1 small.yaml" "run --seed 18446744073709551616 small.yaml" \
	"run --seed 1x small.yaml" "run --seed" "run --json=yes small.yaml" \
	"replay x.vbt" "run --set until small.yaml" "run --junit= small.yaml" "run --dot small.yaml" \
	"check --json small.yaml" "topo --threads 2 small.yaml" "help nonsense"; do
	# shellcheck disable=SC2086
	expect 2 $args
	[ ! -s out ] || fail "verbena $args: something on stdout"
	[ "$(wc -l <err)" = 1 ] || fail "verbena $args: not one line"
done
expect 2 devices x
grep -q 'found "x", expected nothing more (see' err || fail "an argument too many: another line"
expect 2 run --out '' small.yaml
expect 2 run --until nonsense small.yaml
expect 2 run --set switch.nonsense=1 small.yaml
expect 2 run --set switch.buffer= small.yaml
[ "$(cat err)" = '--set:1: switch.buffer: found nothing, expected a value' ] || fail "--set of nothing: another line"
expect 2 run --set 'traffic[1].siz=3KB' small.yaml
grep -q '^--set:1: traffic\[1\]\.siz: found an unknown key, expected a known key such as "size"$' err || fail "--set of a key in a list: another line"
expect 0 run small.yaml --json --set 'traffic.1.size=9KB'
digest=$(grep '"digest"' out)
expect 0 run small.yaml --json --set 'traffic[1].size=9KB'
[ "$(grep '"digest"' out)" = "$digest" ] || fail "--set as messages have it: another run"

# A line that is written over is for terminals that can.
cat >slow.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
traffic: [{class: all, pattern: ring, size: 1TB}]
END
for term in dumb xterm; do
	TERM=$term timeout -s INT 3 python3 -c 'import os, pty, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
pid, fd = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execvp("timeout", ["timeout", "-s", "INT", "2"] + sys.argv[1:])
try:
    while data := os.read(fd, 4096):
        os.write(1, data)
except OSError:
    pass' "$verbena" run slow.yaml --json >seen || true
	[ $term = dumb ] || grep -q "$(printf '\033')" seen || fail "no progress on a terminal"
	[ $term = xterm ] || ! grep -q "$(printf '\033')" seen || fail "escape sequences on a dumb terminal"
done
rm seen slow.yaml

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
grep -v '^    ' out | grep '^[a-z]' >keys
# A whole scenario comes first, and headings part the keys.
[ "$(grep '^==== ' out | tr '\n' ' ')" = "==== the run ==== ==== topology ==== ==== routing ==== ==== switch ==== \
==== switches ==== ==== machine ==== ==== machines ==== ==== nic ==== ==== traffic ==== ==== programs ==== ==== faults ==== ==== expect ==== " ] ||
	fail "other headings"
sed -n '1,/^====/s/^    //p' out >first.yaml
[ "$(wc -l <first.yaml)" = 10 ] || fail "the example has not ten lines"
expect 0 run first.yaml --json
holds out 'r["scenario"] == "first" and r["flows"]["completed"] == 4 and r["pfc"]["pause_sent"] > 0'
expect 0 check --schema --html
python3 - <<'END' || fail "the page is another reference"
import re
from html.parser import HTMLParser
ids, links, text = [], [], []
class Page(HTMLParser):
    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        assert tag not in ("script", "link", "img", "iframe") and "src" not in a
        ids.extend([a["id"]] if "id" in a else [])
        links.extend([a["href"]] if tag == "a" else [])
    def handle_data(self, data):
        text.append(data)
page = open("out").read()
Page().feed(page)
assert ids == open("keys").read().split(), "not each key once, in order"
assert all(l[0] == "#" and l[1:] in ids for l in links) and {l[1:] for l in links} == set(ids)
assert "prefers-color-scheme: dark" in page and "://" not in page and "url(" not in page
assert "marks congestion; without it nothing is marked" in text or "marks congestion" in "".join(text)
END
expect 2 check --html small.yaml

# A program that fails, and ranks that wait for ever.
cat >fails.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4}
programs: [{run: write_once, hosts: [h0, h1]}]
faults: [{link: h0-s0, loss: 100%}]
END
expect 1 run fails.yaml --quiet --json
grep -q 'write_once' err || fail "no line about the program that failed"
