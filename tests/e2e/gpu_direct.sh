#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# GPUDirect: dma-bufs of device memory and what holds them, the window through which adapters reach it, and the order
# of what they write there: a program that trusts a completion reads what was there before, unless it flushes or the GPU
# promises that order.
. "$(dirname "$0")/lib.sh"

# machine PROGRAM ARGS GPU LANE: GPU says more of the part, LANE of its lane
machine() {
	cat <<END
version: 1
topology: {kind: star, hosts: 2}
machine:
  parts:
    - {name: cpu0, kind: socket, latency: 90ns}
    - {name: sw0, kind: switch, latency: 110ns}
    - {name: nic0, kind: nic, tags: 64}
    - {name: gpu0, kind: gpu, memory: 64MiB, latency: 150ns, tags: 64$3}
  lanes:
    - {a: cpu0, b: sw0, gen: 4, delay: 3ns}
    - {a: sw0, b: nic0, gen: 4, delay: 3ns}
    - {a: sw0, b: gpu0, delay: 3ns, $4}
programs: [{run: $1, hosts: [h0, h1], args: [$2]}]
END
}
machine gpu_direct "" ', address: "0001:18:1f.0"' "gen: 5" >direct.yaml
checks direct 64
# A window of 8 MiB, and the address that the scenario says.
machine gpu_direct '"window=8388608", "domain=1", "bus=24", "device=31"' ', bar1: 8MiB, address: "0001:18:1f.0"' "gen: 5" >window.yaml
checks window 76

# stale ORDERING BYTES ARGS: how many of 20 rounds brought what was there before
stale() {
	machine gpu_stale "\"bytes=$2\"$3" ", ordering: $1" "gen: 1, width: 4" >stale.yaml
	"$verbena" run stale.yaml --out stale >out 2>err || true
	sed -n 's/.* \([0-9]*\) of 20 were stale$/\1/p' err
}
[ "$(stale none 4096 "")" = 20 ] || fail "a completion is no sign of the data, and nothing shows it"
[ "$(stale none 4096 ', "flush=1"')" = "" ] || fail "a flush does not wait for what was written"
[ "$(stale owner 4096 "")" = "" ] || fail "the GPU does not keep the order that it promises"
[ "$(stale none 64 "")" = "" ] || fail "what is there in time is stale"
grep -q "all ended well" out || fail "a round failed for another reason"
