#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Known machines: their matrices are those that nvidia-smi topo -m or NCCL print on such machines, written out here
# by hand, and a scenario has one by its name, or from a file of NCCL's.
. "$(dirname "$0")/lib.sh"

# matrix_is NAME: what topo -m prints of it is "matrix", but for sockets, NUMA nodes and memory
matrix_is() {
	expect 0 topo -m "$1" --quiet
	[ ! -s err ] || fail "topo -m $1 --quiet says something on stderr"
	[ "$(head -n 1 out)" = "$1" ] || fail "topo -m $1 has another title"
	python3 - "$1" <<'END2' || fail "another matrix of $1"
import sys
lines = open("out").read().split("\n\n")[1].splitlines()
heads = lines[0].split()
count = sum(h.startswith(("gpu", "nic")) for h in heads)
found = [line.split()[1:1 + count] for line in lines[1:]]
wanted = [line.split() for line in open("matrix")]
for i, (a, b) in enumerate(zip(wanted, found)):
    if a != b:
        sys.exit(f"{heads[i]}: {b} for {a}")
assert len(found) == len(wanted) == count, (len(found), len(wanted))
END2
}

# Hybrid cube mesh of a DGX-1 with P100: single links, each GPU has four; what has none is on the other socket. One
# adapter with each two GPUs.
cat >matrix <<'END2'
X NV1 NV1 NV1 NV1 SYS SYS SYS PIX PHB SYS SYS
NV1 X NV1 NV1 SYS NV1 SYS SYS PIX PHB SYS SYS
NV1 NV1 X NV1 SYS SYS NV1 SYS PHB PIX SYS SYS
NV1 NV1 NV1 X SYS SYS SYS NV1 PHB PIX SYS SYS
NV1 SYS SYS SYS X NV1 NV1 NV1 SYS SYS PIX PHB
SYS NV1 SYS SYS NV1 X NV1 NV1 SYS SYS PIX PHB
SYS SYS NV1 SYS NV1 NV1 X NV1 SYS SYS PHB PIX
SYS SYS SYS NV1 NV1 NV1 NV1 X SYS SYS PHB PIX
PIX PIX PHB PHB SYS SYS SYS SYS X PHB SYS SYS
PHB PHB PIX PIX SYS SYS SYS SYS PHB X SYS SYS
SYS SYS SYS SYS PIX PIX PHB PHB SYS SYS X PHB
SYS SYS SYS SYS PHB PHB PIX PIX SYS SYS PHB X
END2
matrix_is dgx1_p100

# With V100: six links each.
cat >matrix <<'END2'
X NV1 NV1 NV2 NV2 SYS SYS SYS PIX PHB SYS SYS
NV1 X NV2 NV1 SYS NV2 SYS SYS PIX PHB SYS SYS
NV1 NV2 X NV2 SYS SYS NV1 SYS PHB PIX SYS SYS
NV2 NV1 NV2 X SYS SYS SYS NV1 PHB PIX SYS SYS
NV2 SYS SYS SYS X NV1 NV1 NV2 SYS SYS PIX PHB
SYS NV2 SYS SYS NV1 X NV2 NV1 SYS SYS PIX PHB
SYS SYS NV1 SYS NV1 NV2 X NV2 SYS SYS PHB PIX
SYS SYS SYS NV1 NV2 NV1 NV2 X SYS SYS PHB PIX
PIX PIX PHB PHB SYS SYS SYS SYS X PHB SYS SYS
PHB PHB PIX PIX SYS SYS SYS SYS PHB X SYS SYS
SYS SYS SYS SYS PIX PIX PHB PHB SYS SYS X PHB
SYS SYS SYS SYS PHB PHB PIX PIX SYS SYS PHB X
END2
matrix_is dgx1_v100

