#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What tshark sees in our capture: times, ports, opcodes, sequence numbers, and nothing malformed.
# $1: the program that writes the capture.
command -v tshark >/dev/null || { echo "no tshark"; exit 77; }
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
"$1" >"$dir/c.pcapng" || exit 1
fields() {
	# shellcheck disable=SC2086
	tshark -r "$dir/c.pcapng" -Y "$1" -T fields -E separator=/s -e frame.time_epoch \
		-e frame.interface_name -e infiniband.bth.opcode -e infiniband.bth.psn \
		-e infiniband.bth.destqp -e infiniband.bth.padcnt -e infiniband.aeth.msn \
		-e infiniband.reth.dmalen $2 2>>"$dir/err" |
		awk '{ $1 = substr($1, 1, 11); print }' # later versions may show more digits
}
{
	fields 'ip.addr == 10.0.0.2 && udp.dstport == 4791'
	fields 'ipv6.dst == fe80::2 && udp.dstport == 4791' '-e vlan.id'
	fields 'macc.opcode == 0x0101' '-e macc.cbfc.enbv -e macc.cbfc.pause_time.c3'
	fields 'icmpv6.type == 135 && icmpv6.checksum.status == 1' '-e icmpv6.nd.ns.target_address'
	fields 'arp.opcode == 1' '-e arp.dst.proto_ipv4'
	fields 'ip.checksum.status == 0 || _ws.malformed'
} >"$dir/got"
diff "$(dirname "$0")/capture.expect" "$dir/got" || { cat "$dir/err"; exit 1; }
