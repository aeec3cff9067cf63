# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh disable=SC2034,SC2154 # shared with who reads it
# What guests on rdma-core and the kernel's rxe have in common; read by the scripts that boot one, with $here (this folder)
# and $build set. Leaves $kernel, the folder of the kernel, and $driver; the script is over where no guest can be had.
unset LD_LIBRARY_PATH # Meson names the drop-in's folder there, whose libraries are not the guest's

# guest_needs TOOL...: these, besides what every guest needs
guest_needs() {
	for tool in qemu-system-x86_64 cpio busybox rdma "$@"; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || {
			echo "no guest: no $tool"
			exit 77
		}
	done
	driver=$(ls /usr/lib/*/libibverbs/librxe-rdmav*.so 2>/dev/null | head -n 1)
	[ -n "$driver" ] && [ -e /etc/libibverbs.d/rxe.driver ] || {
		echo "no guest: no ibverbs-providers"
		exit 77
	}
	cache=${KERNEL_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/verbena}
	mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=$build/kernel-cache
	kernel=$("$here/build.sh" "$cache") || {
		status=$?
		echo "$kernel"
		exit $status
	}
	kernel=$(echo "$kernel" | tail -n 1)
}

# place FILE WHERE: the program or library, into the guest's $root, and the libraries that it asks for
place() {
	mkdir -p "$root${2%/*}"
	cp -L "$1" "$root$2"
	ldd "$1" | sed -n 's|^[^/]*\(/[^ ]*\) (0x.*|\1|p' | while read -r path; do
		mkdir -p "$root${path%/*}"
		[ -e "$root$path" ] || cp -L "$path" "$root$path"
	done
}
