#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What would cure a run, as the page and "explain --why cure" say it: of every incident the key that its cure
# changes, a setting that mends it, and nothing about that key once it is cured.
. "$(dirname "$0")/lib.sh"

tell() { # PART ARG...
	python3 "$root/tests/e2e/advice.py" "$root/traces/incidents" "$@" || fail "$*"
}

count=0
for file in "$root"/traces/incidents/*-cure.yaml; do
	name=$(basename "$file" -cure.yaml)
	expect 0 run "$name" --quiet --out bad
	tell names "$name" bad
	tell settings bad >tries
	if [ -s tries ]; then
		set --
		while IFS= read -r option; do
			set -- "$@" --set "$option"
		done <tries
		expect 1 run "$name" "$@" --json
		# What is sent again less often is not yet sent sooner.
		[ "$name" != lossy_optic ] || holds out "r['fct']['f']['goodput_bps'] > 85e9"
	else
		# What the program itself does no key of the fabric mends.
		[ "$name" = rnr_storm ] || fail "$name: nothing to try"
	fi
	expect 0 run "$name-cure" --quiet --out good
	tell mute "$name" good
	case $name in
	mtu_mismatch | victim | watchdog | rnr_storm | ecn_late)
		expect 0 explain bad --why cure
		tell same bad out
		expect 0 explain good --why cure
		tell same good out
		;;
	esac
	rm -r bad good
	count=$((count + 1))
done
[ "$count" -ge 20 ] || fail "too few"

# Numbers are those of the other files.
for name in headroom_short dscp_mismatch lossy_optic go_back_0 mtu_mismatch watchdog ecn_off; do
	expect 0 run "$name" --quiet --out "$name"
	tell numbers "$name"
done

# Twice the 4.9 ms that the link is down are 9.8; eight tries of 2 * 4.096 us * 2^7 each take 8.4 ms, with 2^8
# 16.8.
expect 0 explain retry_exceeded --why cure
grep -qx '    nic\.timeout: found 5, try 8' out || fail "another timeout outlasts the outage twice over"

# A host that pauses from 50 to 400 us, of which a watchdog obeys the first and the last part.
expect 0 explain watchdog --why cure
tr '\n' ' ' <out | grep -q 'h0 paused s0 from 51\.0 us on, for about 350 us by its frames, ' || fail "another length of the storm"

# Where nothing is wrong it says so, and where no rule fits, too.
cat >calm.yaml <<'END'
version: 1
topology: {kind: star, hosts: 3}
switch: {buffer: 1MiB, pfc: {}}
traffic: [{class: one, pattern: incast, to: h0, from: h1, size: 40KB}]
END
expect 0 run calm.yaml --quiet --out calm
grep -q '<p>Nothing here asks for a cure: ' calm/report.html || fail "a cure for what is well"
printf 'faults: [{link: h1-s0, sender: h1, reorder: 20%%, by: 5us}]\n' | cat calm.yaml - >odd.yaml
expect 0 explain odd.yaml --why cure
grep -q '^The facts of this run do not tell: ' out || fail "it knows what it cannot know"
