#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# cm.sh BUILD: programs over librdmacm between a guest on rdma-core and the kernel's rxe, rdma_cm and ib_cm, and one
# outside on ours, both ways. Prints a line a case. Exit status 77: no guest here; why is the last line.
# Nothing needs root. Environment: KERNEL_CACHE, a folder that is kept.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
. "$here/guest.sh"
guest_needs rping ucmatose

dir=$(mktemp -d /tmp/vbk.XXXXXX) # paths of unix sockets are short
pids=
clean_up() {
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
	rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
root=$dir/root
mkdir -p "$root/bin" "$root/modules" "$root/etc/libibverbs.d"
cp "$here/guest_cm_init" "$root/init"
cp "$(command -v busybox)" "$root/bin/busybox"
place "$(PATH=$PATH:/usr/sbin:/sbin command -v rdma)" /bin/rdma
for tool in rping ucmatose; do
	place "$(command -v $tool)" /bin/$tool
done
place "$driver" "$driver"
# What pthread_exit() loads, which no list names.
place "$(ldconfig -p | sed -n 's|.*libgcc_s.so.1 .*=> ||p' | head -n 1)" /lib/x86_64-linux-gnu/libgcc_s.so.1
cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/"
cp "$kernel"/modules/*.ko "$kernel/order" "$root/modules/"
# NAME and what the guest runs, one after the other; who asks there does so until somebody listens.
cat >"$root/jobs" <<'END'
rping_to_guest rping -s -a 10.7.0.1 -v -C 10
rping_from_guest rping -c -a 10.7.0.10 -v -C 10
ucmatose_to_guest ucmatose -b 10.7.0.1 -c 2
ucmatose_from_guest ucmatose -s 10.7.0.10 -c 2
END
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$dir/initramfs"

timeout -k 5 200 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 256 \
	-nodefaults -no-user-config -display none -no-reboot \
	-kernel "$kernel/vmlinuz" -initrd "$dir/initramfs" \
	-append "console=ttyS0 loglevel=4 panic=-1 rdinit=/init net.ifnames=0" \
	-serial "file:$dir/console" -serial "file:$dir/serial" \
	-netdev "dgram,id=rdma,local.type=unix,local.path=$dir/q,remote.type=unix,remote.path=$dir/r" \
	-device virtio-net-pci,netdev=rdma,mac=52:54:00:00:00:01,romfile= \
	-device isa-debug-exit,iobase=0xf4,iosize=4 </dev/null >"$dir/qemu" 2>&1 &
qemu=$!
pids="$pids $qemu"

# await SECONDS PATTERN: such a line from the guest; false: too late, or the guest is gone
await() {
	tries=$(($1 * 50))
	while ! grep -q "$2" "$dir/serial" 2>/dev/null; do
		[ $tries -gt 0 ] && kill -0 $qemu 2>/dev/null || return 1
		sleep 0.02
		tries=$((tries - 1))
	done
}

give_up() {
	echo "$*"
	tail -n 30 "$dir/console" "$dir/serial" "$dir/qemu"
	exit 1
}

outside() { # COMMAND...
	VERBENA_LINK=frame:$dir/r,$dir/q VERBENA_ADDR=10.7.0.10 VERBENA_STATUSES=rxe \
		timeout 40 "$build/verbena" exec -- "$@" >"$dir/outside" 2>&1
}

await 60 '^ready' || give_up "the guest did not come up"
await 30 '^B rping_to_guest' && sleep 1
outside rping -c -a 10.7.0.1 -v -C 10 || give_up "rping to the guest: $(cat "$dir/outside")"
grep -q '^ping data: rdma-ping-9: JKLM' "$dir/outside" || give_up "rping to the guest: $(cat "$dir/outside")"
await 30 '^J rping_to_guest 0' || give_up "rping in the guest failed"
echo "rping to the guest: ok"
outside rping -s -a 10.7.0.10 -v -C 10 || give_up "rping from the guest: $(cat "$dir/outside")"
await 30 '^J rping_from_guest 0' || give_up "rping from the guest failed there"
echo "rping from the guest: ok"
await 30 '^B ucmatose_to_guest' && sleep 1
outside ucmatose -s 10.7.0.1 -c 2 || give_up "ucmatose to the guest: $(cat "$dir/outside")"
await 30 '^J ucmatose_to_guest 0' || give_up "ucmatose in the guest failed"
echo "ucmatose to the guest: ok"
outside ucmatose -b 10.7.0.10 -c 2 || give_up "ucmatose from the guest: $(cat "$dir/outside")"
await 30 '^J ucmatose_from_guest 0' || give_up "ucmatose from the guest failed there"
echo "ucmatose from the guest: ok"
status=0
wait $qemu || status=$?
grep -q '^@@RESULT rc=0' "$dir/serial" && [ $status = 33 ] || give_up "the guest's verdict: QEMU exit status $status"
