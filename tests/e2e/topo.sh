#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What verbena topo says about fabrics whose figures are known.
. "$(dirname "$0")/lib.sh"

cat >fat.yaml <<'END'
version: 1
topology: {kind: fat_tree, k: 4}
END
expect 0 topo fat.yaml
cat >want <<'END'
hosts      16
switches   20
links      48
edge       16 links of 100 Gb/s
core       32 links of 100 Gb/s
delay      1.00 us
path       2 links between 8 pairs of hosts
path       4 links between 16 pairs of hosts
path       6 links between 96 pairs of hosts
bisection  800 Gb/s from h0..h7 to h8..h15
END
diff want out || fail "another fat tree"
expect 0 topo fat.yaml --from h0 --to h15
head -n 1 out | grep -qx 'h0 to h15: 6 links, 4 equal ways' || fail "other ways"
[ "$(wc -l <out)" = 5 ] || fail "not all ways"
expect 0 topo fat.yaml --from h0 --to h1
grep -qF 'h0 -[h0-p0e0#0]- p0e0 -[h1-p0e0#0]- h1' out || fail "another way"

# Two links of 100 from 8 hosts: 2:1 over the spines.
cat >leaf.yaml <<'END'
version: 1
topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 8, fabric_rate: 200Gbps}
END
expect 0 topo leaf.yaml
grep -q '^bisection  400 Gb/s from h0..h7 to h8..h15$' out || fail "another bisection"
expect 0 topo leaf.yaml --dot
[ "$(grep -c ' -- ' out)" = 20 ] || fail "another graph"
expect 0 topo leaf.yaml --set topology.spines=4
grep -q '^bisection  800 Gb/s' out || fail "--set is not heard"

# Oversubscription gives spines, or the rate of the links to them: 16 x 100 over 2 is 8 x 100, 4 x 200.
cat >over.yaml <<'END'
version: 1
topology: {kind: leaf_spine, leaves: 2, hosts_per_leaf: 16, oversubscription: 2:1}
END
expect 0 topo over.yaml
grep -q '^core       16 links of 100 Gb/s$' out || fail "other spines"
grep -q '^bisection  800 Gb/s' out || fail "another bisection of two to one"
expect 0 topo over.yaml --set topology.spines=4
grep -q '^core       8 links of 200 Gb/s$' out || fail "another rate"
grep -q '^bisection  800 Gb/s' out || fail "another bisection of fewer spines"

# Kinds: a torus of 2 x 2 is a ring of four; in a rail each leaf has its rail.
cat >torus.yaml <<'END'
version: 1
topology: {kind: torus, dims: [2, 2], hosts_per_switch: 2}
END
expect 0 topo torus.yaml
grep -q '^switches   4$' out && grep -q '^core       4 links' out || fail "another torus"
grep -q '^path       4 links between 8 pairs of hosts$' out || fail "other ways through a torus"
cat >rail.yaml <<'END'
version: 1
topology: {kind: rail, servers: 4, rails: 8, servers_per_unit: 2, oversubscription: 1}
END
expect 0 topo rail.yaml --from h0g3 --to h1g3
grep -qF 'h0g3 -[h0g3-su0r3#0]- su0r3 -[h1g3-su0r3#0]- h1g3' out || fail "another rail"
expect 0 topo rail.yaml --from h0g3 --to h2g3
head -n 1 out | grep -qx 'h0g3 to h2g3: 4 links, 2 equal ways' || fail "other ways between units"

# A topology file by itself.
printf '4 1 3\n0\n0 1 100Gbps 1000ns 0\n0 2 100Gbps 1000ns 0\n0 3 25Gbps 0.002ms 0.000000\n' >hpcc.txt
expect 0 topo hpcc.txt
grep -q '^hosts      3$' out || fail "another topology"
grep -q '^edge       3 links of 25.0 Gb/s to 100 Gb/s$' out || fail "other links"
expect 0 topo hpcc.txt --from n1 --to n3
expect 2 topo fat.yaml --from h0
expect 2 topo fat.yaml --from h0 --to p0e0
expect 2 topo missing.txt
grep -qx 'missing.txt: topology.file: found no such file: "missing.txt", expected a file that can be read' err ||
	fail "another line about a file that is not there"
echo 4 1 >short.txt
expect 2 topo short.txt
[ "$(wc -l <err)" = 1 ] && grep -q '^short.txt:1: header: found 2 fields, ' err && ! grep -q named err ||
	fail "another line about a file that is no topology"
expect 2 topo small.yaml --set topology.leaves=0
# Who has which address, also of machines with several adapters and without a scenario.
cat >rail.yaml <<'END'
version: 1
topology: {kind: rail, servers: 2, rails: 2, spines: 1, nics: 2}
END
expect 0 topo rail.yaml --addresses
sed 's/  */ /g' out | head -n 5 >short
diff - short <<'END' || fail "other addresses"
host interface MAC IP GID
h0 0 02:00:00:00:00:01 10.0.0.1 ::ffff:10.0.0.1
h0.nic1 2 02:00:00:00:00:03 10.0.0.3 ::ffff:10.0.0.3
h1 1 02:00:00:00:00:02 10.0.0.2 ::ffff:10.0.0.2
h1.nic1 3 02:00:00:00:00:04 10.0.0.4 ::ffff:10.0.0.4
END
# h2 before h10, though interfaces and addresses go by plain order; switches, too.
expect 0 topo rail.yaml --addresses --set 'topology={kind: torus, dims: [11, 3], hosts_per_switch: 1}'
sed 's/  */ /g' out | cut -d ' ' -f 1-2 | sed -n '2,4p; 10,13p; 37,39p; 65,67p' | tr '\n' ';' >short
grep -qx 'h0 0;h1 1;h2 12;h8 31;h9 32;h10 2;h11 3;s0_0 -;s0_1 -;s0_2 -;s9_1 -;s9_2 -;s10_0 -;' short ||
	fail "another order of addresses: $(cat short)"
# Machines are counted, and their adapters where there are more; a way is one between adapters.
expect 0 topo rail.yaml --set 'topology={kind: star, hosts: 3, nics: 2}'
sed -n '1,2p; /^path/p' out | tr '\n' ';' >short
grep -qx 'hosts      3;adapters   6;path       2 links between 15 pairs of adapters;' short ||
	fail "others are counted: $(cat short)"

# The folder of a run is what was run, whatever has become of its scenario; what is set now comes on top.
printf 'version: 1\ntopology: {kind: star, hosts: 3}\n' >three.yaml
expect 0 run three.yaml --out kept --set topology.hosts=5 --quiet
rm three.yaml
expect 0 topo kept
grep -qx 'hosts      5' out || fail "another topology of a run"
[ ! -s err ] || fail "a folder that nobody has touched, and words on stderr"
expect 0 topo kept --set topology.hosts=7
grep -qx 'hosts      7' out || fail "another topology of a run with a setting"
expect 0 topo kept --from h0 --to h4
mkdir empty
expect 2 topo empty
mkdir -p verbena-out && mv kept verbena-out/kept
for also in '' -m; do
	expect 2 topo kept $also
	grep -q 'or the folder of a run such as "verbena-out/kept"$' err || fail "the folder of a run is not named"
done
# A machine is none.
for command in topo run check; do
	expect 2 $command two_socket
	grep -q '^two_socket: file: found a machine .* "verbena topo -m two_socket" shows it$' err ||
		fail "$command: nobody says what two_socket is"
done

expect 0 topo hpcc.txt --addresses
grep -q '^n3  *2  02:00:00:00:00:03 ' out || fail "other addresses of a file"
