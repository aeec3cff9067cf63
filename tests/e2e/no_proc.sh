#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Where /proc is not mounted, programs and expectations say so; all else works.
. "$(dirname "$0")/lib.sh"

without() { # STATUS ARG...
	want=$1
	shift
	status=0
	unshare -rm sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$verbena" "$@" >out 2>err || status=$?
	[ "$status" = "$want" ] || fail "verbena $*: exit $status, expected $want"
}
unshare -rm sh -c 'mount -t tmpfs none /proc' 2>/dev/null || {
	echo "SKIP: nothing may be mounted over /proc here"
	exit 77
}
printf 'version: 1\ntopology: {kind: star, hosts: 3}\ntraffic: [{class: a, pattern: ring, size: 1KB}]\n' >plain.yaml
without 0 run plain.yaml --quiet --out plain
for command in run check; do
	without 3 $command small.yaml
	[ "$(cat err)" = 'verbena: /proc is not mounted, and programs need it' ] || fail "$command: programs: another line"
	[ ! -e verbena-out ] || fail "something is written"
done
with_expectations plain.yaml gate.yaml '.flows.failed == 0'
judges_expectations gate.yaml || exit 0
without 3 run gate.yaml
[ "$(cat err)" = 'verbena: /proc is not mounted, and expectations need it' ] || fail "expectations: another line"
