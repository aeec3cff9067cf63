#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# samples.sh TOOL FOLDER: topologies and flows as other simulators ship them, where there are some at
# hand; they are not part of this repository.
set -eu
case $1 in
/*) tool=$1 ;;
*) tool=$PWD/$1 ;;
esac
samples=$(cd "$2" 2>/dev/null && pwd) || samples=$2
for f in hpcc_topology.txt hpcc_fat.txt hpcc_flow.txt powertcp_burst256.txt conweave_leafspine.txt \
	ft1024.topo uet_incast.cm websearch.cdf fbhdp.cdf; do
	[ -r "$samples/$f" ] || {
		echo "no $f of another simulator in ../shared/samples"
		exit 77
	}
done
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
bad=0

# read NAME LINES LINE...: the scenario of these lines is taken, with so many lines of warnings
read_scenario() {
	name=$1 lines=$2
	shift 2
	{
		echo 'version: 1'
		printf '%s\n' "$@"
	} >"$tmp/$name.yaml"
	"$tool" "$tmp/$name.yaml" >"$tmp/out" || {
		echo "$name: refused"
		bad=1
	}
	[ "$(grep -c '^warning: ' "$tmp/out" || true)" = "$lines" ] || {
		echo "$name: not $lines warnings"
		bad=1
	}
	cut -c -160 "$tmp/out"
}
# The topology's and the flows' header rule; prose and more lines follow.
read_scenario star 2 "topology: {file: $samples/hpcc_topology.txt}" \
	"traffic: [{file: $samples/hpcc_flow.txt}]"
grep -q 'hpcc_flow.txt:4: rest: found 259 more lines' "$tmp/out" || bad=1
read_scenario fat 0 "topology: {file: $samples/hpcc_fat.txt}"
read_scenario burst 0 'topology: {kind: star, hosts: 260}' \
	"traffic: [{file: $samples/powertcp_burst256.txt}]"
# Prose follows the topology; 8 leaves of 16 hosts, 8 spines.
read_scenario conweave 1 "topology: {file: $samples/conweave_leafspine.txt}"
# htsim's fat tree of 1,024 hosts is ours, and 128 of 8,192 hosts write to one.
read_scenario tree 0 "topology: {file: $samples/ft1024.topo}"
tail -n 1 "$tmp/out" >"$tmp/hash"
read_scenario k16 0 'topology: {kind: fat_tree, k: 16}'
tail -n 1 "$tmp/out" | cmp - "$tmp/hash" || bad=1
read_scenario matrix 0 'topology: {kind: fat_tree, k: 32}' "traffic: [{file: $samples/uet_incast.cm}]"
# Two distributions are those that we have by name.
for cdf in websearch fb_hadoop "$samples/websearch.cdf" "$samples/fbhdp.cdf"; do
	read_scenario load 0 'topology: {kind: star, hosts: 9}' \
		"traffic: [{class: t, load: 30%, cdf: $cdf, until: 1ms}]"
	tail -n 1 "$tmp/out"
done >"$tmp/hashes"
sort -u "$tmp/hashes" | grep -c hash | grep -qx 2 || bad=1
# 0.001ms and 1000ns are the same delay.
sed 's/0.001ms/1000ns/' "$samples/hpcc_topology.txt" >"$tmp/other.txt"
read_scenario one 1 "topology: {file: $samples/hpcc_topology.txt}"
tail -n 1 "$tmp/out" >"$tmp/hash"
read_scenario other 1 "topology: {file: other.txt}"
tail -n 1 "$tmp/out" | cmp - "$tmp/hash" || bad=1
exit $bad
