#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Lessons: every line to type does what the page shows, nothing is passed that was not found, what was found
# passes, and every near miss does not.
. "$(dirname "$0")/lib.sh"
PATH=$(dirname "$verbena"):$PATH

cat >type.py <<'END'
"""PAGE: types each of its lines in the current folder; what is shown below one is said, line by line, and
nothing in between but where the page has "..."."""
import re, subprocess, sys
typed = shown = 0
for block in re.findall(r"^```\n(.*?)^```", open(sys.argv[1]).read(), re.S | re.M):
    said = None
    for line in block.splitlines():
        if line.startswith("$ "):
            done = subprocess.run(["bash", "-o", "pipefail", "-c", line[2:]], capture_output=True, text=True)
            is_check = line.endswith(" --check")
            assert done.returncode == (1 if is_check else 0), (line, done.returncode, done.stderr)
            said, at = done.stdout.splitlines(), None
            typed += 1
        elif line == "...":
            at = None
        elif said is not None:
            assert line in said if at is None else said[at:at + 1] == [line], (line, said)
            at = said.index(line, at or 0) + 1
            shown += 1
assert typed >= 5, typed
print(f"{typed} typed, {shown} shown")
END

# answers NUMBER [LINE...]: lesson-NUMBER.answers.yaml
answers() {
	number=$1
	shift
	printf '%s\n' "$@" >"lesson-$number.answers.yaml"
}

# judged STATUS NUMBER RIGHT...: --check ends so, and says of these and no others that they are right
judged() {
	expect "$1" lesson "$2" --check
	[ ! -s err ] || fail "lesson $2: something on stderr"
	number=$2
	shift 2
	sed -n "s/^lesson $number: \([a-z_]*\)  *right\$/\1/p" out | tr '\n' ' ' >found
	[ "$(cat found)" = "${*:+$* }" ] || fail "lesson $number: right are \"$(cat found)\", expected \"$*\""
}

# refused NUMBER TEXT LINE...: these answers are bad input, told in one line
refused() {
	number=$1 text=$2
	shift 2
	answers "$number" "$@"
	expect 2 lesson "$number" --check
	[ ! -s out ] && [ "$(wc -l <err)" = 1 ] || fail "lesson $number: not one line on stderr"
	grep -qF "$text" err || fail "lesson $number: other words, expected $text"
}

expect 0 lesson
[ "$(wc -l <out)" = 3 ] || fail "not three lessons"
for page in "$root"/docs/lessons/*.md; do
	number=$(basename "$page" | sed 's/-.*//')
	expect 2 lesson "$number" --check
	grep -q "^lesson-$number.answers.yaml: answers: .*; type \"verbena lesson $number\" first" err || fail "lesson $number: no answers are no bad input"
	expect 0 lesson "$number"
	head -n "$(wc -l <"$page")" out | cmp - "$page" || fail "lesson $number shows another page"
	for file in "lesson-$number.yaml" "lesson-$number.answers.yaml"; do
		cmp "$file" "$root/docs/lessons/$file" || fail "lesson $number gives another $file"
	done
	judged 1 "$number"
	grep -q "not yet: " out || fail "lesson $number: no hint"
	# The learner's files stay.
	echo "mine: 1" >"lesson-$number.answers.yaml"
	expect 0 lesson "$number"
	[ "$(cat "lesson-$number.answers.yaml")" = "mine: 1" ] || fail "the learner's file is gone"
	cp "$root/docs/lessons/lesson-$number.answers.yaml" .
	python3 type.py "$page" || fail "$page: other lines"
done

# Thresholds come out by hand, of what the pages and explain say: buffer, headroom, what is there, alpha.
python3 - "$root" <<'END' || fail "thresholds are others"
import glob, re, subprocess, sys
sums = 0
for page in sorted(glob.glob(f"{sys.argv[1]}/docs/lessons/*.md")):
    for parts, alpha, result in re.findall(r"\(([0-9 -]+)\) / (\d+) = (\d+)", open(page).read()):
        first, *others = map(int, parts.split(" - "))
        assert (first - sum(others)) // int(alpha) == int(result), (page, parts)
        sums += 1
