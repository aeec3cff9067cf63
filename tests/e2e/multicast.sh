#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Multicast in virtual time. Of six ranks five are in a group and all six send to it, each four datagrams; then rank 0
# leaves it, and rank 5, which is in none, sends one more: 25 in all, each to five other hosts.
. "$(dirname "$0")/lib.sh"

says() { # PATTERN
	grep -qE "$1" out || {
		cat out
		fail "no line like \"$1\""
	}
}

with() { # SWITCH: the tree with switches that are that
	cat tree.yaml
	echo "switch: {$1}"
}

cat >tree.yaml <<'END'
version: 1
topology: {kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 2}
programs: [{run: multicast, hosts: [h0, h1, h2, h3, h4, h5]}]
END
expect 0 run tree.yaml --out tree --pcap tree.pcapng
digest=$(digest_of out)
# Each goes through its own leaf, one spine and the two other leaves. Rank 5 hears 20 of others, rank 0 the last one.
says '^multicast 100 packets at switches, 100 more copies, 21 discarded by hosts of no such group$'
holds tree/result.json 'r["multicast"] == {"packets": 100, "copies": 100, "discarded": 21}'
holds tree/result.json 'set(r["drops"].values()) == {0} and r["floods"]["packets"] == 0'
[ "$(grep -c ',send_imm,' tree/requests.csv)" = 25 ] || fail "other requests"
[ "$(grep -c '^wr[0-9]*,multicast,[0-5],h[0-5],multicast,' tree/requests.csv)" = 25 ] || fail "requests go elsewhere"
# A capture of all hosts has what leaves and what comes, by the group's addresses, which follow from h0's.
python3 - <<'END' || fail "other frames in the capture"
import collections, struct
data, at, seen = open("tree.pcapng", "rb").read(), 0, collections.Counter()
while at < len(data):
    kind, length = struct.unpack_from("<II", data, at)
    if kind == 6:
        size = struct.unpack_from("<5I", data, at + 8)[3]
        frame = data[at + 28:at + 28 + size]
        seen[frame[:6].hex(), ".".join(map(str, frame[30:34]))] += 1
    at += length
assert seen == {("01005e000001", "239.0.0.1"): 25 + 125}, seen
END
expect 0 run tree.yaml --quiet --threads 3 --out tree --pcap-port leaf0-spine0#0 --pcap link.pcapng --perfetto tree.json
[ "$(digest_of out)" = "$digest" ] || fail "another digest with threads and captures"
[ "$(grep -c '"to":"multicast"' tree.json)" = 25 ] || fail "the timeline has other requests"
trace_of tree.yaml
[ "$(grep -c ' leaf[012] > spine0  ' trace)" = 25 ] || fail "not each goes up once"
[ "$(grep -c ' spine0 > leaf[012]  ' trace)" = 50 ] || fail "not each goes down twice"
! grep -q 'spine1' trace || fail "the other spine sees some"
grep -q ' h0 > leaf0  UD_SEND_ONLY_IMM psn [0-9]* to qp 0xffffff of multicast, 1118 bytes' trace || fail "none is told"
expect 0 explain tree wr0 --why slow
says '^Work request wr0 of multicast, rank 0, a send_imm, h0 to multicast, 1024 bytes of priority 0: done after '
expect 0 report tree
grep -q '"dst": *"multicast"' tree/report.html || fail "the report does not name it"

# The same whatever switches are besides.
for also in 'mode: cut_through' 'pfc: {priorities: [0]}' 'balance: spray' 'mtu: 2000' 'ecn: {kmin: 1KB, kmax: 2KB}'; do
	with "$also" >also.yaml
	expect 0 run also.yaml --quiet --json
	holds out 'r["multicast"] == {"packets": 100, "copies": 100, "discarded": 21}'
done
with 'balance: conweave, pfc: {priorities: [0]}' >also.yaml
expect 0 run also.yaml --quiet --json
holds out 'r["multicast"] == {"packets": 100, "copies": 100, "discarded": 21}'
expect 0 run tree.yaml --quiet --json --set nic.ip=6
holds out 'r["multicast"] == {"packets": 100, "copies": 100, "discarded": 21}'

# A link of the tree is out of order: until the routes know, what is for hosts behind it is lost; then another spine is
# taken.
cat >down.yaml <<'END'
version: 1
topology: {kind: leaf_spine, leaves: 3, spines: 2, hosts_per_leaf: 2}
programs: [{run: multicast, hosts: [h0, h1, h2, h3, h4, h5]}]
faults: [{link: leaf1-spine0, down: yes, detect: 1us}]
routing: {reconverge: 5us}
until: 10ms
END
trace_of down.yaml
! grep -q 'spine0 ' trace || fail "the spine that is cut off has some"
[ "$(grep -c ' spine1 > leaf[012]  ' trace)" = 50 ] || fail "the other spine does not have all"
expect 1 run down.yaml --quiet --json --set routing.reconverge=1s
holds out 'r["multicast"]["packets"] > 0'
grep -q '[1-6] had not ended at the end of the run' err || fail "what was lost is not missed"

# Where credits are counted, and so no packet becomes two, there are no groups.
with 'credit: {buffer: 64KiB}' >credit.yaml
expect 1 run credit.yaml --out credit
grep -q 'ibv_attach_mcast: Operation not supported' out err || {
	cat out err
	fail "no reason"
}
