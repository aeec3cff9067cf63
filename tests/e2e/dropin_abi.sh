#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The drop-in has every name in every version that the real libibverbs of this machine shows, no name that no
# libibverbs has, and what is built against the private names of newer and older ones can be loaded.
# $3: the drop-in.
. "$(dirname "$0")/lib.sh"
dropin=$3

# names LIBRARY: NAME@@NODE or NAME@NODE a line
names() {
	nm -D --defined-only "$1" | awk '{print $3}' | grep '@' | grep -v '^IBVERBS' | sort -u
}

real=$(ldconfig -p | awk '$1 == "libibverbs.so.1" {print $NF; exit}')
[ -n "$real" ] || { echo "no libibverbs.so.1 of rdma-core" && exit 77; }
names "$dropin" >ours
names "$real" | sed 's/@@*/@/' | sort -u >theirs
[ "$(wc -l <theirs)" -gt 150 ] || fail "$real shows $(wc -l <theirs) names"
sed 's/@@*/@/' ours | sort -u >ours.plain
missing=$(comm -23 theirs ours.plain)
[ -z "$missing" ] || fail "names of $real that the drop-in has not: $missing"
# One name is what libverbena-paths.so looks for. Else nothing of ours comes before a function of the program's own.
strange=$(sed 's/@.*//' ours | sort -u | grep -vE '^(verbena_rdma_cm$|VERBENA_1$|ibv_|_ibv_|_?verbs_|__verbs_log$|_verbs_|execute_ioctl$|__ioctl_final_num_attrs$|mbps_to_ibv_rate$|mult_to_ibv_rate$)' || true)
[ -z "$strange" ] || fail "names that no libibverbs has: $strange"
for abi in 22 25 33 34 57 59 64 65; do
	grep -qx "verbs_register_driver_$abi@IBVERBS_PRIVATE_$abi" ours.plain || fail "no private names of $abi"
	grep -qx "ibv_query_gid_type@IBVERBS_PRIVATE_$abi" ours.plain || fail "no ibv_query_gid_type of $abi"
done
# The version that a program is linked to by default is the real one's.
names "$real" | grep '@@' | grep -v PRIVATE >default.theirs
comm -23 default.theirs ours >wrong
[ ! -s wrong ] || fail "other default versions: $(cat wrong)"
