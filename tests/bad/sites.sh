#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# sites.sh COMPILER ROOT LIBRARY...: every place in the readers where bad input is reported has been reached by
# the bad inputs of this folder (gcov tells). Compiles the readers anew, with the rest out of the
# libraries.
set -eu
command -v gcc >/dev/null && command -v gcov >/dev/null || {
	echo "SKIP: no gcc or gcov"
	exit 77
}
[ "$1" = gcc ] || {
	echo "SKIP: these libraries were built by another compiler or with a sanitizer"
	exit 77
}
root=$2
shift 2
libraries=''
for l in "$@"; do
	case $l in
	/*) libraries="$libraries $l" ;;
	*) libraries="$libraries $PWD/$l" ;;
	esac
done
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
# Set with care: allocations cannot fail here, and only what reads is looked at.
sources=$(cd "$root" && grep -lE '\b(bad|bad_warn|refuse|vbt_refuse|scenario_refuse|scenario_switch_refuse|scenario_block_refuse|scenario_inside_refuse|scenario_rx_refuse)\(' models/*/*.c)
objects=''
xml=$(pkg-config --cflags libxml-2.0 2>/dev/null) || {
	echo "SKIP: no libxml2"
	exit 77
}
sources=$(echo "$sources" | grep -v /no_xml.c)
# shellcheck disable=SC2086
for s in $sources; do
	o=$(echo "${s%.c}" | tr / _).o
	gcc -std=gnu11 -D_GNU_SOURCE -O0 --coverage -I"$root" $xml -c "$root/$s" -o "$o"
	objects="$objects $o"
done
gcc -std=gnu11 -D_GNU_SOURCE -O0 -I"$root" -c "$root/tests/bad/scenario_tool.c" -o tool.o
# shellcheck disable=SC2086
gcc --coverage tool.o $objects -Wl,--start-group $libraries -Wl,--end-group -lfyaml -lxml2 -lpthread -o tool 2>link.log || {
	tail -n 5 link.log
	exit 1
}
sh "$root/tests/bad/run.sh" ./tool "$root/tests/bad" >run.log || {
	tail -n 5 run.log
	exit 1
}
# shellcheck disable=SC2086
gcov -p $objects >gcov.log 2>&1
found=$(cat ./*.c.gcov | grep -cE '^ +[0-9]+\*?:.*\b(bad|bad_warn|refuse|vbt_refuse|scenario_refuse|scenario_switch_refuse|scenario_block_refuse|scenario_inside_refuse|scenario_rx_refuse|not_so|disagree)\(')
missed=$(grep -E '#####:.*\b(bad|bad_warn|refuse|vbt_refuse|scenario_refuse|scenario_switch_refuse|scenario_block_refuse|scenario_inside_refuse|scenario_rx_refuse|not_so|disagree)\(' ./*.c.gcov || true)
echo "$found places reached"
[ "$found" -ge 100 ] || exit 1
[ -z "$missed" ] || {
	echo "not reached:"
	echo "$missed"
	exit 1
}
