#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What verbena topo -m says about the inside of machines: the matrix is written out here by hand.
. "$(dirname "$0")/lib.sh"

# nic0 and nic1 below one PCIe switch; nic2 at a socket by itself; nic3 and nic4 below two in a chain.
cat >two.yaml <<'END'
version: 1
topology: {kind: star, hosts: 6, nics: 5}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 90ns}
    - {name: cpu1, kind: socket, latency: 90ns, numa: 1}
    - {name: sw0, kind: switch, latency: 110ns}
    - {name: sw1, kind: switch, latency: 110ns}
    - {name: sw2, kind: switch, latency: 110ns}
    - {name: nic0, kind: nic, address: "0000:17:00.0"}
    - {name: nic1, kind: nic}
    - {name: nic2, kind: nic}
    - {name: nic3, kind: nic, address: "0000:97:00.0"}
    - {name: nic4, kind: nic}
  lanes:
    - {a: cpu0, b: cpu1, kind: upi, rate: 320Gbps, delay: 50ns}
    - {a: cpu0, b: sw0, gen: 5}
    - {a: sw0, b: nic0, gen: 5}
    - {a: sw0, b: nic1, gen: 4, mps: 512B, dllps: "no"}
    - {a: cpu1, b: nic2, gen: 3, width: 8}
    - {a: cpu1, b: sw1, gen: 6}
    - {a: sw1, b: nic3, gen: 5}
    - {a: sw1, b: sw2, gen: 5}
    - {a: sw2, b: nic4, gen: 1, width: 1}
machines:
  - {hosts: [h2], memory: cpu1}
END
cat >matrix <<'END'
      nic0  nic1  nic2  nic3  nic4  cpu0  cpu1  NUMA Affinity  Memory
nic0  X     PIX   SYS   SYS   SYS   PHB   SYS   0              cpu0
nic1  PIX   X     SYS   SYS   SYS   PHB   SYS   0              cpu0
nic2  SYS   SYS   X     PHB   PHB   SYS   PHB   1              cpu1
nic3  SYS   SYS   PHB   X     PXB   SYS   PHB   1              cpu1
nic4  SYS   SYS   PHB   PXB   X     SYS   PHB   1              cpu1
END
cat >below <<'END'

Legend:

  X    = itself
  SYS  = through sockets of several NUMA nodes (over UPI, xGMI or the like)
  NODE = through several sockets or host bridges of one NUMA node
  PHB  = through a socket, the root of its PCIe (a host bridge)
  PXB  = through several PCIe switches, and no socket
  PIX  = through one PCIe switch at most, and no socket

PCI addresses:

  nic0  0000:17:00.0
  nic3  0000:97:00.0

Lanes:

END
# Gen 5 x16: 32 GT/s x 16 x 128/130 / 8 = 63.0 GB/s; 256 of 280 bytes of a write, 152 of 168 beside an Ack and
# an UpdateFC, 1534 of 1538 symbols beside skips: 52.0. Gen 4: half, and 512 of 536 bytes. Gen 3 x8: an eighth,
# with 187 of 203. Gen 6: 236 bytes of TLPs in a flit of 256, and 256 of 272. Gen 1: 8 of 10 bits, 400 of 416.
cat >lanes <<'END'
  cpu0-cpu1  upi              40.0 GB/s each way, 32.0 GB/s of payload in packets of 64
  cpu0-sw0   pcie gen 5 x16   63.0 GB/s each way, 52.0 GB/s of payload in packets of 256
  cpu1-nic2  pcie gen 3 x8    7.88 GB/s each way, 6.62 GB/s of payload in packets of 256
  cpu1-sw1   pcie gen 6 x16   118 GB/s each way, 111 GB/s of payload in packets of 256
  nic0-sw0   pcie gen 5 x16   63.0 GB/s each way, 52.0 GB/s of payload in packets of 256
  nic1-sw0   pcie gen 4 x16   31.5 GB/s each way, 30.1 GB/s of payload in packets of 512
  nic3-sw1   pcie gen 5 x16   63.0 GB/s each way, 52.0 GB/s of payload in packets of 256
  nic4-sw2   pcie gen 1 x1    250 MB/s each way, 219 MB/s of payload in packets of 256
  sw1-sw2    pcie gen 5 x16   63.0 GB/s each way, 52.0 GB/s of payload in packets of 256
