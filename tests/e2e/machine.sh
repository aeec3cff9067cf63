#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Machines in a scenario: a WRITE of one packet takes as much longer as a request, its bytes and its
# completion take over PCIe, to the picosecond, by an arithmetic that is written down here once more;
# a slow path behind an adapter has the fabric pause; nobody sees the order of lines.
. "$(dirname "$0")/lib.sh"

cat >fabric.yaml <<'END'
version: 1
name: bare
topology: {kind: star, hosts: 2, nics: 4, host_rate: 400Gbps, delay: 500ns}
nic: {mtu: 4096}
END
cat >machine.yaml <<'END'
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 90ns}
    - {name: cpu1, kind: socket, latency: 70ns, numa: 1}
    - {name: sw0, kind: switch, latency: 110ns}
    - {name: nic0, kind: nic, tags: 512}
    - {name: nic1, kind: nic, tags: 512}
    - {name: nic2, kind: nic, tags: 512}
    - {name: nic3, kind: nic, tags: 512}
  lanes:
    - {a: cpu0, b: cpu1, kind: upi, rate: 200Gbps, payload: 64B, overhead: 16B, delay: 50ns, ph: 1024, pd: 4096, nph: 1024}
    - {a: cpu0, b: sw0, gen: 5, width: 16, dllps: no, delay: 3ns}
    - {a: sw0, b: nic0, gen: 5, width: 16, dllps: no, delay: 3ns}
    - {a: sw0, b: nic1, gen: 4, width: 8, dllps: no, delay: 3ns}
    - {a: cpu1, b: nic2, gen: 5, width: 16, dllps: no, delay: 3ns}
    - {a: cpu1, b: nic3, gen: 5, width: 16, dllps: no, delay: 3ns}
END
# flow NAME NIC: one packet of it, without a machine and with one, whose memory is that of cpu0
flow() {
	printf 'traffic:\n  - {class: f, pattern: incast, to: h1, from: [h0.%s], size: 4096B}\n' "$2" >traffic
	cat fabric.yaml traffic >"bare_$1.yaml"
	{ cat fabric.yaml machine.yaml && echo '  memory: cpu0' && cat traffic; } >"with_$1.yaml"
	expect 0 run "bare_$1.yaml" --quiet --out "bare_$1"
	expect 0 run "with_$1.yaml" --quiet --out "with_$1"
	[ ! -e "bare_$1/lanes.csv" ] || fail "lanes of no machine"
}
flow near nic0
flow slower nic1
flow far nic2
PYTHONPATH=$root/tests/e2e python3 -B - <<'END' || fail "another time than the arithmetic's"
import csv
from bus_times import NS, Pcie, Upi, way

gen5, gen4, upi = Pcie(5, 16), Pcie(4, 8), Upi()
to_cpu = {"near": [(gen5, 3 * NS, 110 * NS), (gen5, 3 * NS, 90 * NS)],
          "slower": [(gen4, 3 * NS, 110 * NS), (gen5, 3 * NS, 90 * NS)],
          "far": [(gen5, 3 * NS, 70 * NS), (upi, 50 * NS, 90 * NS)]}
to_nic = {"near": [(gen5, 3 * NS, 110 * NS), (gen5, 3 * NS, 0)],
          "slower": [(gen5, 3 * NS, 110 * NS), (gen4, 3 * NS, 0)],
          "far": [(upi, 50 * NS, 70 * NS), (gen5, 3 * NS, 0)]}
def fct(name):
    (row,) = csv.DictReader(open(name + "/flows.csv"))
    return int(row["fct_ps"])
for name in to_cpu:
    there, back = to_cpu[name], to_nic[name]
    # The request comes with its doorbell: a block of 64 bytes.
    took = way(back, "write", 64) + way(there, "request", 4096) + way(back, "completion", 4096) + \
        way(there, "write", 64)
    found = fct("with_" + name) - fct("bare_" + name)
    print(name, took, found)
    assert took == found, name
END