assert sums == 2, sums
for run, alpha in ("lesson-2.yaml", 4), ("lesson-3.yaml", 8):
    text = subprocess.run(["verbena", "explain", run, "--why", "pfc"], stdout=subprocess.PIPE, text=True, check=True).stdout
    limit = int(re.search(r"the threshold was (\d+)", text)[1])
    queue = int(re.search(r"above all for h0: (\d+) bytes", text)[1])
    size, room, rest = map(int, re.search(r"^Of the buffer of \S+, (\d+) bytes, (\d+) are headroom, .* the other (\d+)\.$", text, re.M).groups())
    assert size - room == rest and (rest - queue - 4178) // alpha == limit, text
END

# What is right, as a learner finds it: in the files of runs and in what explain says.
verbena run lesson-1.yaml --quiet --out one >out
time=$(awk -F, '$1 == "wr0" { print $13 }' one/requests.csv)
verbena explain one wr0 --why slow >parts
packets=$(sed -n 's/^\([0-9]*\) packets left.*/\1/p' parts)
ack=$(sed -n 's/^  the acknowledgement: wires and switches *\([0-9.]* us\) .*/\1/p' parts | tr -d ' ')
best=$(for mtu in 256 512 1024 2048 4096; do
	verbena run lesson-1.yaml --quiet --out mtu --set nic.mtu=$mtu >out
	awk -F, -v mtu=$mtu '$1 == "wr0" { print $13, mtu }' mtu/requests.csv
done | sort -n | sed -n '1s/.* //p')
answers 1 "packets: $packets" "time: ${time}ps" "ack: $ack" "set: {nic.mtu: $best}"
judged 0 1 packets time ack set
grep -qx "lesson 1: passed" out || fail "not passed"
# Whatever the learner's own scenario says.
echo "version: 1" >lesson-1.yaml
judged 0 1 packets time ack set
for mtu in 256 512 1024 2048 4096; do
	[ $mtu = "$best" ] || { answers 1 "packets: $packets" "time: ${time}ps" "ack: $ack" "set: {nic.mtu: $mtu}" && judged 1 1 packets time ack; }
done
answers 1 "packets: $((packets + 1))" "time: $((time * 102 / 100))ps" "ack: 4.1us" "set: {nic.mtu: $best}"
judged 1 1 set
answers 1 "packets: $((packets - 1))" "time: $((time * 98 / 100))ps" "ack: 1ps" "set: {}"
judged 1 1
# Three digits are enough, but one who forgets the wire time of the acknowledgement, once or twice, is wrong.
short=$(awk -v t="${ack%us}" 'BEGIN { printf "%.2fus", t }')
answers 1 "packets: $packets" "time: ${time}ps" "ack: $short" "set: {nic.mtu: $best}"
judged 0 1 packets time ack set
for near in 2us "$(awk -v t="${ack%us}" 'BEGIN { printf "%.5fus", t - 0.00688 }')"; do
	answers 1 "packets: $packets" "time: ${time}ps" "ack: $near" "set: {nic.mtu: $best}"
	judged 1 1 packets time set
done
answers 1 "time: ${time}ps"
judged 1 1 time
! grep -qE "$packets|$time|$ack|$best" out || fail "a hint has the answer"

verbena run lesson-2.yaml --quiet --out two >out
verbena explain two 2 --why slow >parts
paused=$(sed -n 's/^  paused *\([0-9.]* us\) .*/\1/p' parts)
verbena explain two --why pfc >why
chain=$(sed -n 's/^The longest chain, \([0-9]*\) pauses.*/\1/p' why)
switch=$(sed -n '$s/.*nobody had paused \([a-z0-9]*\) towards .*/\1/p' why)
towards=$(sed -n '$s/.* towards \([a-z0-9]*\);.*/\1/p' why)
all2() { answers 2 "switch: $switch" "towards: $towards" "chain: $chain" "paused: $paused" "set: $1"; }
for good in "{traffic.victim.priority: 4}" "{traffic.victim.priority: 2}"; do
	all2 "$good"
	judged 0 2 switch towards chain paused set
done
for bad in "{}" "{switch.alpha: 1}" "{switch.buffer: 2MB}" "{switch.buffer: 8MB}" "{traffic.victim.priority: 3}"; do
	all2 "$bad"
	judged 1 2 switch towards chain paused
