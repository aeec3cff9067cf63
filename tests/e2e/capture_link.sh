#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A capture of any link: tshark reads in it what the trace says of its two ends.
. "$(dirname "$0")/lib.sh"
command -v tshark >/dev/null || {
	echo "SKIP: no tshark"
	exit 77
}

cat >chain.yaml <<'END'
version: 1
topology:
  hosts: [a, b, sink]
  switches: [near, far]
  links:
    - {a: [a, b], b: near, delay: 500ns}
    - {a: near, b: far, delay: 500ns}
    - {a: far, b: sink, rate: 10Gbps, delay: 500ns}
switch: {buffer: 1MiB, alpha: 1/4, pfc: {}, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}}
nic: {mtu: 1024, cc: dcqcn}
traffic: [{class: in, pattern: incast, to: sink, from: [a, b], size: 1MB}]
programs: [{run: pingpong_write, hosts: [a, sink]}]
END
expect 0 run chain.yaml --quiet --out plain
digest=$(digest_of out)
for link in far-near a-near far-near#0; do
	expect 0 run chain.yaml --quiet --out run --pcap link.pcapng --pcap-port $link --trace "port=far-near,port=a-near"
	[ "$(digest_of out)" = "$digest" ] || fail "a capture changes the digest"
	grep '^[0-9]*\.[0-9]\{6\} us  ' out >trace
	tshark -T fields -e frame.interface_name -e frame.time_epoch -e infiniband.bth.psn \
		-e infiniband.bth.destqp -e ip.dsfield.ecn -e ip.src -e ip.dst -e macc.opcode -e frame.len \
		-r link.pcapng 2>/dev/null >table || fail "tshark cannot read it"
	python3 - $link <<'END' || fail "$link: not what the trace says"
import re, sys
ends = {"far-near": ("far", "near"), "a-near": ("a", "near"), "far-near#0": ("far", "near")}[sys.argv[1]]
name = {"far-near": "far-near#0", "a-near": "a-near#0", "far-near#0": "far-near#0"}[sys.argv[1]]
rows = [l.split("\t") for l in open("table").read().splitlines()]
hosts = {"a": "10.0.0.1", "b": "10.0.0.2", "sink": "10.0.0.3"}
both = 0
for end, peer in (ends, ends[::-1]):
    mine = [r for r in rows if r[0] == f"{name} of {end}"]
    said = [l.strip() for l in open("trace") if f"  {end} > {peer}  " in l and (" psn " in l or " PFC " in l)]
    assert len(mine) == len(said), (end, len(mine), len(said))
    both += len(mine)
    for r, l in zip(mine, said):
        assert int(l.split(" us")[0].replace(".", "")) // 1000 == round(float(r[1]) * 10**9), (r, l)
        if " PFC " in l:
            assert int(r[7], 16) == 0x101, (r, l)
            continue
        m = re.search(r" psn (\d+) to qp 0x([0-9a-f]+) of (\w+)", l)
        assert int(r[2]) == int(m[1]) and int(r[3], 16) == int(m[2], 16)
        assert (int(r[4] or 0) == 3) == (", CE" in l) and r[6] == hosts[m[3]]
        assert r[5] in hosts.values() and r[5] != r[6], (r, l)
        assert int(r[8]) + 4 + 20 == int(re.search(r", (\d+) bytes, priority", l)[1])
assert both == len(rows) > 100
END
done
tshark -N mn -r link.pcapng -c 20 2>/dev/null | grep -q 'a → sink ' || fail "no names"
expect 0 run chain.yaml --json --pcap short.pcapng --pcap-port far-near#0 --pcap-snaplen 100
[ "$(tshark -r short.pcapng -T fields -e frame.cap_len 2>/dev/null | sort -un | tail -n 1)" = 100 ] ||
	fail "tshark sees longer frames"
[ "$(tshark -r short.pcapng -T fields -e frame.len 2>/dev/null | md5sum)" = "$(tshark -r link.pcapng \
	-T fields -e frame.len 2>/dev/null | md5sum)" ] || fail "other lengths"
grep -q PFC trace && grep -q CE trace || fail "neither pauses nor marks"
expect 2 run chain.yaml --json --pcap x.pcapng --pcap-port a-b
[ ! -e x.pcapng ] && grep -q '^verbena: --pcap-port: found "a-b", expected the name of a link$' err || fail "another line"
expect 2 run chain.yaml --json --pcap-port a-near
expect 3 run chain.yaml --json --pcap /dev/full --pcap-port a-near
