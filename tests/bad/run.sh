#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh TOOL FOLDER: each bad NAME.yaml of the folder must be refused with exactly the lines of
# NAME.err, whatever the folder one stands in; and what cannot lie in a file beside it.
set -eu
case $1 in
/*) tool=$1 ;;
*) tool=$PWD/$1 ;;
esac
folder=$2
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
bad=0 count=0

# refused NAME EXPECTED ARG...: exit 2 and these lines
refused() {
	name=$1 expected=$2
	shift 2
	status=0
	"$tool" "$@" >"$tmp/out" 2>&1 || status=$?
	count=$((count + 1))
	! grep -q 'this verbena was built without libxml2' "$tmp/out" || return 0
	[ "$status" = 2 ] || {
		echo "$name: exit $status"
		bad=1
	}
	diff -u "$expected" "$tmp/out" || {
		echo "$name: not what was expected"
		bad=1
	}
}

cd "$folder"
for yaml in *.yaml; do
	refused "$yaml" "${yaml%.yaml}.err" "$yaml"
done
for vbt in *.vbt; do
	refused "$vbt" "${vbt%.vbt}.err" "$vbt"
done
[ "$count" -ge 60 ] || {
	echo "only $count files"
	bad=1
}

printf 'version: 1\ntopology: {kind: star, hosts: 4}\ntraffic: [{class: a, pattern: ring, size: 1KB}]\n' \
	>"$tmp/good.yaml"

# set EXPECTED ARG...: of the command line
set_refused() {
	printf '%s\n' "$1" >"$tmp/err"
	shift
	refused "$*" "$tmp/err" "$@" "$tmp/good.yaml"
}
set_refused '--set:1: --set: found "x", expected KEY=VALUE such as switch.ecn.kmin=100KB' --set x
set_refused '--set:1: --set: found "=3", expected KEY=VALUE such as switch.ecn.kmin=100KB' --set =3
set_refused '--set:1: seed: found nothing, expected a value' --set seed=
set_refused '--set:2: swich: found an unknown key, expected a known key such as "switch"' \
	--set seed=3 --set swich.buffer=1MiB
set_refused '--set:1: seed: found "x", which is no number, expected a number' --set seed=x
set_refused '--set:1: "b": found nothing of that name, expected a key of the scenario, or the number or name of a part of a list' \
	--set traffic.b.size=1KB
set_refused '--set:1: document: found flow sequence without a closing bracket, expected YAML' \
	--set 'seed=['
set_refused '--set:1: --set: found "seed.=3", expected KEY=VALUE such as switch.ecn.kmin=100KB' \
	--set 'seed.=3'
set_refused '--set:1: --set: found a key inside of what is no map, expected KEY=VALUE such as switch.ecn.kmin=100KB' \
	--set 'version.x=3'
set_refused '--set:1: --set: found a key inside of what is no map, expected KEY=VALUE such as switch.ecn.kmin=100KB' \
	--set 'traffic.0={}'
"$tool" --set traffic.a.size=2KB --set traffic.0.start=1us --set nic.mtu=1024 "$tmp/good.yaml" \
	>/dev/null || bad=1

# How much that is goes by the processor.
parts=
lanes=
for i in 0 1 2 3 4 5 6 7 8 9; do
	parts="$parts, {name: gpu$i, kind: gpu}"
	lanes="$lanes, {a: cpu0, b: gpu$i}"
done
"$tool" --set topology.hosts=30000 --set "machine={parts: [{name: cpu0, kind: socket}, {name: nic0, kind: nic}$parts], lanes: [{a: cpu0, b: nic0}$lanes]}" \
	"$tmp/good.yaml" >"$tmp/out" && bad=1
grep -qxE -- '--set:2: machine.parts: found [0-9]+ GPUs up to h[0-9]+, expected at most [0-9]+ on this processor' "$tmp/out" && [ "$(wc -l <"$tmp/out")" = 1 ] || {
	cat "$tmp/out"
	echo "nothing was said of the memory of all GPUs"
	bad=1
}

# What has no effect is told, and taken.
"$tool" --set 'nic={timeout: 0, retransmit: selective, rto_low: 10us}' "$tmp/good.yaml" >"$tmp/out" || bad=1
grep -qx 'warning: --set:1: nic.rto_low: found "10us", expected nic.timeout above 0 beside it; ignored' "$tmp/out" || {
	cat "$tmp/out"
	echo "nothing was said of nic.rto_low"
	bad=1
}

printf '%s: file: found no such file: "%s", expected a file that can be read\n' \
	"$tmp/none.yaml" "$tmp/none.yaml" | cut -c -200 >"$tmp/err"
refused "no file" "$tmp/err" "$tmp/none.yaml"
{
	printf 'version: 1\n'
	head -c 67108864 /dev/zero | tr '\0' '#'
} >"$tmp/large.yaml"
printf '%s:1: file: found more than 64 MiB, expected at most 64 MiB\n' "$tmp/large.yaml" >"$tmp/err"
refused "64 MiB" "$tmp/err" "$tmp/large.yaml"
echo "$count inputs refused"
exit $bad