END

# Two kinds of machines, each with the hosts that have it: that of the first host first.
sed 's/cpu0$/cpu1/' matrix >matrix_of_h2
{
	printf 'h2\n\n'
	cat matrix_of_h2 below lanes
} >want_of_h2
{
	printf 'h0, h1, h3..h5\n\n'
	cat matrix below lanes
	echo
	cat want_of_h2
} >want
expect 0 topo -m two.yaml
diff want out || fail "another inside"
expect 0 topo two.yaml --matrix
diff want out || fail "another inside by its long name"

# One host, by any of its adapters.
for name in h2 h2.nic3; do
	expect 0 topo -m two.yaml --host "$name"
	diff want_of_h2 out || fail "another inside of $name"
done

# matrix_is FILE ARG...: what is printed first, after hosts
matrix_is() {
	file=$1
	shift
	expect 0 topo -m "$@"
	sed 1,2d out | head -n "$(wc -l <"$file")" | diff "$file" - || fail "another matrix: topo -m $*"
}
matrix_is matrix two.yaml --host h4

# Order in the file means nothing, nor does that of a lane's ends.
{
	sed -n '1,/parts:/p' two.yaml
	sed -n '/{name/p' two.yaml | tac
	echo '  lanes:'
	sed -n '/{a:/p' two.yaml | tac | sed 's/{a: \([a-z0-9]*\), b: \([a-z0-9]*\)/{a: \2, b: \1/'
} >turned.yaml
expect 0 topo -m turned.yaml
{
	printf 'h0..h5\n\n'
	cat matrix below lanes
} | diff - out || fail "another inside of the same machine"

# Both sockets in one NUMA node.
sed 's/SYS /NODE/g; s/1              /0              /' matrix >node
matrix_is node two.yaml --host h4 --set 'machine.parts[1].numa=0'

# What is between counts, too: both ends are in one node, but there is no way within it.
cat >three.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2, nics: 4}
machines:
  - hosts: [h1]
    parts:
      - {name: a, kind: socket, numa: 3}
      - {name: middle, kind: socket, numa: 4}
      - {name: z, kind: socket, numa: 3}
      - {name: nic0, kind: nic, address: "\e[31m"}
      - {name: nic1, kind: nic}
      - {name: nic2, kind: nic}
      - {name: nic3, kind: nic}
    lanes:
      - {a: a, b: middle, kind: xgmi, rate: 512Gbps}
      - {a: middle, b: z, kind: c2c, rate: 512Gbps}
      - {a: a, b: nic0}
      - {a: z, b: nic1}
      - {a: nic1, b: nic2}
      - {a: nic2, b: nic3}
END
cat >three <<'END'
      nic0  nic1  nic2  nic3  a     middle  z     NUMA Affinity  Memory
nic0  X     SYS   SYS   SYS   PHB   SYS     SYS   3              a
nic1  SYS   X     PIX   PIX   SYS   SYS     PHB   3              z
nic2  SYS   PIX   X     PIX   SYS   SYS     PHB   3              z
nic3  SYS   PIX   PIX   X     SYS   SYS     PHB   3              z
END
matrix_is three three.yaml
[ "$(head -n 1 out)" = h1 ] || fail "machines of other hosts"
grep -qxF '  nic0  \x1b[31m' out || fail "an address that is no text"
grep -q '^  a-middle   *xgmi  *64\.0 GB/s each way' out && grep -q '^  middle-z   *c2c  *64\.0 GB/s' out ||
	fail "other kinds of lanes"

