#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Open MPI over UCX as they are packaged: four ranks, each a host of its own, check all that they bring each other; and
# what libfabric finds. $3: the folder of the build.
. "$(dirname "$0")/exec_lib.sh"
here=$(realpath "$(dirname "$0")")
for tool in mpicc mpirun fi_info tshark; do
	command -v $tool >/dev/null || { echo "no $tool" && exit 77; }
done

on 1 fi_info -p verbs >out 2>err || fail "fi_info fails"
sed -n 's/^ *protocol: //p' out | sort -u | tr '\n' ' ' >kinds
[ "$(cat kinds)" = 'FI_PROTO_IB_UD FI_PROTO_RDMA_CM_IB_RC FI_PROTO_RXD FI_PROTO_RXM ' ] || fail "fi_info: $(cat out)"

mpicc -o ranks "$here/exec_mpi.c" 2>err || fail "mpicc fails"
cat >rank <<END
#!/bin/sh
exec "$work/bin/verbena" exec --host 127.$net.\$((OMPI_COMM_WORLD_RANK + 1)) --pcap \$OMPI_COMM_WORLD_RANK.pcapng -- ./ranks
END
chmod 755 rank ranks

# ranks TRANSPORT FILTER: rank 0 is brought 100,000 numbers by each of the three others, in packets that FILTER chooses
ranks() {
	rm -f ./*.pcapng
	HOME=$work/both TMPDIR=$work/both UCX_TLS=$1,self UCX_NET_DEVICES=verbena0:1 $as timeout 100 mpirun --allow-run-as-root \
		--oversubscribe -n 4 --mca pml ucx --mca btl self --mca oob_tcp_if_include lo --mca mpi_yield_when_idle 1 \
		-x UCX_TLS -x UCX_NET_DEVICES ./rank >out 2>err || fail "mpirun over $1: $(cat out err)"
	[ "$(cat out)" = '4 ranks, 0 wrong' ] || fail "mpirun over $1: $(cat out)"
	got=$(tshark -r 0.pcapng -T fields -e udp.length "ip.dst == 127.$net.1 && $2" 2>/dev/null |
		awk '{sum += $1 - 24} END {print sum + 0}')
	[ "$got" -ge 1200000 ] || fail "mpirun over $1: $got bytes in packets"
}
ranks rc 'infiniband.bth.opcode < 17'
ranks ud 'infiniband.bth.opcode == 100'
