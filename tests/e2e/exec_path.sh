#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena exec --path shm: nothing but rings in shared memory carries what queue pairs send, and programs, captures and
# rules are as on UDP; who is killed leaves nothing, and his peer is told. $3: the folder of the build.
. "$(dirname "$0")/exec_lib.sh"
for tool in ibv_rc_pingpong ib_send_bw tshark; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done

status=0
"$verbena" exec --path tcp -- touch ran 2>err || status=$?
{ [ "$status" = 2 ] && [ ! -e ran ]; } || fail "--path tcp: exit $status"
[ "$(cat err)" = 'verbena: exec: --path: found "tcp", expected auto, udp, shm or direct' ] || fail "--path tcp: $(cat err)"
status=0
VERBENA_LINK=frame:a,b VERBENA_ADDR=10.0.0.1 "$verbena" exec --path shm -- touch ran 2>err || status=$?
{ [ "$status" = 2 ] && [ ! -e ran ]; } || fail "--path shm on a frame link: exit $status"

export VERBENA_PATH=shm

# What the captures of both have, which no socket carried: as many packets as there have to be (3000 bytes are one of 4096,
# 10000 are three), and none of which tshark says that it is wrong.
right() {
	for file in "127.$net.2.pcapng" server.pcapng; do
		[ -s $file ] || continue
		tshark -r $file -V 2>/dev/null >text
		! grep -iE 'malformed|incorrect|\[.*(bad|wrong)' text || fail "$1: tshark about $file"
		count=$(tshark -r $file -Y "$2" 2>/dev/null | wc -l)
		[ "$count" -ge "$3" ] || fail "$1: $count packets in $file, expected $3"
	done
}
between rc $((100 * 10000)) "ibv_rc_pingpong -g 1 -c -n 100 -s 10000 -p $port"
right rc 'infiniband.bth.opcode < 6 && ip.src == 127.0.0.0/8' 600
between srq $((100 * 3000)) "ibv_srq_pingpong -g 1 -c -n 100 -s 3000 -p $port -q 4"
packets='infiniband.bth.opcode >= 32 && infiniband.bth.opcode < 38'
between uc $((100 * 10000)) "ibv_uc_pingpong -g 1 -c -n 100 -s 10000 -p $port"
right uc "$packets" 600
packets='infiniband.bth.opcode == 100'
between ud $((100 * 1000)) "ibv_ud_pingpong -g 1 -c -n 100 -s 1000 -p $port"
right ud "$packets" 200
packets=''
between same_host $((100 * 3000)) "ibv_rc_pingpong -g 1 -c -n 100 -s 3000 -p $port" 1
between sleeping $((100 * 3000)) "ibv_rc_pingpong -g 1 -e -c -n 100 -s 3000 -p $port"
between ipv4_atomics 0 "ib_atomic_lat -n 100 -p $port"
between write 0 "ib_write_lat -n 500 -s 8 -p $port"
between read 0 "ib_read_bw -n 100 -s 100000 -q 4 -p $port"

# Rules, which are for the bytes of the wire.
between_impaired() {
	export VERBENA_IMPAIR="$1"
	between "$1" $((100 * 10000)) "ib_send_lat -n 100 -s 10000 -I 0 -p $port"
	unset VERBENA_IMPAIR
}
between_impaired 'loss 1%'
between_impaired 'corrupt 2%, loss 1%'

# Who is killed while both are busy: his peer hears that nobody answers (12: IBV_WC_RETRY_EXC_ERR), has no ring left to him
# before that.
rm -f server.pid client.pid
on 1 sh -c "echo \$\$ >server.pid; exec ib_send_bw -D 30 -p $port" >server.out 2>&1 &
waited=$!
for _ in $(seq 100); do
	listens && break
	sleep 0.05
done
on 2 sh -c "echo \$\$ >client.pid; exec ib_send_bw -D 30 -p $port 127.0.0.1" >client.out 2>&1 &
client=$!
for _ in $(seq 200); do
	rings=$(grep -c memfd:verbena-ring "/proc/$(cat client.pid 2>/dev/null)/maps" 2>/dev/null) || rings=0
	[ "$rings" = 2 ] && break
	sleep 0.05
done
[ "$rings" = 2 ] || fail "the client has $rings rings, expected one there and one back: $(cat client.out)"
sleep 0.3
kill -9 "$(cat server.pid)"
for _ in $(seq 20); do
	sleep 0.05
	rings=$(grep -c memfd:verbena-ring "/proc/$(cat client.pid)/maps") || true
	[ "$rings" = 0 ] && break
done
[ "$rings" = 0 ] || fail "the client still has $rings rings a second after its peer was killed"
wait $client && fail "the client of who was killed does well: $(cat client.out)"
wait $waited || true
grep -qi 'status 12\b\|Failed status' client.out || fail "the client is told: $(cat client.out)"

# And begin anew at the same places.
between again $((100 * 3000)) "ibv_rc_pingpong -g 1 -c -n 100 -s 3000 -p $port"
