#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# report.html as a browser shows it: the drawing, a moment of it and what is said of pauses are what the other
# files and the trace of the run say.
. "$(dirname "$0")/lib.sh"
. "$root/tests/e2e/browser.sh"

# Pauses that spread, and a storm that no buffer asked for.
for run in victim pfc_storm; do
	expect 0 run "$root/traces/incidents/$run.yaml" --out $run --trace all
	mv out $run/trace.txt
	page $run ""
	holds_in $run whole
	holds_in $run pauses
	holds_in $run flows
	case $run in
	victim)
		holds_in victim cure nic.cc dcqcn
		grep -q '<code>verbena explain victim [0-9]* --why slow</code>' dom.html || fail "no command for the slowest"
		;;
	*)
		holds_in $run cure switch.pfc.watchdog.detection 1ms
		grep -q 'did not complete, such as flow 0 .*verbena explain pfc_storm 0 --why slow' dom.html || fail "nothing to ask about flow 0"
		;;
	esac
done
for t in 100000000 3000000000 9750000000 13100000000; do
	page victim "t=$t"
	holds_in victim moment $t
done
page pfc_storm "t=20000000"
holds_in pfc_storm moment 20000000

# Where nothing happens no panel is empty without a word.
printf 'version: 1\ntopology: {kind: star, hosts: 2}\n' >none.yaml
expect 0 run none.yaml --out none
page none ""
grep -q 'Nothing was recorded over time' dom.html || fail "nothing about what is not there"

# A host that is slow has no queue to blame.
expect 0 run "$root/traces/incidents/slow_receiver.yaml" --out slow
page slow ""
grep -q 'it took packets in more slowly than its link brought them' dom.html || fail "h0 is not slow"
