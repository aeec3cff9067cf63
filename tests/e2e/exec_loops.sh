#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Unmodified programs on each loop of the NIC, and on the one that remains where io_uring is refused. $4: what runs a
# command so.
forbid=$(realpath "$4")
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VERBENA VERBENA_ADDR VERBENA_LINK VERBENA_PCAP VERBENA_TREE VERBENA_LOOP
for tool in ibv_rc_pingpong ibv_ud_pingpong ib_send_bw ib_write_lat rping; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
net=$(($$ % 200 + 20)).$(($$ / 200 % 250)) # addresses that nobody else is likely to have
s=127.$net.1 client=127.$net.2
hex=$(printf '7f%02x%02x01' "${net%.*}" "${net#*.}")
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

# Words that are none, and a loop that cannot be had.
refused() { # LINE COMMAND...
	line=$1
	shift
	status=0
	"$@" -- touch ran >out 2>err || status=$?
	[ "$status" = 2 ] || fail "$*: exit $status"
	grep -qF "$line" err && [ "$(wc -l <err)" = 1 ] || fail "$*: $(cat err)"
	[ ! -e ran ] || fail "$*: it ran"
}
refused 'exec: --loop: found "uring", expected auto, io_uring or epoll' "$verbena" exec --loop uring
refused 'VERBENA_LOOP: found "uring"' env VERBENA_LOOP=uring "$verbena" exec
for way in "$verbena exec --loop io_uring" "env VERBENA_LOOP=io_uring $verbena exec"; do
	# shellcheck disable=SC2086 # words
	refused 'found io_uring, which cannot be had here: ' "$forbid" $way
done
"$forbid" "$verbena" exec --loop auto -- true || fail "auto without io_uring: exit $?"
"$forbid" "$verbena" exec --loop epoll -- true || fail "epoll without io_uring: exit $?"
loops="epoll forbidden"
if "$verbena" exec --loop io_uring -- true 2>err; then
	loops="io_uring epoll forbidden"
else
	grep -q 'found io_uring, which cannot be had here' err || fail "io_uring: $(cat err)"
fi

# on LOOP HOST COMMAND: "forbidden" takes what remains
on() {
	word=$1 front=env
	[ "$1" != forbidden ] || word=auto front=$forbid
	timeout 60 "$front" "$verbena" exec --host "$2" --loop "$word" -- sh -c "echo \$\$ >$2.pid; exec $3"
}
listens() {
	grep -q "@verbena/[0-9]*/[0-9a-f]*$hex%[0-9]*/cm/port/" /proc/net/unix ||
		cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '{print $2, $4}' | grep -q "$(printf ':%04X 0A' "$port")"
}
# serve LOOP COMMAND: on host 1, until it listens; and it has the loop that was asked for
serve() {
	on "$1" "$s" "$2" >server.out 2>&1 &
	server=$!
	for _ in $(seq 200); do
		! listens || break
		sleep 0.05
	done
	rings=$(find "/proc/$(cat "$s.pid")/fd" -lname 'anon_inode:*io_uring*' | wc -l)
	case $1 in
	io_uring) [ "$rings" = 1 ] || fail "$1: $2: $rings rings" ;;
	*) [ "$rings" = 0 ] || fail "$1: $2: $rings rings" ;;
	esac
}
# pair LOOP SERVER CLIENT
pair() {
	serve "$1" "$2"
	on "$1" "$client" "$3" >client.out 2>&1 || fail "$1: $3: $(cat client.out) server: $(cat server.out)"
	wait $server || fail "$1: server: $(cat server.out)"
	echo "$1: $3"
}

for loop in $loops; do
	pair "$loop" "ibv_rc_pingpong -g 1 -c -p $port -s 20000" "ibv_rc_pingpong -g 1 -c -p $port -s 20000 127.0.0.1"
	pair "$loop" "ibv_rc_pingpong -g 1 -e -p $port" "ibv_rc_pingpong -g 1 -e -p $port 127.0.0.1"
	pair "$loop" "ibv_ud_pingpong -g 1 -c -p $port" "ibv_ud_pingpong -g 1 -c -p $port 127.0.0.1"
	pair "$loop" "ib_send_bw -p $port -n 2000 -q 4" "ib_send_bw -p $port -n 2000 -q 4 127.0.0.1"
	pair "$loop" "ib_write_lat -p $port -n 500" "ib_write_lat -p $port -n 500 127.0.0.1"
	pair "$loop" "rping -s -a $s -C 20 -V" "rping -c -a $s -C 20 -V"
done

# The two kinds understand each other.
case $loops in
io_uring*)
	serve io_uring "ibv_rc_pingpong -g 1 -c -p $port"
	on epoll "$client" "ibv_rc_pingpong -g 1 -c -p $port 127.0.0.1" >client.out 2>&1 || fail "both: $(cat client.out)"
	wait $server || fail "both: server: $(cat server.out)"
	;;
esac

# Who is killed leaves no address taken.
for loop in $loops; do
	for _ in 1 2 3 4 5 6; do
		serve "$loop" "ibv_rc_pingpong -g 1 -c -p $port"
		kill -9 "$(cat "$s.pid")"
		status=0
		wait $server || status=$?
		[ "$status" = 137 ] || fail "$loop: killed: exit $status, $(cat server.out)"
	done
	pair "$loop" "ibv_rc_pingpong -g 1 -c -p $port" "ibv_rc_pingpong -g 1 -c -p $port 127.0.0.1"
done
