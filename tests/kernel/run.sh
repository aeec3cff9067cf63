#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh BUILD JOBS OUT: boots a guest on rdma-core and the kernel's rxe, once, and runs all jobs of
# the file JOBS there, one after the other, each with its other ranks outside on our NIC. A job is
#	NAME PROGRAM GUEST_RANK SIZE MTU RULES [ARG=VALUE ...]
# with the path MTU that ours offers, and RULES for tests/kernel/relay.c with commas between, or -.
# BUILD is Meson's build folder. OUT gets, for each job: NAME.reports (all ranks), NAME.relay (what
# the relay says at the end), NAME.log (every packet), NAME.stderr, NAME.pcapng; besides, console
# and serial. Prints a line a job. Exit status 77: no guest here; why is the last line.
# Nothing needs root. Environment: KERNEL_CACHE, a folder that is kept.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1 jobs=$2 out=$3
programs=$build/tests/programs relay=$build/tests/kernel/relay
job_limit_s=30
boot_limit_s=60
all_limit_s=280

. "$here/guest.sh"
guest_needs flock

# Paths of unix sockets are short.
dir=$(mktemp -d /tmp/vbk.XXXXXX)
pids=
clean_up() {
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
mkdir -p "$out"

root=$dir/root
mkdir -p "$root/bin" "$root/programs" "$root/modules"
cp "$here/guest_init" "$root/init"
cp "$(command -v busybox)" "$root/bin/busybox"
place "$(PATH=$PATH:/usr/sbin:/sbin command -v rdma)" /bin/rdma
place "$driver" "$driver"
mkdir -p "$root/etc/libibverbs.d"
cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/"
cp "$kernel"/modules/*.ko "$kernel/order" "$root/modules/"

# The boards of all jobs, so that the guest knows their ports from the beginning.
n=0
while read -r name program guest_rank size _ _ args; do
	n=$((n + 1))
	"$programs/proc_$program" --serve --size "$size" --board 127.0.0.1:0 \
		--port-file "$dir/port.$n" >/dev/null 2>"$dir/board.$n" &
	pids="$pids $!"
done <"$jobs"
n=0
while read -r name program guest_rank size _ _ args; do
	n=$((n + 1))
	tries=0
	while [ ! -s "$dir/port.$n" ] && [ $tries -lt 100 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
	echo "$name $program $guest_rank $size $(cat "$dir/port.$n") $args"
	[ -e "$root/programs/rdma_$program" ] ||
		place "$programs/rdma_$program" "/programs/rdma_$program"
done <"$jobs" >"$root/jobs"
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$dir/initramfs"

timeout -k 5 $all_limit_s qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 256 \
	-nodefaults -no-user-config -display none -no-reboot \
	-kernel "$kernel/vmlinuz" -initrd "$dir/initramfs" \
	-append "console=ttyS0 loglevel=4 panic=-1 rdinit=/init net.ifnames=0" \
	-serial "file:$out/console" -serial "file:$out/serial" \
	-netdev "dgram,id=rdma,local.type=unix,local.path=$dir/q,remote.type=unix,remote.path=$dir/r" \
	-device virtio-net-pci,netdev=rdma,mac=52:54:00:00:00:01,romfile= \
	-netdev user,id=board -device virtio-net-pci,netdev=board,mac=52:54:00:00:00:02,romfile= \
	-device isa-debug-exit,iobase=0xf4,iosize=4 </dev/null >"$out/qemu" 2>&1 &
qemu=$!
pids="$pids $qemu"

# await SECONDS PATTERN: such a line from the guest; false: too late, or the guest is gone
await() {
	tries=$(($1 * 50))
	while ! grep -q "$2" "$out/serial" 2>/dev/null; do
		[ $tries -gt 0 ] && kill -0 $qemu 2>/dev/null || return 1
		sleep 0.02
		tries=$((tries - 1))
	done
}

give_up() {
	echo "$*"
	tail -n 20 "$out/console" "$out/qemu"
	exit 1
}

# counter NAME COUNTER: how far rxe's moved
counter() {
	sed -n "s/^C $1 $2 //p" "$out/serial"
}

# run_job N NAME PROGRAM GUEST_RANK SIZE MTU RULES ARG...: false: something was not as it should be
run_job() {
	n=$1 name=$2 program=$3 guest_rank=$4 size=$5 mtu=$6 rules=$7
	shift 7
	port=$(cat "$dir/port.$n")
	nics=
	r=0
	while [ $r -lt "$size" ]; do
		[ $r = "$guest_rank" ] || nics="$nics --nic $dir/r$r,$dir/n$r"
		r=$((r + 1))
	done
	rule_args=
	[ "$rules" = - ] || rule_args="--rule $(echo "$rules" | sed 's/,/ --rule /g')"
	# shellcheck disable=SC2086
	"$relay" --guest "$dir/r,$dir/q" $nics $rule_args --log "$out/$name.log" \
		--pcap "$out/$name.pcapng" >"$out/$name.relay" 2>&1 &
	relay_pid=$!
	pids="$pids $relay_pid"
	ranks=
	r=0
	while [ $r -lt "$size" ]; do
		if [ $r != "$guest_rank" ]; then
			# The addresses of ranks outside end in 10 + rank, the guest's in 1. What fails has
			# the status that rxe gives it.
			VERBENA_STATUSES=rxe VERBENA_LINK=frame:$dir/n$r,$dir/r$r VERBENA_MTU=$mtu \
				VERBENA_ADDR=10.7.0.$((10 + r)),fd07::$((10 + r)) \
				timeout -k 1 $job_limit_s "$programs/proc_$program" --rank $r \
				--size "$size" --board "127.0.0.1:$port" -- "$@" \
				>"$dir/reports.$r" 2>"$dir/stderr.$r" &
			ranks="$ranks $!"
		fi
		r=$((r + 1))
	done
	bad=
	for pid in $ranks; do
		wait "$pid" || bad="$bad a rank outside failed;"
	done
	await $job_limit_s "^J $name " || bad="$bad the guest did not end it;"
	grep -q "^J $name 0\$" "$out/serial" || bad="$bad the guest's rank failed;"
	kill "$relay_pid" 2>/dev/null || true
	wait "$relay_pid" || bad="$bad the relay found fault;"
	to_guest=$(sed -n 's/^to guest \([0-9]*\),.*/\1/p' "$out/$name.relay")
	# Each rank outside sends one with a wrong Q_Key, which rxe does not count.
	[ "$program" != datagrams ] || to_guest=$((to_guest - size + 1))
	# What rxe counts as received has passed its ICRC: not the packets with a flipped bit. An
	# answer to what rxe sent twice may come when its QP is gone, and is not counted either.
	taken=$(counter "$name" rcvd_pkts)
	[ "$taken" = "$to_guest" ] ||
		{ [ "${taken:-0}" -lt "$to_guest" ] &&
			[ "$(counter "$name" completer_retry_err)" -gt 0 ]; } 2>/dev/null ||
		bad="$bad rxe took $taken packets, whole ones were $to_guest;"
	grep -q ' bad 0, lost 0$' "$out/$name.relay" || bad="$bad damaged or lost packets;"
	{
		sed -n "s/^R $name //p" "$out/serial"
		cat "$dir"/reports.*
	} | LC_ALL=C sort >"$out/$name.reports"
	{
		sed -n "s/^E $name /guest: /p" "$out/serial"
		cat "$dir"/stderr.*
	} >"$out/$name.stderr"
	rm -f "$dir"/reports.* "$dir"/stderr.*
	if [ -n "$bad" ]; then
		echo "$name: BAD:$bad"
		cat "$out/$name.relay" "$out/$name.stderr"
		return 1
	fi
	echo "$name: ok, $(sed 's/^rule/; rule/' "$out/$name.relay" | tr -d '\n')"
}

await $boot_limit_s '^ready' || give_up "the guest did not come up"
failed=0 n=0
while read -r name program guest_rank size mtu rules args; do
	n=$((n + 1))
	# shellcheck disable=SC2086
	run_job $n "$name" "$program" "$guest_rank" "$size" "$mtu" "$rules" $args ||
		failed=$((failed + 1))
	# Waiting for what will not come takes long.
	[ $failed -lt 3 ] || give_up "three jobs failed, which is enough; the guest's last words:"
	kill -0 $qemu 2>/dev/null || break
done <"$jobs"
status=0
wait $qemu || status=$?
grep -q '^@@RESULT rc=0' "$out/serial" && [ $status = 33 ] ||
	give_up "the guest's verdict: QEMU exit status $status, $(grep '^@@RESULT' "$out/serial")"
[ $failed = 0 ]