done
answers 2 "switch: right" "towards: h1" "chain: $((chain + 1))" "paused: 102us" "set: {switch.buffer: 8MB}"
judged 1 2
grep -q '^lesson 2: set  *not yet: .*4MB' out || fail "any switch may be bought"

verbena run lesson-3.yaml --quiet --out three --trace all >trace
pause=$(verbena explain three --why pfc | sed -n 's/^  \([0-9.]* us\): s0 held .*/\1/p' | tr -d ' ')
cnp=$(sed -n 's/^\([0-9.]* us\)  s0 > h[0-9]*  CNP .*/\1/p' trace | sed -n '1s/ //p')
senders=$(for n in $(seq 1 32); do
	verbena run lesson-3.yaml --json --set "traffic.burst.from=h[1-$n]" >json
	python3 -c 'import json, sys; sys.exit(json.load(open("json"))["pfc"]["pause_sent"] == 0)' && echo "$n"
done | head -n 1)
all3() { answers 3 "first_pause: $pause" "first_cnp: $cnp" "senders: $senders" "set: $1"; }
for good in "{switch.buffer: 4MB}" "{traffic.burst.spread: 150us}" "{switch.buffer: 4MB, switch.alpha: 1}" \
	"{switch.buffer: 3500KB, nic.window: 12, nic.ack_every: 1}"; do
	all3 "$good"
	judged 0 3 first_pause first_cnp senders set
done
for bad in "{switch.ecn.kmin: 1KB, switch.ecn.kmax: 2KB}:still pauses" "{switch.buffer: 32MB}:4MB" "{nic.window: 4}:alone" \
	"{switch.buffer: 3500KB, nic.window: 12}:alone" "{switch.buffer: 3500KB, nic.ack_every: 1}:still pauses" \
	"{traffic.burst.spread: 900us}:burst as a whole" "{}:nothing is set"; do
	all3 "${bad%:*}"
	judged 1 3 first_pause first_cnp senders
	grep -q "^lesson 3: set  *not yet: .*${bad##*:}" out || fail "lesson 3, $bad: another hint"
done
answers 3 "first_pause: $cnp" "first_cnp: $pause" "senders: $((senders - 1))" "set: {switch.buffer: 4MB}"
judged 1 3 set

# Bad input.
refused 1 'lesson-1.answers.yaml:1: packets: found "five", expected a whole number' "packets: five"
refused 1 'lesson-1.answers.yaml:2: time: found "5", expected a time such as 1.5us' "packets: 5" "time: 5"
refused 1 'lesson-1.answers.yaml:1: set: found switch.buffer, expected nic.mtu' "set: {switch.buffer: 1MB}"
refused 1 'lesson-1.answers.yaml:3: nic.mtu: found "1500", expected' "packets: 5" "set:" "  nic.mtu: 1500"
refused 1 'lesson-1.answers.yaml:1: answer: found "5", expected' "answer: 5"
refused 1 'lesson-1.answers.yaml:1: ' "- 5"
refused 2 'lesson-2.answers.yaml:1: switch: found a list, expected the name' "switch: [left]"
refused 2 'lesson-2.answers.yaml:1: set: found "all", expected a map of keys' "set: all"
refused 3 'lesson-3.answers.yaml:1: switch.alpha: found a map, expected a value' "set: {switch.alpha: {a: 1}}"
for args in "lesson 0" "lesson 4" "lesson x" "lesson 1x" "lesson 1 2" "lesson --check" "lesson 4 --check" "lesson 1 --json"; do
	# shellcheck disable=SC2086
	expect 2 $args
	[ ! -s out ] && [ "$(wc -l <err)" = 1 ] || fail "verbena $args: not one line on stderr"
done

status=0
"$verbena" lesson 2 >/dev/full 2>err || status=$?
[ "$status" = 3 ] && [ "$(cat err)" = "verbena: stdout: it could not be written: No space left on device" ] || fail "a full disk is not told"

# A folder that cannot be written, and files that are elsewhere by a link.
rm -f lesson-*.yaml
ln -s nowhere lesson-1.yaml
expect 0 lesson 1
[ ! -e nowhere ] && [ -L lesson-1.yaml ] && [ -f lesson-1.answers.yaml ] || fail "a link was followed"
if [ "$(id -u)" != 0 ]; then
	mkdir shut && chmod a-w shut && cd shut
	expect 3 lesson 1
	cd ..
fi
