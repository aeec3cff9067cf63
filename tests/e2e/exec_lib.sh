# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# For tests of other people's programs between hosts, in place of lib.sh; $3 is the folder of the build. What
# "verbena exec" needs is copied to where anybody may read it, since the build may lie in a folder of root's, and programs
# run as a user without any rights in the folder "both", the current one.
. "${e2e:-$(dirname "$0")}/lib.sh"
build=$(realpath "$3")
unset LD_LIBRARY_PATH VERBENA VERBENA_ADDR VERBENA_LINK VERBENA_PCAP VERBENA_TREE
chmod 755 "$work"
mkdir -p bin/transport/dropin both
cp "$verbena" bin/
cp "$build"/transport/dropin/libibverbs.so.1 "$build"/transport/dropin/libverbena-paths.so bin/transport/dropin/
ln -s libibverbs.so.1 bin/transport/dropin/libibverbs.so
as=""
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as="setpriv --reuid=65534 --regid=65534 --clear-groups"
	chown 65534 both
fi
cd both
net=$(($$ % 200 + 20)).$(($$ / 200 % 250)) # addresses that nobody else is likely to have
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

# on HOST COMMAND...: as 127.$net.HOST, with a capture of that name or $pcap
on() {
	host=127.$net.$1
	shift
	$as timeout "${seconds:-60}" "$work/bin/verbena" exec --host "$host" --pcap "${pcap:-$host.pcapng}" -- "$@"
}

# Whether somebody listens at the port.
listens() {
	cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '{print $2, $4}' | grep -q "$(printf ':%04X 0A' "$port")"
}

# between NAME BYTES COMMAND [HOST]: COMMAND as a server on host 1 and, with an address behind it, on HOST (2); both go
# well, and in the client's capture the packets that count have at least BYTES: those that $from sends (the client), and
# that the filter $packets chooses (of RC, with data)
between() {
	name=$1 bytes=$2 client=${4:-2}
	rm -f ./*.pcapng
	pcap=server.pcapng on 1 sh -c "exec $3" >server.out 2>&1 &
	server=$!
	for _ in $(seq 100); do
		listens && break
		sleep 0.05
	done
	on "$client" sh -c "exec $3 127.0.0.1" >client.out 2>&1 || fail "$name: client: $(cat client.out) server: $(cat server.out)"
	wait $server || fail "$name: server: $(cat server.out)"
	sent=$(tshark -r "127.$net.$client.pcapng" -T fields -e udp.length \
		"ip.src == ${from:-127.$net.$client} && ${packets:-infiniband.bth.opcode < 17}" 2>/dev/null |
		awk '{sum += $1 - 24} END {print sum + 0}')
	[ "$sent" -ge "$bytes" ] || fail "$name: $sent bytes in packets, expected $bytes"
}
