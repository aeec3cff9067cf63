#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# order.sh TOOL: the order of lines, of hosts, links, flows, blocks, faults, machines, their parts, lanes
# and the ends of these, and saying what holds anyway, change neither the hash of a scenario nor the digest of its run; threads, bytes on the wire
# and the plain engine of tests/oracle do not change the latter. Every change of what is said does.
set -eu
case $1 in
/*) tool=$1 ;;
*) tool=$PWD/$1 ;;
esac
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
bad=0

cat >one.yaml <<'END'
version: 1
name: one
topology:
  hosts: "h[0-11]"
  switches: [a, b, c]
  links:
    - {a: "h[0-5]", b: a}
    - {a: "h[6-11]", b: b, rate: 40Gbps}
    - {a: a, b: c, delay: 2us}
    - {a: a, b: c, delay: 2us, rate: 25Gbps}
    - {a: b, b: c, rate: 50Gbps}
    - {a: b, b: c, rate: 40Gbps, error: 0.00000001}
    - {a: a, b: b, port_a: p0, port_b: p9}
    - {a: b, b: a, port_a: p8, port_b: p1, delay: 3us}
switch: {buffer: 1MiB, pfc: {priorities: [3, 1]}, ecn: {kmin: 20KB, kmax: 100KB}, latency: 300ns}
nic: {cc: dcqcn, mtu: 2048}
traffic:
  - {class: file, file: one.flow}
  - {class: all, pattern: all_to_all, hosts: "h[0-3,8-9]", size: 20KB, spread: 5us, priority: 1}
  - {class: many, pattern: incast, to: h7, from: [h0, h1, h2], size: 300KB, repeat: 2, every: 10us}
  - {class: perm, pattern: permutation, size: 100KB}
faults:
  - {link: "b-c#0", loss: 0.1%}
  - {link: h0-a, duplicate: 1%, reorder: 2%, by: 3us, until: 1ms}
  - {link: h0-a, sender: a, loss: 1%, drop_nth: [5, 9]}
  - {link: h0-a, delay: 100ns, from: 20us}
END
cat >one.flow <<'END'
4
0 5 3 100 200000 0.00001
10 2 1 100 70000 0.00002
10 2 1 100 70000 0.00002
11 4 3 100 1000000 0
END
cat >two.yaml <<'END'
# The same again.
seed: 1
faults:
  - {delay: 0.1us, from: 0.02ms, link: a-h0}
  - {drop_nth: [9, 5], loss: 1/100, link: "a-h0#0", sender: a}
  - {link: "h0-a#0", reorder: 0.02, until: 1000us, by: 3000ns, duplicate: 1/100}
  - {loss: 0.001, link: "c-b#0", from: 0us}
traffic:
  - {priority: 3, size: 100000B, pattern: permutation, class: perm, hosts: "h[0-11]"}
  - {from: "h[2,1,0]", size: 0.3MB, class: many, pattern: incast, every: 10us, to: [h7], repeat: 2}
  - {hosts: [h9, "h[0-3]", h8], class: all, pattern: all_to_all, priority: 1, spread: 5us, size: 20KB, start: 0s}
  - {file: two.flow, class: file}
nic: {mtu: 2048, cc: dcqcn, ack_every: auto, window: 1048576, cnp_interval: auto, ip: 4}
switch:
  latency: 0.3us
  ecn: {pmax: 1/5, kmax: 0.1MB, kmin: 20KB}
  pfc: {headroom: auto, priorities: [1, 3], mode: resume}
  mode: store_and_forward
  alpha: 12.5%
  buffer: 1024KiB
topology:
  links:
    - {b: a, a: b, delay: 3us, port_b: p1, port_a: p8}
    - {b: c, a: a, delay: 2us, rate: 25Gbps}
    - {b: c, a: b, rate: 40Gbps, error: 0.00000001}
    - {a: b, b: a, port_b: p0, port_a: p9}
    - {a: c, b: b, rate: 50Gbps}
    - {a: b, b: "h[11,10,9,8]", rate: 40Gbps}
    - {a: b, b: "h[7,6]", rate: 40Gbps}
    - {a: c, b: a, delay: 2us}
    - {b: ["h[3-5]", "h[0-2]"], a: a, rate: 100Gbps}
  switches: [c, "a,b"]
  hosts: ["h[6-11]", "h[0-5]"]
version: 1
name: two
END
cat >two.flow <<'END'

4
11 4 3 7 1000000 0.0

 10 2 1 100 70000 0.000020
0	5	3	100	200000	0.00001
10 2 1 100 70000 0.00002
END

digest() {
	"$tool" --run "$@" | sed -n 's/^digest \([0-9a-f]*\) ret 0$/\1/p'
}
same() {
	[ -n "$2" ] && [ "$2" = "$3" ] || {
		echo "$1: $2 and $3"
		bad=1
	}
}
other() {
	[ -n "$2" ] && [ "$2" != "$3" ] || {
		echo "$1: the same $2"
		bad=1
	}
}

hash=$("$tool" one.yaml)
digest=$(digest one.yaml)
"$tool" --run one.yaml
same "hash of another order" "$hash" "$("$tool" two.yaml)"
same "digest of another order" "$digest" "$(digest two.yaml)"
same "two threads" "$digest" "$(digest --threads 2 two.yaml)"
same "bytes on the wire" "$digest" "$(digest --through-wire two.yaml)"
same "the oracle" "$digest" "$(digest --oracle two.yaml)"
same "another seed's hash" "$hash" "$("$tool" --seed 2 one.yaml)"
other "another seed" "$digest" "$(digest --seed 2 one.yaml)"
for set in switch.buffer=1000KB topology.links.4.delay=999ns traffic.perm.size=100001B \
	traffic.many.to=h8 traffic.file.start=1ps faults.0.loss=0.2% nic.ack_every=63; do
	other "hash with $set" "$hash" "$("$tool" --set "$set" one.yaml)"
	other "digest with $set" "$digest" "$(digest --set "$set" one.yaml)"
done
sed 's/70000/70001/' one.flow >two.flow
other "hash of another flow" "$hash" "$("$tool" two.yaml)"
other "digest of another flow" "$digest" "$(digest two.yaml)"

# What a file of another simulator says is what the keys say: an htsim fat tree of 4 ports; the same
# two flows in three formats.
printf '%s\n' 'Nodes 16' 'Tiers 3' 'Podsize 4' 'Tier 0' 'Downlink_speed_Gbps 100' 'Radix_Down 2' \
	'Radix_Up 2' 'Downlink_Latency_ns 1000' 'Tier 1' 'Downlink_speed_Gbps 100' 'Radix_Down 2' \
	'Radix_Up 2' 'Downlink_Latency_ns 1000' 'TIER 2' 'downlink_speed_gbps 100' 'Radix_Down 4' \
	'Downlink_Latency_ns 1000' >four.topo
printf 'version: 1\ntopology: {file: four.topo}\n' >topo.yaml
printf 'version: 1\ntopology: {kind: fat_tree, k: 4}\n' >kind.yaml
same "hash of a .topo file" "$("$tool" kind.yaml)" "$("$tool" topo.yaml)"
same "hash with a format" "$("$tool" topo.yaml)" "$("$tool" --set topology.format=htsim topo.yaml)"
printf '2\n0 5 3 100 70000 0.00001\n3 2 3 100 5 0\n' >flow.hpcc
printf '2\n0 5 3 70000 0.00001\n3 2 3 5 0\n' >flow.conweave
printf '# x\nNodes 6\nConnections 2\n0->5 id 7 start 10000000 size 70000\n3->2 size 5 start 0\n' >flow.htsim
for format in hpcc conweave htsim; do
	printf 'version: 1\ntopology: {kind: star, hosts: 6}\ntraffic: [{class: t, file: flow.%s}]\n' \
		"$format" >flow.yaml
	[ "$format" = hpcc ] && hash=$("$tool" flow.yaml)
	same "hash of flows of $format" "$hash" "$("$tool" flow.yaml)"
done
other "hash with another priority" "$hash" "$("$tool" --set traffic.t.priority=4 flow.yaml)"

# The inside of machines: parts, lanes and machines in another order, lanes from their other ends.
# There are as many lanes from cpu1 to nic0 as there may be.
cat >inside.yaml <<'END'
version: 1
topology: {kind: star, hosts: 4, nics: 2, host_rate: 100Gbps}
machine:
  memory: cpu1
  parts:
    - {name: cpu0, kind: socket, latency: 90ns}
    - {name: cpu1, kind: socket, latency: 80ns}
    - {name: s0, kind: switch, latency: 100ns}
    - {name: s1, kind: switch, latency: 110ns}
    - {name: s2, kind: switch, latency: 120ns}
    - {name: s3, kind: switch, latency: 130ns}
    - {name: s4, kind: switch, latency: 140ns}
    - {name: s5, kind: switch, latency: 150ns}
    - {name: nic0, kind: nic, tags: 64}
    - {name: nic1, kind: nic, tags: 32}
  lanes:
    - {a: cpu0, b: cpu1, kind: upi, rate: 160Gbps, delay: 50ns}
    - {a: cpu0, b: s0, gen: 4}
    - {a: s0, b: s1, gen: 5}
    - {a: s1, b: s2, gen: 5, width: 8}
    - {a: s2, b: s3, gen: 3}
    - {a: s3, b: s4}
    - {a: s4, b: s5, mps: 512B}
    - {a: s5, b: nic0, delay: 3ns}
    - {a: s2, b: nic1, width: 8}
machines:
  - {hosts: h1, tx: 64KiB, memory: cpu0}
  - hosts: "h[2-3]"
    memory: cpu0
    parts: [{name: cpu0, kind: socket}, {name: nic0, kind: nic}, {name: nic1, kind: nic}]
    lanes: [{a: cpu0, b: nic0}, {a: cpu0, b: nic1, gen: 3, width: 8}]
traffic:
  - {class: a, pattern: all_to_all, rails: yes, size: 60KB}
  - {class: b, pattern: incast, to: h1, size: 200KB}
END
cat >inside2.yaml <<'END'
version: 1
machines:
  - hosts: [h3, h2]
    lanes: [{a: nic1, b: cpu0, width: 8, gen: 3}, {a: nic0, b: cpu0}]
    parts: [{name: nic1, kind: nic}, {name: nic0, kind: nic}, {name: cpu0, kind: socket}]
    memory: cpu0
  - {hosts: h1.nic0, memory: cpu0, tx: 65536B}
machine:
  parts:
    - {name: nic1, kind: nic, tags: 32}
    - {name: s5, kind: switch, latency: 150ns}
    - {name: s4, kind: switch, latency: 140ns}
    - {name: nic0, kind: nic, tags: 64}
    - {name: s1, kind: switch, latency: 110ns}
    - {name: cpu1, kind: socket, latency: 80ns}
    - {name: s3, kind: switch, latency: 130ns}
    - {name: cpu0, kind: socket, latency: 90ns}
    - {name: s2, kind: switch, latency: 120ns}
    - {name: s0, kind: switch, latency: 100ns}
  memory: cpu1
  blueflame: 256B
  lanes:
    - {a: nic1, b: s2, width: 8}
    - {a: s4, b: s3, gen: 4, kind: pcie}
    - {a: s5, b: s4, mps: 512B}
    - {a: s1, b: s0, gen: 5}
    - {a: s3, b: s2, gen: 3}
    - {a: cpu1, b: cpu0, kind: upi, rate: 160Gbps, delay: 50ns}
    - {a: nic0, b: s5, delay: 3ns}
    - {a: s2, b: s1, gen: 5, width: 8}
    - {a: s0, b: cpu0, gen: 4}
traffic:
  - {class: b, pattern: incast, to: h1, size: 200KB}
  - {class: a, pattern: all_to_all, rails: yes, size: 60KB}
topology: {kind: star, hosts: 4, nics: 2, host_rate: 100Gbps}
END
hash=$("$tool" inside.yaml)
digest=$(digest inside.yaml)
same "hash of machines in another order" "$hash" "$("$tool" inside2.yaml)"
same "digest of machines in another order" "$digest" "$(digest inside2.yaml)"
same "machines, two threads" "$digest" "$(digest --threads 2 inside2.yaml)"
for set in machine.parts.s3.latency=131ns machine.lanes.0.rate=150Gbps machine.parts.nic0.tags=8 \
	machine.memory=cpu0 machine.tx=64KiB machines.0.tx=128KiB machines.0.memory=cpu1 \
	'machines.1.hosts=[h2]' machines.1.lanes.1.width=16 machine.lanes.6.ph=4; do
	other "hash of machines with $set" "$hash" "$("$tool" --set "$set" inside.yaml)"
	other "digest of machines with $set" "$digest" "$(digest --set "$set" inside.yaml)"
done
exit $bad
