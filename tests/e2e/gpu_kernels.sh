#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Kernels of GPUs: what they do, which codes there are, how they fail, and how long they take, as measured on an H100
# 80GB HBM3 (driver 580.159.04). An all-reduce over GPUs of one machine and of several is exact.
. "$(dirname "$0")/lib.sh"

one() { # PROGRAM ARGS
	cat <<END
version: 1
topology: {kind: star, hosts: 2}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 200ns}
    - {name: nic0, kind: nic}
    - {name: gpu0, kind: gpu, memory: 1GiB, latency: 300ns, tags: 256}
    - {name: gpu1, kind: gpu, memory: 64MiB, latency: 300ns, tags: 256}
  lanes:
    - {a: cpu0, b: nic0, gen: 5}
    - {a: cpu0, b: gpu0, gen: 5, mps: 256B, mrrs: 4KiB, delay: 3ns}
    - {a: cpu0, b: gpu1, gen: 5, mps: 256B, mrrs: 4KiB, delay: 3ns}
programs: [{run: $1, hosts: [h0], args: [${2:-}]}]
END
}
one gpu_kernels >kernels.yaml
checks kernels 46
# Said once, and of the first one.
[ "$("$verbena" run kernels.yaml --quiet 2>&1 | grep -c '^verbena: kernel unknown: nobody has said')" = 1 ] ||
	fail "what nobody has registered is not said once"
for fault in 1 2 3; do
	one gpu_kernels "\"fault=$fault\"" >fault.yaml
	checks fault 46
done

# From a store of the CPU until it sees the kernel's answer 1.78 us, and from the call of a launch 6.59.
one gpu_flag >flag.yaml
expect 0 run flag.yaml --out flag
cat out err | grep -h -o '\(echo\|set\) [0-9]*$' >flag.times
# In GB/s, with launches in us; within 15 %. One and two blocks read 8 MiB that is in the cache there: not ours.
one gpu_kernel_times >times.yaml
expect 0 run times.yaml --out times
cat out err | grep -h -o '[a-z_]* [0-9 ]*$' >obtained
python3 - "$root/tests/e2e/gpu_kernels.csv" <<'END' || fail "kernels take another time than was measured"
import csv
import sys

lines = [line.split() for line in open("obtained")]
found = {(kind, *map(int, rest[:3])): int(rest[3]) / 1000 for kind, *rest in lines if len(rest) == 4}
other = {kind: int(rest[0]) / 1000 for kind, *rest in lines if len(rest) == 1}
other |= {kind: int(time) / 1000 for kind, time in map(str.split, open("flag.times"))}
compared, beyond = 0, []
def compare(what, ours, measured):
    global compared
    compared += 1
    if abs(ours / measured - 1) > 0.15:
        beyond.append((what, ours, measured))
for row in csv.DictReader(open(sys.argv[1])):
    for name in list(row)[1:]:
        kind, threads, width = name.rsplit("_", 2)
        if row[name]:
            compare(name, found[kind, int(row["blocks"]), int(threads), int(width)], float(row[name]))
compare("launch", other["launch"], 3.46)
compare("synchronize", other["synchronize"], 9.04)
compare("echo", other["echo"], 1.78)
compare("set", other["set"], 6.59)
# A copy of 256 MiB to the GPU took 4.89 ms alone and 10.2 with a kernel that read as much beside it.
compare("beside", other["beside"] / other["alone"], 10.2 / 4.89)
print(beyond)
assert compared == 66 and not beyond
# What the link gives at most, reading and writing: 50.4 and 52.2 there, within 3.5 %.
assert abs(found["host_read", 264, 1024, 16] / 50.4 - 1) < 0.035, found
assert abs(found["host_write", 264, 1024, 16] / 52.2 - 1) < 0.035, found
# What does not depend on what was measured: two blocks have twice as much under way.
assert abs(found["host_read", 2, 32, 16] / found["host_read", 1, 32, 16] - 2) < 0.05
END

# reduce NAME RANKS GPUS COUNT ARGS: each GPU passes on a part in each of two rounds but one step, the last one of a
# machine over its adapters
reduce() {
	cat >"$1.yaml" <<END
version: 1
topology: {kind: star, hosts: 3}
machine: dgx_h100
programs: [{run: gpu_allreduce, hosts: [$2], args: ["gpus=$3", "count=$4"$5]}]
END
	expect 0 run "$1.yaml" --out "$1" --json
	digest=$(sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$1/result.json" | head -n 1)
	expect 0 run "$1.yaml" --threads 2 --json
	holds out "r['digest'] == '$digest'"
	python3 - "$1" "$2" "$3" "$4" <<'END' || fail "$1: other bytes over the network"
import csv
import sys

name, ranks, gpus, count = sys.argv[1], len(sys.argv[2].split(",")), int(sys.argv[3]), int(sys.argv[4])
steps, part = 2 * (ranks * gpus - 1), count // (ranks * gpus) * 4
sent = sum(int(row["bytes"]) for row in csv.DictReader(open(name + "/requests.csv")) if row["opcode"].startswith("write"))
print(sent, ranks, steps, part)
assert sent == (ranks * steps * part if ranks > 1 else 0)
END
}
reduce machine h0 8 65536 ""
reduce pair "h0, h1" 1 100000 ', "float=1"'
reduce many "h0, h1, h2" 4 240000 ""
reduce floats "h0, h1" 3 60000 ', "float=1"'
