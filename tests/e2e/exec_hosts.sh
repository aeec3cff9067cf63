#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2086 # words
# verbena exec as somebody uses it who is not careful: hosts that are network namespaces, only where it was told to be,
# connections under losses, one capture of several processes, programs that fork or just end. $3: the folder of the build.
. "$(dirname "$0")/exec_lib.sh"
here=$(cd "$root/tests/e2e" && pwd)
for tool in ibv_rc_pingpong rping tshark; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
exec_in="$work/bin/verbena exec"

# rping with losses on both ends: what is lost is sent again, and all that it verifies is right. Nobody is there to send
# again what a process that has ended said last, as in the kernel: only what goes before is lost.
for seed in 1 2 3; do
	rping="rping -V -C 10 -S 5000 -a 127.$net.1"
	lossy="--impair 'only data loss 5%' --seed $seed"
	eval "$as timeout 60 $exec_in --host 127.$net.1 $lossy -- $rping -s" >server.out 2>&1 &
	server=$!
	sleep 0.5
	eval "$as timeout 60 $exec_in --host 127.$net.2 $lossy -- $rping -c" >client.out 2>&1 ||
		fail "rping, 5 % lost, seed $seed: client: $(cat client.out) server: $(cat server.out)"
	wait $server || fail "rping, 5 % lost, seed $seed: server: $(cat server.out)"
	cat client.out server.out >>told
done
grep -q ' lost' told || fail "nothing was lost: $(cat told)"

# Two processes of one command and one capture: it has what each has sent and got.
cat >two <<END
ibv_rc_pingpong -g 1 -c -n 100 -m 4096 -p $port >one.out 2>&1 &
sleep 0.7
ibv_rc_pingpong -g 1 -c -n 100 -m 4096 -p $port 127.0.0.1 >other.out 2>&1 && wait
END
$as $exec_in --host "127.$net.3" --pcap two.pcapng -- sh ./two || fail "two processes: $(cat one.out other.out)"
[ "$(tshark -r two.pcapng -Y 'infiniband.bth.opcode < 17' 2>err | wc -l)" = 400 ] ||
	fail "a capture of two processes: $(tshark -r two.pcapng 2>/dev/null | wc -l) packets"
[ -s two.pcapng ] && ! grep -q 'damaged\|corrupt\|cut short' err || fail "a capture of two processes: $(cat err)"

# Where nobody said otherwise, nothing but loopback: all sockets of the adapter have addresses of it.
sockets() { # what has the port of RoCEv2, as addresses in hexadecimal
	awk '$2 ~ /:12B7$/ {sub(/:.*/, "", $2); print $2}' /proc/net/udp | sort -u
}
before=$(sockets)
$as timeout 20 $exec_in -- ibv_rc_pingpong -g 1 -p "$port" >server.out 2>&1 &
server=$!
for _ in $(seq 100); do
	listens && break
	sleep 0.05
done
for address in $(sockets); do
	case "$before $address" in
	*7F | *EF) ;; # of 239.0.0.0/8 are groups, heard where the address is
	*) fail "an address that is no loopback: $address, before: $before" ;;
	esac
done
[ -n "$(sockets)" ] || fail "no socket at all"
kill $server
wait $server 2>/dev/null || :

# Who forks and opens its device again is not stopped by its child.
cp "$3/tests/e2e/exec_forks" forks
$as timeout 20 $exec_in --host "127.$net.4" -- ./forks >out 2>&1 || fail "a program that forks: $(cat out)"

# Who ends while a thread asks for events does not tell that anything: half a second long, from the first byte of what is
# written last of all.
cp "$3/tests/e2e/exec_ends" ends
{
	status=0
	$as timeout 20 $exec_in --host "127.$net.4" -- ./ends 2>err || status=$?
	echo $status >status
} | { dd bs=1 count=1 >/dev/null 2>&1 && sleep 0.5 && cat >/dev/null; }
[ "$(cat status)" = 0 ] || fail "a thread that asks: exit $(cat status): $(cat err)"

# Of a process that just ends its peers are told.
if /usr/bin/python3 -c 'import pyverbs.cmid' 2>/dev/null; then
	$as timeout 20 $exec_in --host "127.$net.1" -- rping -s -v -a "127.$net.1" >server.out 2>&1 &
	server=$!
	sleep 0.5
	cp "$here/exec_leave.py" leave.py
	$as timeout 20 $exec_in --host "127.$net.2" -- /usr/bin/python3 leave.py "127.$net.1" >out 2>&1 || fail "leave: $(cat out)"
	status=0
	wait $server || status=$?
	[ $status != 124 ] && grep -q 'server DISCONNECT EVENT' server.out ||
		fail "a client that just ends: exit $status: $(cat server.out)"
fi

# Hosts that are network namespaces, with a cable between them.
ip=$(PATH=$PATH:/usr/sbin:/sbin command -v ip) || exit 0
space=vb$$
"$ip" netns add ${space}a 2>/dev/null || { echo "no namespaces here" && exit 0; }
trap '"$ip" netns del ${space}a; "$ip" netns del ${space}b; rm -rf "$work"' EXIT
"$ip" netns add ${space}b
"$ip" -n ${space}a link add eth0 type veth peer name eth0 netns ${space}b
"$ip" -n ${space}a addr add 10.0.0.1/24 dev eth0
"$ip" -n ${space}b addr add 10.0.0.2/24 dev eth0
for side in a b; do
	"$ip" -n $space$side link set lo up
	"$ip" -n $space$side link set eth0 up
done
in_a="$ip netns exec ${space}a timeout 30 $work/bin/verbena exec --host 10.0.0.1 --pcap a.pcapng --"
in_b="$ip netns exec ${space}b timeout 30 $work/bin/verbena exec --host 10.0.0.2 --pcap b.pcapng --"

# apart NAME SERVER CLIENT: in the one and the other, with packets on the cable
apart() {
	sent=$("$ip" netns exec ${space}b cat /sys/class/net/eth0/statistics/tx_bytes)
	$in_a $2 >server.out 2>&1 &
	server=$!
	sleep 1
	$in_b $3 >client.out 2>&1 || fail "$1 between namespaces: client: $(cat client.out) server: $(cat server.out)"
	wait $server || fail "$1 between namespaces: server: $(cat server.out)"
	sent=$(($("$ip" netns exec ${space}b cat /sys/class/net/eth0/statistics/tx_bytes) - sent))
	[ $sent -ge "$4" ] || fail "$1 between namespaces: $sent bytes on the cable"
}
apart ibv_rc_pingpong "ibv_rc_pingpong -g 1 -c -n 100" "ibv_rc_pingpong -g 1 -c -n 100 10.0.0.1" 409600
apart rping "rping -s -a 10.0.0.1 -V -C 10 -S 5000" "rping -c -a 10.0.0.1 -V -C 10 -S 5000" 50000
# Addresses that this host does not have are none.
status=0
"$ip" netns exec ${space}a timeout 30 "$work/bin/verbena" exec --host 10.0.0.9 -- ibv_rc_pingpong -g 1 >out 2>&1 || status=$?
[ $status != 0 ] && [ $status != 124 ] || fail "an address of nobody: exit $status: $(cat out)"
