#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# script.sh BUILD [--write]: plays tests/script/*.pkt against the kernel's rxe in a guest (script_rxe.c) and compares
# what it did, clause by clause, with tests/script/rxe.list; or puts it there. Exit status 77: no guest here; why is the
# last line. Nothing needs root. Environment: KERNEL_CACHE, a folder that is kept.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
list=$here/../script/rxe.list
. "$here/guest.sh"
guest_needs ldd # of the system, like the others

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
root=$dir/root
mkdir -p "$root/bin" "$root/modules" "$root/etc/libibverbs.d" "$root/scripts"
cp "$here/guest_script_init" "$root/init"
cp "$(command -v busybox)" "$root/bin/busybox"
place "$(PATH=$PATH:/usr/sbin:/sbin command -v rdma)" /bin/rdma
place "$driver" "$driver"
place "$build/tests/kernel/script_rxe" /programs/script_rxe
cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/"
cp "$kernel"/modules/*.ko "$kernel/order" "$root/modules/"
cp "$here"/../script/*.pkt "$root/scripts/"
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$dir/initramfs"

status=0
timeout -k 5 550 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 512 \
	-nodefaults -no-user-config -display none -no-reboot \
	-kernel "$kernel/vmlinuz" -initrd "$dir/initramfs" \
	-append "console=ttyS0 loglevel=4 panic=-1 rdinit=/init net.ifnames=0" \
	-serial "file:$dir/console" -serial "file:$dir/serial" \
	-netdev hubport,id=rdma,hubid=0 -device virtio-net-pci,netdev=rdma,mac=52:54:00:00:00:01,romfile= \
	-netdev hubport,id=peer,hubid=0 -device virtio-net-pci,netdev=peer,mac=52:54:00:00:00:03,romfile= \
	-device isa-debug-exit,iobase=0xf4,iosize=4 </dev/null >"$dir/qemu" 2>&1 || status=$?
grep -q '^@@RESULT rc=0' "$dir/serial" && [ $status = 33 ] || {
	echo "the guest's verdict: QEMU exit status $status"
	tail -n 30 "$dir/console" "$dir/qemu"
	tail -n 5 "$dir/serial"
	exit 1
}
sed -n 's/^V //p' "$dir/serial" | tr -d '\r' >"$build/rxe-verdicts" # with what was found
python3 - "$list" "$build/rxe-verdicts" "${2:-}" <<'END'
import sys
path, found, write = sys.argv[1:]
played, left_out = {}, 0
for line in open(found, encoding="utf-8", errors="replace"):
    script, which, verdict = line.rstrip("\n").split(" ", 2)
    if which == "0" and verdict.startswith("not played"):
        left_out += 1
    else:
        played[script, int(which)] = verdict
head, known = [], {}
for line in open(path, encoding="utf-8"):
    if line.startswith("#"):
        head.append(line)
    else:
        script, which, verdict = line.rstrip("\n").split(" ", 2)
        known[script, int(which)] = verdict
same = sum(verdict == "same" for verdict in played.values())
print(f"{same} clauses are the same on rxe, {len(played) - same} are not; {left_out} scripts have no counterpart there")
if write == "--write":
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(head)
        for key in sorted(played):
            verdict = known.get(key, "same")
            if (verdict == "same") != (played[key] == "same"):
                verdict = "same" if played[key] == "same" else "another: " + played[key]
            file.write(f"{key[0]} {key[1]} {verdict}\n")
    sys.exit(0)
bad = 0
for key in sorted(set(played) | set(known)):
    if key not in known or key not in played or (known[key] == "same") != (played[key] == "same"):
        print(f"{key[0]} {key[1]}: {played.get(key, 'not played')}, and the list says {known.get(key, 'nothing')}")
        bad = 1
sys.exit(bad)
END
