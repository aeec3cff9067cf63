#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Calls that cannot be served say so as rdma-core's manual pages have it: in virtual time, in a process linked with
# libverbena, and, under verbena exec, in one that is linked with libibverbs. $3: the build folder; $4: bad_calls.c
build=$(realpath "$3") source=$(realpath "$4")
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VERBENA VERBENA_LINK VERBENA_TREE

# judged FILE: two hundred at least, none of them wrong
judged() {
	grep -q 'bad calls [2-9][0-9][0-9], wrong 0$' "$1" || fail "$2: $(cat "$1")"
}
cat >bad.yaml <<END
version: 1
topology: {kind: star, hosts: 2}
programs: [{run: "$source", name: it, hosts: h0}]
END
expect 0 run bad.yaml --out there
judged err "in virtual time"
${CC:-cc} -o bad "$source" "-I$root/include" "-L$build/transport/process" -lverbena
LD_LIBRARY_PATH=$build/transport/process VERBENA_ADDR=127.0.9.1 ./bad >out 2>&1 || fail "in a process: $(cat out)"
judged out "in a process"
${CC:-cc} -DWITH_LIBIBVERBS -o bad "$source" "-I$root/include" -libverbs
expect 0 exec -- ./bad
judged out "under verbena exec"
