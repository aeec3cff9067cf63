#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What goes wrong inside of machines, and what roots and switches make of traffic between devices, in
# scenarios: as much later as the parts say, to the picosecond, by an arithmetic that is written down here;
# what is refused is refused where the kernel does so; nobody sees how it is run, nor the order of lines.
. "$(dirname "$0")/lib.sh"

cat >plain.yaml <<'END'
version: 1
name: inside
topology: {kind: star, hosts: 2, host_rate: 400Gbps}
traffic:
  - {class: f, pattern: incast, to: h1, from: [h0], size: 4096B}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 90ns}
    - {name: nic0, kind: nic, tags: 512}
  lanes:
    - {a: cpu0, b: nic0, gen: 5, width: 16, dllps: no, delay: 3ns}
END
digest_of() { # FOLDER
	sed -n 's/.*"digest": "\([0-9a-f]*\)".*/\1/p' "$1/result.json" | head -n 1
}
# fault NAME FAULT: of h0 alone
fault() {
	{ cat plain.yaml && printf 'machines:\n  - hosts: h0\n    faults: [%s]\n' "$2"; } >"$1.yaml"
	expect 0 run "$1.yaml" --quiet --out "$1"
}
expect 0 run plain.yaml --quiet --out plain
fault down '{a: cpu0, b: nic0, down: yes, until: 5us}'
fault late '{part: cpu0, late: 2us}'
fault narrow '{a: nic0, b: cpu0, width: 8}'
fault old '{a: cpu0, b: nic0, gen: 3, width: 4}'
fault over '{part: cpu0, late: 2us, from: 1s}'
fault back '{a: cpu0, b: nic0, sender: cpu0, width: 8}'
python3 - <<'END' || fail "faults take another time than the arithmetic's"
import csv

def fct(name):
    (row,) = csv.DictReader(open(name + "/flows.csv"))
    return int(row["fct_ps"])
def time(giga, width, size):
    return -(-size * 8 * 130 * 10**12 // (giga * 10**9 * width * 128))
US = 10**6
# The doorbell waits; the bytes are read once.
assert fct("down") - fct("plain") == 5 * US, fct("down") - fct("plain")
assert fct("late") - fct("plain") == 2 * US, fct("late") - fct("plain")
assert fct("over") == fct("plain")
# A doorbell of 64 bytes, sixteen completions; eight requests, and the 64 bytes that say it is done.
down, up = [64 + 24, 4096 + 16 * 20], [8 * 24, 64 + 24]
def slower(sizes, giga, width):
    return sum(time(giga, width, size) - time(32, 16, size) for size in sizes)
assert fct("narrow") - fct("plain") == slower(down + up, 32, 8)
assert fct("old") - fct("plain") == slower(down + up, 8, 4)
assert fct("back") - fct("plain") == slower(down, 32, 8)
END

# Bits that are wrong: 2,000 packets of 4 KiB in 32,000 TLPs of 276 bytes, each with one of 2,208 bits at
# 10^-6 a bit: 0.2206 %, so 71 of them, and four standard deviations.
cat >wrong.yaml <<'END'
  faults:
    - {a: cpu0, b: nic0, sender: cpu0, ber: 0.000001}
    - {a: cpu0, b: nic0, width: 8, from: 20us, until: 60us}
    - {a: cpu0, b: nic0, down: yes, from: 40us, until: 42us}
    - {part: cpu0, late: 1us, from: 50us, until: 70us}
END
{ sed 's/size: 4096B/size: 8192000B/' plain.yaml && cat wrong.yaml; } >all.yaml
expect 0 run all.yaml --quiet --out all
python3 - <<'END' || fail "lanes.csv says something else"
import csv
lanes = {(r["machine"], r["from"], r["to"]): r for r in csv.DictReader(open("all/lanes.csv"))}
lane = {k: int(v) for k, v in lanes["h0", "cpu0", "nic0"].items() if v.isdigit()}
assert 71 - 35 < lane["replays"] < 71 + 35, lane
# From the TLP on that was hit, of the sixteen of a burst.
assert lane["replays"] * 276 < lane["replayed_bytes"] < lane["replays"] * 16 * 276, lane
assert lane["wire_bytes"] == 8192000 + 2000 * 16 * 20 + 88 + lane["replayed_bytes"], lane
assert int(lanes["h1", "cpu0", "nic0"]["replays"]) <= 1
END
holds all/result.json "r['flows']['completed'] == 1"
same() { # ARG...: as all/ has it
	expect 0 run "$@" --json
	holds out "r['digest'] == '$(digest_of all)'"
}
same all.yaml --threads 2
same all.yaml --through-wire
{ sed '/faults:/,$d' all.yaml && echo '  faults:' &&
	sed '1d; s/a: cpu0, b: nic0, down/a: nic0, b: cpu0, down/' wrong.yaml | tac; } >turned.yaml
same turned.yaml
expect 0 run all.yaml --json --set seed=2
holds out "r['digest'] != '$(digest_of all)'"

# Devices: gpu0 beside the adapter below a switch, gpu1 at the socket.
# play NAME STATUS ARGS [SOCKET SWITCH LANE MORE]: a WRITE from GPU to GPU, with these keys of the socket, of
# the switch and of the lane to gpu1, and more of the file
play() {
	cat >"$1.yaml" <<END
version: 1
name: peers
topology: {kind: star, hosts: 2, host_rate: 400Gbps}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 90ns${4-}}
    - {name: sw0, kind: switch, latency: 110ns${5-}}
    - {name: nic0, kind: nic, tags: 512}
    - {name: gpu0, kind: gpu, memory: 64MiB, latency: 150ns, tags: 512}
    - {name: gpu1, kind: gpu, memory: 64MiB, latency: 150ns, tags: 512}
  lanes:
    - {a: cpu0, b: sw0, gen: 5, dllps: no, delay: 3ns}
    - {a: sw0, b: nic0, gen: 5, dllps: no, delay: 3ns}
    - {a: sw0, b: gpu0, gen: 5, dllps: no, delay: 3ns}
    - {a: cpu0, b: gpu1, gen: 5, dllps: no, delay: 3ns${6-}}
programs: [{run: gpu_write, hosts: [h0, h1], args: [$3]}]
${7-}
END
	expect "$2" run "$1.yaml" --out "$1"
}
near='"bytes=4096"' far='"bytes=4096", "gpu=1"'
play near 0 "$near"
play acs 0 "$near" '' ', acs: yes'
play far 0 "$far"
play split 0 "$far" ', peer_payload: 64B'
play slow 0 '"bytes=1048576", "gpu=1"' '' '' ', peer_reads: 10Gbps'
python3 - <<'END' || fail "devices take another time than the arithmetic's"
import csv