# For Graphviz: a graph for each kind of machine, every part and lane in it.
expect 0 topo -m two.yaml --dot
[ "$(grep -c '^graph "' out)" = 2 ] && grep -qx 'graph "h0, h1, h3..h5" {' out || fail "other graphs"
expect 0 topo -m two.yaml --dot --host h2
[ "$(grep -c ' -- ' out)" = 9 ] && [ "$(grep -cE '^	"[a-z0-9]+" \[' out)" = 10 ] || fail "another graph"
grep -qxF '	"sw1" -- "sw2" [label="pcie gen 5 x16, 63.0 GB/s"]' out || fail "another lane of the graph"
if command -v dot >/dev/null; then
	dot -Tsvg out >graph.svg || fail "no graph for Graphviz"
fi

# ---- NVLink ----

# The links of a DGX-1 of V100s and of one of P100s, as nvidia-smi topo -m prints them: each GPU has 6, and 4.
cat >v100 <<'END'
0 1 1 2 2 0 0 0
1 0 2 1 0 2 0 0
1 2 0 2 0 0 1 0
2 1 2 0 0 0 0 1
2 0 0 0 0 1 1 2
0 2 0 0 1 0 2 1
0 0 1 0 1 2 0 2
0 0 0 1 2 1 2 0
END
sed 's/2/1/g' v100 >p100

# dgx1 LINKS GEN: two sockets, each with two switches that have two GPUs and an adapter
dgx1() {
	cat <<'END'
version: 1
topology: {kind: star, hosts: 2, nics: 4}
machine:
  parts:
    - {name: cpu0, kind: socket}
    - {name: cpu1, kind: socket, numa: 1}
END
	for i in 0 1 2 3; do
		printf '    - {name: sw%u, kind: switch}\n    - {name: nic%u, kind: nic}\n' $i $i
		printf '    - {name: gpu%u, kind: gpu, memory: 2MiB}\n' $((2 * i)) $((2 * i + 1))
	done
	printf '  lanes:\n    - {a: cpu0, b: cpu1, kind: upi, rate: 150Gbps}\n'
	for i in 0 1 2 3; do
		printf '    - {a: %s, b: %s, gen: 3}\n' cpu$((i / 2)) sw$i sw$i nic$i sw$i gpu$((2 * i)) sw$i gpu$((2 * i + 1))
	done
	awk -v gen="$2" '{
		for (i = NR + 1; i <= 8; i++)
			if ($i > 0)
				printf "    - {a: gpu%u, b: gpu%u, kind: nvlink, gen: %u, links: %u}\n", i - 1, NR - 1, gen, $i
	}' "$1"
}
# links_are FILE: the rows of GPUs have NV and a number where there are links, else PIX, PHB or SYS by where their
# switches are; how many rows, and the links of each, come out
links_are() {
	awk '
		FNR == NR { for (i = 1; i <= 8; i++) links[NR - 1, i - 1] = $i; next }
		/^gpu/ {
			row = substr($1, 4)
			for (i = 0; i < 8; i++) {
				far = row == i ? "X" : int(row / 2) == int(i / 2) ? "PIX" : int(row / 4) == int(i / 4) ? "PHB" : "SYS"
				if ($(i + 2) != (links[row, i] ? "NV" links[row, i] : far))
					print row, i, $(i + 2)
				sum[row] += substr($(i + 2), 1, 2) == "NV" ? substr($(i + 2), 3) : 0
			}
			printf "%u ", sum[row]
		}' "$1" out
}
dgx1 v100 2 >v100.yaml
dgx1 p100 1 >p100.yaml
expect 0 topo -m p100.yaml
[ "$(links_are p100)" = "4 4 4 4 4 4 4 4 " ] || fail "other links between P100s"
expect 0 topo -m v100.yaml
[ "$(links_are v100)" = "6 6 6 6 6 6 6 6 " ] || fail "other links between V100s"
cat >lines <<'END'
      gpu0  gpu1  gpu2  gpu3  gpu4  gpu5  gpu6  gpu7  nic0  nic1  nic2  nic3  cpu0  cpu1  NUMA Affinity  Memory
gpu0  X     NV1   NV1   NV2   NV2   SYS   SYS   SYS   PIX   PHB   SYS   SYS   PHB   SYS   0
gpu6  SYS   SYS   NV1   SYS   NV1   NV2   X     NV2   SYS   SYS   PHB   PIX   SYS   PHB   1
nic1  PHB   PHB   PIX   PIX   SYS   SYS   SYS   SYS   PHB   X     SYS   SYS   PHB   SYS   0              cpu0
  NV#  = over # links of NVLink
  gpu0-gpu3  nvlink 2 x2      50.0 GB/s each way, 47.1 GB/s of payload in packets of 256
  gpu6-sw3   pcie gen 3 x16   15.8 GB/s each way, 13.0 GB/s of payload in packets of 256
END
[ "$(grep -cxFf lines out)" = 7 ] || fail "another inside of a DGX-1"
[ "$(grep -c '^  gpu.-gpu.  *nvlink' out)" = 16 ] || fail "other lanes of a DGX-1"

# Through NVSwitches: as many as the one with fewer has to such as lead to the other. gpu0 has five links and gpu1
# four, to a0 and a1; behind a1 and nvs2 there is gpu2. A lane between two GPUs goes before them; nobody else is at
# nvs3, and gpu5 has no links.
cat >switched.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2}
machine:
  parts:
    - {name: cpu0, kind: socket}
    - {name: nic0, kind: nic}
    - {name: a0, kind: nvswitch}
    - {name: a1, kind: nvswitch}
    - {name: nvs2, kind: nvswitch}
    - {name: nvs3, kind: nvswitch}
    - {name: gpu0, kind: gpu, memory: 2MiB}
    - {name: gpu1, kind: gpu, memory: 2MiB}
    - {name: gpu2, kind: gpu, memory: 2MiB}
    - {name: gpu3, kind: gpu, memory: 2MiB}
    - {name: gpu4, kind: gpu, memory: 2MiB}
    - {name: gpu5, kind: gpu, memory: 2MiB}
  lanes:
    - {a: cpu0, b: nic0}
    - {a: cpu0, b: gpu0}
    - {a: cpu0, b: gpu1}
    - {a: cpu0, b: gpu2}
    - {a: cpu0, b: gpu3}
    - {a: cpu0, b: gpu4}
    - {a: cpu0, b: gpu5}
    - {a: a0, b: gpu0, kind: nvlink, links: 3}
    - {a: a1, b: gpu0, kind: nvlink, links: 2}
    - {a: a0, b: gpu1, kind: nvlink, links: 2}
    - {a: a1, b: gpu1, kind: nvlink, links: 2}
    - {a: a1, b: nvs2, kind: nvlink, links: 8}
    - {a: nvs2, b: gpu2, kind: nvlink, links: 6}
    - {a: gpu3, b: gpu1, kind: nvlink, gen: 5, links: 9, rate: 100Gbps}
    - {a: nvs3, b: gpu4, kind: nvlink, links: 18, payload: 128B, overhead: 32B}
