#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# verbena exec --direct: payloads of RC are read where their sender has them, and programs, captures, rules and failures are
# as on the other ways. $3: the folder of the build.
. "$(dirname "$0")/exec_lib.sh"
for tool in ibv_rc_pingpong ib_send_bw ib_write_bw ib_read_bw strace tshark; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done
"$verbena" doctor | grep -q 'process_vm_readv() of another process works' || { echo "no process_vm_readv()" && exit 77; }
strace -o trace true 2>/dev/null || { echo "no strace here" && exit 77; }

status=0
VERBENA_LINK=frame:a,b VERBENA_ADDR=10.0.0.1 "$verbena" exec --direct -- touch ran 2>err || status=$?
{ [ "$status" = 2 ] && [ ! -e ran ]; } || fail "--direct on a frame link: exit $status"

# reads_in TRACE: how often memory of another process was read; a call that reads several payloads counts for all.
reads_in() {
	sed -n 's/.*process_vm_readv(.* = \([0-9]*\)$/\1/p' "$1" |
		awk '{ count += $1 > 4096 ? int($1 / 4096) : 1 } END { print count + 0 }'
}

# direct NAME HOW COMMAND: COMMAND as two processes that are direct, or where HOW is "one" only the server; $reads: how
# often the server has read the client's memory, and $back the other way.
direct() {
	name=$1 how=$2
	rm -f server.trace client.trace
	option=--direct
	$as timeout 60 "$work/bin/verbena" exec --host "127.$net.1" --direct -- \
		strace -f -o server.trace -e trace=process_vm_readv sh -c "exec $3" >server.out 2>&1 &
	server=$!
	for _ in $(seq 100); do
		listens && break
		sleep 0.05
	done
	[ "$how" = both ] || option="--path auto"
	# shellcheck disable=SC2086
	$as timeout 60 "$work/bin/verbena" exec --host "127.$net.2" $option -- \
		strace -f -o client.trace -e trace=process_vm_readv sh -c "exec $3 127.0.0.1" >client.out 2>&1 ||
		fail "$name: client: $(cat client.out) server: $(cat server.out)"
	wait $server || fail "$name: server: $(cat server.out)"
	reads=$(reads_in server.trace)
	back=$(reads_in client.trace)
}

# 100 messages of 25 packets of 4096 each.
direct write both "ib_write_bw -s 102400 -n 100 -p $port"
[ "$reads" -ge 1000 ] || fail "WRITE: $reads reads of the client's memory"
direct send both "ib_send_bw -s 102400 -n 100 -p $port"
[ "$reads" -ge 1000 ] || fail "SEND: $reads reads of the client's memory"
direct read both "ib_read_bw -s 102400 -n 100 -p $port"
[ "$back" -ge 1000 ] || fail "READ: $back reads of the server's memory"
direct checked both "ibv_rc_pingpong -g 1 -c -n 100 -s 10001 -p $port"
{ [ "$reads" -ge 100 ] && [ "$back" -ge 100 ]; } || fail "pingpong: $reads and $back reads"
# What is not lent: what is short, what is not RC, and to who does not take it.
direct short both "ib_write_lat -s 8 -n 100 -p $port"
{ [ "$reads" -le 2 ] && [ "$back" -le 2 ]; } || fail "short: $reads and $back reads"
direct uc both "ibv_uc_pingpong -g 1 -c -n 100 -s 10000 -p $port"
{ [ "$reads" -le 2 ] && [ "$back" -le 2 ]; } || fail "UC: $reads and $back reads"
direct one one "ibv_rc_pingpong -g 1 -c -n 100 -s 10000 -p $port"
{ [ "$reads" -le 2 ] && [ "$back" -le 2 ]; } || fail "one end alone: $reads and $back reads"

# With a capture, which has the bytes, and with rules, which are for them.
export VERBENA_PATH=direct
between captured $((100 * 10000)) "ibv_rc_pingpong -g 1 -c -n 100 -s 10000 -p $port"
for file in "127.$net.2.pcapng" server.pcapng; do
	tshark -r "$file" -V 2>/dev/null >text
	! grep -iE 'malformed|incorrect|\[.*(bad|wrong)' text || fail "tshark about $file"
done
VERBENA_IMPAIR='loss 1%' between impaired $((100 * 10000)) "ibv_rc_pingpong -g 1 -c -n 100 -s 10000 -p $port"
