#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# NVLink in a scenario: copies between a socket and its GPU, as a POWER8 has them, over two links; over what is
# left of these; and over PCI Express, where nothing is. Rates are those of the arithmetic of flits.
. "$(dirname "$0")/lib.sh"

machine() { # FAULT...
	cat <<'END'
version: 1
name: nvlink
topology: {kind: star, hosts: 2}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 100ns}
    - {name: nic0, kind: nic}
    - {name: gpu0, kind: gpu, memory: 128MiB, latency: 100ns, tags: 256}
  lanes:
    - {a: cpu0, b: nic0, gen: 3}
    - {a: cpu0, b: gpu0, gen: 3, mrrs: 4KiB}
    - {a: cpu0, b: gpu0, kind: nvlink, gen: 1, links: 2, delay: 5ns}
END
	[ $# = 0 ] || echo "  faults:"
	for fault in "$@"; do
		echo "    - {a: cpu0, b: gpu0, $fault}"
	done
	echo 'programs: [{run: gpu_copies, hosts: [h0], args: ["bytes=67108864"]}]'
}
play() { # NAME FAULT...
	name=$1
	shift
	machine "$@" >"$name.yaml"
	expect 0 run "$name.yaml" --out "$name"
	cat out err | sed -n 's/.* \(to\|from\) 67108864 \([0-9]*\)$/\2/p' >"$name.copies"
}
play whole
play half 'links: [1], down: yes'
play none 'links: [0, 1], down: yes'
# The copy to the GPU takes 1.79 ms: after 600 us one link is left, and after 900 none.
start=$(cat out err | sed -n 's/.* start 67108864 \([0-9]*\)$/\1/p')
play ends "links: [0], down: yes, from: $((start + 600000000))ps" "links: [1], down: yes, from: $((start + 900000000))ps"
play wrong 'links: [0], ber: 0.0000001'
cat >lanes.py <<'END'
import csv

def rows(name):
    """What went over PCI Express, then over NVLink, to the GPU; and then all that came back."""
    of = {}
    for r in csv.DictReader(open(name + "/lanes.csv")):
        if r["machine"] == "h0":
            of.setdefault((r["from"], r["to"]), []).append({k: int(v) for k, v in r.items() if k not in ("machine", "from", "to")})
    return of["cpu0", "gpu0"], of["gpu0", "cpu0"]
def rate(name, back):
    times = list(map(int, open(name + ".copies")))
    return 67108864 * 1000 / times[back]
MIB = 1 << 20
# 40 GB/s, 256 of 272 bytes to the GPU, which reads; of which it writes each packet gets a flit back. Then one link,
# then PCI Express of generation 3 x16: 13.2 and 13.0 GB/s.
for back in (0, 1):
    print(rate("whole", back), rate("half", back), rate("none", back))
    assert abs(rate("whole", back) / (40 * 256 / 272) - 1) < 0.02
    assert abs(rate("half", back) / (20 * 256 / 272) - 1) < 0.02
    assert abs(rate("none", back) / 13.1 - 1) < 0.02
(pcie, links), (pcie_back, links_back) = rows("whole")
# Each of the two copies has a doorbell of 8 bytes: two flits, and a response.
assert links["bytes"] == 64 * MIB + 2 * 8 and links_back["bytes"] == 64 * MIB and pcie["bytes"] < MIB and pcie_back["bytes"] < MIB
assert links_back["wire_bytes"] == 64 * MIB // 256 * (272 + 16) + 2 * 16  # requests, then writes
assert links["wire_bytes"] == 64 * MIB // 256 * (272 + 16) + 2 * 32  # data, then responses
(pcie, links), (pcie_back, links_back) = rows("none")
assert links["wire_bytes"] == links_back["wire_bytes"] == 0 and pcie["bytes"] >= 64 * MIB <= pcie_back["bytes"]
# 37.6 GB/s for 600 us, 18.8 for 300, and the rest over PCI Express; a call of some 5 us before.
(pcie, links), (pcie_back, links_back) = rows("ends")
assert abs(links["bytes"] / (40e9 * 256 / 272 * 595e-6 + 20e9 * 256 / 272 * 300e-6) - 1) < 0.02, links
assert links["bytes"] + pcie["bytes"] - 64 * MIB < MIB and links_back["bytes"] == 0
# Of 8 bits of 272 bytes 262144 times over two links some 28 are wrong there, and some of those that go again.
(pcie, links), (pcie_back, links_back) = rows("wrong")
assert 15 < links["replays"] < 60 and links["bytes"] == 64 * MIB + 2 * 8 and pcie["replays"] == 0, links
END
python3 lanes.py || fail "another arithmetic"

# The same in any order of its lines, by threads, and as bytes.
for name in ends wrong; do
	digest=$(sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' $name/result.json | head -n 1)
	{
		sed -n '1,/parts:/p' $name.yaml
		sed -n '/{name/p' $name.yaml | tac
		echo '  lanes:'
		sed -n '/lanes:/,/faults:\|programs:/{/{a:/p}' $name.yaml | tac | sed 's/{a: \([a-z0-9]*\), b: \([a-z0-9]*\)/{a: \2, b: \1/'
		sed -n '/faults:/,$p' $name.yaml
	} >turned.yaml
	for how in "$name.yaml --threads 2" "$name.yaml --through-wire" turned.yaml; do
		# shellcheck disable=SC2086
		expect 0 run $how --json
		holds out "r['digest'] == '$digest'"
	done
done