END
cat >switched <<'END'
      gpu0  gpu1  gpu2  gpu3  gpu4  gpu5  nic0  cpu0  NUMA Affinity  Memory
gpu0  X     NV4   NV2   PHB   PHB   PHB   PHB   PHB   0
gpu1  NV4   X     NV2   NV9   PHB   PHB   PHB   PHB   0
gpu2  NV2   NV2   X     PHB   PHB   PHB   PHB   PHB   0
gpu3  PHB   NV9   PHB   X     PHB   PHB   PHB   PHB   0
gpu4  PHB   PHB   PHB   PHB   X     PHB   PHB   PHB   0
gpu5  PHB   PHB   PHB   PHB   PHB   X     PHB   PHB   0
nic0  PHB   PHB   PHB   PHB   PHB   PHB   X     PHB   0              cpu0
END
matrix_is switched switched.yaml
# 9 links of 12.5 GB/s, 256 of 272 bytes; and 18 of 25, 128 of 160.
grep -qxF '  gpu1-gpu3  nvlink 5 x9      112 GB/s each way, 106 GB/s of payload in packets of 256' out &&
	grep -qxF '  gpu4-nvs3  nvlink 4 x18     450 GB/s each way, 360 GB/s of payload in packets of 128' out ||
	fail "other lanes of NVLink"
