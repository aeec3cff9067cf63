#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Strong scaling with GPUDirect and through host memory: the more GPUs share the work, the more of a step is what they give
# each other, and the more is gained, up to what the exchange alone gains.
. "$(dirname "$0")/lib.sh"

# scale HOSTS ARGS: a line HOSTS NS
scale() {
	cat >"scale.yaml" <<END
version: 1
topology: {kind: star, hosts: $1, host_rate: 56Gbps}
switch: {buffer: 64MiB}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 200ns}
    - {name: sw0, kind: switch, latency: 110ns}
    - {name: nic0, kind: nic, tags: 256}
    - {name: gpu0, kind: gpu, memory: 1GiB, latency: 150ns, tags: 256}
  lanes:
    - {a: cpu0, b: sw0, gen: 3, delay: 3ns}
    - {a: sw0, b: nic0, gen: 3, delay: 3ns}
    - {a: sw0, b: gpu0, gen: 3, delay: 3ns}
programs: [{run: gpu_scaling, hosts: ["h[0-$(($1 - 1))]"], args: [$2]}]
END
	expect 0 run scale.yaml --out scaled --json
	cat out err | sed -n 's/.*rank 0: scaling \([0-9]* [0-9]*\)$/\1/p'
}
for hosts in 4 16 64; do
	for ns in 10 0; do
		for staged in 0 1; do
			echo "$ns $staged $(scale "$hosts" "\"ns=$ns\", \"staged=$staged\", \"steps=4\"")"
		done
	done
done >gained
python3 - <<'END' || fail "GPUDirect gains something else as more GPUs share the work"
time = {(int(ns), int(staged), int(hosts)): int(step) for ns, staged, hosts, step in map(str.split, open("gained"))}
gain = {(ns, n): time[ns, 1, n] / time[ns, 0, n] for ns in (10, 0) for n in (4, 16, 64)}
print(gain)
# HOOMD-blue with GPUDirect RDMA, 64 thousand particles: little at few nodes, up to twice as fast at many.
assert 1 < gain[10, 4] < 1.15 and gain[10, 4] < gain[10, 16] < gain[10, 64] < gain[0, 64] < 2.2 and gain[10, 64] > 1.25
# What is computed takes its time, whatever the way.
for staged in (0, 1):
    for n in (4, 16, 64):
        assert abs(time[10, staged, n] - time[0, staged, n] - 65536 // n * 10) < 200, (staged, n)
END
