#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A run that is interrupted keeps what it has measured, marked partial, and says 128 + n. A program
# that spins ends the run with 3 and a name.
. "$(dirname "$0")/lib.sh"

# Hours of traffic.
cat >long.yaml <<'END'
version: 1
name: long
topology: {kind: star, hosts: 4}
traffic: [{class: all, pattern: ring, size: 1TB}]
END

# has SET NUMBER: whether $pid has the signal in that set of its
has() {
	[ $((0x$(sed -n "s/^$1:[[:space:]]*//p" "/proc/$pid/status") >> ($2 - 1) & 1)) = 1 ]
}

# Handlers are there when the process, and not a shell before it, catches the signal.
until_caught() { # NUMBER
	i=0
	until [ "$(cat /proc/$pid/comm)" = verbena ] && has SigCgt "$1"; do
		i=$((i + 1))
		[ $i -lt 600 ] || fail "the run never began"
		sleep 0.05
	done
}

# interrupt SIGNAL NUMBER
interrupt() {
	# This test may itself be under nohup.
	env --default-signal=HUP "$verbena" run long.yaml --out "out_$1" >out 2>err &
	pid=$!
	until_caught "$2"
	sleep 0.1
	kill "-$1" $pid
	status=0
	wait $pid || status=$?
	[ $status = $((128 + $2)) ] || fail "$1: exit $status"
	holds "out_$1/result.json" 'r["partial"] is True and r["flows"]["failed"] == 4 and r["packet_hops"] > 0'
	[ "$(wc -l <"out_$1/flows.csv")" = 5 ] || fail "$1: not all flows"
	[ "$(tail -n 2 out | cut -d: -f1 | tr '\n' ' ')" = "digest report " ] || fail "$1: other last lines"
}
interrupt TERM 15
interrupt HUP 1
# A shell without job control lets its children ignore SIGINT; verbena asks for it again.
interrupt INT 2
# But nohup is heard.
(trap '' HUP && exec "$verbena" run long.yaml --json) >out 2>err &
pid=$!
until_caught 15
has SigIgn 1 || fail "HUP is caught in spite of nohup"
kill -TERM $pid
wait $pid || true