expect 0 topo -m switched.yaml --dot
grep -qxF '	"gpu2" -- "nvs2" [label="nvlink 4 x6, 150 GB/s"]' out && grep -q '^	"nvs2" \[shape=hexagon' out ||
	fail "NVLink is not in the graph"

# ---- what is near ----

# nic0 and nic3 with gpu0 and gpu1 below one switch; gpu2 and nic2 at a socket, nearer to each other than to those;
# gpu3 behind two more switches than nic1, which is nearer all the same than gpu4 behind a socket.
cat >near.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2, nics: 4}
machine:
  flow_memory: nearest
  parts:
    - {name: cpu0, kind: socket}
    - {name: cpu1, kind: socket, numa: 1}
    - {name: sw0, kind: switch}
    - {name: sw1, kind: switch}
    - {name: sw2, kind: switch}
    - {name: sw3, kind: switch}
    - {name: nic0, kind: nic}
    - {name: nic1, kind: nic}
    - {name: nic2, kind: nic}
    - {name: nic3, kind: nic}
    - {name: gpu0, kind: gpu, memory: 2MiB}
    - {name: gpu1, kind: gpu, memory: 2MiB}
    - {name: gpu2, kind: gpu, memory: 2MiB}
    - {name: gpu3, kind: gpu, memory: 2MiB}
    - {name: gpu4, kind: gpu, memory: 2MiB}
  lanes:
    - {a: cpu0, b: cpu1, kind: upi, rate: 320Gbps}
    - {a: cpu0, b: sw0}
    - {a: sw0, b: nic0}
    - {a: sw0, b: nic3}
    - {a: sw0, b: gpu0}
    - {a: sw0, b: gpu1}
    - {a: cpu0, b: nic2}
    - {a: cpu0, b: gpu2}
    - {a: cpu1, b: sw1}
    - {a: sw1, b: nic1}
    - {a: sw1, b: sw2}
    - {a: sw2, b: sw3}
    - {a: sw3, b: gpu3}
    - {a: cpu1, b: gpu4}
END
cat >near <<'END'
nic0 gpu0
nic1 gpu3
nic2 gpu2
nic3 gpu1
Nearest adapters:

  gpu0  nic0, nic3 (PIX)
  gpu1  nic0, nic3 (PIX)
  gpu2  nic2 (PHB)
  gpu3  nic1 (PXB)
  gpu4  nic1 (PHB)

NCCL takes GPUDirect RDMA to them up to P2C (NCCL_NET_GDR_LEVEL):

  gpu0  PIX, yes
  gpu1  PIX, yes
  gpu2  PHB, no: through host memory
  gpu3  PXB, yes
  gpu4  PHB, no: through host memory

END
# near_is FILE ARG...: whose memory flows use with each adapter, and which are near
near_is() {
	file=$1
	shift
	expect 0 topo -m "$@"
	{
		sed -n '/^nic/s/ .* / /p' out
		sed -n '/^Nearest/,/^Legend/p' out | sed '$d'
	} | diff "$file" - || fail "something else is near: topo -m $*"
}
near_is near near.yaml
grep -q 'NUMA Affinity  Memory  Memory of flows$' out || fail "no head of the memory of flows"
sed '1,4s/gpu.*/gpu4/' near >far
near_is far near.yaml --set machine.flow_memory=gpu4
sed '1s/gpu.*/cpu0/; 2s/gpu.*/cpu1/; 3,4s/gpu.*/cpu0/' near >of_hosts
sed /flow_memory/d near.yaml >hosts.yaml
near_is of_hosts hosts.yaml
grep -q 'NUMA Affinity  Memory$' out || fail "the memory of flows is told though it is that of programs"

