#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Unmodified programs of ibverbs-utils and perftest between two processes over UDP, as a user without any rights,
# and what went over the wire is counted. $3: the folder of the build.
. "$(dirname "$0")/exec_lib.sh"
for tool in ibv_devinfo ibv_rc_pingpong ib_send_lat tshark; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done


on 1 ibv_devinfo -v >out 2>err || fail "ibv_devinfo fails"
grep -q "GID\[ *1\]:.*::ffff:127.$net.1, RoCE v2" out || fail "ibv_devinfo: $(cat out)"
grep -q 'state:.*PORT_ACTIVE' out || fail "ibv_devinfo: no active port"

between rc_pingpong $((100 * 3000)) "ibv_rc_pingpong -g 1 -c -n 100 -s 3000 -p $port"
grep -q '100 iters' client.out || fail "ibv_rc_pingpong: $(cat client.out)"
between send_lat $((200 * 500)) "ib_send_lat -n 200 -s 500 -I 0 -p $port"
grep -qE '^ 500 +200 ' client.out || fail "ib_send_lat: $(cat client.out)"

# Two processes on one host, which are two users of one adapter.
between same_host $((100 * 3000)) "ibv_rc_pingpong -g 1 -c -n 100 -s 3000 -p $port" 1
grep -q '100 iters' client.out || fail "ibv_rc_pingpong on one host: $(cat client.out)"
