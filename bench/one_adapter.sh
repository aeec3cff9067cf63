#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# one_adapter.sh BENCH_WORK: the flows of W1 go through the adapter that everything else uses, and
# nothing goes beside it. Under callgrind, the calls of what makes and what takes its packets are
# counted; they must be as many as the packets that the work demands.
set -eu
work=$1
command -v valgrind >/dev/null || {
	echo "no valgrind"
	exit 77
}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# The packets, from the work alone: a fat tree of k = 16 has 16^3 / 4 = 1,024 hosts; each sends 1/64 of
# 2,000,000 bytes, that is 7 packets of 4,096 bytes and one of 2,578. Nothing is lost, each packet is
# acknowledged by itself, and no packet is marked.
packets=8192
valgrind --tool=callgrind --callgrind-out-file="$out/callgrind" --toggle-collect=sim_run \
	"$work" W1 --scale 64 >"$out/result" 2>"$out/log" || {
	cat "$out/log"
	exit 1
}

# calls FUNCTION: callgrind gives a name once, with a number, and later the number alone.
calls() {
	awk -v wanted="$1" '
		/^c?fn=/ {
			id = substr($1, index($1, "=") + 1)
			if (NF > 1)
				name[id] = $2
			if ($1 ~ /^c/)
				callee = id
		}
		/^calls=/ && name[callee] == wanted { sum += substr($1, 7) }
		END { print sum + 0 }' "$out/callgrind"
}

bad=0
# expect FUNCTION NUMBER
expect() {
	found=$(calls "$1")
	echo "$1: $found calls, expected $2"
	[ "$found" = "$2" ] || bad=1
}
expect hca_requester_output $packets
expect hca_responder_input $packets
expect hca_responder_output $packets
expect hca_completer_input $packets
expect hca_input $((2 * packets))
expect hca_cnp_output 0
exit $bad
