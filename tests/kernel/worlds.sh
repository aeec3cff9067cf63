#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# worlds.sh BUILD [guest]: every program, from one object file (its sha256 is printed), reports the
# same in virtual time over a congested and lossy leaf-spine and between processes over UDP; with
# "guest" also with rank 0 in a guest on rdma-core and the kernel's rxe, the others outside on our
# NIC.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
programs="write_once pingpong_send pingpong_write incast_write read_validate rnr_slow atomics ring pingpong_uc datagrams extended srq"
size=4
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
status=0

# shellcheck disable=SC2046
"$here/../programs/objects.sh" "$build" $(for program in $programs; do
	echo "sim_$program proc_$program rdma_$program"
done) || exit $?

if [ "${2:-}" = guest ]; then
	out=$build/tests/kernel/worlds
	rm -rf "$out" && mkdir -p "$out"
	for program in $programs; do
		args=
		[ "$program" != extended ] || args=single=1
		echo "${program}_4 $program 0 $size 1024 - $args"
		echo "${program}_6 $program 0 $size 4096 - ip=6 $args"
	done >"$dir/jobs"
	"$here/run.sh" "$build" "$dir/jobs" "$out" || status=$?
	[ $status != 77 ] || exit 77
fi

for program in $programs; do
	worlds="virtual time, UDP" files="$dir/$program.sim $dir/$program.udp"
	# Congestion that pauses and marks, and loss on every link: demanded, not hoped for. What is not
	# acknowledged would not come again.
	loss=500 lost="[1-9]"
	case $program in
	pingpong_uc | datagrams) loss=0 lost=0 ;;
	esac
	timeout 60 "$build/tests/programs/sim_$program" --quiet --size $size --hosts 16 --leaves 4 \
		--spines 2 --background 1000000 --loss $loss >"$dir/$program.sim" 2>"$dir/stderr" &&
		grep -q "pauses: [1-9].* marked: [1-9].* dropped: 0 lost: $lost" "$dir/stderr" || {
		echo "$program in virtual time failed:"
		cat "$dir/stderr"
		status=1
	}
	fabric=$(grep '^flows:' "$dir/stderr") || true
	"$here/../programs/procs.sh" "$build/tests/programs/proc_$program" $size \
		>"$dir/$program.udp" 2>"$dir/stderr" || {
		echo "$program over UDP failed:"
		cat "$dir/stderr"
		status=1
	}
	if [ "${2:-}" = guest ]; then
		worlds="$worlds, rxe in the guest over IPv4 and IPv6"
		files="$files $out/${program}_4.reports $out/${program}_6.reports"
	fi
	# shellcheck disable=SC2086
	"$here/../programs/compare.sh" $files || {
		status=1
		continue
	}
	echo "$program: $(wc -l <"$dir/$program.sim") equal reports: $worlds" \
		"(fabric: $fabric)"
done
exit $status
