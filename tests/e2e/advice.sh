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
		# What the program itself does no key mends, nor what is broken.
		case $name in
		rnr_storm | pageable | stale_read | managed_thrash | nvlink_lost) ;;
		*) fail "$name: nothing to try" ;;
		esac
	fi
	expect 0 run "$name-cure" --quiet --out good
	tell mute "$name" good
	case $name in
	mtu_mismatch | victim | watchdog | rnr_storm | ecn_late | acs_on | stale_read)
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

# Where a port has thresholds of its own, by the rate of its link, those are told.
sed 's/ecn: {kmin: 4MB, kmax: 8MB}/ecn: {kmin: 40KB, kmax: 200KB}, by_rate: [{rate: 100Gbps, kmin: 4MB, kmax: 8MB}]/' \
	"$root/traces/incidents/ecn_late.yaml" >rates.yaml
expect 0 explain rates.yaml --why cure
grep -q '^    switch\.by_rate: found 4\.00 MB;' out || fail "no word of the list"
tr '\n' ' ' <out | grep -q 'A queue is marked from 4\.00 MB on (kmin)' || fail "marked by the switch's own"

# A threshold is low where the buffer is mostly headroom, which nobody else fills: the burst is the trouble, and what is
# to be tried mends it.
cat >headroom.yaml <<'END'
version: 1
topology: {kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 4}
switch: {buffer: 512KiB, ecn: {kmin: 100KB, kmax: 400KB, pmax: 20%}, pfc: {priorities: [3]}}
nic: {cc: dcqcn}
traffic: [{class: incast, pattern: incast, to: h1, from: "h[8-15]", size: 300KB, start: 40us}]
END
expect 0 explain headroom.yaml --why cure
grep -q '^1\. The first burst is more than the buffer takes$' out || fail "another cause: $(cat out)"
! grep -q 'waits elsewhere' out || fail "others are said to fill the buffer"
expect 0 run headroom.yaml --json
cp out before
calmer() { # there is less pausing by far
	python3 - <<'END'
import json
before, after = (json.load(open(name))["pfc"]["paused_ps"] for name in ("before", "after"))
assert after < 0.7 * before, (before, after)
END
}
tries() { # SCENARIO: what it is told to set first, as options
	expect 0 explain "$1" --why cure
	sed -n "s/^  Try it: verbena run $1 \(.*\) --out try-[1-9]$/\1/p" out | head -1
}
# shellcheck disable=SC2046
expect 0 run headroom.yaml --json $(tries headroom.yaml)
cp out after
calmer || fail "what is to be tried does not mend it"

# There the windows of all are more than the buffer, so room was the advice; where they fit, it is the window. One that
# is to be tried leaves a lone flow as fast as it was, over one switch or three, with large packets or small ones, and
# so does the one that is named for ACKs as they are.
for topology in "kind: star, hosts: 16" "kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 4"; do
	for mtu in 4096 1024; do
		sed "s/^topology.*/topology: {$topology}/; s/cc: dcqcn/cc: dcqcn, mtu: $mtu/; s/512KiB/2MB/; s/8-15/9-15/; s/300KB/1MB/" \
			headroom.yaml >burst.yaml
		sed 's/^traffic.*/traffic: [{class: lone, pattern: incast, to: h1, from: h15, size: 1MB}]/' burst.yaml >lone.yaml
		tries=$(tries burst.yaml)
		grep -q '^    nic\.ack_every: found 64, try 1$' out || fail "$topology: ACKs as before: $(cat out)"
		coalesced=$(tr '\n' ' ' <out | tr -s ' ' | sed -n 's/.* a lone flow needs a window of \([0-9]*\)\..*/\1/p')
		for options in "$tries" "--set nic.window=$coalesced"; do
			# shellcheck disable=SC2086
			expect 0 run lone.yaml --json $options
			holds out "r['fct']['lone']['slowdown_mean'] <= 1.01"
		done
		expect 0 run burst.yaml --json
		cp out before
		# shellcheck disable=SC2086
		expect 0 run burst.yaml --json $tries
		cp out after
		calmer || fail "$topology, $mtu: what is to be tried does not mend it"
		# Nor is it much more than that.
		window=$(echo "$tries" | sed 's/.*nic\.window=\([0-9]*\).*/\1/')
		expect 0 run lone.yaml --json --set nic.ack_every=1 --set nic.window=$((window * 9 / 10))
		holds out "r['fct']['lone']['slowdown_mean'] > 1.01"
	done
done

# Where all that waits is for the place where it waits, nobody else is hurt by pauses, and what is to be tried has its
# price; one flow to another host through a paused port is a bystander.
cat >eight.yaml <<'END'
version: 1
topology: {kind: star, hosts: 10}
switch: {buffer: 1MiB, pfc: {}}
traffic: [{class: in, pattern: incast, to: h0, from: "h[1-8]", size: 1MB}]
END
expect 0 run eight.yaml --json
p99=$(python3 -c 'import json; print("%.3g" % (json.load(open("out"))["fct"]["in"]["p99_ps"] / 1e6))')
for file in eight.yaml "$root/traces/incidents/ecn_late.yaml"; do
	expect 0 explain "$file" --why cure
	tr '\n' ' ' <out | tr -s ' ' | grep -q 'But no bystander is hurt by these pauses: .* trades pauses for time' ||
		fail "$file: no word of the price"
done
expect 0 explain eight.yaml --why cure
tr '\n' ' ' <out | tr -s ' ' | grep -q "; p99 is $p99 us now, and the last end at $p99 us\." || fail "another p99 than $p99"
sed 's/size: 1MB}/size: 1MB}, {class: by, pattern: incast, to: h9, from: h1, size: 100KB, start: 30us}/' eight.yaml >by.yaml
for file in by.yaml "$root/traces/incidents/victim.yaml"; do
	expect 0 explain "$file" --why cure
	grep -q '^1\. Nothing slows the senders down' out || fail "$file: another cause"
	! tr '\n' ' ' <out | grep -q 'bystander' || fail "$file: the bystander is not seen"
done
