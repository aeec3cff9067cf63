#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Memory of several GPUs at once: NVSwitches pass on what is written and sum what is read.
. "$(dirname "$0")/lib.sh"

# team NAME MACHINE PROGRAM HOSTS ARGS [FAULTS]
team() {
	cat >"$1.yaml" <<END
version: 1
topology: {kind: star, hosts: 2}
machine: $2
machines: [{hosts: h0, faults: [${6:-}]}]
programs: [{run: $3, hosts: [$4], args: [$5]}]
END
}

# The calls, and what kernels compute: three programs of one machine; and where no switch does it.
team teams dgx_h100 gpu_teams 'h0, h0, h0' ''
checks teams 54
team strays dgx_h100 gpu_teams 'h0, h0, h0' stray=1
checks strays 45
for machine in h100_measured dgx_a100; do
	team $machine $machine gpu_teams h0 ''
	checks $machine 4
done

# All-reduce of eight: by the difference of two sizes, beside what does not depend on them.
links=$(for gpu in 0 1 2 3 4 5 6 7; do for nvsw in 0 1 2 3; do
	printf '{a: gpu%s, b: nvsw%s, kind: nvlink, gen: 5}, ' $gpu $nvsw
done; done)
for words in 4194304 16777216; do
	for gen in 4 5; do
		machine=dgx_h100
		[ $gen = 4 ] || machine="{profile: dgx_h100, lanes: [$links]}"
		team all "$machine" gpu_multicast h0 "words=$words"
		expect 0 run all.yaml --out all --json
		cat out err | sed -n "s/.*rank 0: multicast 8 \\([0-9]* [0-9]*\\)\$/$gen \\1/p" >>rates
	done
done
python3 - <<'END' || fail "sums in switches are not as fast as their links"
rows = {}
for gen, size, time in (map(int, line.split()) for line in open("rates")):
    rows.setdefault(gen, []).append((size, time))
# NCCL plans with .85 of what links of Hopper have, and .74 of Blackwell's (src/graph/tuning.cc). Bus bandwidth is 2 * 7 / 8
# of all that is summed: 478.87 (github.com/Azure/AI-benchmarking-guide, 8 GB; 5 %) and 830 (github.com/NVIDIA/nccl/issues/1807;
# 6 %).
for gen, link, share, published, percent in ((4, 25, 0.85, 478.87, 5), (5, 50, 0.74, 830, 6)):
    small, large = rows[gen]
    rate = (large[0] - small[0]) / (large[1] - small[1])
    print(rate)
    # Each sends and receives 9/8 of all, in packets of 128 bytes of which each takes 16 more, and 16 the other way; 18 links.
    assert 0.93 < rate / (18 * link * 128 / 160 * 8 / 9) < 1
    assert abs(rate * 2 * 7 / 8 * share / published - 1) < percent / 100
END
# One of two that it sums is its own: the switch reads it all the same.
team two dgx_h100 gpu_multicast h0 '"words=1048576", "gpus=2", "chunk=65536"'
expect 0 run two.yaml --out two --json
same_by_ways two
# lane FROM TO: bytes of payload
lane() {
	sed -n "s/^h0,$1,$2,[0-9]*,\\([0-9]*\\),.*/\\1/p" two/lanes.csv
}
[ "$(lane gpu0 nvsw0)" -gt 0 ] && [ "$(lane gpu2 nvsw0)" = 0 ] || fail "a GPU that is not in the team"
[ "$(lane gpu0 cpu0)" = "" ] || fail "a GPU has no lane to the socket"

# Without its links to one switch a GPU reaches the team over the others; without any, not at all.
down='links: [0, 1, 2, 3], down: yes}'
more='links: [0, 1, 2, 3, 4], down: yes}'
team one dgx_h100 gpu_multicast h0 '"words=262144", "gpus=2"' "{a: gpu1, b: nvsw0, $down"
expect 0 run one.yaml --out one
grep -q '^h0,gpu0,nvsw0,0,' one/lanes.csv || fail "a switch that does not lead to all"
team none dgx_h100 gpu_multicast h0 '"words=262144", "gpus=2"' \
	"{a: gpu1, b: nvsw0, $down, {a: gpu1, b: nvsw1, $more, {a: gpu1, b: nvsw2, $more, {a: gpu1, b: nvsw3, $down"
expect 1 run none.yaml --out none
grep -q CUDA_ERROR_NVLINK_UNCORRECTABLE err out || fail "no link leads there, and nobody says so"
