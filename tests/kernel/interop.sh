#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# interop.sh BUILD: the kernel's rxe and our adapter understand each other. SEND, WRITE, READ and
# both atomics each way, over IPv4 and IPv6, with small and large packets; then with packets dropped
# or damaged on purpose, which must come again and must not be acknowledged before. Every job's
# reports have to be those of the same program over adapters of ours alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
out=$build/tests/kernel/interop
rm -rf "$out" && mkdir -p "$out"

# NAME PROGRAM GUEST_RANK SIZE MTU RULES ARGS. Who begins and who answers differs between ranks, so
# programs that are not alike on both sides run twice.
plain() {
	for ip in 4 6; do
		for mtu in 1024 4096; do
			echo "send_${ip}_$mtu pingpong_send 0 2 $mtu - ip=$ip"
			echo "write_${ip}_$mtu pingpong_write 0 2 $mtu - ip=$ip"
			echo "read_${ip}_$mtu read_validate 0 2 $mtu - ip=$ip"
		done
		echo "atomics_to_rxe_$ip atomics 0 2 1024 - ip=$ip"
		echo "atomics_to_us_$ip atomics 1 2 1024 - ip=$ip"
		echo "rnr_of_rxe_$ip rnr_slow 1 2 1024 - ip=$ip"
		echo "rnr_of_us_$ip rnr_slow 0 2 1024 - ip=$ip"
	done
}

# harmed NAME PROGRAM GUEST_RANK RULES
harmed() {
	for ip in 4 6; do
		echo "$1_$ip $2 $3 2 1024 $4 ip=$ip"
	done
}

plain >"$dir/jobs"
{
	harmed send_drop pingpong_send 0 drop:nic:SEND_MIDDLE:3,drop:guest:SEND_MIDDLE:5
	harmed send_flip pingpong_send 0 flip:nic:SEND_LAST:2,flip:guest:SEND_FIRST:4
	harmed write_drop pingpong_write 0 drop:nic:WRITE_LAST_IMM:2,drop:guest:WRITE_FIRST:4
	harmed write_flip pingpong_write 0 flip:nic:WRITE_MIDDLE:2,flip:guest:WRITE_LAST_IMM:4
	harmed ack_drop pingpong_send 0 drop:nic:ACKNOWLEDGE:3,drop:guest:ACKNOWLEDGE:5
	harmed ack_flip pingpong_write 0 flip:nic:ACKNOWLEDGE:3,flip:guest:ACKNOWLEDGE:5
	harmed read_drop read_validate 0 drop:nic:READ_REQUEST:3,drop:guest:READ_REQUEST:5
	harmed read_flip read_validate 0 flip:nic:READ_REQUEST:4,flip:guest:READ_REQUEST:6
	harmed response_drop read_validate 0 \
		drop:nic:READ_RESPONSE_MIDDLE:2,drop:guest:READ_RESPONSE_LAST:2
	harmed response_flip read_validate 0 \
		flip:nic:READ_RESPONSE_ONLY:2,flip:guest:READ_RESPONSE_MIDDLE:4
	harmed atomic_to_rxe atomics 0 drop:nic:FETCH_ADD:3,flip:nic:COMPARE_SWAP:2
	harmed atomic_to_us atomics 1 drop:guest:FETCH_ADD:3,flip:guest:COMPARE_SWAP:2
	harmed atomic_of_rxe atomics 0 \
		drop:guest:ATOMIC_ACKNOWLEDGE:4,flip:guest:ATOMIC_ACKNOWLEDGE:20
	harmed atomic_of_us atomics 1 drop:nic:ATOMIC_ACKNOWLEDGE:4,flip:nic:ATOMIC_ACKNOWLEDGE:20
} >>"$dir/jobs"

status=0
"$here/run.sh" "$build" "$dir/jobs" "$out" || status=$?
[ $status != 77 ] || exit 77
while read -r name program _; do
	[ -e "$dir/$program" ] ||
		timeout 20 "$build/tests/programs/toy_$program" --size 2 >"$dir/$program" 2>"$dir/stderr"
	"$here/../programs/compare.sh" "$dir/$program" "$out/$name.reports" || {
		echo "$name: not the reports of $program between adapters of ours"
		status=1
	}
done <"$dir/jobs"
echo "$(wc -l <"$dir/jobs") jobs, packets and logs of each in $out"
exit $status
