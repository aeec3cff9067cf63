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
  NODE = through several sockets of one NUMA node
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
