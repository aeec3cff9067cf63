#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Memory that a program has unmapped, protected or cut off since it registered it: whoever reaches for it
# in virtual time gets the status that hardware gives, and the run goes on. $3: the module "unmapped".
unmapped=$(realpath "$3")
. "$(dirname "$0")/lib.sh"
! is_sanitized || {
	echo "a sanitizer has plans of its own for memory, and calls of modules are not heard"
	exit 77
}

# ends HOW WHAT STATUS
ends() {
	cat >one.yaml <<END
version: 1
topology: {kind: star, hosts: 2}
programs: [{run: "$unmapped", name: it, hosts: "h[0-1]", args: ["how=$1", "what=$2"]}]
END
	for option in "--threads 1" "--threads 2"; do
		# shellcheck disable=SC2086
		expect 0 run one.yaml $option
		grep -q "^it, rank [01]: $3\$" err || fail "how=$1 what=$2 $option: not $3"
		grep -q '2 ranks: all ended well' out || grep -q '2 ranks: all ended well' err || fail "how=$1 what=$2: ranks"
		digest_of out >now
		[ "$option" = "--threads 1" ] || cmp -s now before || fail "how=$1 what=$2 $option: another digest"
		mv now before
	done
}

for what in 0 1 2 3; do
	ends 0 $what success
done
for how in 1 2 3 4; do
	ends $how 0 "remote operation error"
	ends $how 1 "remote access error"
	ends $how 2 "remote operation error"
	ends $how 3 "local protection error"
done

# The program's own fault behind that is its own: said once, and the end.
cat >crash.yaml <<END
version: 1
topology: {kind: star, hosts: 2}
programs: [{run: "$unmapped", name: it, hosts: "h[0-1]", args: [how=1, crash=1]}]
END
status=0
(timeout 60 "$verbena" run crash.yaml --out crash >out 2>err) 2>/dev/null || status=$?
[ $status = 139 ] || fail "crash: exit $status"
[ "$(grep -c '^verbena: h1: program it crashed at .*: Segmentation fault$' err)" = 1 ] || fail "crash: not one line"
holds crash/result.json 'r["partial"] is True'