# NCCL's levels (src/graph/paths.cc), the nearest first: LOC, PIX, PXB, P2C, PHB, SYS; up to P2C it takes GPUDirect RDMA,
# unless people say otherwise, by a name or a number of old.
for of in "dgx_h100 PIX 1" "dgx_a100 PXB 2" "gb200_nvl72 P2C 3" "h100_measured PHB 4" "two_socket SYS 5"; do
	for level in "nonsense 3" "6 3" "LOC 0" "0 0" "PIX 1" "1 1" "PXB 2" "2 2" "P2C 3" "PHB 4" "3 4" "SYS 5" "4 5" "5 5"; do
		NCCL_NET_GDR_LEVEL=${level% *} "$verbena" topo -m "${of%% *}" --quiet >out
		what=yes
		[ "${of##* }" -le "${level#* }" ] || what="no: through host memory"
		name=${of#* }
		[ "$(sed -n '/^NCCL/,/^Legend/s/^  gpu0 *//p' out)" = "${name% *}, $what" ] ||
			fail "NCCL takes another way: $of, $level: $(cat out)"
	done
done

# The same of a run, whatever becomes of its scenario.
expect 0 run near.yaml --out ran --quiet
sed -i 's/nearest/gpu4/' near.yaml
near_is near ran --quiet
near_is far ran --set machine.flow_memory=gpu4 --quiet
expect 0 topo -m ran
grep -q 'near.yaml' err || fail "an edited scenario is not told"

# What is set of a machine that has nothing but a name.
printf 'version: 1\ntopology: {kind: star, hosts: 2}\nmachine: dgx_h100\n' >known.yaml
expect 0 topo -m known.yaml --set machine.flow_memory=nearest --set 'machine.lanes=[{a: sw0, b: nic0, width: 8}]' --quiet
grep -q '^nic7 .* cpu1    gpu7$' out && grep -q '^  nic0-sw0    pcie gen 5 x8 ' out || fail "a name keeps all else away"

# refused LINE ARG...: nothing but that line, with exit code 2
refused() {
	line=$1
	shift
	expect 2 topo "$@"
	[ ! -s out ] || fail "verbena topo $*: something on stdout"
	[ "$(cat err)" = "verbena$line" ] || fail "verbena topo $*: another line"
}
none='no host has a machine, expected the key "machine" (of all hosts) or "machines" (of some)'
refused ": small.yaml: $none" -m small.yaml
refused ": small.yaml: $none" -m small.yaml --host h0
refused ': --host: found "h0", which has no machine, expected a host that "machine" or "machines" is about' \
	-m three.yaml --host h0
for name in h7 s0; do
	refused ": --host: found \"$name\", expected a host of the topology" -m two.yaml --host "$name"
done
refused ' topo: --host: expected -m beside it (see "verbena help topo")' two.yaml --host h0
refused ' topo: -m: expected no --from, --to or --addresses beside it (see "verbena help topo")' \
	-m two.yaml --from h0 --to h1
refused ' topo: found "-mx", expected one of its options (see "verbena help topo")' -mx two.yaml
expect 2 run -m two.yaml
grep -qF 'found "-m", expected one of its options' err || fail "-m of another command"

# Help and completion know both names of it.
expect 0 help topo
grep -q '^  -m, --matrix  ' out || fail "no -m in help"
expect 0 completion words -- topo -
grep -q '^-m	' out && grep -q '^--matrix	' out || fail "-m is not completed"