# DGX-2: NV6 between all; a socket has four host bridges' worth: two switches with two GPUs and an adapter each below
# one, hence PIX, PXB and NODE (NVIDIA/nccl-tests issue 78).
python3 - >matrix <<'END2'
pix = ["PIX PXB NODE NODE", "PXB PIX NODE NODE", "NODE NODE PIX PXB", "NODE NODE PXB PIX"]
far = "SYS SYS SYS SYS"
for i in range(16):
    row = pix[i % 8 // 2]
    print(" ".join("X" if i == j else "NV6" for j in range(16)), *([row, far] if i < 8 else [far, row]))
for n in range(8):
    near = {0: "PIX PIX PXB PXB NODE NODE NODE NODE", 1: "PXB PXB PIX PIX NODE NODE NODE NODE",
            2: "NODE NODE NODE NODE PIX PIX PXB PXB", 3: "NODE NODE NODE NODE PXB PXB PIX PIX"}[n % 4]
    nics = {0: "X PXB NODE NODE", 1: "PXB X NODE NODE", 2: "NODE NODE X PXB", 3: "NODE NODE PXB X"}[n % 4]
    print(*([near, far, far, nics, far] if n < 4 else [far, far, near, far, nics]))
END2
matrix_is dgx2

# DGX A100: NV12, two adapters PXB to each two GPUs, and SYS to all others: eight NUMA nodes (NVIDIA/nccl issue 1505).
python3 - >matrix <<'END2'
for i in range(8):
    gpus = ["X" if i == j else "NV12" for j in range(8)]
    print(*gpus, *("PXB" if i // 2 == n // 2 else "SYS" for n in range(8)))
for n in range(8):
    print(*("PXB" if i // 2 == n // 2 else "SYS" for i in range(8)),
          *("X" if n == m else "PXB" if n // 2 == m // 2 else "SYS" for m in range(8)))
END2
matrix_is dgx_a100
expect 0 topo -m dgx_a100 --quiet
[ "$(sed -n 's/^gpu[0-7] .* //p' out | tr '\n' ' ')" = "3 3 1 1 7 7 5 5 " ] || fail "other NUMA nodes of a DGX A100"

# HGX H100 and H200: NV18; one adapter PIX to each GPU, NODE to the others of its socket (deepseek-ai/DeepEP issue 60).
python3 - >matrix <<'END2'
def path(i, n):
    return "PIX" if i == n else "NODE" if i // 4 == n // 4 else "SYS"
for i in range(8):
    print(*("X" if i == j else "NV18" for j in range(8)), *(path(i, n) for n in range(8)))
for n in range(8):
    print(*(path(i, n) for i in range(8)), *("X" if n == m else path(n, m) for m in range(8)))
END2
matrix_is dgx_h100
matrix_is hgx_h200
grep -qF '  gpu0-nvsw1  nvlink 4 x5' out && grep -qF '  gpu7-nvsw3  nvlink 4 x4' out || fail "other links to the NVSwitches"

# A tray of a GB200 NVL72, and MI300X: all GPUs see each other.
expect 0 topo -m gb200_nvl72 --quiet
[ "$(grep -c '^gpu[0-3].* NV18 .* NV18 ' out)" = 4 ] || fail "another NVL72"
expect 0 topo -m mi300x --quiet
[ "$(sed -n 's/^gpu[0-7]  //p' out | cut -c 1-46 | tr -s ' ' '\n' | grep -c XGMI)" = 56 ] || fail "another mesh of MI300X"
# A GPU far from the adapter.
printf 'X SYS\nSYS X\n' >matrix
matrix_is two_socket

# What is guessed is told, in one line, by whatever reads the scenario; and not what is said instead.
cat >run.yaml <<'END2'
version: 1
topology: {kind: star, hosts: 2, host_rate: 100Gbps}
machine: two_socket
traffic: [{class: f, pattern: incast, to: h1, from: [h0], size: 300KB}]
expect: [.flows.completed == 1]
END2
guess='warning: run.yaml:3: machine.profile: of what two_socket says these figures are guesses: '
for command in check run; do
	expect 0 $command run.yaml
	[ "$(grep -c guesses err)" = 1 ] && grep -qxF "${guess}latency, tags, delay" err || fail "$command does not tell guesses"
done
expect 0 run run.yaml --json
holds out "r['machines']['h1']['guesses'] == ['latency', 'tags', 'delay']"
sed -i 's/machine: .*/machine: {profile: two_socket, parts: [{name: nic0, tags: 64}, {name: gpu0, tags: 64}]}/' run.yaml
expect 0 run run.yaml --json --set 'machines=[{hosts: h0, memory: cpu1}]'
holds out "all(m['guesses'] == ['latency', 'delay'] for m in r['machines'].values())"
expect 0 run run.yaml --json
grep -qxF "${guess}latency, delay" err || fail "what is said instead is a guess, too"
cp out tags.json
for how in "--threads 2" --through-wire; do
	# shellcheck disable=SC2086
	expect 0 run run.yaml $how --json --quiet
	holds out "r['digest'] == '$(sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' tags.json | head -n 1)'"
	[ ! -s err ] || fail "--quiet is not"
done
# Each of them carries a WRITE.
for name in dgx1_p100 dgx1_v100 dgx2 dgx_a100 dgx_h100 gb200_nvl72 h100_measured hgx_h200 mi250x mi300x workstation; do
	sed "s/^machine: .*/machine: $name/" run.yaml >"$name.yaml"
	expect 0 run "$name.yaml" --json --quiet
	holds out "r['flows']['completed'] == 1"
	expect 0 profiles "$name"
	grep -q '^machine:$' out || fail "profiles $name"
done
expect 0 profiles
[ "$(grep -cE '^(dgx|hgx|gb200|h100|mi[23]|two_|work)' out)" = 12 ] || fail "profiles lists other machines"

# A name that is nearly one, and no file.
expect 2 topo -m dgx_h10
grep -qxF 'dgx_h10:1: machine.profile: found "dgx_h10", expected a known machine such as "dgx_h100"' err || fail "another name"
expect 2 topo -m nowhere.xml
grep -qxF 'nowhere.xml: machine.file: found no such file: "nowhere.xml", expected a file that can be read' err || fail "no file"

printf '<system/>\n' >none.xml
expect 2 topo -m none.xml
if grep -q 'this verbena was built without libxml2' err; then
	exit 0
fi
# A file of NCCL's, whatever its name, by topo and in a scenario, beside which parts may be said.
cat >topology <<'END2'
<system version="1">
 <cpu numaid="0" vendor="AuthenticAMD" familyid="143" modelid="49">
  <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
   <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"/>
   <pci busid="0000:03:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="8"/>
  </pci>
 </cpu>
 <cpu numaid="1"><pci busid="0000:81:00.0" class="0x020700" link_speed="8.0 GT/s PCIe" link_width="16"/></cpu>
</system>
END2
mkdir -p below
mv topology below/topology.txt
printf 'X PIX SYS\nPIX X SYS\nSYS SYS X\n' >matrix
matrix_is below/topology.txt
grep -qF '  nic0-sw0   pcie gen 4 x8 ' out && grep -qF '  cpu0-cpu1  xgmi ' out && grep -qF '  gpu0  0000:02:00.0' out || fail "other lanes"
cat >below/file.yaml <<'END2'
version: 1
topology: {kind: star, hosts: 2}
machine:
  file: topology.txt
  parts: [{name: gpu0, memory: 4GiB}]
traffic: [{class: f, pattern: incast, to: h1.nic1, from: [h0.nic1], size: 300KB}]
END2
expect 0 run below/file.yaml --json
[ "$(cat err)" = "warning: below/file.yaml:4: machine.file: the file does not say these, and they are guesses: latency, tags, delay, rates between sockets, memory of GPUs" ] || fail "what is not said"
holds out "r['flows']['completed'] == 1"
