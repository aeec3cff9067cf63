#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Unmodified programs over the real librdmacm.so.1 between two emulated hosts, and what goes over the wire while they
# connect. $3: the folder of the build.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VERBENA VERBENA_ADDR VERBENA_LINK VERBENA_PCAP VERBENA_TREE
for tool in rping ucmatose udaddy rdma_server rdma_xserver rstream riostream cmtime ib_send_bw ib_write_lat tshark; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
net=$(($$ % 200 + 20)).$(($$ / 200 % 250)) # addresses that nobody else is likely to have
s=127.$net.1 client=127.$net.2
hex=$(printf '7f%02x%02x01' "${net%.*}" "${net#*.}")

# Whether somebody on host 1 has a port: the kernel writes names of the abstract namespace with an @ in front.
listens() {
	grep -q "@verbena/[0-9]*/[0-9a-f]*$hex%[0-9]*/cm/port/" /proc/net/unix
}

# serve COMMAND: on host 1, until it listens
serve() {
	timeout 60 "$verbena" exec --host "$s" -- sh -c "exec $1" >server.out 2>&1 &
	server=$!
	for _ in $(seq 200); do
		! listens || return 0
		sleep 0.05
	done
}

# ask COMMAND: on the client's host
ask() {
	timeout 60 "$verbena" exec --host "$client" --pcap client.pcapng -- sh -c "exec $1" >client.out 2>&1
}

# pair NAME SERVER CLIENT [stays]: both end well, but for a server that is not made to end
pair() {
	serve "$2"
	ask "$3" || fail "$1: client: $(cat client.out) server: $(cat server.out)"
	[ $# -lt 4 ] || kill $server
	wait $server || [ $# -eq 4 ] || fail "$1: server: $(cat server.out)"
	echo "$1"
}

# refused NAME SERVER CLIENT WORD: the client is refused, and says so with this word
refused() {
	serve "$2"
	status=0
	ask "$3" || status=$?
	if [ $status -eq 0 ] || [ $status -eq 124 ]; then
		fail "$1: exit $status"
	fi
	grep -q "$4" client.out || fail "$1: $(cat client.out)"
	kill $server 2>/dev/null || :
	wait $server || :
	echo "$1"
}

# Of the client's capture, each kind of message once however often it came, in order.
messages() {
	tshark -r client.pcapng -Y infiniband.mad.attributeid -T fields -e infiniband.mad.attributeid 2>/dev/null |
		uniq | tr '\n' ' '
}

pair "rping" "rping -s -a $s -v -C 10" "rping -c -a $s -v -C 10"
grep -q '^ping data: rdma-ping-9: JKLM' client.out || fail "rping: $(cat client.out)"
# ConnectRequest, ConnectReply, ReadyToUse, DisconnectRequest; the client does not wait for the last one.
case $(messages) in
"0x0010 0x0013 0x0014 0x0015 "*) ;;
*) fail "rping: messages $(messages)" ;;
esac
tshark -r client.pcapng -Y infiniband.mad.attributeid==0x0010 -T fields -e infiniband.deth.q_key -e infiniband.deth.srcqp \
	-e infiniband.cm.req.serviceid.protocol -e infiniband.cm.req.serviceid.dport -e infiniband.cm.req.ip_cm.ipv \
	-e infiniband.cm.req.prim_localgid_ipv4 >request 2>/dev/null
tr '\t' ' ' <request | grep -q "^0x0*80010000 0x0*1 0x0*6 0x0*1c06 0x0*4 $client\$" || fail "rping: asks $(cat request)"
refused "no such port" "rping -s -a $s -p 7174" "rping -c -a $s -p 7175 -C 1" 'RDMA_CM_EVENT_REJECTED, error 8'
pair "ucmatose" "ucmatose -b $s -c 5 -C 20 -S 3000" "ucmatose -s $s -c 5 -C 20 -S 3000"
grep -q 'return status 0' client.out || fail "ucmatose: $(cat client.out)"
pair "udaddy" "udaddy -b $s" "udaddy -s $s"
grep -q 'return status 0' client.out || fail "udaddy: $(cat client.out)"
case $(messages) in
"0x0017 0x0018 ") ;;
*) fail "udaddy: messages $(messages)" ;;
esac
pair "rdma_server" "rdma_server" "rdma_client -s $s"
# They post 16 bytes INLINE on queue pairs for which they asked for none.
pair "rdma_xserver" "rdma_xserver -c r" "rdma_xclient -s $s -c r"
pair "rdma_xserver of XRC" "rdma_xserver -c x" "rdma_xclient -s $s -c x"
pair "rstream" "rstream -b $s -S 4096 -C 20" "rstream -s $s -S 4096 -C 20"
pair "riostream" "riostream -b $s -S 4096 -C 20" "riostream -s $s -S 4096 -C 20"
pair "cmtime" "cmtime -b $s -c 20" "cmtime -s $s -c 20" stays
pair "ib_send_bw -R" "ib_send_bw -R -n 100" "ib_send_bw -R -n 100 $s"
pair "ib_write_lat -R" "ib_write_lat -R -n 100" "ib_write_lat -R -n 100 $s"
# Two processes that share a host: what is for queue pair 1 finds the right one.
client=$s
pair "rping on one host" "rping -s -a $s -C 10" "rping -c -a $s -C 10"
# The one address that every loopback interface has of IPv6 is one host.
if [ -e /proc/sys/net/ipv6 ]; then
	s=::1 client=::1 hex=00000000000000000000000000000001
	pair "rping of IPv6" "rping -s -a $s -C 10" "rping -c -a $s -C 10"
fi
