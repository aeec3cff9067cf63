#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# foreign.sh CPU: the same packet scripts and golden digests on another processor (aarch64 little-endian, s390x
# big-endian) under QEMU's user emulation; on s390x, where bytes lie otherwise, the same unit tests as well. Of
# libibverbs only the headers are needed, which are the same everywhere; CMocka is replaced by cmocka.h of this folder; what is linked
# for good comes from the distribution's packages for that processor, kept in the user's cache.
. "$(dirname "$0")/lib.sh"
cpu=$1
need "$cpu-linux-gnu-gcc" "qemu-$cpu" pkg-config python3
sysroot=/usr/$cpu-linux-gnu
[ "$(uname -m)" != "$cpu" ] || skip "this machine is $cpu"
[ -e "$sysroot/include/stdio.h" ] || skip "no C library for $cpu in $sysroot"
headers=$(pkg-config --variable=includedir libibverbs) || skip "no libibverbs headers"

# fetch PACKAGE...: unpacked in $foreign, without touching this machine's own package system
cache=${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/verbena
mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] || cache=$work
foreign=$cache/foreign-$cpu
fetch() {
	need apt-get dpkg-deb
	arch=$cpu
	[ "$arch" != aarch64 ] || arch=arm64
	apt=$work/apt
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/new"
	options="-o APT::Architecture=$arch -o APT::Architectures=$arch -o Dir::Cache=$apt/cache
		-o Dir::State::lists=$apt/lists -o Dir::State::status=/dev/null
		-o Acquire::Languages=none -o APT::Sandbox::User=root"
	# shellcheck disable=SC2086
	(cd "$apt" && apt-get $options update && apt-get $options download "$@") >"$work/log" 2>&1 ||
		skip "cannot have for $cpu: $*"
	for package in "$apt"/*.deb; do
		dpkg-deb -x "$package" "$apt/new"
	done
	rm -rf "$foreign"
	mv "$apt/new" "$foreign"
}

# package NAME CFLAGS LIBS: as a cross compiler may see it
package() {
	printf 'Name: %s\nDescription: -\nVersion: %s\nCflags: %s\nLibs: %s\n' "$1" \
		"$(pkg-config --modversion "$1" 2>/dev/null || echo 1)" "$2" "$3" >"$work/pc/$1.pc"
}

libraries=$foreign/usr/lib/$cpu-linux-gnu
[ -e "$libraries/libfyaml.a" ] && [ -e "$libraries/libjansson.a" ] ||
	fetch libfyaml-dev libjansson-dev
mkdir -p "$work/include" "$work/pc"
cp -R "$headers/infiniband" "$headers/rdma" "$work/include/"
cp "$(dirname "$0")/cmocka.h" "$work/include/"
package libibverbs "-isystem $work/include" ""
package cmocka "-isystem $work/include" ""
package libfyaml "-isystem $foreign/usr/include" "$libraries/libfyaml.a"
package jansson "-isystem $foreign/usr/include" "$libraries/libjansson.a"
endian=little
[ "$cpu" != s390x ] || endian=big
cat >"$work/cross" <<END
[binaries]
c = '$cpu-linux-gnu-gcc'
ar = '$cpu-linux-gnu-gcc-ar'
nm = '$cpu-linux-gnu-nm'
strip = '$cpu-linux-gnu-strip'
pkgconfig = 'pkg-config'
pkg-config = 'pkg-config'
exe_wrapper = ['qemu-$cpu', '-L', '$sysroot']
[properties]
pkg_config_libdir = '$work/pc'
[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = '$endian'
END
unset CC
configure --cross-file "$work/cross" -Doptimization=2 -Dauto_features=disabled

# ours WHAT: the tests, or their programs, that are one program of ours and need neither sockets,
# processes of their own, a shell around them, nor a library.
ours() {
	python3 - "$1" "$build" <<'END'
import json, os, subprocess, sys

def introspect(what):
    return json.loads(subprocess.check_output(["meson", "introspect", what, build]))

what, build = sys.argv[1:]
programs = {t["filename"][0] for t in introspect("--targets") if t["type"] == "executable"}
sockets = {"fuzz_nic_peer", "nic", "nic_frame", "nic_group", "nic_gsi", "nic_process", "nic_fork", "nic_shm_door", "nic_shm_loan",
           "nic_world", "nic_world_watched", "board"}
for t in introspect("--tests"):
    if t["name"] in sockets or t["cmd"][0].endswith(("sh", ".py")):
        continue
    if {s.split(":")[-1] for s in t["suite"]} & {"unit", "scenario", "fuzz"}:
        for program in programs & set(t["cmd"][:4]):
            print(t["name"] if what == "tests" else os.path.relpath(program, build))
END
}
export RUN="qemu-$cpu -L $sysroot"
export SLOWER=10
decides
[ $endian = big ] || exit 0
# shellcheck disable=SC2046
compile $(ours programs | sort -u)
# Of the seeds of engine and hca_soak each 20th, since an emulator takes its time.
export SEED_STEP=20
# shellcheck disable=SC2046
tests --timeout-multiplier 10 $(turn 2 $(ours tests))
