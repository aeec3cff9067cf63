#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# UCX as it is packaged, between two hosts: its transports over RC with a shared receive queue and over UD, each kind
# of operation, and what has gone over the wire is counted. $3: the folder of the build.
. "$(dirname "$0")/exec_lib.sh"
for tool in ucx_perftest ucx_info tshark; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
export UCX_NET_DEVICES=verbena0:1 UCX_WARN_UNUSED_ENV_VARS=n

on 1 ucx_info -d >out 2>err || fail "ucx_info fails"
sed -n 's/^#  *Transport: \([a-z]*_verbs\)$/\1/p' out | sort >kinds
printf 'rc_verbs\nud_verbs\n' | diff - kinds || fail "ucx_info: other transports of verbs"

# perf TRANSPORT BYTES TEST [ARG...]: BYTES in all of the 50 messages of a test, the least that the client has to send
perf() {
	kind=$1 least=$2
	shift 2
	export UCX_TLS="$kind,self"
	between "$kind: $*" "$least" "ucx_perftest -p $port -n 50 -w 5 -t $*"
	grep -q '^Final: *50 ' client.out || fail "$kind: $*: $(cat client.out)"
}

# Of UCX's lower layer: what a queue pair can do.
raw='-x rc_verbs -d verbena0:1'
perf rc $((50 * 8)) "am_lat $raw"
perf rc $((50 * 4000)) "am_bw $raw -D zcopy -s 4000"
perf rc $((50 * 8)) "put_lat $raw"
perf rc $((50 * 65536)) "put_bw $raw -D zcopy -s 65536"
packets='infiniband.bth.opcode in {19, 20}'
perf rc $((50 * 28)) "add_mr $raw"
perf rc $((50 * 28)) "fadd $raw"
perf rc $((50 * 28)) "cswap $raw"
packets=''
from=127.$net.1
perf rc $((50 * 70000)) "get $raw -D zcopy -s 70000"
from=''

# Of its upper layer, which finds its peer by datagrams.
perf rc $((50 * 8)) tag_lat
perf rc $((50 * 3000)) 'tag_bw -s 3000'
perf rc $((50 * 8)) stream_lat
perf rc $((50 * 8)) ucp_am_lat
from=127.$net.1
perf rc $((50 * 300000)) 'ucp_get -s 300000'
from=''
packets='infiniband.bth.opcode == 100'
perf ud $((50 * 2000)) 'am_bw -x ud_verbs -d verbena0:1 -D zcopy -s 2000'
perf ud $((50 * 8)) tag_lat
perf ud $((50 * 3000)) 'tag_bw -s 3000'
perf ud $((50 * 8)) stream_lat
perf ud $((50 * 8)) ucp_am_lat
