#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A CPU that maps a GPU's memory, and what GDRCopy's README has of a V100: stores are posted line by line, loads fetch eight
# lines at a time; calls take what they were measured to take.
. "$(dirname "$0")/lib.sh"
cat >mapped.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2}
machine: dgx1_v100
programs: [{run: gpu_mapped, hosts: [h0]}]
END
expect 0 run mapped.yaml --out mapped --json
[ "$(cat out err | grep -c ' ok ')" = 37 ] || fail "other checks than before"
cat out err | sed -n 's/.*rank 0: \([a-z]* [0-9 ]*\)$/\1/p' >took
python3 - <<'END' || fail "a CPU's copies take another time"
rows = [line.split() for line in open("took")]
of = {tuple(row[:-1]): int(row[-1]) for row in rows}
def near(what, published, percent):
    print(what, of[what], published)
    assert abs(of[what] / published - 1) < percent / 100, what
# github.com/NVIDIA/gdrcopy: pin, map, get_info, unmap and unpin 64 KiB in 1346, 3.6, 0.34, 4.7 and 677 us.
for what, ns in (("pin", 1346000), ("map", 3600), ("info", 340), ("unmap", 4700), ("unpin", 677000)):
    near((what,), ns, 1)
# Both ways at 4 and 64 KiB, and rates at 128 KiB: 9.638 and 0.530 GB/s; within 10 %.
for what, bytes, ns in (("write", 4096, 440), ("write", 65536, 6490), ("write", 131072, 131072 / 9.638),
                        ("read", 4096, 7980), ("read", 65536, 114000), ("read", 131072, 131072 / 0.530)):
    near((what, str(bytes)), ns, 10)
# A store is a packet of 64 of 88 bytes at 15.754 GB/s, less 16 of 168 and skips; the first leaves at once, and nobody waits
# until the last is there.
line = 88 / 15.754 / (152 / 168 * 1534 / 1538)
for bytes in (64, 4096, 131072):
    near(("write", str(bytes)), 30 + (bytes / 64 - 1) * line, 1 if bytes > 64 else 5)
# Loads: eight at a time, each as long as the first.
assert of["read", "512"] < 1.1 * of["read", "8"] and of["read", "1024"] > 1.9 * of["read", "8"]
near(("read", "131072"), 131072 / 64 / 8 * of["read", "64"], 4)
# 1000 bytes that begin three before the end of a line touch 17 of them.
near(("write", "1000"), 30 + (15 + 27 / 88) * line, 1)
assert of["read", "1000"] > 2.8 * of["read", "8"]
END
# Nobody sees how it is run.
same_by_ways mapped
# A window that is smaller than the memory has room for so much.
cat >small.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 200ns}
    - {name: nic0, kind: nic}
    - {name: gpu0, kind: gpu, memory: 1GiB, bar1: 64KiB, latency: 150ns}
  lanes:
    - {a: cpu0, b: nic0}
    - {a: cpu0, b: gpu0}
programs: [{run: gpu_mapped, hosts: [h0]}]
END
expect 1 run small.yaml --out small
grep -q 'ok pin' out err && ! grep -q 'write [0-9]' out err || fail "a window has more room than it has"
sed 's/bar1: 64KiB/bar1: 192KiB/' small.yaml >large.yaml
expect 0 run large.yaml --out large
