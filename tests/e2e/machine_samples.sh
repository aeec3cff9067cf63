#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Machines in XML as other projects ship them, where there are some at hand: they are not part of this repository.
samples=$(realpath "$2")/../shared/samples
. "$(dirname "$0")/lib.sh"
for f in ndv5.xml p4d.xml mi300x.xml topo16p.xml p8gpu.xml qx-h100.xml msccl_ring.xml; do
	[ -r "$samples/$f" ] || {
		echo "SKIP: no $f of another project in ../shared/samples"
		exit 77
	}
done
expect 2 topo -m "$samples/msccl_ring.xml"
! grep -q 'this verbena was built without libxml2' err || {
	echo "SKIP: $(cat err)"
	exit 77
}
# of SAMPLE GPUS NICS: the sample has so many
of() {
	expect 0 topo -m "$samples/$1" --quiet
	[ "$(grep -cE '^gpu[0-9]+ +(X|[A-Z])' out)" = "$2" ] && [ "$(grep -cE '^nic[0-9]+ .* cpu[0-9]+$' out)" = "$3" ] ||
		fail "$1: not $2 GPUs and $3 adapters"
}
of ndv5.xml 8 8
of p4d.xml 8 4
of mi300x.xml 8 8
[ "$(sed -n 's/^gpu[0-7]  //p' out | tr -s ' ' '\n' | grep -c XGMI)" = 56 ] || fail "not 56 ends of xGMI"
of topo16p.xml 16 8
of p8gpu.xml 4 1
# A POWER8 has two GPUs at each socket with two links between them.
[ "$(grep -c '^gpu[0-3] .* NV2 ' out)" = 4 ] || fail "other NVLinks"
for f in qx-h100.xml msccl_ring.xml; do
	expect 2 topo -m "$samples/$f"
	grep -qE 'document: found <(nvidia_smi_log|algo)>, expected <system> of NCCL or <topology> of hwloc$' err || fail "$f"
done
