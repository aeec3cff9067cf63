#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# spin.sh HOST_SIM_SPIN SOURCE HAS_LIBDW: a program that spins on memory ends the run with exit status 3
# and is named, with its host and line, on both back ends of tasks and on two threads; vb_wait_mem()
# cures it, and watching cannot be seen in the digest.
set -eu
sim=$1 source=$2 has_libdw=$3
! nm "$sim" | grep -q __tsan_init || {
	echo "ThreadSanitizer gives no signal to a program that spins"
	exit 77
}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

# place MARK: what has to be named for the line with that comment
place() {
	if [ "$has_libdw" = 1 ]; then
		echo "spin.c:$(grep -n "$1 here" "$source" | cut -d: -f1) "
	else
		echo "sim_spin+0x"
	fi
}

# spins PLACE OPTION...
spins() {
	expected=$1 status=0
	shift
	timeout 60 "$sim" "$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ $status = 3 ] || {
		echo "exit status $status with $*"
		exit 1
	}
	grep -q "^h1: program prog spins at .*$expected" "$dir/err" || {
		echo "no $expected with $*:"
		cat "$dir/err"
		exit 1
	}
	head -n 1 "$dir/err"
}

for options in "" "--spin-limit 600 --backend thread" "--spin-limit 600 --threads 2"; do
	# shellcheck disable=SC2086
	spins "$(place spins)" $options
done
# In the call or, between two of them, in the condition of the loop, a line above.
line=$(grep -n "yields here" "$source" | cut -d: -f1)
[ "$has_libdw" = 0 ] ||
	spins "spin\.c:\($((line - 1))\|$line\) " --spin-limit 600 -- yield=1

cured() {
	timeout 60 "$sim" "$@" -- cured=1 2>&1 >/dev/null | sed -n 's/^digest: \([0-9a-f]*\).*/\1/p'
}
digest=$(cured)
[ -n "$digest" ]
for options in "--backend thread" "--threads 2" "--spin-limit 0"; do
	# shellcheck disable=SC2086
	[ "$(cured $options)" = "$digest" ] || {
		echo "another digest with $options"
		exit 1
	}
done

# One that computes for long but calls now and then is left alone, even where calls take no time.
for options in "" "--no-cost" "--backend thread"; do
	# shellcheck disable=SC2086
	timeout 60 "$sim" --spin-limit 500 $options -- cured=1 busy=8 2>"$dir/err" || {
		cat "$dir/err"
		exit 1
	}
done