# Nobody sees in which order parts and lanes stand.
python3 - <<'END'
lines = open("with_far.yaml").read().splitlines()
parts = [l for l in lines if "name:" in l and "kind:" in l]
lanes = [l for l in lines if "{a:" in l]
text = "\n".join(lines).replace("\n".join(parts), "\n".join(parts[::-1])).replace("\n".join(lanes), "\n".join(lanes[::-1]))
open("turned.yaml", "w").write(text + "\n")
END
expect 0 run turned.yaml --json
cp out turned.json
expect 0 run with_far.yaml --json
python3 - <<'END' || fail "the order of lines is seen"
import json
assert json.load(open("out"))["digest"] == json.load(open("turned.json"))["digest"]
END

# Four megabytes for memory behind a socket link of 100 Gb/s: 80 of them are payload, and the fabric pauses.
cat >slow.yaml <<'END'
switch: {buffer: 16MiB, pfc: {priorities: [3]}}
machines:
  - {hosts: h1, memory: cpu0}
traffic:
  - {class: f, pattern: incast, to: h1.nic2, from: [h0.nic2], size: 4MB, priority: 3}
END
cat fabric.yaml machine.yaml slow.yaml | sed 's/rate: 200Gbps, payload/rate: 100Gbps, payload/; s/nic3, kind/nic3, kind/' >paused.yaml
expect 0 run paused.yaml --quiet --out paused
holds paused/result.json "r['pfc']['pause_sent'] > 20 and r['drops']['buffer'] == 0 and r['flows']['completed'] == 1"
expect 0 explain --why pfc paused
grep -q 'That is the root: h1.nic2 took packets in more slowly than its link brought them' out ||
	fail "another root"
python3 - <<'END' || fail "lanes.csv says something else"
import csv
lanes = {(r["machine"], r["from"], r["to"]): r for r in csv.DictReader(open("paused/lanes.csv"))}
slow, near = lanes["h1", "cpu1", "cpu0"], lanes["h1", "nic2", "cpu1"]
assert int(slow["bytes"]) == 4000000 and int(near["bytes"]) == 4000000
# 62,500 packets of 80 bytes at 12.5 GB/s
assert int(slow["busy_ps"]) == 62500 * 80 * 80, slow
assert int(near["starved_posted_ps"]) > 200 * 10**6, near
END
# Without pauses what the buffer has no room for is lost, and sent again.
sed '/^switch:/d; s/, priority: 3//' paused.yaml >lossy.yaml
expect 0 run lossy.yaml --quiet --out lossy
holds lossy/result.json "r['pfc']['pause_sent'] == 0 and r['drops']['buffer'] > 100 and r['packets_retransmitted'] > 100"

# Two adapters share the lane behind their switch: 64 GB/s less headers, of which each has its half. Whoever runs
# it, and however, sees the same.
cat >both.yaml <<'END'
switch: {buffer: 16MiB, pfc: {priorities: [3]}}
traffic:
  - {class: f, pattern: incast, to: h1, from: [h0], size: 8MB, priority: 3}
  - {class: g, pattern: incast, to: h1.nic1, from: [h0.nic1], size: 8MB, priority: 3}
END
cat fabric.yaml machine.yaml both.yaml |
	sed "s/gen: 4, width: 8/gen: 5, width: 16/; s/b: sw0, gen: 5, width: 16/b: sw0, gen: 5, width: 8/" >shared.yaml
expect 0 run shared.yaml --quiet --out shared
python3 - <<'END' || fail "adapters do not share"
import csv
fct = [int(r["fct_ps"]) for r in csv.DictReader(open("shared/flows.csv"))]
# 31.5 GB/s for both, of which 256 of 280 bytes are payload.
least = 16000000 * 280 * 10**12 * 130 * 8 // 256 // (8 * 32 * 10**9 * 128)
print(fct, least)
assert abs(fct[0] - fct[1]) < least // 50, fct
assert 0.93 * least < max(fct) < 1.05 * least, (fct, least)
END
for how in "--threads 2" --through-wire "--threads 2 --through-wire"; do
	# shellcheck disable=SC2086
	expect 0 run shared.yaml $how --json
	holds out "r['digest'] == '$(sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' shared/result.json | head -n 1)'"
done
