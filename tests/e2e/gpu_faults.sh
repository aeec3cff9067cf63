#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Kernels on managed memory: the same bytes for kernels and CPUs, which faults a thread's walk makes and what those of a
# whole GPU take, as measured on an H100 (driver 580.159.04).
. "$(dirname "$0")/lib.sh"

one_gpu gpu_faults >faults.yaml
expect 0 run faults.yaml --out faults --json
sed -n 's/^gpu_faults, rank 0: //p' err >said
[ "$(grep -c '^ok ' said)" = 3 ] || fail "$(grep -c '^ok ' said) checks, not 3"
# In microseconds: of each fault from run to run; of what takes long within 15 %.
PYTHONPATH=$root/tests/e2e python3 -B - <<'END' || fail "not as measured"
from gpu_times import near, places, read, times, within

read("said")
BLOCK = [0, 16, 32, 64, 128, 256]
for name in ("read", "write", "fresh"):
    assert places(name)[:12] == BLOCK + [512 + page for page in BLOCK], (name, places(name))
# 26 in 4 MiB where it was measured: how many depends on the order.
assert len(places("scattered")) in (32, 33), places("scattered")

for name in ("read", "write"):
    within(name, [(103, 155), (34, 71), (41, 59), (39, 62), (48, 83), (77, 111)])
within("fresh", [(28, 78)] * 6)

MIB64 = 64 * 2**20
near("all_read", MIB64 / 5.3 / 1000, 0.15)
near("all_written", MIB64 / 7.2 / 1000, 0.15)
near("all_read_fresh", MIB64 / 6.9 / 1000, 0.15)
near("all_written_fresh", MIB64 / 10.7 / 1000, 0.15)
again = MIB64 / times("all_read_again")[0] / 1e6
assert 1.9 <= again <= 2.5, again
near("none first", 13208, 0.15)
near("read_mostly first", 9412, 0.15)
near("read_mostly write", 689234, 0.15)
near("preferred_cpu first", 65694, 0.15)
near("preferred_cpu again", 1370, 0.15)
near("preferred_cpu write", 1322, 0.15)
near("accessed_by_gpu first", 1377, 0.15)
near("accessed_by_gpu again", 1336, 0.15)
near("accessed_by_gpu write", 1300, 0.15)
END
holds faults/result.json "r['machines']['h0']['managed']['gpu0']['collapsed_pages'] == 64 * 256"
holds faults/result.json "r['machines']['h0']['managed']['gpu0']['mapped_pages'] == 64 * 256"
holds faults/result.json "r['machines']['h0']['managed']['gpu0']['evicted_bytes'] == 0"
one_gpu gpu_faults '"stray=1"' >stray.yaml
expect 0 run stray.yaml --out stray
[ "$(cat out err | grep -c 'gpu_faults, rank 0: ok ')" = 2 ] || fail "what a kernel may not touch"
