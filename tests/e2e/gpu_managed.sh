#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Managed memory in virtual time: codes and attributes as measured on an H100, the same bytes for whoever reads them,
# which faults a walk makes and where, and what faults, prefetches and advice cost.
. "$(dirname "$0")/lib.sh"

one_gpu gpu_managed >managed.yaml
expect 0 run managed.yaml --out managed --json
sed -n 's/^gpu_managed, rank 0: \([^#]\)/\1/p' err >said
[ "$(grep -c '^ok ' said)" = 29 ] || fail "$(grep -c '^ok ' said) checks, not 29"
# Figures of the H100 (driver 580.159.04), in microseconds: of each fault from run to run; of what takes long within the
# share that is given.
PYTHONPATH=$root/tests/e2e python3 -B - <<'END' || fail "not as measured"
from gpu_times import near, places, read, times, within

read("said")
BLOCK = [0, 16, 32, 64, 128, 256]
ORDER = BLOCK + [512 + page for page in BLOCK]
for name in ("gpu", "gpu_fresh", "cpu", "cpu_write", "cpu_fresh"):
    assert places(name) == ORDER, (name, places(name))
LAST = [511, 495, 479, 447, 383, 255]
assert places("gpu_backwards") == [512 + page for page in LAST] + LAST, places("gpu_backwards")
# 63 to 67 in 2048 pages of a CPU's scattered walk, and the same of a GPU where it is the same walk: half of them here.
assert len(places("cpu_scattered")) in (32, 33) and places("cpu_scattered") == places("gpu_scattered"), places("cpu_scattered")

within("gpu", [(103, 155), (34, 71), (41, 59), (39, 62), (48, 83), (77, 111)])
within("gpu_fresh", [(28, 78)] * 6)
within("cpu_fresh", [(200, 230), (13, 15), (18, 21), (32, 34), (57, 60), (109, 113)])
# 22 us and 0.13 us a KiB.
within("cpu", [(22 + 0.13 * kib, 22.1 + 0.13 * kib) for kib in (64, 64, 128, 256, 512, 1024)])

MIB64 = 64 * 2**20
def rate(name, gb, share):
    near(name, MIB64 / gb / 1000, share)
rate("set_fresh", 10.7, 0.15)
rate("copy_from_cpu", 7.4, 0.15)
rate("copy_from_gpu", 1094, 0.2)
rate("prefetch_to_gpu", 49, 0.05)
rate("prefetch_to_cpu", 10.3, 0.05)
near("prefetch_there", 5.4 + 1.2 * 62, 0.05)
near("prefetch_call", 2 / 3 * MIB64 / 49 / 1000, 0.05)
near("free", 796, 0.05)
# With advice: a CPU's own reading takes no time here.
near("read_mostly first", 9412, 0.15)
near("read_mostly write", 689234, 0.15)
near("read_mostly cpu_write", 236775, 0.15)
assert times("read_mostly cpu_read") == [0], "a duplicate moves"
near("preferred_cpu first", 65694, 0.15)
near("preferred_cpu again", 1370, 0.15)
near("preferred_cpu write", 1322, 0.15)
near("accessed_by_gpu first", 1377, 0.15)
near("accessed_by_gpu write", 1300, 0.15)
for name in ("preferred_gpu", "accessed_by_cpu"):
    for what in ("first", "again", "cpu_read", "write", "cpu_write"):
        # As without advice, as far as times between two calls are in whole ns.
        assert abs(times(f"{name} {what}")[0] - times(f"none {what}")[0]) < 0.01, (name, what)
# Each fourth round waits; the others are a fault of 64 KiB each.
assert [i for i, time in enumerate(times("ping")) if time > 400] == list(range(3, 30, 4)), times("ping")
assert all(480 <= time <= 600 for time in times("ping")[3::4]), times("ping")
assert all(25 <= time <= 31 for time in times("pong")), times("pong")
END
digest=$(sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' managed/result.json | head -n 1)
holds out "r['digest'] == '$digest'"
# Three walks, in and out of 4 MiB, and all of 64 MiB, and one page: whatever came from the GPU came to the CPU.
holds managed/result.json "sorted(r['machines']['h0']['managed']) == ['cpu', 'gpu0'] and 'managed' not in r['machines']['h1']"
holds managed/result.json "r['machines']['h0']['managed']['gpu0']['collapsed_pages'] == 64 * 256"
holds managed/result.json "r['machines']['h0']['managed']['cpu']['collapsed_pages'] == 64 * 256 + 1"
holds managed/result.json "r['machines']['h0']['managed']['gpu0']['mapped_pages'] == 64 * 256"
holds managed/result.json "r['machines']['h0']['managed']['gpu0']['throttled'] == 7"
holds managed/result.json "r['machines']['h0']['managed']['gpu0']['duplicated_bytes'] == 64 << 20"
# What came and went over the bus: pages that moved, and of those that advice has stay with the host 64 MiB, read four
# times and written twice where they are.
python3 - <<'END' || fail "other moves"
import csv, json
machine = json.load(open("managed/result.json"))["machines"]["h0"]
moved = {who: machine["managed"][who]["moved_bytes"] for who in ("gpu0", "cpu")}
rows = {r["engine"]: r for r in csv.DictReader(open("managed/engines.csv")) if r["machine"] == "h0"}
for engine, who, there in (("managed_in", "gpu0", 4), ("managed_out", "cpu", 2)):
    of_json = machine["gpus"]["gpu0"]["engines"][engine]
    assert int(rows[engine]["bytes"]) == of_json["bytes"] == moved[who] + there * (64 << 20), (engine, of_json, moved)
    assert int(rows[engine]["busy_ps"]) == of_json["busy_ps"] and int(rows[engine]["copies"]) == of_json["copies"]
    # As slow as faults are, and no faster than the lane: 32 GT/s on 16 lanes.
    assert of_json["bytes"] / 64e9 < of_json["busy_ps"] / 1e12 < machine["managed"][who]["fault_ps"] / 1e12 + of_json["bytes"] / 1e9, of_json
END
sed -i 's/hosts: \[h0\]/hosts: [h0, h1]/' managed.yaml
expect 0 run managed.yaml --out one --quiet
expect 0 run managed.yaml --out two --quiet --threads 2
cmp one/requests.csv two/requests.csv || fail "threads are seen"
of() { sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$1/result.json" | head -n 1; }
[ -n "$digest" ] && [ "$(of one)" = "$(of two)" ] || fail "threads are seen in the digest"
[ "$(of one)" != "$digest" ] || fail "the digest sees nothing of it"
# What is not managed any more is a crash, as it was.
sed -i 's/args: \[\]/args: ["wild=1"]/' managed.yaml
"$verbena" run managed.yaml --out wild >out 2>err && fail "a touch of what was given back"
grep -q "h[01]: program gpu_managed crashed at .*: Segmentation fault" err || fail "no report of a bad access"