def time(name):
    (row,) = [r for r in csv.DictReader(open(name + "/requests.csv")) if r["opcode"] == "write"]
    return int(row["time_ps"])
def of(name, what, *way):
    (row,) = [r for r in csv.DictReader(open(name + "/lanes.csv")) if (r["machine"], r["from"], r["to"]) == way]
    return int(row[what])
NS = 1000
def on_wire(size):
    return -(-size * 8 * 130 * 10**12 // (32 * 10**9 * 16 * 128))
# Heads of the request and of what answers go two lanes more, through the socket and the switch again.
more = sum(2 * (on_wire(head) + 3 * NS) + (90 + 110) * NS for head in (24, 276))
assert time("acs") - time("near") == more, (time("acs") - time("near"), more)
assert of("acs", "bytes", "h0", "sw0", "cpu0") - of("near", "bytes", "h0", "sw0", "cpu0") == 4096
assert of("acs", "bytes", "h1", "cpu0", "sw0") - of("near", "bytes", "h1", "cpu0", "sw0") == 4096
# Behind the root 64 packets of 64 bytes instead of 16 of 256: completions to the adapter, and writes to the GPU.
def split(*way):
    return of("split", "wire_bytes", *way) - of("far", "wire_bytes", *way)
assert split("h0", "gpu1", "cpu0") == 0
assert split("h0", "cpu0", "sw0") == split("h0", "sw0", "nic0") == (64 - 16) * 20
assert split("h1", "cpu0", "gpu1") == (64 - 16) * 24
# A megabyte at 1.25 GB/s.
assert abs(time("slow") / (1048576 * 800) - 1) < 0.02, time("slow")
END
for how in "--threads 2" --through-wire; do
	# shellcheck disable=SC2086
	expect 0 run split.yaml $how --json
	holds out "r['digest'] == '$(digest_of split)'"
done
# A root that lets nobody write: the memory cannot be registered, unless the adapter hangs below the same switch.
play none 1 "$far" ', peers: none'
grep -q 'ibv_reg_mr: Remote I/O error' out err || fail "memory of a GPU that is out of reach"
play below 0 "$near" ', peers: none'
play sent_up 1 "$near" ', peers: none' ', acs: yes'
# One that lets them write alone: a WRITE may go to a GPU behind it, and not come from there.
writes() { # HOST
	cat <<END
machines:
  - hosts: $1
    parts:
      - {name: cpu0, kind: socket, latency: 90ns, peers: writes}
      - {name: sw0, kind: switch, latency: 110ns}
      - {name: nic0, kind: nic, tags: 512}
      - {name: gpu0, kind: gpu, memory: 64MiB, latency: 150ns, tags: 512}
      - {name: gpu1, kind: gpu, memory: 64MiB, latency: 150ns, tags: 512}
END
}
play writes_there 0 "$far" '' '' '' "$(writes h1)"
play writes_here 1 "$far" '' '' '' "$(writes h0)"
grep -q 'local protection error' out err || fail "a WRITE from memory that the adapter cannot read"
