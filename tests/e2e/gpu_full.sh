#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The room that managed memory takes: of a GPU's memory, from which the block goes that something came to longest ago,
# and on the bus, where copies beside it are slower.
. "$(dirname "$0")/lib.sh"

one_gpu gpu_full | sed 's/1GiB/16MiB/' >full.yaml
checks full 23
holds full/result.json "r['machines']['h0']['managed']['gpu0']['evicted_bytes'] == 15 << 21"
holds full/result.json "r['machines']['h0']['managed']['gpu0']['mapped_pages'] == 512"

one_gpu gpu_full '"beside=1"' >beside.yaml
expect 0 run beside.yaml --out beside --json
sed -n 's/^gpu_full, rank 0: //p' err >said
python3 - <<'END' || fail "pages that move take no room on the bus, or too much"
import json

said = {name: int(ns) for name, _, ns in map(str.split, open("said"))}
machine = json.load(open("beside/result.json"))["machines"]["h0"]
print(said)
# 32 MiB come in 5.3 ms, at 6.3 GB/s, evenly in 7 parts of 8, and go in 7.1: a copy has the rest of the lane.
def near(name, pages):
    lane = (32 << 20) / said[name]
    assert abs(said[name + "_beside"] / said[name] / (lane / (lane - 8 / 7 * pages)) - 1) < 0.05, (name, said)
near("to_gpu", 6.3)
near("to_host", 4.7)
# They take as long as their faults, since the lane has room for both.
assert abs(said["comes"] / 5344000 - 1) < 0.01, said
# Two copies, and all pages once, each way.
assert 0 <= machine["lanes"]["cpu0>gpu0"]["bytes"] - (96 << 20) < 1000, machine["lanes"]
assert 0 <= machine["lanes"]["gpu0>cpu0"]["bytes"] - (96 << 20) < 1000, machine["lanes"]
END
# To one GPU, from there to the other one, and back: each lane has all of it once.
two() { # KEYS OF THE SOCKET
	cat <<YAML
version: 1
topology: {kind: star, hosts: 2}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 200ns$1}
    - {name: nic0, kind: nic}
    - {name: gpu0, kind: gpu, memory: 1GiB, latency: 300ns, tags: 256}
    - {name: gpu1, kind: gpu, memory: 1GiB, latency: 300ns, tags: 256}
  lanes:
    - {a: cpu0, b: nic0, gen: 5}
    - {a: cpu0, b: gpu0, gen: 5}
    - {a: cpu0, b: gpu1, gen: 5}
programs: [{run: gpu_full, hosts: [h0], args: ["around=1"]}]
YAML
}
for peers in full writes none; do
	two ", peers: $peers" >around.yaml
	expect 0 run around.yaml --out around --json
	for lane in 'cpu0>gpu0' 'gpu0>cpu0' 'cpu0>gpu1' 'gpu1>cpu0'; do
		holds around/result.json "0 <= r['machines']['h0']['lanes']['$lane']['bytes'] - (32 << 20) < 1000"
	done
done
