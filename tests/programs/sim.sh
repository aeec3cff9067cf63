#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# sim.sh COMPARE HOST_TOY_PROGRAM HOST_SIM_PROGRAM SIZE [ARG=VALUE ...]: the same reports in virtual
# time over one switch and over a leaf-spine as over the toy world; the same digest on both back ends
# of tasks, on two threads, with every packet and with every call through bytes; another one with another
# seed.
set -eu
compare=$1 toy=$2 sim=$3 size=$4
shift 4
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

# run NAME OPTION...: reports to $dir/NAME, prints the digest
run() {
	name=$1
	shift
	timeout 60 "$sim" --quiet --size "$size" "$@" >"$dir/$name" 2>"$dir/$name.err" || {
		cat "$dir/$name.err" >&2
		exit 1
	}
	sed -n 's/^digest: \([0-9a-f]*\).*/\1/p' "$dir/$name.err"
}

timeout 20 "$toy" --size "$size" >"$dir/toy"
star=$(run star)
"$compare" "$dir/toy" "$dir/star"
run leaf_spine --leaves 2 --spines 2 >/dev/null
"$compare" "$dir/toy" "$dir/leaf_spine"
for same in "--backend thread" "--threads 2" "--through-wire" "--through-bytes"; do
	# shellcheck disable=SC2086
	found=$(run same $same)
	[ "$found" = "$star" ] || {
		echo "digest $found with $same, $star without"
		exit 1
	}
	"$compare" "$dir/toy" "$dir/same"
done
[ "$(run other --seed 2)" != "$star" ] || {
	echo "digest $star with seeds 1 and 2"
	exit 1
}
echo "digest $star"
