#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena exec --impair: a program gets through what its rules do, and what they say that they did is what the capture
# shows. $3: the folder of the build.
. "$(dirname "$0")/lib.sh"
build=$(realpath "$3")
unset LD_LIBRARY_PATH VERBENA VERBENA_ADDR VERBENA_LINK VERBENA_PCAP VERBENA_TREE VERBENA_IMPAIR VERBENA_SEED
for tool in ibv_rc_pingpong ib_send_lat tshark; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
verbena=$build/verbena
net=$(($$ % 200 + 20)).$(($$ / 200 % 250)) # addresses that nobody else is likely to have
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

# Rules that are none, before anything is run.
refused() { # RULES LINE
	status=0
	"$verbena" exec --impair "$1" -- touch ran >out 2>err || status=$?
	[ "$status" = 2 ] || fail "--impair '$1': exit $status"
	[ "$(cat err)" = "verbena: exec: --impair: $2" ] || fail "--impair '$1': $(cat err)"
	[ ! -e ran ] || fail "--impair '$1': it ran"
}
refused 'loss 5' 'found "5", expected a percentage or a fraction, such as 0.1% or 1/1000'
refused 'loss 1% dealy 5us' 'found "dealy", expected to, qp, only, limit, delay, loss, corrupt, duplicate, reorder, rate or ecn'
refused 'reorder 1%' 'found "reorder", expected a delay beside it, which those that go first have not'
status=0
VERBENA_IMPAIR='loss 5' "$verbena" exec -- true 2>err || status=$?
[ "$status" = 2 ] && grep -q 'VERBENA_IMPAIR: found "loss 5"' err || fail "VERBENA_IMPAIR: exit $status, $(cat err)"
# What had nothing to do is told.
"$verbena" exec --impair 'loss 1%' -- true 2>err || fail "true fails"
[ "$(cat err)" = 'verbena: exec: --impair "loss 1%": 0 packets: it met none' ] || fail "nothing met: $(cat err)"

listens() {
	cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '{print $2, $4}' | grep -q "$(printf ':%04X 0A' "$port")"
}

# between RULES SEED TOOL [OPTION]: a pingpong, each side with these rules. Whoever goes first must not need an ACK of
# the one that has gone: ibv_rc_pingpong goes at once and is for rules that lose none, ib_send_lat says goodbye.
between() {
	rm -f ./*.pcapng
	test="$3 -p $port ${4:-}"
	# shellcheck disable=SC2086 # words
	timeout 60 "$verbena" exec --host "127.$net.1" --impair "$1" --seed "$2" -- $test >server.out 2>server.err &
	server=$!
	for _ in $(seq 100); do
		listens && break
		sleep 0.05
	done
	# shellcheck disable=SC2086
	timeout 60 "$verbena" exec --host "127.$net.2" --impair "$1" --seed "$2" --pcap client.pcapng -- $test 127.0.0.1 \
		>client.out 2>client.err || fail "$1: client: $(cat client.out client.err) server: $(cat server.out server.err)"
	wait $server || fail "$1: server: $(cat server.out server.err)"
	grep -qE '100 iters|^ 10000 +100 ' client.out || fail "$1: $(cat client.out)"
	sent=$(tshark -r client.pcapng -T fields -e ip.dsfield.ecn "ip.src == 127.$net.2 && infiniband.bth.opcode < 17" \
		2>/dev/null >ecn && wc -l <ecn)
}
said() { # WHAT: how many of the client's packets
	sed -n "s/.*[ :]\([0-9]*\) $1.*/\1/p" client.err | grep . || echo 0
}

pingpong="ibv_rc_pingpong -g 1 -c -n 100 -s 10000"
between 'only data loss 2% duplicate 1% reorder 5% delay 20us 5us corrupt 1% ecn 3% rate 5Gbps' 7 "$pingpong"
[ "$(said packets)" -ge 300 ] || fail "few packets: $(cat client.err)"
for what in lost doubled corrupted marked 'went ahead' delayed; do
	[ "$(said "$what")" -gt 0 ] || fail "$what: none: $(cat client.err)"
done
[ "$sent" = $(($(said packets) - $(said lost) + $(said doubled) - $(said 'over the limit'))) ] ||
	fail "$sent packets in the capture: $(cat client.err)"
marked=$(grep -c 3 ecn)
[ "$marked" -ge "$(said marked)" ] && [ "$marked" -le $(($(said marked) + $(said doubled))) ] ||
	fail "$marked marks in the capture: $(cat client.err)"

# Who sleeps until a completion comes wakes for what waits: or all would be sent again, when the timers of queue pairs end.
between 'delay 500us' 7 "$pingpong" '-e -s 100'
[ "$(said packets)" -lt 250 ] || fail "packets were sent again: $(cat client.err)"

# The acknowledgements alone, then nobody's: of another host.
between 'only acks loss 10%, to elsewhere loss 100%' 7 'ib_send_lat -n 100 -s 10000 -I 0'
[ "$(sed -n 's/.*only acks.* \([0-9]*\) lost.*/\1/p' client.err)" -gt 0 ] || fail "no ACK is lost: $(cat client.err)"
[ "$(grep elsewhere client.err)" = 'verbena: exec: --impair "to elsewhere loss 100%": 0 packets: it met none' ] ||
	fail "another host: $(cat client.err)"
