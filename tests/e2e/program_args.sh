#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Programs for GPUs that are told something which they do not take, or of a GPU that is not there, say what
# there is instead, once, and fail; and what they measure has its units in a heading or beside each figure.
. "$(dirname "$0")/lib.sh"

cat >world.yaml <<'END'
version: 1
topology: {kind: star, hosts: 2}
machine:
  parts:
    - {name: cpu0, kind: socket}
    - {name: sw0, kind: switch}
    - {name: nic0, kind: nic, tags: 64}
    - {name: gpu0, kind: gpu, memory: 256MiB}
    - {name: gpu1, kind: gpu, memory: 256MiB}
  lanes: [{a: cpu0, b: sw0}, {a: sw0, b: nic0}, {a: sw0, b: gpu0}, {a: sw0, b: gpu1}]
END
# runs EXIT RUN ARGS: what it says is in "said"
runs() {
	cp world.yaml one.yaml
	echo "programs: [{run: \"$2\", name: p, hosts: [h0, h1], args: [$3]}]" >>one.yaml
	expect "$1" run one.yaml --out one
	cat out err | sed -n 's/^p, rank [01]: //p' >said
}
# says TEXT: that line, once, and no other
says() {
	[ "$(cat said)" = "$1" ] || fail "one line is expected, \"$1\": $(cat said)"
}

count=0
for source in "$root"/tests/programs/gpu_*.c; do
	name=$(basename "$source" .c)
	for arg in nonsense=1 bytes=x; do
		runs 1 "$name" "$arg"
		[ "$(wc -l <said)" = 1 ] && grep -q "^found \"$arg\", expected NAME=NUMBER, of these: ." said ||
			fail "$name $arg: $(cat said)"
		count=$((count + 1))
	done
done
[ $count -ge 40 ] || fail "only $count runs"
for name in gpu_write gpu_pingpong gpu_dma; do
	runs 1 $name gpu=7
	grep -qx 'found gpu=7, expected 0 to 1' said || fail "$name: $(cat said)"
done
runs 1 gpu_pingpong bytes=0
grep -qx 'bytes=0: expected 1 at least, in at most 1024 chunks of chunk=N' said || fail "no bytes: $(cat said)"

# Those that people begin with.
direct=$root/traces/gpudirect.c
for arg in two=1 to=x to= to; do
	runs 1 "$direct" "\"$arg\""
	grep -qx "found \"$arg\", expected bytes=N, from=N, to=N or gid=N" said || fail "$arg: $(cat said)"
done
if ! is_sanitized; then
	runs 1 "$direct" to=7
	says 'to=7: found no such GPU, expected 0 to 1'
	runs 1 "$direct" from=2
	says 'from=2: found no such GPU, expected 0 to 1'
	runs 1 "$direct" bytes=300000000
	grep -qx 'bytes=300000000: found none, or more than GPU 0 has free' said || fail "bytes: $(cat said)"
	runs 1 "$direct" gid=200
	grep -qx 'gid=200: no queue pair, or no such GID' said || fail "gid: $(cat said)"
fi
for arg in byte=1 bytes=100 bytes=0; do
	runs 1 "$root/traces/memory_ages.c" $arg
	cat out err | grep -q "found \"$arg\", expected bytes=N alone, a multiple of 4096" || fail "memory_ages $arg"
done

# Units: a heading before the first figure, or in the line itself.
headed() { # NAME ARGS HEADING
	runs 0 "$1" "$2"
	[ "$(head -n 1 said)" = "# $3" ] && [ "$(grep -c '^#' said)" = 1 ] ||
		fail "$1: another heading: $(head -n 1 said)"
}
headed gpu_pingpong bytes=64 'pingpong BYTES NS'
headed gpu_rails bytes=65536 'rail NTH GPU MB/s; rails COUNT MB/s'
headed gpu_distance rounds=1 'flag GPU GPU NS; read or write NIC GPU NS'
headed gpu_dma bytes=65536 'WHAT PHASE NS'
headed gpu_matrix bytes=65536 'uni, bidir, read, reads GPU GPU MB/s; latency, each GPU GPU NS'
headed gpu_rings count=65536 'rings GPUS BYTES NS'
headed gpu_alltoall bytes=65536 'alltoall GPUS MB/s'
headed gpu_staging bytes=65536 'direct or staging MB/s'
headed gpu_flag rounds=2 'WHAT NS'
headed gpu_turns rounds=2 'turn NS'
runs 0 gpu_allreduce count=4096
grep -q '^allreduce of [0-9]* bytes over 4 GPUs: [0-9]* ns$' said || fail "gpu_allreduce without units"
