#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# libfabric's own ping-pong over its verbs provider, each kind of endpoint. $3: the folder of the build.
. "$(dirname "$0")/exec_lib.sh"
for tool in fi_pingpong tshark; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
# The transport of an endpoint's packets: the class of their opcodes, RC 0 to 0x1f or UD 0x60 and more.
for row in 'msg < 0x20' 'rdm < 0x20' 'dgram >= 0x60'; do
	endpoint=${row%% *}
	rm -f ./*.pcapng
	on 1 fi_pingpong -p verbs -e "$endpoint" -I 5 -B "$port" >server.out 2>&1 &
	server=$!
	for _ in $(seq 200); do
		listens && break
		sleep 0.05
	done
	on 2 fi_pingpong -p verbs -e "$endpoint" -I 5 -P "$port" "127.$net.1" >client.out 2>&1 ||
		fail "$endpoint: client: $(cat client.out) server: $(cat server.out)"
	wait $server || fail "$endpoint: server: $(cat server.out)"
	# 5 messages of 1024 bytes, sent and sent back, are among what goes; "=5": all were acknowledged.
	grep -q '^1k  *5  *=5 ' client.out || fail "$endpoint: $(cat client.out)"
	count=$(tshark -r "127.$net.2.pcapng" "ip.src == 127.$net.2 && udp.length > 1040 && infiniband.bth.opcode ${row#* }" 2>/dev/null | wc -l)
	[ "$count" -ge 5 ] || fail "$endpoint: $count packets that hold 1024 bytes, expected 5"
done
