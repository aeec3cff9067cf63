#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copies from GPU to GPU in known machines: as fast as the links of NVLink between two that have them, over PCI Express
# and sockets where there are none, and as fast as was published.
. "$(dirname "$0")/lib.sh"

# play NAME PROFILE ARGS
play() {
	cat >"$1.yaml" <<END
version: 1
topology: {kind: star, hosts: 2}
machine: $2
programs: [{run: gpu_matrix, hosts: [h0], args: [$3]}]
END
	expect 0 run "$1.yaml" --out "$1" --json
	cat out err | grep -h -o '\(uni\|bidir\|latency\) [0-9]* [0-9]* [0-9]*$' >"$1.rates"
}
play v100 dgx1_v100 '"bytes=67108864", "most=5"'
play h100 dgx_h100 '"bytes=134217728", "most=3"'
python3 - <<'END' || fail "copies between GPUs take another time than was published"
def rates(name, kind):
    return {(int(a), int(b)): int(rate) / 1000 for of, a, b, rate in map(str.split, open(name + ".rates")) if of == kind}

# Links between each two of a DGX-1 with V100s, as nvidia-smi topo -m prints them.
LINKS = ["01122000", "10210200", "12020010", "21200001", "20000112", "02001021", "00101202", "00012120"]
uni, bidir = rates("v100", "uni"), rates("v100", "bidir")
assert len(uni) == 20 and len(bidir) == 10
for (a, b), rate in uni.items():
    links = int(LINKS[a][b])
    if links == 2:  # 47.88 to 47.93 GB/s of two links (Dell, PowerEdge C4140 configuration K), within 3 %
        assert abs(rate / 47.9 - 1) < 0.03, (a, b, rate)
    elif links == 1:  # half of that
        assert abs(rate / 23.95 - 1) < 0.03, (a, b, rate)
    else:  # over PCI Express of generation 3 and the sockets' link
        assert 5 < rate < 13, (a, b, rate)
# Each write brings a response flit back: 256 of 288 bytes. Links of V100 carry 25.78125 GB/s each way.
for (a, b), rate in bidir.items():
    links = int(LINKS[a][b])
    assert links == 0 or abs(rate / (2 * 25.78125 * links * 256 / 288) - 1) < 0.02, (a, b, rate)
# github.com/NVIDIA/nccl/issues/1264: 371 to 377 GB/s one way and 740 to 773 both, within 5 %.
uni, bidir = rates("h100", "uni"), rates("h100", "bidir")
assert len(uni) == 6 and len(bidir) == 3
assert all(371 * 0.95 < rate < 377 * 1.05 for rate in uni.values()), uni
assert all(740 * 0.95 < rate < 773 * 1.05 for rate in bidir.values()), bidir
END
# All to all: what eight GPUs send takes as long as what one sends, since each has its own links to each NVSwitch.
for bytes in 1048576 4194304; do
	cat >all.yaml <<END
version: 1
topology: {kind: star, hosts: 2}
machine: dgx_h100
programs: [{run: gpu_alltoall, hosts: [h0], args: ["bytes=$bytes"]}]
END
	expect 0 run all.yaml --json
	sed -n "s/.*alltoall 8 \\([0-9]*\\)\$/$bytes \\1/p" out err
done >all.rates
python3 - <<'END' || fail "an exchange of all with all takes another time than its links do"
small, large = ((7 * int(size), 7 * int(size) / int(rate) / 1e6) for size, rate in map(str.split, open("all.rates")))
rate = (large[0] - small[0]) / (large[1] - small[1]) / 1e9
assert 371 * 0.97 < rate < 377 * 1.03, rate
END
play two dgx_h100 '"bytes=1048576", "most=2"'
same_by_ways two
# Under a limit of addresses less memory is given out, which is said once; what fits is what it was.
# shellcheck disable=SC3045 # dash, bash and busybox have it
if (ulimit -v 60000000 && "$verbena" --version) >out 2>err; then
	# shellcheck disable=SC3045 # as above
	(ulimit -v 60000000 && expect 0 run two.yaml --json)
	holds out "r['digest'] == '$digest'"
	[ "$(grep -c 'GPU 0 at h0: found 1024 MiB, expected 81920 MiB: more is not given out' err)" = 1 ] ||
		fail "memory that a limit takes is not said: $(cat err)"
fi
